import AgentModel
import AppProtocol
import MQTTBridge
import Simulation
import Testing

@testable import Fleet

/// A device of a fleet: the real core and the real bridge, without a broker.
// covers: seed/user-fleet
@Suite struct FleetDeviceTests {
    @Test func itTellsWhereItIs() throws {
        var bench = try Bench()
        bench.connect()
        bench.pass(10)
        #expect(bench.device.isConnected)
        #expect(bench.payload(of: "altnet/device-7/availability") == "online")
        let status = try #require(bench.payload(of: "altnet/device-7/status"))
        #expect(status.contains(#""name":"Home""#) && status.contains(#""state":"online""#))
    }

    @Test func whatHappensToItsWorldIsTold() throws {
        var bench = try Bench()
        bench.connect()
        bench.pass(10)
        bench.reported = []
        bench.perform(try bench.device.change("home off", at: bench.now, bench.time))
        bench.pass(20)
        #expect(bench.payload(of: "altnet/device-7/status")?.contains(#""name":"Backup""#) == true)
        #expect(bench.reported.contains { $0.topic == "altnet/device-7/decision" })
    }

    @Test func aCommandIsAnsweredByTheCore() throws {
        var bench = try Bench()
        bench.connect()
        bench.pass(10)
        bench.reported = []
        bench.receive(#"{"v":1,"id":"q1","type":"network.get"}"#)
        bench.receive(#"{"v":1,"id":"s1","type":"scan.start","body":{}}"#, for: .seconds(60))
        let answers = bench.reported.filter { $0.topic == "altnet/device-7/response" }
            .map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(answers.count == 2)
        #expect(answers.first?.contains(#""id":"q1","ok":true"#) == true)
        #expect(answers.last?.contains(#""id":"s1","ok":true"#) == true)
    }

    /// A newer password that a fleet's owner stages is kept, once for each name of the change.
    @Test func aPasswordIsStagedOnce() throws {
        var bench = try Bench()
        bench.connect()
        bench.pass(10)
        let before = bench.device.state
        let sealed = try bench.sealed("Home", "correct horse 2", changeId: "2026-12")
        bench.receive(sealed, for: .seconds(60))
        let after = bench.device.state
        #expect(after != before)
        bench.receive(sealed, for: .seconds(60))
        #expect(bench.device.state == after)
    }
}

private struct Bench {
    var device: FleetDevice
    var now = Instant(milliseconds: 1_000_000)
    var time = Timestamp(millisecondsSince1970: 1_770_000_000_000)
    var reported: [OutgoingMessage] = []
    private var isConnecting = false

    init() throws {
        let scenario = try ScenarioLibrary.scenario(named: "quiet")
        let state = RealTimeDevice.firstState(of: scenario) { _, _ in Secret([UInt8](repeating: 7, count: 32)) }
        var settings = BridgeSettings()
        settings.discoveryPrefix = nil
        settings.role = .manage
        device = try FleetDevice(
            id: "device-7", scenario, state: state, localKey: Secret(text: FleetDevice.localKey(of: "device-7")),
            settings, seed: 7, at: now, time)
    }

    mutating func connect() {
        perform(device.start(at: now, time))
        while !isConnecting { pass(1) }
        perform(device.handle([.brokerAccepted(BrokerSession(isPresent: false))], at: now, time))
    }

    /// In seconds.
    mutating func pass(_ seconds: Int64) {
        let end = now + .seconds(seconds)
        while now < end {
            let next = min(end, max(now + .milliseconds(1), device.due))
            time = Timestamp(millisecondsSince1970: time.millisecondsSince1970 + (next - now).milliseconds)
            now = next
            perform(device.tick(at: now, time))
        }
    }

    mutating func receive(_ line: String, for expiry: Duration? = nil) {
        let message = IncomingMessage(topic: "altnet/device-7/request", payload: Array(line.utf8), expiry: expiry)
        perform(device.handle([.message(message)], at: now, time))
        pass(2)
    }

    mutating func perform(_ effects: [Bridge.Effect]) {
        for effect in effects {
            switch effect {
            case .connectBroker: isConnecting = true
            case .publish(let number, let message):
                reported.append(message)
                if message.isAcknowledged { perform(device.handle([.acknowledged(number)], at: now, time)) }
            default: break
            }
        }
    }

    func payload(of topic: String) -> String? {
        reported.last { $0.topic == topic }.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    /// The line of a staged password, sealed as the operator of a fleet does.
    mutating func sealed(_ ssid: String, _ password: String, changeId: String) throws -> String {
        receive(#"{"v":1,"id":"k1","type":"key.agree"}"#)
        let answer = try #require(payload(of: "altnet/device-7/response"))
        let key = try ServerLine.body(SealingKey.self, of: Array(answer.utf8))
        let operatorKey = try DeviceKey(
            deviceId: "device-7", localKey: Secret(text: FleetDevice.localKey(of: "device-7")))
        let staging = PasswordStaging(
            changeId: changeId, network: NewNetwork(ssid: try SSID(ssid), password: Secret(text: password)))
        let body = try Request.Body.stagePassword(staging).sealed(with: key, for: operatorKey)
        let proved = try ProvedRequest(
            Request(id: "p1", content: .device(body)),
            until: Timestamp(millisecondsSince1970: time.millisecondsSince1970 + 60_000), by: operatorKey)
        return String(decoding: try Request(id: "p1", content: .prove(proved)).line(), as: UTF8.self)
    }
}
