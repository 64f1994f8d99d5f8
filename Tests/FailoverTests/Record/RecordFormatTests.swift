import AgentModel
import Testing

@testable import Failover

@Suite struct RecordFormatTests {
    private func text(_ line: RecordLine) -> String { String(decoding: line.text.dropLast(), as: UTF8.self) }

    private func read(_ text: String) throws(RecordLine.Fault) -> RecordLine { try RecordLine(Array(text.utf8)[...]) }

    @Test(arguments: Fixture.events) func anEventIsReadAsItWasWritten(event: PolicyEvent) throws {
        let line = RecordLine.step(at: Instant(milliseconds: 7), event: event, actions: [])
        #expect(!line.text.dropLast().contains(UInt8(ascii: "\n")))
        #expect(try read(text(line)) == line)
    }

    /// Every case of `PolicyEvent` is among the examples: the names that were written are as many as the cases.
    @Test func everyKindOfEventIsTried() {
        #expect(Set(Fixture.events.map(\.name)).count == 29)
    }

    /// The form that Docs/contributor/simulator.md shows.
    @Test(
        arguments: [
            (.gap(missed: 12), #"{"gap":{"missed":12}}"#), (.full, #"{"full":{}}"#),
            (
                .step(at: Instant(milliseconds: 184_220), event: .signal(-71), actions: []),
                #"{"step":{"actions":[],"at":184220,"event":{"signal":{"dBm":-71}}}}"#
            ),
            (
                .step(
                    at: Instant(milliseconds: 1), event: .tick,
                    actions: [
                        .join(
                            LinkTarget(
                                network: NetworkID(2), bssid: Fixture.accessPoint,
                                frequencies: [Frequency(megahertz: 2437)], offer: .wpa2, epoch: 7)),
                        .probe(epoch: 7, within: .milliseconds(2500)), .watchSignal(nil),
                    ]),
                #"{"step":{"actions":["#
                    + #"{"join":{"target":{"bssid":"02:00:00:00:01:00","epoch":7,"frequencies":[2437],"network":2,"#
                    + #""offer":"wpa2-psk"}}},{"probe":{"epoch":7,"within":2500}},{"watchSignal":{}}],"#
                    + #""at":1,"event":{"tick":{}}}}"#
            ),
            (
                .step(at: Instant(milliseconds: 1), event: .scanned(id: 3, Fixture.observations), actions: []),
                #"{"step":{"actions":[],"at":1,"event":{"scanned":{"id":3,"results":["#
                    + #"{"bssid":"02:00:00:00:01:00","frequency":2412,"lastSeen":12345,"protection":3,"#
                    + #""security":"wpa2-wpa3","signal":-52,"ssid":{"ssid":"Home Net/5,G%-"}},"#
                    + #"{"bssid":"02:00:00:00:02:ff","frequency":5180,"lastSeen":0,"protection":0,"security":"open","#
                    + #""signal":-91}]}}}}"#
            ),
        ] as [(RecordLine, String)])
    func aLineIsAnObject(line: RecordLine, text: String) throws {
        #expect(self.text(line) == text)
        #expect(try read(text) == line)
    }

    @Test func aRunHasAllSettings() throws {
        var settings = PolicySettings()
        settings.margin = 11
        settings.validation = PolicySettings.Validation()
        settings.validation?.retry = .milliseconds(1500)
        let line = RecordLine.run(agent: "1.2.3", settings: settings)
        #expect(text(line).hasPrefix(#"{"run":{"agent":"1.2.3","format":6,"settings":{""#))
        for setting in PolicySetting.all { #expect(text(line).contains(#""\#(setting.name)":""#)) }
        #expect(try read(text(line)) == line)
    }

    private static func event(_ event: String) -> String {
        #"{"step":{"at":1,"event":\#(event),"actions":[]}}"#
    }

    private static func accessPoint(_ member: String) -> String {
        let members = [
            #""bssid":"02:00:00:00:01:00""#, #""frequency":2412"#, #""lastSeen":9"#, #""protection":3"#,
            #""security":"open""#, #""signal":-52"#,
        ]
        let name = member.prefix { $0 != ":" }
        return event(
            #"{"scanned":{"results":[{\#((members.filter { !$0.hasPrefix(name) } + [member]).joined(separator: ","))}]}}"#
        )
    }

    @Test(arguments: [
        ("@1 0 tick", "valid JSON"), ("[]", "step, gap"),
        (#"{"leap":{}}"#, "step, gap"), (#"{"full":{},"gap":{"missed":1}}"#, "step, gap"),
        (#"{"gap":{"missed":-1}}"#, "gap.missed is negative"), (#"{"gap":{}}"#, "gap.missed is missing"),
        (event(#"{"explode":{}}"#), "step.event"),
        (event(#"{"signal":{"dBm":1e3}}"#).replacing("1e3", with: "1e7"), "in dBm"),
        (event(#"{"signal":{"dBm":-9223372036854775808}}"#), "in dBm"),
        (event(#"{"signal":{"dBm":99999999999999999999}}"#), "step.event.signal.dBm"),
        (event(#"{"signal":{"dBm":"-70"}}"#), "step.event.signal.dBm"),
        (event(#"{"signal":{}}"#), "step.event.signal.dBm is missing"),
        (event(#"{"joinFailed":{"epoch":1,"failure":"broken"}}"#), "step.event.joinFailed.failure"),
        (event(#"{"joinFailed":{"epoch":-1,"failure":"timeout"}}"#), "range"),
        (event(#"{"interface":{"isUp":"up"}}"#), "step.event.interface.isUp"),
        (event(#"{"networks":{"networks":[{"id":1}]}}"#), "step.event.networks.networks[0].ssid is missing"),
        (event(#"{"remembered":{"network":1,"frequency":0}}"#), "frequency"),
        (event(#"{"switchTo":{"network":1,"id":2,"confirmWithin":-1}}"#), "confirmWithin"),
        (event(#"{"switchTo":{"network":1,"id":2,"confirmWithin":9223372036854775807}}"#), "confirmWithin"),
        (event(#"{"signingIn":{"epoch":1,"until":9223372036854775807}}"#), "until"),
        (accessPoint(#""bssid":"02:00:00""#), "results[0].bssid"),
        (accessPoint(#""signal":101"#), "results[0].signal"),
        (accessPoint(#""ssid":{"ssid":""}"#), "results[0].ssid"),
        (accessPoint(#""ssid":{"ssid":"a","ssidHex":"61"}"#), "results[0].ssid"),
        (accessPoint(#""protection":256"#), "range"),
        (accessPoint(#""security":"tin""#), "results[0].security"),
        (event(#"{"settings":{"settings":{"marge":"1"}}}"#), "a setting"),
        (event(#"{"settings":{"settings":{"margin":"1s"}}}"#), "margin"),
        (#"{"step":{"at":-1,"event":{"tick":{}},"actions":[]}}"#, "step.at"),
        (#"{"step":{"at":9223372036854775807,"event":{"tick":{}},"actions":[]}}"#, "step.at"),
        (#"{"step":{"at":1,"event":{"tick":{}}}}"#, "step.actions is missing"),
        (#"{"step":{"at":1,"event":{"tick":{}},"actions":[{"leap":{}}]}}"#, "step.actions[0]"),
        (#"{"run":{"format":6,"settings":{}}}"#, "run.agent is missing"),
    ])
    func whatIsWrongIsNamed(line: String, problem: String) {
        let fault = #expect(throws: RecordLine.Fault.self) { try read(line) }
        guard case .malformed(let sentence)? = fault else {
            Issue.record("\(fault.debugDescription)")
            return
        }
        #expect(sentence.contains(problem), "\(sentence)")
    }

    @Test(arguments: [
        ("altnet-record 5 0.1.0", "5", "0.1.0"), ("altnet-record 1 x\u{1b}y", "1", "xy"),
        (#"{"run":{"format":7,"agent":"2.0","policy":{}}}"#, "7", "2.0"),
        (#"{"run":{"format":7,"agent":"2.0","settings":{}}}"#, "7", "2.0"), (#"{"run":{"format":7}}"#, "7", nil),
    ])
    func anotherVersionIsNotGuessedAt(line: String, version: String, agent: String?) {
        let fault = #expect(throws: RecordLine.Fault.self) { try read(line) }
        #expect(fault == .otherVersion(version, agent: agent))
    }
}
