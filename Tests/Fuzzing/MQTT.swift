import AgentModel
import AppProtocol

@testable import MQTTBridge

extension FuzzTarget {
    /// A message on one of the device's topics, twice: what reaches the agent is a request that it may get, each command
    /// once; what is told goes where it may; and no plain password passes.
    static let mqtt = FuzzTarget(
        "mqtt", "what a broker, and all who publish there, send to the bridge", longest: 2048,
        seeds: { MQTTSample.all },
        preparing: {
            let connected = MQTTSample.connected
            return { bytes in
                guard let kind = bytes.first else { return }
                var bridge = connected
                var message = MQTTSample.message(kind, bytes.dropFirst())
                let first = bridge.handle(.message(message), at: MQTTSample.moment(1))
                check(first, message)
                // The broker has not heard the acknowledgement.
                message.responseTopic = nil
                let again = bridge.handle(.message(message), at: MQTTSample.moment(2))
                check(again, message)
                for case .sendToAgent(let line) in again {
                    let type = (try? Request(line: line))?.type
                    precondition(type?.isCommand == false, "a command was carried out twice")
                }
                precondition(bridge.waitingMessages <= BridgeLimits.queuedMessages)
            }
        })

    /// A line that the agent says, between the bridge's questions.
    static let mqttAgent = FuzzTarget(
        "mqtt-agent", "what the agent's socket says to the bridge", longest: 2048, seeds: { MQTTSample.lines }
    ) { bytes in
        var bridge = Bridge(BridgeSettings(), seed: 1)
        _ = bridge.start(at: MQTTSample.moment(0))
        _ = bridge.handle(.agentConnected, at: MQTTSample.moment(0))
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            _ = bridge.handle(.agentSaid(Array(line)), at: MQTTSample.moment(1))
        }
        precondition(bridge.deadline.map { $0 >= MQTTSample.moment(0).now } ?? true, "it is due in the past")
    }
}

private func check(_ effects: [Bridge.Effect], _ message: IncomingMessage) {
    for effect in effects {
        switch effect {
        case .publish(_, let told):
            precondition(Topics.isName(told.topic) && told.size <= BridgeLimits.packet)
            let isOwn = told.topic.hasPrefix(MQTTSample.base + "/")
            precondition(isOwn || told.topic == message.responseTopic || told.topic.hasPrefix("homeassistant/device/"))
        case .sendToAgent(let line):
            guard let request = try? Request(line: line) else { preconditionFailure("it is no request") }
            precondition(request.type.role <= .switch && !message.isRetained)
            precondition(!line.contains(sequence: Array(#""password""#.utf8)), "a plain password goes on")
        case .remember(let ids): precondition(ids.count <= BridgeLimits.rememberedCommands)
        case .log(let text): precondition(text.utf8.count < 1024)
        case .identify: break
        case .connectTunnel, .sendToTunnel, .disconnectTunnel:
            precondition(message.topic.hasPrefix(MQTTSample.base + "/tunnel/") && !message.isRetained)
        case .connectAgent, .disconnectAgent, .connectBroker, .disconnectBroker, .subscribe, .over:
            preconditionFailure("a message has it do \(effect)")
        }
    }
}

extension [UInt8] {
    fileprivate func contains(sequence: [UInt8]) -> Bool {
        guard count >= sequence.count else { return false }
        return (0...(count - sequence.count)).contains { self[$0..<($0 + sequence.count)].elementsEqual(sequence) }
    }
}

private enum MQTTSample {
    static let base = "altnet/bench-01"

    static func moment(_ second: Int64) -> Bridge.Moment {
        Bridge.Moment(
            Instant(milliseconds: second * 1000), time: Timestamp(millisecondsSince1970: 1_770_091_506_000 + second))
    }

    /// The lowest bits are its topic, the others its options.
    static func message(_ kind: UInt8, _ payload: ArraySlice<UInt8>) -> IncomingMessage {
        let text = String(decoding: payload.prefix(64), as: UTF8.self)
        let topics = [
            base + "/request", base + "/home-assistant", "homeassistant/status", "altnet/firmware", text,
            base + "/tunnel/0123456789abcdef0123456789abcdef/up",
        ]
        return IncomingMessage(
            topic: topics[Int(kind & 7) % topics.count], payload: Array(payload), isRetained: kind & 8 != 0,
            responseTopic: kind & 16 != 0 ? text : nil, correlation: kind & 32 != 0 ? Array(payload) : nil,
            expiry: kind & 64 != 0 ? .seconds(60) : nil)
    }

    static var connected: Bridge {
        var bridge = Bridge(BridgeSettings(), seed: 1)
        _ = bridge.start(at: moment(0))
        _ = bridge.handle(.agentConnected, at: moment(0))
        for line in lines { _ = bridge.handle(.agentSaid(line), at: moment(0)) }
        _ = bridge.handle(.brokerAccepted(BrokerSession(isPresent: false)), at: moment(0))
        precondition(bridge.isConnected)
        return bridge
    }

    static var lines: [[UInt8]] {
        let capabilities = Capabilities(maxBackupNetworks: 3, deviceId: "bench-01", firmware: "0.1.0", features: [])
        let network = NetworkStatus(
            state: .online, uplink: .wifi, flags: .canSwitch, addresses: ["10.0.0.2"],
            since: Timestamp(millisecondsSince1970: 0))
        let answers: [Response.Body] = [
            .capabilities(capabilities), .subscribed(Subscribed(seq: 1, stream: "a")), .network(network),
            .backups(BackupList(max: 3, revision: 1, networks: [])),
        ]
        return answers.map { Response(id: "altnet-mqtt", result: .success($0)).line() }
    }

    static var all: [[UInt8]] {
        let requests = [
            #"{"v":1,"id":"q1","type":"network.get"}"#,
            #"{"v":1,"id":"c1","type":"scan.start","expires":"2026-02-03T04:06:00Z"}"#,
            #"{"v":1,"id":"c2","type":"network.switch","body":{"ssid":"Cafe","security":"open"}}"#,
            #"{"v":1,"id":"c3","type":"network.switch","body":{"ssid":"Attic","password":"correct horse"}}"#,
        ]
        let commands = [
            #"{"action":"scan","expires":1770091560}"#, #"{"action":"switch","network":"Home","expires":1770091560}"#,
            #"{"action":"home","expires":1770091560}"#, #"{"action":"identify","expires":1770091560}"#,
        ]
        return requests.map { [64] + Array($0.utf8) } + commands.map { [1] + Array($0.utf8) }
            + [
                [2] + Array("online".utf8), [3] + Array("0.2.0".utf8), [4] + Array("a/b".utf8),
                [16] + Array("a/b".utf8), [5, 0, 0, 0, 0, 22, 3, 1], [5],
            ]
    }
}
