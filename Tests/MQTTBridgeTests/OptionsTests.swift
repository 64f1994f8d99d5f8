import AgentModel
import AppProtocol
import Testing

@testable import MQTTBridge

/// What may be set.
@Suite struct OptionsTests {
    private func options(_ values: [BridgeOptions.Name: String]) throws -> BridgeOptions { try BridgeOptions(values) }

    @Test func withoutAnythingItIsAsItIsSaid() throws {
        #expect(try options([:]) == BridgeOptions() && options([.broker: ""]).broker == nil)
    }

    @Test func everythingCanBeSet() throws {
        let set = try options([
            .broker: "mqtts://broker.example.com", .user: "pump", .secrets: "/etc/x", .clientID: "pump-7",
            .prefix: "a/b",
            .commands: "manage", .discovery: "ha", .signal: "5", .keepAlive: "30", .willDelay: "0", .session: "0",
            .spread: "1", .retry: "3600",
        ])
        #expect(set.broker == BrokerAddress("mqtts://broker.example.com:8883"))
        #expect(set.user == "pump" && set.secrets == "/etc/x" && set.bridge.clientID == "pump-7")
        #expect(set.bridge.prefix == "a/b" && set.bridge.role == .manage && set.bridge.discoveryPrefix == "ha")
        #expect(set.bridge.keepAlive == .seconds(30) && set.bridge.willDelay == .zero)
        #expect(set.bridge.longestWait == .seconds(3600) && set.bridge.spread == .seconds(1))
        #expect(try options([.commands: "none"]).bridge.role == nil)
        #expect(try options([.discovery: "no"]).bridge.discoveryPrefix == nil)
    }

    @Test(arguments: [
        (BridgeOptions.Name.broker, "broker.example.com"), (.broker, "http://a"), (.broker, "mqtt://"),
        (.broker, "mqtt://a:0"),
        (.broker, "mqtt://a:65536"), (.broker, "mqtt://a b"), (.broker, "mqtt://user@a"), (.broker, "mqtt://[::1"),
        (.broker, "mqtt://[a]"), (.broker, "mqtt://a..b"), (.user, "a\u{0}b"), (.secrets, "etc"), (.clientID, "a b"),
        (.prefix, "a/#"), (.commands, "everything"), (.discovery, "/"), (.signal, "0"), (.keepAlive, "9"),
        (.willDelay, "3601"), (.session, "-1"), (.spread, "ten"), (.retry, "99999999999999999999"),
    ])
    func isRefused(name: BridgeOptions.Name, value: String) {
        #expect(throws: BridgeOptions.Faults(faults: [(name.rawValue, value)])) { try options([name: value]) }
    }

    /// The settings file has all options, with examples and ranges that are accepted.
    @Test func theFileHasAllOptions() {
        let names = BridgeOptions.Name.allCases.filter { $0 != .commands }.map { "ALTNET_MQTT_" + $0.rawValue }
        #expect(BridgeOptions.settings.map(\.name) == names)
        for setting in BridgeOptions.settings {
            #expect(BridgeOptions.accepts(setting.example, for: setting))
            guard case .number(let range, _) = setting.form else { continue }
            for (value, isAllowed) in [
                (range.lowerBound, true), (range.upperBound, true), (range.lowerBound - 1, false),
                (range.upperBound + 1, false),
            ] { #expect(BridgeOptions.accepts("\(value)", for: setting) == isAllowed, "\(setting.name)") }
        }
    }

    @Test func addresses() {
        #expect(
            BrokerAddress("mqtt://10.0.0.1").map { "\($0.host) \($0.port) \($0.isEncrypted)" } == "10.0.0.1 1883 false")
        #expect(BrokerAddress("mqtts://[fe80::1%wlan0]:1").map { "\($0.host) \($0.port)" } == nil)
        #expect(BrokerAddress("mqtts://[fd00::1]:1").map { "\($0.host) \($0.port)" } == "fd00::1 1")
    }

    @Test func allThatIsWrongIsTold() {
        #expect(throws: BridgeOptions.Faults(faults: [("BROKER", "x"), ("SPREAD_S", "0")])) {
            try options([.spread: "0", .broker: "x"])
        }
    }
}
