import Failover
import Glibc
import Lab
import Simulation
import Synchronization
import Testing

/// Every suite of scenarios: one scenario after the other, for there is one air. Some wait for what the device does by
/// itself after minutes.
@Suite(.serialized, .onRadios, .keepingRecordsOfFailures, .timeLimit(.minutes(10)))
enum Radios {}

/// Skipped where the kernel has no simulated radios.
extension Trait where Self == ConditionTrait {
    static var onRadios: Self {
        .disabled(if: Lab.obstacle != nil, Comment(rawValue: Lab.obstacle ?? ""))
    }
}

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

/// Runs `body` in a fresh lab; the records of a scenario that failed are kept. What the agent recorded must replay exactly.
func scenario(
    _ name: String, accessPoints: Int = 1, country: String = "CN", spare: SpareStation? = nil,
    isolation: isolated (any Actor)? = #isolation,
    body: (Lab) async throws -> Void
) async throws {
    try await Lab.run(name, accessPoints: accessPoints, country: country, spare: spare) { lab in
        hasFailed.withLock { $0 = false }
        try await body(lab)
        expectReplay(in: lab)
        if hasFailed.withLock({ $0 }) { await lab.keepRecords() }
    }
}

/// The policy decides as it did in the agent, from nothing but what was recorded: it has no other inputs.
private func expectReplay(in lab: Lab) {
    // There is nothing to replay where no agent was started.
    guard access(lab.directory + "/altnet/device-id", F_OK) == 0 else { return }
    let path = Device.record(in: lab)
    do throws(RecordError) {
        for run in try RecordReader.read(path) {
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
