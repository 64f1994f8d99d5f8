import AgentModel
import AppProtocol
import JSONValues
import MQTTBridge

/// A bridge with the moments of its events in seconds, its agent and its broker.
struct Talk {
    static let deviceId = "bench-01"
    static let base = "altnet/bench-01"
    /// 2026-02-03T04:05:06Z, at second 0.
    static let start: Int64 = 1_770_091_506_000

    var bridge: Bridge
    var isClockKnown = true
    /// What the broker was sent and has not acknowledged.
    var unacknowledged: [Int] = []
    private(set) var second = 0.0

    init(
        _ settings: BridgeSettings = BridgeSettings(), purpose: Bridge.Purpose = .serve, seed: UInt64 = 1,
        remembered: [String] = []
    ) {
        bridge = Bridge(settings, purpose: purpose, seed: seed, remembered: remembered)
    }

    mutating func at(_ second: Double) -> Bridge.Moment {
        self.second = second
        let milliseconds = Int64((second * 1000).rounded())
        return Bridge.Moment(
            Instant(milliseconds: milliseconds),
            time: isClockKnown ? Timestamp(millisecondsSince1970: Self.start + milliseconds) : nil)
    }

    mutating func callAsFunction(_ second: Double, _ event: Bridge.Event) -> [Bridge.Effect] {
        let effects = bridge.handle(event, at: at(second))
        for case .publish(let number, let message) in effects where message.isAcknowledged {
            unacknowledged.append(number)
        }
        return effects
    }

    /// The same, with the broker acknowledging all that it was sent, and all that this brings.
    mutating func settled(_ second: Double, _ event: Bridge.Event) -> [Bridge.Effect] {
        var effects = self(second, event)
        while !unacknowledged.isEmpty { effects += self(second, .acknowledged(unacknowledged.removeFirst())) }
        return effects
    }

    /// Ticks until there is nothing to wait for before that moment.
    mutating func run(until end: Double) -> [Bridge.Effect] {
        var effects: [Bridge.Effect] = []
        while let deadline = bridge.deadline, Double(deadline.milliseconds) / 1000 <= end {
            effects += settled(max(Double(deadline.milliseconds) / 1000, second), .tick)
        }
        second = end
        return effects
    }

    /// The agent answers the oldest question.
    mutating func agent(_ second: Double, id: String = "altnet-mqtt", _ body: Response.Body) -> [Bridge.Effect] {
        self(second, .agentSaid(Response(id: id, result: .success(body)).line()))
    }

    mutating func event(_ second: Double, _ body: AppProtocol.Event.Body, seq: Int = 42) -> [Bridge.Effect] {
        settled(
            second,
            .agentSaid(
                AppProtocol.Event(seq: seq, time: Timestamp(millisecondsSince1970: Self.start), body: body).line()))
    }

    /// The agent is there and tells of the device.
    mutating func meetAgent(_ second: Double = 0, network: NetworkStatus = .online()) -> [Bridge.Effect] {
        var effects = second == 0 ? bridge.start(at: at(0)) : []
        effects += self(second, .agentConnected)
        effects += agent(
            second,
            .capabilities(Capabilities(maxBackupNetworks: 3, deviceId: Self.deviceId, firmware: "0.1.0", features: [])))
        effects += agent(second, .subscribed(Subscribed(seq: 41, stream: "run-1")))
        effects += agent(second, .network(network))
        effects += agent(second, .backups(.two))
        return effects
    }

    /// Both ends are there.
    static func connected(
        _ settings: BridgeSettings = BridgeSettings(), remembered: [String] = [], isPresent: Bool = false
    ) -> (talk: Talk, effects: [Bridge.Effect]) {
        var talk = Talk(settings, remembered: remembered)
        var effects = talk.meetAgent()
        effects += talk.settled(
            1, .brokerAccepted(BrokerSession(isPresent: isPresent, localAddress: "192.168.10.23")))
        return (talk, effects)
    }

    /// A request comes in, and what of it goes on.
    mutating func request(
        _ second: Double, _ payload: String, expiry: Duration? = .seconds(60), isRetained: Bool = false,
        responseTopic: String? = "app/answers", correlation: [UInt8]? = [7]
    ) -> [Bridge.Effect] {
        settled(
            second,
            .message(
                IncomingMessage(
                    topic: Self.base + "/request", payload: Array(payload.utf8), isRetained: isRetained,
                    responseTopic: responseTopic, correlation: correlation, expiry: expiry)))
    }
}

extension [Bridge.Effect] {
    var published: [OutgoingMessage] {
        compactMap { if case .publish(_, let message) = $0 { message } else { nil } }
    }
    /// Of the messages, those to one topic.
    func published(_ topic: String) -> [OutgoingMessage] { published.filter { $0.topic == topic } }
    /// The same below the device's.
    func told(_ topic: String) -> [JSONValue?] {
        published(Talk.base + "/" + topic).map { JSONValue(line: $0.payload) }
    }
    var lines: [JSONValue] {
        compactMap { if case .sendToAgent(let line) = $0 { JSONValue(line: line) } else { nil } }
    }
    var said: [String] { compactMap { if case .log(let text) = $0 { text } else { nil } } }
    var hello: BrokerHello? {
        for case .connectBroker(let hello) in self { return hello }
        return nil
    }
    var remembered: [String]? {
        var ids: [String]?
        for case .remember(let new) in self { ids = new }
        return ids
    }
    /// The codes of the errors that were answered.
    var refusals: [String] {
        published.compactMap { JSONValue(line: $0.payload)?["error"]?["code"]?.text }
    }
    /// The members that they name.
    var faults: [String] {
        published.compactMap { JSONValue(line: $0.payload)?["error"]?["details"]?["field"]?.text }
    }
}

extension SSID {
    static func named(_ text: String) -> SSID {
        // swift-format-ignore: NeverUseForceTry
        try! SSID(text)
    }
}

extension NetworkHash {
    static func of(_ text: String) -> NetworkHash {
        NetworkHash(localKey: Secret(text: "0123456789abcdef"), ssid: .named(text), password: Secret(text: "swordfish"))
    }
}

extension Timestamp {
    static let moment = Timestamp(millisecondsSince1970: Talk.start)
}

extension NetworkStatus {

    static func online(
        _ name: String = "HomeNet", address: String = "192.168.10.23", signal: Int = -52,
        connectivity: Connectivity? = nil
    ) -> NetworkStatus {
        NetworkStatus(
            state: .online, uplink: .wifi, flags: [.canUpdateBackups, .canSwitch], ssid: .named(name),
            bssid: BSSID("02:00:00:00:01:00"), signal: signal, frequency: Frequency(megahertz: 2412), hash: .of(name),
            addresses: [address], since: .moment, connectivity: connectivity)
    }

    static let offline = NetworkStatus(
        state: .offline, uplink: nil, flags: [.canUpdateBackups, .canSwitch], since: .moment)
}

extension BackupList {
    static func of(_ names: [String], home: String = "HomeNet") -> BackupList {
        func network(_ name: String) -> BackupNetwork {
            BackupNetwork(ssid: .named(name), hash: .of(name), security: .wpa2, isHidden: false)
        }
        return BackupList(max: 3, revision: 7, networks: names.map(network), home: network(home))
    }

    static let two = of(["BackupNet"])
}
