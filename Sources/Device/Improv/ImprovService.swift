import AgentModel
import Linux

/// Connection to Improv's clients over one medium.
@AgentLoop
public protocol ImprovTransport: AnyObject {
    func send(_ state: ImprovState)
    func send(_ error: ImprovError)
    func send(_ result: ImprovResult)
    func advertise(_ isWanted: Bool)
    func rename(_ name: String)
}

@AgentLoop
public final class ImprovService {
    private var machine: ImprovMachine
    private let agent: ImprovAgent
    private let identify: IdentifySignal
    private let log: @Sendable (String) -> Void
    private weak var transport: (any ImprovTransport)?
    private var timer: LoopTimer?
    private var following: Task<Void, Never>?

    public init(
        _ settings: ImprovSettings, medium: ImprovMedium, agent: ImprovAgent, identify: IdentifySignal,
        logging log: @escaping @Sendable (String) -> Void
    ) {
        machine = ImprovMachine(settings, medium: medium, at: .now)
        (self.agent, self.identify, self.log) = (agent, identify, log)
    }

    public var capabilities: ImprovCapabilities { machine.capabilities }

    /// Starts to follow the agent. Keeps only a weak reference to the transport.
    public func start(_ transport: any ImprovTransport) {
        self.transport = transport
        let agent = agent
        following = Task { [weak self] in
            await agent.follow { device in
                if let device { self?.transport?.rename(device.name) }
                self?.handle(.device(device))
            }
        }
    }

    public func end() { following?.cancel() }

    public func handle(_ event: ImprovMachine.Event) {
        for effect in machine.handle(event, at: .now) { perform(effect) }
        timer = machine.deadline.map { deadline in
            LoopTimer(after: deadline - .now) { [weak self] in self?.handle(.tick) }
        }
    }

    private func perform(_ effect: ImprovMachine.Effect) {
        switch effect {
        case .state(let state): transport?.send(state)
        case .error(let error): transport?.send(error)
        case .result(let result): transport?.send(result)
        case .advertise(let isWanted): transport?.advertise(isWanted)
        case .identify: identify.show()
        case .log(let text): log(text)
        case .join(let ssid, let password):
            log("\(ssid): joining")
            let agent = agent
            Task { [weak self] in
                let outcome = await agent.join(ssid, password)
                if case .connected = outcome { self?.log("\(ssid): joined") }
                self?.handle(.joined(outcome))
            }
        case .scan:
            let agent = agent
            Task { [weak self] in
                let networks = await agent.scan()
                self?.handle(.scanned(networks))
            }
        }
    }
}
