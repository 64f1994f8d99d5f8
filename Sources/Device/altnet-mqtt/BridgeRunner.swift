import AgentModel
import AppProtocol
import BrokerIO
import Linux
import MQTTBridge

/// Runs a ``Bridge`` on one thread: passes events in and performs its effects in their order.
struct BridgeRunner {
    private var bridge: Bridge
    private let options: BridgeOptions
    private let address: BrokerAddress
    private let secrets: BrokerSecrets
    private let socket: String
    /// Agent's port for apps, on this machine.
    private let port: Int
    private let memory: CommandMemory
    private let identify: () -> Void
    private let log: (String) -> Void

    private var agent: AgentSocket?
    private var broker: BrokerConnection?
    /// Connections to ``port``, by the tunnel's ID.
    private var tunnels: [String: ByteSocket] = [:]
    private var isOver = false
    private var waiting: [Bridge.Event] = []

    init(
        _ options: BridgeOptions, to address: BrokerAddress, _ secrets: BrokerSecrets, purpose: Bridge.Purpose,
        socket: String, port: Int, memory: CommandMemory, identify: @escaping () -> Void,
        log: @escaping (String) -> Void
    ) {
        var generator = SystemRandomNumberGenerator()
        bridge = Bridge(options.bridge, purpose: purpose, seed: generator.next(), remembered: memory.read())
        (self.options, self.address, self.secrets, self.socket) = (options, address, secrets, socket)
        (self.port, self.memory, self.identify, self.log) = (port, memory, identify, log)
    }

    /// Runs until the bridge ends.
    /// - Parameter limit: time limit; nil for none.
    /// - Returns: false after the time limit.
    mutating func run(until signals: ProcessSignals, within limit: Duration? = nil) -> Bool {
        let end = limit.map { Instant.now + $0 }
        perform(bridge.start(at: Self.moment))
        while !isOver {
            handleWaiting()
            if isOver { break }
            if let end, end <= Instant.now { return false }
            wait(signals, end)
        }
        return true
    }

    private mutating func handleWaiting() {
        while !isOver, !waiting.isEmpty { perform(bridge.handle(waiting.removeFirst(), at: Self.moment)) }
    }

    private mutating func wait(_ signals: ProcessSignals, _ end: Instant?) {
        let agentWaits = agent?.waits ?? []
        let brokerWaits = [broker?.wait].compactMap(\.self)
        let input: Readiness? = bridge.readsTunnels ? .readable : nil
        let tunnelWaits = tunnels.flatMap { id, socket in socket.waits(for: input).map { (id: id, wait: $0) } }
        let now = Instant.now
        let limits = [bridge.deadline.map { $0 - now }, end.map { $0 - now }, broker?.patience].compactMap { $0 }
        let isReady = Readiness.wait(
            for: [(signals.descriptor, .readable)] + agentWaits + brokerWaits + tunnelWaits.map(\.wait),
            within: limits.min().map { max($0, .zero) })
        if isReady[0], !signals.drain().isEmpty { waiting.append(.stop) }
        if let agent, isReady[1..<(1 + agentWaits.count)].contains(true) {
            for news in agent.read() {
                switch news {
                case .line(let line): waiting.append(.agentSaid(line))
                case .ended(let reason):
                    self.agent = nil
                    waiting.append(.agentLost(reason))
                }
            }
        }
        if let broker {
            broker.proceed(isReady: isReady.dropFirst(1 + agentWaits.count).prefix(brokerWaits.count).contains(true))
            waiting += broker.drainEvents()
        }
        let ready = zip(tunnelWaits, isReady.suffix(tunnelWaits.count)).filter(\.1).map(\.0.id)
        for id in Set(ready) { proceed(id, isRead: input != nil) }
        if let deadline = bridge.deadline, deadline <= Instant.now { waiting.append(.tick) }
    }

    private mutating func proceed(_ id: String, isRead: Bool) {
        guard let socket = tunnels[id] else { return }
        let hasFailed = !socket.flush()
        switch isRead ? socket.read() : .nothing {
        case .bytes(let bytes): waiting.append(.tunnelSaid(id, bytes))
        case .nothing where !hasFailed: break
        case .nothing, .ended:
            tunnels[id] = nil
            waiting.append(.tunnelEnded(id))
        }
    }

    private mutating func perform(_ effects: [Bridge.Effect]) {
        for effect in effects {
            switch effect {
            case .connectAgent:
                do throws(SystemError) {
                    agent = try AgentSocket(path: socket)
                    waiting.append(.agentConnected)
                } catch {
                    waiting.append(.agentLost("\(error)"))
                }
            case .disconnectAgent:
                agent = nil
                waiting.removeAll { if case .agentSaid = $0 { true } else { false } }
            case .sendToAgent(let line): agent?.write(line)
            case .connectBroker(let hello):
                do throws(BrokerFault) {
                    broker = try BrokerConnection(hello, to: address, user: options.user, secrets)
                } catch {
                    waiting.append(.brokerFailed(BrokerFailure(.refused, "\(error)")))
                }
            case .disconnectBroker(let isGoodbye):
                broker?.close(isGoodbye: isGoodbye)
                broker = nil
                waiting.removeAll { event in
                    switch event {
                    case .brokerAccepted, .brokerFailed, .acknowledged, .message: true
                    default: false
                    }
                }
            case .subscribe(let list): broker?.subscribe(list)
            case .publish(let number, let message): broker?.publish(number, message)
            case .remember(let ids):
                do throws(SystemError) { try memory.write(ids) } catch { log("\(error)") }
            case .identify: identify()
            case .connectTunnel(let id):
                do throws(SystemError) {
                    // An app's longest line fits twice.
                    tunnels[id] = try ByteSocket(port: port, longestOutput: 2 * ProtocolLimits.lineLength)
                } catch {
                    waiting.append(.tunnelEnded(id))
                }
            case .sendToTunnel(let id, let bytes): tunnels[id]?.write(bytes)
            case .disconnectTunnel(let id): tunnels[id] = nil
            case .log(let text): log(text)
            case .over: isOver = true
            }
        }
        // libmosquitto may have reported events during the effects.
        if let broker { waiting += broker.drainEvents() }
    }

    private static var moment: Bridge.Moment {
        Bridge.Moment(.now, time: ClockKnowledge.read().isKnown ? .now : nil)
    }
}
