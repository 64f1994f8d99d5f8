import AppClient
import AppProtocol
import Failover
import Glibc
import Lab
import Linux
import Simulation
import Synchronization
import Testing

/// Every suite of scenarios: one scenario after the other, for there is one air. Some wait for what the device does by
/// itself after minutes, and one for an hour, on the clock of the machine.
@Suite(.serialized, .onRadios, .keepingRecordsOfFailures, .timeLimit(.minutes(75)))
enum Radios {}

/// Skipped where the kernel has no simulated radios.
extension Trait where Self == ConditionTrait {
    static var onRadios: Self {
        .disabled(if: Lab.obstacle != nil, Comment(rawValue: Lab.obstacle ?? ""))
    }
}

/// `make test` plays the core scenarios: one or two of each feature and of each attack. These are for `make test-all`.
extension Trait where Self == ConditionTrait {
    static var extended: Self {
        .disabled(if: isCore, "make lab plays it, make test does not")
    }
}

/// What cannot be, or is not meant to be, on a radio with firmware of its own (`LAB_RADIO=fullmac`).
extension Trait where Self == ConditionTrait {
    static func onSoftMAC(_ reason: Comment) -> Self { .disabled(if: Lab.radioKind != .softMAC, reason) }

    /// For scenarios that need SAE in the driver of the device's radio.
    static var withSAE: Self { .disabled(if: !Lab.radioKind.hasSAE, "brcmfmac has no SAE here before Linux 6.18") }

    /// What is about the faults of such a radio.
    static var onFullMAC: Self {
        .disabled(if: Lab.radioKind != .fullMAC, "LAB_RADIO=fullmac plays it")
    }
}

extension NetworkSecurity {
    /// The two kinds of a network with one password, as far as the device's radio can be in them.
    static let ofOnePassword: [Self] =
        [.wpa2("home-password")] + (Lab.radioKind.hasSAE ? [.wpa3("home-password")] : [])
}

/// Whether the core scenarios are wanted alone.
let isCore = getenv("LAB_SCENARIOS").map { String(cString: $0) } == "core"

/// Notes that the running scenario has failed, also where an expectation lets it go on.
extension Trait where Self == IssueHandlingTrait {
    static var keepingRecordsOfFailures: Self {
        .compactMapIssues { issue in
            hasFailed.withLock { $0 = true }
            return issue
        }
    }
}

/// There is one air, so one scenario runs at a time.
private let hasFailed = Mutex(false)

/// Runs `body` in a fresh lab; the records of a scenario that failed are kept. The agent's record must replay
/// exactly.
func scenario(
    _ name: String, accessPoints: Int = 1, country: String = "CN", spare: SpareStation? = nil,
    isolation: isolated (any Actor)? = #isolation,
    body: (Lab) async throws -> Void
) async throws {
    try await Lab.run(name, accessPoints: accessPoints, country: country, spare: spare) { lab in
        hasFailed.withLock { $0 = false }
        try await body(lab)
        if await lab.isRecorded { expectReplay(in: lab) }
        if hasFailed.withLock({ $0 }) { await lab.keepRecords() }
    }
}

/// The policy decides as it did in the agent, from nothing but what was recorded: it has no other inputs.
private func expectReplay(in lab: Lab) {
    do throws(RecordError) {
        let runs = try RecordReader.read(Device.record(in: lab))
        #expect(runs.contains { !$0.steps.isEmpty }, "the agent recorded nothing")
        for run in runs {
            var replay = Replay(of: run, settings: run.settings)
            let difference = run.steps.lazy.map { replay.handle($0) }.first(where: \.isDifferent)
            if let difference {
                Issue.record(
                    "line \(difference.step.line): recorded \(difference.step.actions), now \(difference.actions)")
            }
            if case .gap(_, let missed) = run.end { Issue.record("\(missed) events were not recorded") }
        }
    } catch {
        Issue.record("\(error)")
    }
}

/// Events in the order in which they came, to wait for the next one that matters.
@AgentLoop
final class Journal<Event: Sendable> {
    private(set) var events: [Event] = []
    /// How many of them a wait has passed over.
    private var read = 0

    nonisolated init() {}

    func record(_ event: Event) { events.append(event) }

    /// The next event that matches, past or to come; those before it are passed over.
    @discardableResult
    func next(within limit: Duration = .seconds(20), where matches: (Event) -> Bool) async throws -> Event {
        let start = read
        do {
            try await eventually(within: limit, "an event") {
                read = events[start...].firstIndex(where: matches).map { $0 + 1 } ?? start
                return read > start
            }
        } catch LabError.timedOut {
            throw LabError.unexpected("an event was waited for in vain; what came: \(events[start...])")
        }
        return events[read - 1]
    }
}

extension ClientError {
    /// The device's own error code, if it was the device that refused.
    var code: ErrorCode? { if case .refused(let error) = self { error.code } else { nil } }
}
