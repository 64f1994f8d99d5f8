import AgentModel
import AppProtocol
import FleetOperator
import MQTTBridge
import Testing

/// A change on its way to devices, as a table of what they say and what they are asked.
// covers: seed/user-fleet
@Suite struct RolloutTests {
    @Test func aDeviceIsAskedForItsKeyAndGetsThePasswordSealed() throws {
        var bench = try Bench(["pump-1"])
        bench.online("pump-1")
        #expect(bench.drain() == ["pump-1 key.agree"])
        try bench.agree("pump-1")
        #expect(bench.drain() == ["pump-1 password.stage"])
        let said = String(decoding: bench.lines, as: UTF8.self)
        #expect(!said.contains("correct horse 2") && said.contains(#""sealed""#))
        bench.list("pump-1", .staged)
        #expect(bench.rollout.record.devices["pump-1"] == .init(.staged))
        #expect(!bench.rollout.isSettled, "the broker may tell more of what it keeps")
        bench.hearKept()
        #expect(bench.rollout.isSettled && !bench.rollout.isOver)
        // Its network takes the newer one.
        bench.kept("pump-1", .committed)
        #expect(bench.rollout.record.devices["pump-1"] == .init(.committed) && bench.rollout.isOver)
    }

    /// Before the broker has let the owner in there is nothing to wait for; then it takes as long as kept messages come.
    @Test func theBrokerIsHeardToTheEnd() throws {
        var bench = try Bench(["pump-1"])
        bench.kept("pump-1", .staged)
        bench.pass(1)
        bench.kept("pump-1", .staged)
        bench.pass(1)
        #expect(bench.rollout.wasConnected && !bench.rollout.isSettled)
        bench.pass(1)
        #expect(bench.rollout.isSettled)
        _ = bench.rollout.connected(at: bench.now)
        #expect(!bench.rollout.isSettled)
    }

    @Test func whatIsOfflineWaits() throws {
        var bench = try Bench(["pump-1", "pump-2"])
        bench.online("pump-1", "offline")
        #expect(bench.drain() == [] && bench.rollout.offline == 2)
        bench.online("pump-1")
        #expect(bench.drain() == ["pump-1 key.agree"] && bench.rollout.offline == 1)
    }

    /// RabbitMQ tells a subscriber with wildcards nothing that it keeps.
    @Test func whereTheBrokerKeepsNothingAllAreAsked() throws {
        var bench = try Bench(["pump-1", "pump-2"])
        bench.hearKept()
        #expect(bench.drain() == ["pump-1 key.agree", "pump-2 key.agree"])
        bench.hearKept()
        #expect(bench.drain() == [])
        // Else what is not known to be online waits.
        bench = try Bench(["pump-1", "pump-2"])
        bench.online("pump-1")
        #expect(bench.drain() == ["pump-1 key.agree"])
        bench.hearKept()
        #expect(bench.drain() == [])
    }

    /// The broker, or what stands in its place, gets no password that it could read.
    @Test func aKeyThatIsNotTheDevicesIsRefused() throws {
        var bench = try Bench(["pump-1"])
        bench.online("pump-1")
        _ = bench.drain()
        try bench.agree("pump-1", localKey: "ffffffffffffffffffffffffffffffff")
        #expect(bench.drain() == [])
        #expect(bench.rollout.record.devices["pump-1"] == .init(.refused, reason: "notTheDevice"))
    }

    @Test func aRefusalIsKept() throws {
        var bench = try Bench(["pump-1"])
        bench.online("pump-1")
        _ = bench.drain()
        try bench.agree("pump-1")
        _ = bench.drain()
        bench.answer("pump-1", .failure(ProtocolError(.unknownNetwork, "not stored")))
        #expect(bench.rollout.record.devices["pump-1"] == .init(.refused, reason: "unknownNetwork"))
        #expect(bench.rollout.isOver)
    }

    @Test func aDeviceThatIsBusyOrSilentIsAskedAgainAndNotForEver() throws {
        var bench = try Bench(["pump-1"])
        bench.online("pump-1")
        #expect(bench.drain() == ["pump-1 key.agree"])
        bench.answer("pump-1", .failure(ProtocolError(.busy, "later")))
        #expect(bench.drain() == [])
        bench.pass(6)
        #expect(bench.drain() == ["pump-1 key.agree"])
        bench.pass(300)
        #expect(bench.drain().count == 2)
        #expect(bench.rollout.isSettled && bench.rollout.record.devices["pump-1"]?.phase == .waiting)
        // It comes back: a new beginning.
        bench.online("pump-1")
        #expect(bench.drain() == ["pump-1 key.agree"])
    }

    @Test func onlySoManyAreAskedAtOnce() throws {
        var bench = try Bench((1...5).map { "pump-\($0)" }, atOnce: 2)
        for number in 1...5 { bench.online("pump-\(number)") }
        #expect(bench.drain().count == 2)
        bench.answer("pump-1", .failure(ProtocolError(.unsupported, "older")))
        #expect(bench.drain() == ["pump-3 key.agree"])
    }

    @Test func aBrokenConnectionLosesNothing() throws {
        var bench = try Bench(["pump-1"])
        bench.online("pump-1")
        _ = bench.drain()
        bench.rollout.lost()
        bench.online("pump-1")
        #expect(bench.drain() == ["pump-1 key.agree"])
    }

    // MARK: Trials

    @Test func aTrialIsConfirmedOverTheNetworkThatItTries() throws {
        var bench = try Bench(["pump-1"], confirmWithin: 60)
        try bench.stage("pump-1")
        #expect(bench.drain() == ["pump-1 network.switch"])
        bench.answer("pump-1", .success(.switchStatus(SwitchStatus(switchId: "s1", phase: .accepted))))
        #expect(bench.rollout.record.devices["pump-1"] == .init(.trying))
        bench.progress("pump-1", SwitchStatus(switchId: "s1", phase: .joining))
        #expect(bench.drain() == [])
        bench.progress("pump-1", SwitchStatus(switchId: "s1", phase: .waitingForConfirmation))
        #expect(bench.drain() == ["pump-1 switch.confirm"])
        bench.progress("pump-1", SwitchStatus(switchId: "s1", phase: .committed))
        bench.kept("pump-1", .committed)
        bench.hearKept()
        #expect(bench.rollout.isOver && bench.rollout.isSettled)
    }

    @Test func aTrialThatFailsIsUndone() throws {
        var bench = try Bench(["pump-1"], confirmWithin: 60)
        try bench.stage("pump-1")
        _ = bench.drain()
        bench.answer("pump-1", .success(.switchStatus(SwitchStatus(switchId: "s1", phase: .accepted))))
        bench.progress(
            "pump-1", SwitchStatus(switchId: "s1", phase: .rolledBack, reason: ReasonCode(rawValue: "wrongKey")))
        #expect(bench.drain() == ["pump-1 password.drop"])
        bench.list("pump-1", .dropped)
        #expect(bench.rollout.record.devices["pump-1"] == .init(.undone, reason: "wrongKey"))
    }

    @Test func aTrialWithoutAnEndIsUndone() throws {
        var bench = try Bench(["pump-1"], confirmWithin: 60)
        try bench.stage("pump-1")
        _ = bench.drain()
        bench.answer("pump-1", .success(.switchStatus(SwitchStatus(switchId: "s1", phase: .accepted))))
        bench.pass(179)
        #expect(bench.drain() == [])
        bench.pass(3)
        #expect(bench.drain() == ["pump-1 password.drop"])
    }

    // MARK: After a break

    @Test func itGoesOnFromItsRecord() throws {
        var bench = try Bench(["pump-1", "pump-2", "pump-3"])
        try bench.stage("pump-1")
        let record = bench.rollout.changedRecord()
        let nothingNew = bench.rollout.changedRecord()
        #expect(record?.devices["pump-1"] == .init(.staged) && nothingNew == nil)
        bench = try Bench(["pump-1", "pump-2", "pump-3"], record: record)
        for number in 1...3 { bench.online("pump-\(number)") }
        #expect(bench.drain() == ["pump-2 key.agree", "pump-3 key.agree"])
    }

    @Test func whatTheDevicesTellCountsMoreThanTheRecord() throws {
        var bench = try Bench(["pump-1"])
        bench.kept("pump-1", .committed)
        bench.online("pump-1")
        #expect(bench.drain() == [] && bench.rollout.isOver)
    }

    @Test func undoTakesBackWhatIsNotCommitted() throws {
        let record = RolloutRecord(
            changeId: "2026-12", devices: ["pump-1": .init(.staged), "pump-2": .init(.committed)])
        var bench = try Bench(["pump-1", "pump-2", "pump-3"], goal: .undo, record: record)
        for number in 1...3 { bench.online("pump-\(number)") }
        #expect(bench.drain() == ["pump-1 password.drop", "pump-3 password.drop"])
        bench.list("pump-1", .dropped)
        bench.answer("pump-3", .failure(ProtocolError(.unknownNetwork, "not staged")))
        #expect(bench.rollout.record[.undone] == 2 && bench.rollout.record[.committed] == 1)
    }

    @Test func aDeviceCannotAnswerForAnother() throws {
        var bench = try Bench(["pump-1", "pump-2"])
        bench.online("pump-1")
        bench.online("pump-2")
        bench.hearKept()
        let refusal = ProtocolError(.keyRefused, "no")
        bench.answer("pump-1", .failure(refusal), from: "pump-2")
        #expect(bench.rollout.record[.refused] == 0)
        bench.answer("pump-1", .failure(refusal))
        #expect(bench.rollout.record[.refused] == 1)
    }

    @Test func nonsenseIsIgnored() throws {
        var bench = try Bench(["pump-1"])
        bench.online("pump-1")
        _ = bench.drain()
        for (topic, text) in [
            ("altnet/pump-1/response/run1", "{}"), ("altnet/pump-1/response/run1", #"{"v":1,"id":"x","ok":true}"#),
            ("altnet/pump-1/switch", "["), ("altnet/pump-1/backups", "nonsense"), ("altnet/%2/status", "{}"),
            ("altnet//availability", "online"), ("other/pump-1/availability", "online"), ("", ""),
        ] { bench.receive(topic, Array(text.utf8)) }
        #expect(bench.drain() == [] && bench.rollout.record.devices == ["pump-1": .init(.waiting)])
        #expect(bench.rollout.roster.strange == 1)
    }
}

private struct Bench {
    var rollout: Rollout
    var now = Instant(milliseconds: 0)
    private(set) var lines: [UInt8] = []
    private var asked: [(device: String, id: String, request: Request)] = []
    private var open: [String: (id: String, request: Request)] = [:]
    private let seals = Sealed()

    final class Sealed {
        var openers: [String: SealOpener] = [:]
    }

    static let key = "0123456789abcdef0123456789abcdef"
    static let time = Timestamp(millisecondsSince1970: 1_770_000_000_000)

    init(
        _ ids: [String], goal: Rollout.Goal = .apply, confirmWithin: Int? = nil, record: RolloutRecord? = nil,
        atOnce: Int = 10
    ) throws {
        let staging = PasswordStaging(
            changeId: "2026-12",
            network: NewNetwork(ssid: try SSID("HomeNet"), password: Secret(text: "correct horse 2")), keepFor: 600)
        let keys = try ids.map { ($0, try DeviceKey(deviceId: $0, localKey: Secret(text: Self.key))) }
        rollout = Rollout(
            FleetChange(staging, confirmWithin: confirmWithin), goal, keys: Dictionary(uniqueKeysWithValues: keys),
            record: record, run: "run1", atOnce: atOnce, nonce: Nonce.random, time: { Self.time })
        _ = rollout.connected(at: now)
    }

    mutating func receive(_ topic: String, _ payload: [UInt8], retained: Bool = false) {
        record(rollout.handle(IncomingMessage(topic: topic, payload: payload, isRetained: retained), at: now))
    }

    private mutating func record(_ messages: [OutgoingMessage]) {
        for message in messages {
            #expect(message.responseTopic?.hasSuffix("/response/run1") == true)
            #expect(message.expiry != nil && !message.isRetained)
            guard let request = proved(message.payload, of: message.topic),
                let id = message.topic.split(separator: "/").dropFirst().first
            else { continue }
            asked.append((String(id), request.id, request))
            open[String(id)] = (request.id, request)
        }
    }

    /// The request in a message, as the device reads it: proved with its key, and over when the message is.
    private mutating func proved(_ line: [UInt8], of topic: String) -> Request? {
        guard let id = topic.split(separator: "/").dropFirst().first,
            case .prove(let proved)? = (try? Request(line: line))?.content
        else {
            Issue.record("a request without a proof")
            return nil
        }
        #expect(proved.isProved(by: Secret(text: Self.key), deviceId: String(id)))
        guard let request = try? proved.request() else { return nil }
        #expect(request.expires > Self.time)
        lines += Array(proved.line.utf8)
        return Request(id: request.id, content: .device(request.body))
    }

    /// What the devices were asked since this was called last, in order of the devices.
    mutating func drain() -> [String] {
        defer { asked = [] }
        return asked.map { asked in
            guard case .device(let body) = asked.request.content else { return asked.device }
            return "\(asked.device) \(body.type.rawValue)"
        }.sorted()
    }

    /// In seconds.
    mutating func pass(_ seconds: Int64) {
        let end = now + .seconds(seconds)
        while let deadline = rollout.deadline, deadline <= end {
            now = max(now, deadline)
            record(rollout.tick(at: now))
        }
        now = end
    }

    mutating func online(_ id: String, _ word: String = "online") {
        receive("altnet/\(id)/availability", Array(word.utf8))
    }

    /// The broker has told what it keeps.
    mutating func hearKept() { pass(3) }

    /// - Parameter sender: the device whose topic the answer comes from, if it is another one.
    mutating func answer(_ id: String, _ result: Result<Response.Body, ProtocolError>, from sender: String? = nil) {
        guard let question = open[id] else { return }
        receive("altnet/\(sender ?? id)/response/run1", Response(id: question.id, result: result).line())
    }

    /// The device shows its key for sealing.
    mutating func agree(_ id: String, localKey: String = key) throws {
        guard case .device(.agreeKey(let query))? = open[id]?.request.content else { return }
        let opener = SealOpener(try DeviceKey(deviceId: id, localKey: Secret(text: localKey)))
        answer(id, .success(.key(try opener.key(for: query, of: Secret(text: localKey)))))
    }

    mutating func stage(_ id: String) throws {
        online(id)
        try agree(id)
        _ = drain()
        list(id, .staged)
    }

    private func backups(_ phase: StagedPasswordStatus.Phase) throws -> BackupList {
        let ssid = try SSID("HomeNet")
        let hash = NetworkHash(localKey: Secret(text: Self.key), ssid: ssid, password: Secret(text: "correct horse 2"))
        return BackupList(
            max: 3, revision: 2, networks: [],
            staged: [
                StagedPasswordStatus(
                    changeId: "2026-12", ssid: ssid, phase: phase, hash: phase == .staged ? hash : nil,
                    since: Timestamp(millisecondsSince1970: 0))
            ])
    }

    /// The device answers with its list, and tells it to all.
    mutating func list(_ id: String, _ phase: StagedPasswordStatus.Phase) {
        guard let list = try? backups(phase) else { return }
        kept(id, phase)
        answer(id, .success(.backups(list)))
    }

    mutating func kept(_ id: String, _ phase: StagedPasswordStatus.Phase) {
        guard let list = try? backups(phase), let bytes = try? OutsideJSON.encode(list) else { return }
        receive("altnet/\(id)/backups", bytes, retained: true)
    }

    mutating func progress(_ id: String, _ status: SwitchStatus) {
        guard let bytes = try? OutsideJSON.encode(status) else { return }
        receive("altnet/\(id)/switch", bytes)
    }
}
