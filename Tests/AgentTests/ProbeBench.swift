import AgentCore
import AgentModel
import Connectivity
import Failover
import Linux
import NIOPosix
import Synchronization
import TestTime

@testable import Agent

/// A watch with a fake world around it, on the Wi-Fi link with the epoch 1.
@AgentLoop
final class ProbeBench {
    let watch: ConnectivityMonitor
    let world: FakeWorld
    let targets: [FakeTarget]
    private(set) var policyEvents: [PolicyEvent] = []
    private(set) var published = 0
    private(set) var changes = 0
    private var waiting: CheckedContinuation<PolicyEvent, Never>?
    /// Of the check under way.
    private let findings = Observed<ReachFindings?>(nil)

    /// How often the source was asked.
    var questions: Int { world.questions.load(ordering: .relaxed) }

    init(
        _ required: ReachLevel, source finding: ValidationFinding? = nil, gateway: Bool = true,
        targets: [FakeTarget] = [], api: CaptiveState? = nil, headStart: Duration = ProbeBench.ever
    ) {
        let clock = Clock.ofTargets
        let group = MultiThreadedEventLoopGroup.singleton
        let world = FakeWorld(finding ?? .online, gateway: gateway)
        self.world = world
        self.targets = targets
        let look: @Sendable (InterfaceNetwork, Duration) async -> ValidationCheck = { _, _ in await world.look() }
        watch = ConnectivityMonitor(
            required: required,
            dependencies: ConnectivityMonitor.Dependencies(
                validateOnline: finding == nil ? nil : look,
                findPortal: { _, _ in api.map { _ in "https://portal.example/api" } },
                askPortal: { _, _, _ in
                    CaptiveCheck(result: api.map { .success($0) } ?? .failure(.contentType), cost: 100)
                },
                askGateway: { _, _ in world.askGateway() },
                wifi: InterfaceNetwork(interface: "wlan9", on: group),
                unbound: InterfaceNetwork(interface: nil, on: group), now: { clock.now }),
            budget: QuestionBudget.Limits())
        // A machine that is busy is no reason for silence.
        watch.wait(forCheck: Self.ever, headStart: headStart)
        watch.watch(targets.map(\.watched), signingInBy: nil)
        watch.callbacks = ConnectivityMonitor.Callbacks(
            policy: { [unowned self] event in
                policyEvents.append(event)
                waiting?.resume(returning: event)
                waiting = nil
            }, publish: { [unowned self] _ in published += 1 },
            handled: { [unowned self] in findings.change { $0 = watch.state.checkFindings } },
            changed: { [unowned self] in changes += 1 })
        watch.follow(.wifi(epoch: 1))
        (changes, published) = (0, 0)
    }

    /// The next event for the policy.
    func next(_ action: () -> Void) async -> PolicyEvent {
        await withCheckedContinuation { continuation in
            waiting = continuation
            action()
        }
    }

    func probe(epoch: UInt64 = 1) async -> PolicyEvent {
        await next { watch.probe(epoch: epoch, within: Self.ever) }
    }

    /// A probe whose time is over as soon as so much has been found.
    func probe(until isFound: @escaping @Sendable (ReachFindings) -> Bool) async -> PolicyEvent {
        await next {
            watch.probe(epoch: 1, within: Self.ever)
            Task {
                try await findings.wait("that has been found") { $0.map(isFound) ?? true }
                watch.handle(.timeIsOver)
            }
        }
    }

    static let ever = Duration.seconds(3600)

    /// A target's connection is in another state, and says so.
    func become(_ state: ConnectionState, _ reason: ReachProblem? = nil, target index: Int = 0) {
        targets[index].become(state, reason)
        watch.changed(watch.targets[index])
    }

    func useUpTheBudget() { while watch.spendQuestion(for: .probe) {} }
}

/// The findings of a source of validation, and how often it was asked.
final class FakeWorld: Sendable {
    let finding: Mutex<ValidationFinding>
    let questions = Atomic(0)
    let gatewayQuestions = Atomic(0)
    /// Whether the source says nothing before it is given up.
    let isSilent = Atomic(false)
    private let gateway: Bool

    init(_ finding: ValidationFinding, gateway: Bool) {
        self.finding = Mutex(finding)
        self.gateway = gateway
    }

    func look() async -> ValidationCheck {
        questions.add(1, ordering: .relaxed)
        if isSilent.load(ordering: .relaxed) { await untilCancelled() }
        return ValidationCheck(finding: finding.withLock { $0 }, cost: 1000)
    }

    func askGateway() -> Bool {
        gatewayQuestions.add(1, ordering: .relaxed)
        return gateway
    }
}

final class FakeTarget: Sendable {
    let host: String
    private let isTLS: Bool
    private let isFar: Bool
    private let state = Mutex(
        (status: ConnectionStatus(state: .setup, since: .now), answer: ReachProblem?.none, calls: [String]()))
    private let words = Mutex<[@Sendable (WatchedTarget.Word) -> Void]>([])
    private let readyWhenProbed = Atomic(false)
    let isSilent = Atomic(false)

    init(_ host: String, isTLS: Bool = false, isFar: Bool = true) {
        (self.host, self.isTLS, self.isFar) = (host, isTLS, isFar)
    }

    var answer: ReachProblem? {
        get { state.withLock { $0.answer } }
        set { state.withLock { $0.answer = newValue } }
    }
    var calls: [String] { state.withLock { $0.calls } }
    /// By which its connections tell, the first one first.
    var tellers: [@Sendable (WatchedTarget.Word) -> Void] { words.withLock { $0 } }

    func become(_ new: ConnectionState, _ reason: ReachProblem? = nil) {
        state.withLock {
            // What is told of a connection is told after it.
            $0.status = ConnectionStatus(
                state: new, reason: reason, isFar: new == .ready && isFar, since: Clock.ofTargets.now + .milliseconds(1)
            )
            Clock.ofTargets.pass(.milliseconds(2))
        }
    }

    var becomesReadyWhenProbed: Bool {
        get { readyWhenProbed.load(ordering: .relaxed) }
        set { readyWhenProbed.store(newValue, ordering: .relaxed) }
    }

    private func probed() async -> ReachProblem? {
        record("probe")
        if isSilent.load(ordering: .relaxed) { await untilCancelled() }
        if becomesReadyWhenProbed { become(.ready) }
        return answer
    }

    private func record(_ call: String) { state.withLock { $0.calls.append(call) } }

    @AgentLoop var watched: WatchedTarget {
        WatchedTarget(name: host, host: host, port: 1883, isTLS: isTLS) { _, _, tell in
            self.record("open")
            self.words.withLock { $0.append(tell) }
            return WatchedTarget.Line(
                status: { self.state.withLock { $0.status } }, probe: { _ in await self.probed() },
                cancel: { self.record("cancel") })
        }
    }
}

/// A clock that goes when it is told to.
final class Clock: Sendable {
    /// Of the connections to targets, each of which takes it two milliseconds further: next to nothing is earned
    /// meanwhile, however long a test takes.
    static let ofTargets = Clock()

    private let moment = Mutex(Instant(milliseconds: 1_000_000))

    var now: Instant { moment.withLock { $0 } }

    func pass(_ duration: Duration) { moment.withLock { $0 = $0 + duration } }
}
