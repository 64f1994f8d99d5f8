import AgentCore
import AgentModel
import Failover

/// Trace of the first commanded switch: each event, the policy's actions and the core's effects, in order.
public struct SwitchTrace: Sendable {
    public private(set) var rows: [Row] = []
    private var isOver = false

    public struct Row: Sendable, Equatable {
        public let milliseconds: Int64
        /// Source of an event; `policy` for the policy's actions and `core` for the core's effects.
        public let who: String
        public let text: String
    }

    init() {}

    /// Traces a recording, which has only the policy's events and actions.
    public init(_ runs: [RecordedRun]) {
        for run in runs where rows.isEmpty {
            for step in run.steps { record(step.event, step.actions, at: step.at.milliseconds) }
        }
    }

    /// Traces a run of a scenario with the agent's core.
    public init(_ scenario: Scenario, seed: UInt64) {
        let world = World(scenario, seed: seed)
        let stations = scenario.radio.stations
        var runner = AgentRunner(world, stations: stations)
        runner.trace = SwitchTrace()
        let account = Account(
            RunResult(scenario: scenario.name, policy: Simulation.altnet, seed: seed), world: world, isRecording: false)
        var run = DeviceRun(
            device: SimulatedDevice(
                in: world, stations: stations, timing: StackTiming(), horizon: Simulation.horizon.milliseconds,
                account: account), runner: runner)
        run.run(until: scenario.duration.milliseconds)
        self = run.runner.trace ?? SwitchTrace()
    }

    mutating func record(_ event: AgentEvent, _ effects: [Effect], at now: Int64) {
        if rows.isEmpty { guard case .request(_, .switchNetwork) = event else { return } }
        guard !isOver else { return }
        let count = rows.count
        add(Self.source(of: event), Self.words(event), at: now)
        for effect in effects {
            switch effect {
            case .record(let event, let actions): add(event, actions, at: now)
            case .publish(.switchProgress(let status)):
                add("core", "publish \(status.phase.rawValue)", at: now)
                isOver = status.phase.isOutcome
            case .commit(_, let change): add("core", "commit \(Self.words(change.kind))", at: now)
            case .publish, .log, .wait, .lookForTraffic, .readConnectivity, .service, .measure: break
            default: add("core", Self.words(effect), at: now)
            }
        }
        // Leave out events without consequences.
        if rows.count == count + 1 { rows.removeLast() }
    }

    private mutating func record(_ event: PolicyEvent, _ actions: [PolicyAction], at now: Int64) {
        if rows.isEmpty { guard case .switchTo = event else { return } }
        guard !isOver else { return }
        add(event, actions, at: now)
        isOver = actions.contains { if case .store(.switchEnded) = $0 { true } else { false } }
    }

    private mutating func add(_ event: PolicyEvent, _ actions: [PolicyAction], at now: Int64) {
        guard !actions.isEmpty else { return }
        add("policy", "\(event.name): \(actions.map(Self.words).joined(separator: ", "))", at: now)
    }

    private mutating func add(_ who: String, _ text: String, at now: Int64) {
        rows.append(Row(milliseconds: now, who: who, text: text))
    }

    private static func source(of event: AgentEvent) -> String {
        switch event {
        case .request, .answerSent: "app"
        case .committed, .refusedCommit: "disk"
        case .supplicant, .linkAnswer, .joinRefused: "supplicant"
        case .found: "probe"
        case .timer: "timer"
        default: "kernel"
        }
    }

    /// Returns the name of an enum case and of the cases in its associated values, such as `supplicant connected`.
    private static func words(_ value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .enum else { return "" }
        guard let content = mirror.children.first else { return "\(value)" }
        let values = Mirror(reflecting: content.value)
        let parts = values.displayStyle == .tuple ? values.children.map(\.value) : [content.value]
        return ([content.label ?? ""] + parts.map(words)).filter { !$0.isEmpty }.joined(separator: " ")
    }
}
