import AgentModel
import AppProtocol
import JSONValues
import Testing

@testable import MQTTBridge

/// Requests that come by a broker: what reaches the agent, and what is answered.
@Suite struct CommandTests {
    private static let hash = NetworkHash.of("BackupNet").description

    private static func switching(_ id: String, _ more: String = "") -> String {
        #"{"v":1,"id":"\#(id)","type":"network.switch","body":{"hash":"\#(hash)"}\#(more)}"#
    }

    private static let accepted = Response.Body.switchStatus(SwitchStatus(switchId: "s-12", phase: .accepted))

    @Test func aQuestionIsAnswered() {
        var (talk, _) = Talk.connected()
        // It needs no expiry: it changes nothing.
        let asked = talk.request(2, #"{"v":1,"id":"q1","type":"network.get"}"#, expiry: nil)
        #expect(asked.lines.map { $0["type"]?.text } == ["network.get"] && asked.remembered == nil)
        let answered = talk.agent(2, id: "q1", .network(.online()))
        #expect(answered.published.map(\.topic) == ["app/answers"])
        #expect(answered.published.first?.correlation == [7])
        #expect(answered.published.first?.expiry == .seconds(600))
        let line = answered.published.first.flatMap { JSONValue(line: $0.payload) }
        #expect(line?["id"]?.text == "q1" && line?["body"]?["ssid"]?.text == "HomeNet")
    }

    @Test func aCommandIsRememberedBeforeItIsCarriedOut() {
        var (talk, _) = Talk.connected()
        let effects = talk.request(2, Self.switching("c1"))
        #expect(effects.first == .remember(["c1"]))
        #expect(effects.lines.map { $0["body"]?["hash"]?.text } == [Self.hash])
        #expect(talk.agent(2, id: "c1", Self.accepted).published.count == 1)
    }

    @Test func theSameCommandIsCarriedOutOnce() {
        var (talk, _) = Talk.connected()
        _ = talk.request(2, Self.switching("c1"))
        let first = talk.agent(2, id: "c1", Self.accepted).published
        let again = talk.request(3, Self.switching("c1"), responseTopic: "app/other")
        #expect(again.lines.isEmpty)
        #expect(again.published.map(\.payload) == first.map(\.payload) && again.published.first?.topic == "app/other")
        // After a restart too, of the bridge or of the board; the answer is not known any more.
        var (later, _) = Talk.connected(remembered: ["c0", "c1"])
        let refused = later.request(2, Self.switching("c1"))
        #expect(refused.lines.isEmpty && refused.refusals == ["malformed"] && refused.faults == ["id"])
        #expect(later.request(3, Self.switching("c2")).remembered == ["c0", "c1", "c2"])
    }

    @Test func idsAreForgottenInTheirOrder() {
        var ledger = CommandLedger(ids: (0..<100).map(String.init))
        #expect(ledger.ids.count == 64 && ledger.find("35") == .new && ledger.find("36") == .known(answer: nil))
        for id in 100..<200 {
            ledger.add(String(id))
            ledger.recordAnswer(String(id), [UInt8](repeating: 1, count: 10_000))
        }
        #expect(ledger.ids.count == 64)
        #expect(ledger.find("199") == .known(answer: [UInt8](repeating: 1, count: 10_000)))
        // The id counts for longer than there is room for its answer.
        #expect(ledger.find("150") == .known(answer: nil))
    }

    // MARK: Until when a command is good

    @Test func aCommandSaysUntilWhenItIsGood() {
        var (talk, _) = Talk.connected()
        let effects = talk.request(2, Self.switching("c1"), expiry: nil)
        #expect(effects.refusals == ["malformed"] && effects.faults == ["expires"] && effects.lines.isEmpty)
        #expect(
            talk.request(3, Self.switching("c1", #","expires":"2026-02-03T04:06:00Z""#), expiry: nil).lines.count == 1)
    }

    @Test(arguments: [
        #","expires":"2026-02-03T04:05:06Z""#, #","expires":"2025-02-03T04:05:06Z""#,
        #","expires":"2027-02-03T04:05:06Z""#,
        #","expires":"soon""#, #","expires":7"#,
    ])
    func oneThatIsOverIsNotCarriedOut(member: String) {
        var (talk, _) = Talk.connected()
        for expiry in [nil, Duration.seconds(30)] {
            let effects = talk.request(2, Self.switching("c1", member), expiry: expiry)
            #expect(effects.lines.isEmpty && effects.refusals == ["malformed"])
        }
    }

    @Test func theIntervalOfTheBrokerCounts() {
        var (talk, _) = Talk.connected()
        #expect(talk.request(2, Self.switching("c1"), expiry: .zero).lines.isEmpty)
        #expect(talk.request(2, Self.switching("c1"), expiry: .seconds(86_401)).lines.isEmpty)
        #expect(talk.request(2, Self.switching("c1"), expiry: .seconds(86_400)).lines.count == 1)
    }

    /// A device that does not know the time cannot tell what is over.
    @Test func withoutATimeOnlyTheIntervalCounts() {
        var (talk, _) = Talk.connected()
        talk.isClockKnown = false
        let member = #","expires":"2026-02-03T04:06:00Z""#
        let effects = talk.request(2, Self.switching("c1", member), expiry: nil)
        #expect(effects.refusals == ["unsupported"] && effects.lines.isEmpty && effects.said.count == 1)
        #expect(talk.request(3, Self.switching("c1", member), expiry: nil).said.isEmpty, "it is said once")
        #expect(talk.request(4, Self.switching("c2"), expiry: .seconds(60)).lines.count == 1)
    }

    @Test func whatTheBrokerKeepsIsRefused() {
        var (talk, _) = Talk.connected()
        let effects = talk.request(2, Self.switching("c1"), isRetained: true)
        #expect(effects.lines.isEmpty && effects.refusals == ["malformed"] && effects.faults == ["retain"])
        #expect(effects.said.count == 1)
        #expect(talk.request(3, Self.switching("c1"), isRetained: true).said.isEmpty)
    }

    // MARK: What is permitted

    @Test(arguments: [
        (#""type":"network.switch","body":{"ssid":"Attic","password":"correct horse"}"#, "sealRequired", Role.manage),
        (
            #""type":"backups.update","body":{"networks":[{"ssid":"Attic","password":"correct horse"}]}"#,
            "sealRequired", .manage
        ),
        (
            #""type":"backups.update","body":{"networks":[],"home":{"ssid":"Attic","password":"correct horse"}}"#,
            "sealRequired", .manage
        ),
        (#""type":"backups.update","body":{"networks":[]}"#, "notPermitted", .switch),
        (#""type":"network.switch","body":{"ssid":"Cafe","security":"open"}"#, "notPermitted", .see),
        // Whoever may publish is not the owner: what is new needs the proof of an app's key.
        (#""type":"network.switch","body":{"ssid":"Cafe","security":"open"}"#, "proofRequired", .switch),
        (#""type":"network.switch","body":{"ssid":"Cafe","security":"owe","joinOnce":true}"#, "proofRequired", .manage),
        (
            #""type":"backups.update","body":{"networks":[{"hash":"\#(hash)"},{"ssid":"Cafe","security":"open"}]}"#,
            "proofRequired", .manage
        ),
        (
            #""type":"backups.update","body":{"networks":[],"home":{"ssid":"Cafe","security":"open"}}"#,
            "proofRequired", .manage
        ),
        (
            #""type":"backups.update","body":{"networks":[{"hash":"\#(hash)","address":{"address":"192.168.1.20/24"}}]}"#,
            "proofRequired", .manage
        ),
        (
            #""type":"backups.update","body":{"networks":[{"hash":"\#(hash)","dhcp":true}]}"#, "proofRequired",
            .manage
        ),
        (
            #""type":"key.agree","body":{"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}"#, "proofRequired",
            .see
        ),
        (#""type":"keys.add","body":{"name":"A","role":"manage"}"#, "notPermitted", .manage),
        (#""type":"keys.get""#, "notPermitted", .manage),
        (#""type":"key.claim","body":{"name":"A"}"#, "notPermitted", .manage),
        (#""type":"portal.get""#, "notPermitted", .manage),
        (#""type":"portal.answer","body":{"id":4,"values":{}}"#, "notPermitted", .manage),
        (#""type":"events.subscribe""#, "unsupported", .manage),
        (#""type":"coffee.make""#, "unknownType", .manage),
    ])
    func isRefused(members: String, code: String, role: Role) {
        var settings = BridgeSettings()
        settings.role = role
        var (talk, _) = Talk.connected(settings)
        let effects = talk.request(2, #"{"v":1,"id":"c1",\#(members)}"#)
        #expect(effects.refusals == [code] && effects.lines.isEmpty, "\(effects)")
        #expect(!effects.said.contains { $0.contains("horse") })
    }

    private static let owner = Result {
        try DeviceKey(deviceId: Talk.deviceId, localKey: Secret(text: "0123456789abcdef"))
    }

    /// The line of a request that the owner's app has proved, good for a minute.
    private static func proved(_ body: Request.Body, id: String = "c1", outer: String? = nil) throws -> String {
        let request = Request(id: id, content: .device(body))
        let proved = try ProvedRequest(
            request, until: Timestamp(millisecondsSince1970: Talk.start + 60_000), by: owner.get())
        return String(decoding: try Request(id: outer ?? id, content: .prove(proved)).line(), as: UTF8.self)
    }

    private static let open = Request.Body.switchNetwork(
        SwitchRequest(target: .new(NewNetwork(ssid: .named("Cafe"), password: nil, security: .open))))

    /// The agent checks the proof: the bridge has no key.
    @Test func whatIsProvedGoesOnAsItIs() throws {
        var (talk, _) = Talk.connected()
        let line = try Self.proved(Self.open)
        let effects = talk.request(2, line)
        let passed = try #require(effects.lines.first)
        #expect(effects.remembered == ["c1"] && passed["relay"]?.text == "switch")
        #expect(passed["body"] == JSONValue(line: Array(line.utf8))?["body"])
        #expect(talk.agent(2, id: "c1", Self.accepted).published.count == 1)
        // Once, and for the role that the settings grant.
        #expect(talk.request(3, line).lines.isEmpty)
        var settings = BridgeSettings()
        settings.role = .see
        var (low, _) = Talk.connected(settings)
        #expect(low.request(2, line).refusals == ["notPermitted"])
    }

    @Test func aProofHasNoOtherLimitsThanThis() throws {
        var settings = BridgeSettings()
        settings.role = .manage
        var (talk, _) = Talk.connected(settings)
        let plain = Request.Body.switchNetwork(
            SwitchRequest(target: .new(NewNetwork(ssid: .named("Attic"), password: Secret(text: "correct horse")))))
        #expect(talk.request(2, try Self.proved(plain)).refusals == ["sealRequired"])
        #expect(talk.request(3, try Self.proved(.getKeys)).refusals == ["notPermitted"])
        #expect(talk.request(4, try Self.proved(Self.open, outer: "c9")).faults == ["body.line"])
        // It says itself until when it is good.
        #expect(talk.request(5, try Self.proved(Self.open), expiry: nil).lines.count == 1)
        #expect(talk.request(90, try Self.proved(Self.open, id: "c2")).faults == ["expires"])
        for line in ["", "{}", "[", #"{"v":1,"id":"c3","type":"request.prove"}"#] {
            let wrong = ProvedRequest(line: line, proof: Proof(of: [], with: Secret([1])))
            let request = try Request(id: "c3", content: .prove(wrong)).line()
            let effects = talk.request(91, String(decoding: request, as: UTF8.self))
            #expect(effects.refusals == ["malformed"] && effects.lines.isEmpty, "\(line)")
        }
    }

    /// Also what the bridge asks for itself, which it tells the broker.
    @Test func allThatTheBridgeAsksIsMarked() {
        var (talk, effects) = Talk.connected()
        #expect(effects.lines.map { $0["relay"]?.text } == ["see", "see", "see", "see"])
        effects = talk.request(2, #"{"v":1,"id":"q1","type":"network.get","relay":"manage"}"#)
        #expect(effects.lines.map { $0["relay"]?.text } == ["switch"], "a broker's client does not choose")
    }

    @Test func withoutARoleNothingIsHeard() {
        var settings = BridgeSettings()
        settings.role = nil
        let (talk, effects) = Talk.connected(settings)
        for case .subscribe(let list) in effects { #expect(!list.contains { $0.topic == Talk.base + "/request" }) }
        var silent = talk
        let answered = silent.request(2, #"{"v":1,"id":"q1","type":"network.get"}"#)
        #expect(answered.published.isEmpty && answered.lines.isEmpty && answered.said.count == 1)
    }

    // MARK: Bad input

    @Test(arguments: [
        "", "{", "[]", "\u{0}", #"{"v":1,"type":"network.get"}"#, #"{"v":2,"id":"1","type":"network.get"}"#,
        String(repeating: "[", count: 4000), String(repeating: "a", count: 70_000),
    ])
    func whatIsNoRequestIsAnsweredWithAnError(text: String) {
        var (talk, _) = Talk.connected()
        let effects = talk.request(2, text)
        #expect(effects.refusals.count == 1 && effects.lines.isEmpty)
    }

    @Test func answersGoWhereTheyMay() {
        func topic(_ wanted: String?) -> String? {
            var (talk, _) = Talk.connected()
            return talk.request(2, "{", responseTopic: wanted).published.first?.topic
        }
        #expect(topic(nil) == Talk.base + "/response")
        #expect(topic("app/ü/\u{1F600}") == "app/ü/\u{1F600}")
        #expect(topic(Talk.base + "/response/7") == Talk.base + "/response/7")
        for wanted in [
            Talk.base + "/status", "altnet/other/request", "homeassistant/device/x/config", "a/+/b", "a/#", "$SYS/x",
            "",
            "a\u{0}b", "a\u{ffff}", String(repeating: "a", count: 257),
        ] {
            #expect(topic(wanted) == Talk.base + "/response", "\(wanted.prefix(20))")
        }
    }

    @Test func longCorrelationIsLeftOut() {
        var (talk, _) = Talk.connected()
        let effects = talk.request(2, "{", correlation: [UInt8](repeating: 0, count: 257))
        #expect(effects.published.first?.correlation == nil)
    }

    @Test func aFloodIsRefused() {
        var (talk, _) = Talk.connected()
        var refusals: [String] = []
        for number in 0..<25 {
            refusals += talk.request(2, #"{"v":1,"id":"q\#(number)","type":"history.get"}"#, expiry: nil).refusals
        }
        #expect(refusals.count { $0 == "busy" } == 4 && refusals.count { $0 == "tooManyRequests" } == 5)
        #expect(talk.request(3, #"{"v":1,"id":"late","type":"history.get"}"#).refusals == ["busy"])
    }

    @Test func anAgentThatGoesIsAnsweredFor() {
        var (talk, _) = Talk.connected()
        _ = talk.request(2, Self.switching("c1"))
        let effects = talk.settled(3, .agentLost("it was ended"))
        #expect(effects.refusals == ["busy"])
        // Perhaps it was carried out: it is not sent again.
        #expect(talk.request(4, Self.switching("c1")).refusals == ["busy"])
        #expect(talk.request(4, #"{"v":1,"id":"q1","type":"network.get"}"#).refusals == ["busy"])
    }

    @Test func strangeTopicsAreSaidOnce() {
        var (talk, _) = Talk.connected()
        func strange(_ topic: String) -> [Bridge.Effect] {
            talk.settled(2, .message(IncomingMessage(topic: topic, payload: [])))
        }
        let first = strange("\u{1b}[31m")
        #expect(first.said.count == 1 && first.said[0].hasSuffix(#" \x1b[31m"#))
        #expect(strange("altnet/other/request").isEmpty)
    }

    @Test func theNewestFirmwareIsTold() {
        var (talk, effects) = Talk.connected()
        #expect(effects.told("status").last??["firmware"]?["latest"]?.text == "0.1.0")
        func publish(_ version: String) -> JSONValue? {
            talk.settled(
                2, .message(IncomingMessage(topic: "altnet/firmware", payload: Array(version.utf8), isRetained: true))
            ).told("status").last ?? nil
        }
        #expect(publish("0.2.0")?["firmware"]?["latest"]?.text == "0.2.0")
        #expect(publish(String(repeating: "9", count: 65))?["firmware"]?["latest"]?.text == "0.1.0")
        #expect(publish("{{ states }}") == nil, "nothing changes")
    }
}
