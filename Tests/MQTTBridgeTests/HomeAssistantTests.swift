import AgentModel
import AppProtocol
import Foundation
import JSONValues
import Testing

@testable import MQTTBridge

/// What Home Assistant is told, and what it says.
// covers: seed/user-fleet
@Suite struct HomeAssistantTests {
    private static let config = "homeassistant/device/altnet_bench-01/config"

    private static func command(_ talk: inout Talk, _ second: Double, _ payload: String, isRetained: Bool = false)
        -> [Bridge.Effect]
    {
        talk.settled(
            second,
            .message(
                IncomingMessage(
                    topic: Talk.base + "/home-assistant", payload: Array(payload.utf8), isRetained: isRetained)))
    }

    /// 60 s after second 0.
    private static let expires = Talk.start / 1000 + 60

    @Test func oneMessageHasTheDevice() throws {
        let (_, effects) = Talk.connected()
        let message = try #require(effects.published(Self.config).first)
        #expect(message.isRetained && message.isAcknowledged)
        let device = try #require(JSONValue(line: message.payload))
        #expect(device["dev"]?["ids"]?.array == [.text("altnet_bench-01")] && device["o"]?["name"]?.text == "altnet")
        let components = try #require(device["cmps"]?.object)
        #expect(
            Set(components.keys) == [
                "online", "network", "reach", "signal", "address", "outages", "offline_time", "decision", "select",
                "home", "scan", "identify", "firmware",
            ])
        for (name, component) in components {
            #expect(component["p"]?.text != nil && component["uniq_id"]?.text == "altnet_bench-01_\(name)")
            // All but one are unavailable with the device; that one says so.
            #expect((component["avty"] != nil) == (name != "online"))
        }
        #expect(components["select"]?["ops"]?.array == [.text("HomeNet"), .text("BackupNet")])
        #expect(message.payload.count < 8192)
    }

    @Test func theDeviceTellsItsRadiosSerialNumberAndPage() throws {
        var settings = BridgeSettings()
        (settings.hardwareAddresses, settings.pagePort) = (["02:00:00:00:00:07"], 7575)
        let message = try #require(Talk.connected(settings).effects.published(Self.config).first)
        let device = try #require(JSONValue(line: message.payload)?["dev"])
        #expect(device["cns"]?.array == [.array([.text("mac"), .text("02:00:00:00:00:07")])])
        #expect(device["sn"]?.text == "bench-01")
        #expect(device["cu"]?.text == "https://192.168.10.23:7575/")
    }

    // covers: seed/device-name
    @Test func theDeviceHasItsName() throws {
        var (talk, effects) = Talk.connected()
        func name(_ effects: [Bridge.Effect]) -> String? {
            effects.published(Self.config).last.flatMap { JSONValue(line: $0.payload)?["dev"]?["name"]?.text }
        }
        #expect(name(effects) == "bench-01")
        var status = NetworkStatus.online()
        status.deviceName = try DeviceName("Küche {{ x }}")
        let renamed = talk.event(2, .networkChanged(status))
        #expect(name(renamed) == "Küche {{ x }}")
        #expect(renamed.told("status").last??["network"]?["deviceName"]?.text == "Küche {{ x }}")
        effects = talk.event(3, .networkChanged(.online()), seq: 43)
        #expect(name(effects) == "bench-01")
    }

    /// Home Assistant shows each kind of decision that the protocol has.
    @Test func everyKindOfDecisionIsNamed() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = folder.deletingLastPathComponent().appendingPathComponent("Docs/protocol.schema.json")
        let schema = try #require(JSONValue(line: Array(Data(contentsOf: file))))
        let kinds = try #require(schema["$defs"]?["decision.kind"]?["enum"]?.array)
        #expect(HomeAssistantDevice.decisions.map { .text($0) } == kinds + [.text("other")])
    }

    /// The name of a network is its operator's, and Home Assistant executes templates.
    @Test func noNameIsInATemplate() throws {
        var (talk, _) = Talk.connected()
        let told = talk.event(2, .backupsChanged(.of(["{{ states }}", "\"},\u{1b}"])))
        let message = try #require(told.published(Self.config).first)
        let components = try #require(JSONValue(line: message.payload)?["cmps"]?.object)
        #expect(components["select"]?["ops"]?.array?.last == .text(#""},\x1b"#))
        for component in components.values {
            for (member, value) in component.object ?? [:] where member.hasSuffix("tpl") {
                #expect(value.text?.contains("states") == false)
            }
        }
    }

    @Test func itIsToldAnewWhenItStarts() {
        var (talk, _) = Talk.connected()
        func birth(_ word: String) -> [String] {
            talk.settled(2, .message(IncomingMessage(topic: "homeassistant/status", payload: Array(word.utf8))))
                .published.map(\.topic)
        }
        #expect(birth("offline").isEmpty)
        #expect(
            birth("online")
                == [Self.config] + ["availability", "backups", "status", "signal"].map { Talk.base + "/" + $0 })
    }

    @Test func itIsToldNothingWhereThatIsSet() {
        var settings = BridgeSettings()
        settings.discoveryPrefix = nil
        var (talk, effects) = Talk.connected(settings)
        #expect(!effects.published.contains { $0.topic.hasPrefix("homeassistant") })
        #expect(Self.command(&talk, 2, #"{"action":"scan","expires":\#(Self.expires)}"#).lines.isEmpty)
    }

    @Test func theSelectMovesTheDevice() {
        var (talk, _) = Talk.connected()
        let effects = Self.command(
            &talk, 2, #"{"action":"switch","network":"BackupNet","expires":\#(Self.expires)}"#)
        #expect(effects.lines.map { $0["type"]?.text } == ["network.switch"])
        #expect(effects.lines.first?["body"]?["hash"]?.text == NetworkHash.of("BackupNet").description)
        // It is no message that is answered, and one that comes again is not carried out again.
        let answer = Response.Body.switchStatus(SwitchStatus(switchId: "s-1", phase: .accepted))
        #expect(talk.agent(2, id: "any", answer).published.isEmpty)
        #expect(
            Self.command(&talk, 3, #"{"action":"switch","network":"BackupNet","expires":\#(Self.expires)}"#).lines
                .isEmpty)
    }

    @Test func theButtons() {
        var (talk, _) = Talk.connected()
        #expect(
            Self.command(&talk, 2, #"{"action":"home","expires":\#(Self.expires)}"#).lines.first?["body"]?["hash"]?.text
                == NetworkHash.of("HomeNet").description)
        #expect(
            Self.command(&talk, 3, #"{"action":"scan","expires":\#(Self.expires)}"#).lines.first?["type"]?.text
                == "scan.start")
        #expect(Self.command(&talk, 4, #"{"action":"identify","expires":\#(Self.expires)}"#) == [.identify])
    }

    @Test(arguments: [
        #"{"action":"scan","expires":\#(Talk.start / 1000)}"#, #"{"action":"scan"}"#,
        #"{"action":"scan","expires":-1}"#,
        #"{"action":"scan","expires":9223372036854775807}"#,
        #"{"action":"reboot","expires":\#(Talk.start / 1000 + 60)}"#,
        #"{"action":"switch","expires":\#(Talk.start / 1000 + 60)}"#,
        #"{"action":"switch","network":"Cafe","expires":\#(Talk.start / 1000 + 60)}"#, "scan", "",
        String(repeating: " ", count: 1025),
    ])
    func anythingElseIsLogged(payload: String) {
        var (talk, _) = Talk.connected()
        let effects = Self.command(&talk, 2, payload)
        #expect(effects.lines.isEmpty && effects.said.count == 1)
    }

    @Test func whatTheBrokerKeepsIsRefused() {
        var (talk, _) = Talk.connected()
        #expect(
            Self.command(&talk, 2, #"{"action":"scan","expires":\#(Self.expires)}"#, isRetained: true).lines.isEmpty)
    }

    /// A device that does not know the time cannot tell how old a command is, unless nothing can have waited for it.
    @Test func withoutAClockWhatCannotHaveWaitedIsCarriedOut() {
        let scan = #"{"action":"scan","expires":\#(Self.expires)}"#
        var (talk, _) = Talk.connected()
        talk.isClockKnown = false
        #expect(Self.command(&talk, 2, scan).lines.first?["type"]?.text == "scan.start")
        #expect(Self.command(&talk, 3, scan).lines.isEmpty, "once")
        let later = #"{"action":"scan","expires":\#(Self.expires + 1)}"#
        #expect(Self.command(&talk, 4, later, isRetained: true).lines.isEmpty)
        (talk, _) = Talk.connected(isPresent: true)
        talk.isClockKnown = false
        let refused = Self.command(&talk, 2, scan)
        #expect(refused.lines.isEmpty && refused.said.contains { $0.contains("clock") })
    }

    @Test func itMayNotDoWhatTheSettingsForbid() {
        var settings = BridgeSettings()
        settings.role = .see
        var (talk, _) = Talk.connected(settings)
        let effects = Self.command(
            &talk, 2, #"{"action":"switch","network":"BackupNet","expires":\#(Self.expires)}"#)
        #expect(effects.lines.isEmpty && effects.said.count == 1)
    }

    @Test func idsThatDifferGiveNamesThatDiffer() {
        #expect(Topics.objectID("bench-01") == "altnet_bench-01")
        #expect(Topics.objectID("a_b") == "altnet_a_5fb" && Topics.objectID("a.b") == "altnet_a_2eb")
        #expect(Topics(prefix: "altnet", deviceId: "a/b+#%").status == "altnet/a%2fb%2b%23%25/status")
    }

    @Test func prefixes() {
        for prefix in ["altnet", "home/altnet", "Gerät"] { #expect(Topics.isPrefix(prefix)) }
        for prefix in ["", "/a", "a/", "a//b", "a/+", "#", "$SYS", "a\u{0}", String(repeating: "a", count: 65)] {
            #expect(!Topics.isPrefix(prefix), "\(prefix)")
        }
    }
}
