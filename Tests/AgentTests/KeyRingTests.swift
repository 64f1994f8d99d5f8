import AgentCore
import AgentModel
import AppProtocol
import AppServer
import Foundation
import Linux
import Synchronization
import Testing

@testable import Agent

/// The keys of apps: what is made of the owner's word, of time, and of what is on the disk.
@Suite struct KeyRingTests {
    private static let localKey = Secret(text: "0123456789abcdef0123456789abcdef")

    /// A device whose clocks the test sets.
    private final class Bench: Sendable {
        struct State: Sendable {
            var now = Instant(milliseconds: 0)
            var time: Timestamp? = Timestamp(millisecondsSince1970: 1_770_000_000_000)
            var ended: [KeyName] = []
        }

        let folder: String
        private let state = Mutex(State())

        init() throws {
            folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func ring() throws -> KeyRing {
            let key = try DeviceKey(deviceId: "bench-01", localKey: localKey)
            let file = AppKeyFile(directory: folder)
            let ring = KeyRing(
                DeviceIdentity(key: key), file: file, list: try file.read(),
                clock: KeyRing.Clock(now: { self.state.withLock { $0.now } }, time: { self.state.withLock { $0.time } })
            )
            ring.attach(sessions: { [.owner: 2] }, end: { name in self.state.withLock { $0.ended.append(name) } })
            return ring
        }

        func owner() throws -> DeviceKey { try DeviceKey(deviceId: "bench-01", localKey: localKey) }

        func advance(by duration: Duration) {
            state.withLock { state in
                state.now = state.now + duration
                state.time = state.time.map {
                    Timestamp(millisecondsSince1970: $0.millisecondsSince1970 + duration.milliseconds)
                }
            }
        }

        func setTime(_ time: Timestamp?) { state.withLock { $0.time = time } }
        var time: Timestamp? { state.withLock { $0.time } }
        var ended: [KeyName] { state.withLock { $0.ended } }

        var content: String? { try? String(contentsOfFile: folder + "/app-keys", encoding: .utf8) }
    }

    private func name(_ text: String) throws -> KeyName { try #require(KeyName(text)) }

    private func guest(_ name: KeyName, isInvited: Bool = true) -> Peer {
        Peer(origin: .network(address: "192.0.2.1", port: 1), role: .manage, key: name, isInvited: isInvited)
    }

    private func code(_ body: () async throws -> some Any) async -> ErrorCode? {
        do { _ = try await body() } catch { return (error as? ProtocolError)?.code ?? .internalError }
        return nil
    }

    @Test func aLastingKeyOutlivesARestart() async throws {
        let bench = try Bench()
        let ring = try bench.ring()
        let phone = try name("Anna's phone")
        let handout = try await ring.add(KeyRequest(name: phone, role: .switch))
        #expect(handout.code.device.name == phone && !handout.code.isInvitation)
        #expect(handout.key == AppKeyStatus(name: phone, role: .switch, created: bench.time))
        for ring in [ring, try bench.ring()] {
            let key = try #require(ring.key(named: phone))
            #expect(key.secret == handout.code.device.localKey && key.role == .switch && key.state == .valid)
            #expect(ring.report.keys.map(\.name) == [.owner, phone])
        }
        #expect(ring.report.keys[0].sessions == 2)
        #expect(ring.key(named: .owner)?.secret == Self.localKey)
        #expect(ring.key(named: try name("another")) == nil)
        let mode = try FileManager.default.attributesOfItem(atPath: bench.folder + "/app-keys")[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test func anInvitationIsForOneApp() async throws {
        let bench = try Bench()
        let ring = try bench.ring()
        let invited = try await ring.add(KeyRequest(name: nil, role: .see, expiresIn: 3600, claimWithin: 60))
        let invitation = try #require(ring.key(named: invited.key.name))
        #expect(invitation.isInvitation && invitation.state == .valid && invited.code.isInvitation)
        // Nothing of it is on the disk.
        #expect(bench.content == nil)
        #expect(await code { try await ring.claim(KeyClaim(), from: guest(invitation.name)) } == .malformed)
        #expect(
            await code {
                try await ring.claim(KeyClaim(name: name("x")), from: guest(invitation.name, isInvited: false))
            }
                == .notPermitted)
        let own = try await ring.claim(KeyClaim(name: name("tablet")), from: guest(invitation.name))
        #expect(own.key.name == (try name("tablet")) && own.key.role == .see)
        #expect(own.key.expires?.millisecondsSince1970 == bench.time.map { $0.millisecondsSince1970 + 3_600_000 })
        #expect(own.code.device.localKey != invited.code.device.localKey)
        #expect(ring.key(named: invitation.name) == nil)
        #expect(
            await code { try await ring.claim(KeyClaim(name: name("y")), from: guest(invitation.name)) } == .keyRefused)
    }

    @Test func anInvitationIsForATime() async throws {
        let bench = try Bench()
        let ring = try bench.ring()
        let tablet = try name("tablet")
        _ = try await ring.add(KeyRequest(name: tablet, role: .see, claimWithin: 60))
        bench.advance(by: .seconds(59))
        #expect(ring.report.keys.last?.claimableFor == 1)
        #expect(await code { try await ring.add(KeyRequest(name: tablet, role: .see)) } == .duplicateKey)
        bench.advance(by: .seconds(1))
        #expect(ring.key(named: tablet) == nil && ring.report.keys.count == 1)
        #expect(await code { try await ring.claim(KeyClaim(), from: guest(tablet)) } == .keyRefused)
        _ = try await ring.add(KeyRequest(name: tablet, role: .see))
    }

    @Test func revokingEndsItForGood() async throws {
        let bench = try Bench()
        let ring = try bench.ring()
        let lost = try name("lost")
        let first = try await ring.add(KeyRequest(name: lost, role: .manage))
        #expect(try await ring.revoke(lost).keys.last?.state == .revoked)
        #expect(bench.ended == [lost])
        #expect(try bench.ring().key(named: lost)?.state == .revoked)
        for name in [lost, .owner, try name("none")] {
            #expect(await code { try await ring.revoke(name) } == .unknownKey)
        }
        // The name is free again, and the old key opens nothing.
        let second = try await ring.add(KeyRequest(name: lost, role: .see))
        #expect(second.code.device.localKey != first.code.device.localKey)
        #expect(ring.key(named: lost)?.secret == second.code.device.localKey)
        _ = try await ring.add(KeyRequest(name: name("guest"), role: .see, claimWithin: 60))
        _ = try await ring.revoke(name("guest"))
        #expect(ring.key(named: try name("guest")) == nil)
    }

    /// By the device's clock, which may be set to anything; never by an app's.
    @Test func expiryNeedsAClock() async throws {
        let bench = try Bench()
        let ring = try bench.ring()
        let app = try name("app")
        _ = try await ring.add(KeyRequest(name: app, role: .see, expiresIn: 60))
        bench.advance(by: .seconds(59))
        #expect(ring.key(named: app)?.state == .valid)
        #expect(try await ring.expire() == [])
        bench.advance(by: .seconds(1))
        #expect(ring.key(named: app)?.state == .expired)
        // Before it is noted down, a clock that is set back makes it valid again, and one that is not known as well.
        bench.setTime(nil)
        #expect(ring.key(named: app)?.state == .valid)
        #expect(try await ring.expire() == [])
        #expect(
            await code { try await ring.add(KeyRequest(name: name("b"), role: .see, expiresIn: 60)) } == .unsupported)
        _ = try await ring.add(KeyRequest(name: name("b"), role: .see))
        bench.setTime(Timestamp(millisecondsSince1970: 1_770_000_060_000))
        #expect(try await ring.expire() == [app])
        #expect(bench.ended == [app])
        // Afterwards no clock does.
        bench.setTime(Timestamp(millisecondsSince1970: 0))
        #expect(try bench.ring().key(named: app)?.state == .expired)
    }

    /// Its sessions end with it, within a minute, and the log has its name.
    @Test @AgentLoop func aKeyEndsWhileTheDeviceRuns() async throws {
        let bench = try Bench()
        let ring = try bench.ring()
        let app = try name("app")
        _ = try await ring.add(KeyRequest(name: app, role: .see, expiresIn: 90))
        let (lines, told) = AsyncStream<String>.makeStream()
        await ManualClock().run { clock in
            let expiry = KeyExpiry(ring) { _, text in told.yield(text) }
            expiry.review()
            for _ in 0..<2 {
                #expect(bench.ended.isEmpty)
                bench.advance(by: .seconds(60))
                clock.advance(by: .seconds(60))
            }
            for await line in lines {
                #expect(line.contains(" app ") && line.contains("expired"))
                break
            }
            #expect(bench.ended == [app])
            expiry.stop()
        }
    }

    @Test func thereIsRoomForThirtyTwo() async throws {
        let ring = try Bench().ring()
        for number in 0..<31 { _ = try await ring.add(KeyRequest(name: name("app \(number)"), role: .see)) }
        _ = try await ring.add(KeyRequest(name: nil, role: .see, claimWithin: 60))
        #expect(await code { try await ring.add(KeyRequest(name: name("one more"), role: .see)) } == .tooManyKeys)
        _ = try await ring.revoke(name("app 3"))
        _ = try await ring.add(KeyRequest(name: name("one more"), role: .see))
        #expect(await code { try await ring.add(KeyRequest(name: .owner, role: .see)) } == .duplicateKey)
    }

    /// Those that have ended do not fill the file.
    @Test func fewThatHaveEndedAreKept() async throws {
        let ring = try Bench().ring()
        for number in 0..<40 {
            let name = try name("app \(number)")
            _ = try await ring.add(KeyRequest(name: name, role: .see))
            _ = try await ring.revoke(name)
        }
        #expect(ring.report.keys.count == 1 + AppKeyList.keptEnded)
        #expect(ring.report.keys.last?.name == (try name("app 39")))
    }

    /// A disk that is full changes nothing.
    @Test func whatIsNotStoredDoesNotCount() async throws {
        let bench = try Bench()
        let ring = try bench.ring()
        let kept = try name("kept")
        _ = try await ring.add(KeyRequest(name: kept, role: .see))
        try FileManager.default.removeItem(atPath: bench.folder)
        #expect(await code { try await ring.add(KeyRequest(name: name("lost"), role: .see)) } == .storageFailed)
        #expect(await code { try await ring.revoke(kept) } == .storageFailed)
        #expect(ring.report.keys.map(\.name) == [.owner, kept] && ring.key(named: kept)?.state == .valid)
        try FileManager.default.createDirectory(atPath: bench.folder, withIntermediateDirectories: true)
        _ = try await ring.revoke(kept)
    }

    @Test(arguments: [
        "", "{}", #"{"version":2,"keys":[]}"#, #"{"version":1}"#, "[]", #"{"version":1,"keys":[{"name":"a"}]}"#,
        #"{"version":1,"keys":[{"name":"a","role":"king","secret":"0123456789abcdef"}]}"#,
    ])
    func aDamagedFileIsAnError(content: String) throws {
        #expect(throws: AppKeyFileError.self) { try AppKeyFile.list(in: Array(content.utf8)) }
    }

    /// The owner's name, a key that is too short and a state of a later version open nothing.
    @Test func whatCannotBeAKeyIsNone() throws {
        let list = try AppKeyFile.list(
            in: Array(
                #"{"version":1,"keys":[{"name":"owner","role":"manage","secret":"0123456789abcdef"},{"name":"a","role":"see","secret":"short"},{"name":"b","role":"see","secret":"0123456789abcdef","state":"paused"}]}"#
                    .utf8))
        #expect(list.entries.map(\.name.text) == ["b"] && list.entries[0].state == .revoked)
    }

    /// What is sealed counts for a key that may ask for it.
    @Test func boxesAreOfKeysThatMay() async throws {
        let bench = try Bench()
        let ring = try bench.ring()
        let identity = DeviceIdentity(key: try DeviceKey(deviceId: "bench-01", localKey: Self.localKey))
        let seals = SealOpener(identity, keys: ring)
        let network = NewNetwork(ssid: try SSID("Attic"), password: Secret(text: "correct horse"))
        let target = SealContext(of: network, in: SwitchRequest(target: .new(network)))
        let entry = SealContext(of: network, in: BackupsUpdate(networks: [.new(network)]))
        let app = try await ring.add(KeyRequest(name: name("app"), role: .switch)).code.device
        let question = SealingKeyQuery(nonce: .random())
        let key = try ring.answer(question, from: guest(app.name, isInvited: false), seals)
        #expect(key.isProved(to: app, over: try #require(question.nonce)))
        let password = Secret(text: "correct horse")
        #expect(try seals.open(key.seal(password, in: target, for: app), in: target) == password)
        #expect(await code { try seals.open(key.seal(password, in: entry, for: app), in: entry) } == .sealInvalid)
        _ = try await ring.revoke(app.name)
        #expect(await code { try seals.open(key.seal(password, in: target, for: app), in: target) } == .sealInvalid)
        #expect(await code { try ring.answer(question, from: guest(app.name), seals) } == .unknownKey)
    }

    // MARK: Proofs

    /// A proof by another's key would let its reader try short keys: a `see` client that of the owner's.
    @Test func aProofIsByTheAppsOwnKey() async throws {
        let bench = try Bench()
        let ring = try bench.ring()
        let seals = SealOpener(DeviceIdentity(key: try bench.owner()), keys: ring)
        let reader = try await ring.add(KeyRequest(name: name("reader"), role: .see)).code.device
        let other = try await ring.add(KeyRequest(name: name("other"), role: .manage)).code.device
        let peer = Peer(origin: .network(address: "192.0.2.1", port: 1), role: .see, key: reader.name)
        let nonce = Nonce.random()
        for key in [nil, reader.name] {
            let answer = try ring.answer(SealingKeyQuery(key: key, nonce: nonce), from: peer, seals)
            #expect(answer.isProved(to: reader, over: nonce))
        }
        for key in [KeyName.owner, other.name] {
            #expect(
                await code { try ring.answer(SealingKeyQuery(key: key, nonce: nonce), from: peer, seals) }
                    == .notPermitted)
        }
        // Who has proved no key gets no proof by any: a program, and whoever asks by a relay.
        for isRelay in [false, true] {
            let peer = Peer(origin: .process(pid: 1, uid: 1, gid: 1), role: .manage, isRelay: isRelay)
            for key in [nil, KeyName.owner, reader.name] {
                #expect(
                    await code { try ring.answer(SealingKeyQuery(key: key, nonce: nonce), from: peer, seals) }
                        == .proofRequired)
            }
            #expect(try ring.answer(SealingKeyQuery(), from: peer, seals).proof == nil)
        }
    }

    private static let relay = Peer(origin: .process(pid: 1, uid: 1, gid: 1), role: .switch, isRelay: true)

    @Test func aProvedCommandIsOpenedOnceUntilItIsOver() async throws {
        let bench = try Bench()
        let ring = try bench.ring()
        let owner = try bench.owner()
        func proved(_ id: String, in seconds: Int64 = 60, _ body: Request.Body = .closeRescue) throws -> ProvedRequest {
            let time = try #require(bench.time).millisecondsSince1970
            return try ProvedRequest(
                Request(id: id, content: .device(body)),
                until: Timestamp(millisecondsSince1970: time + seconds * 1000), by: owner)
        }
        let first = try proved("1")
        let (body, author) = try ring.open(first, from: Self.relay)
        #expect(body == .closeRescue && author.key == .owner && author.role == .switch && author.isRelay)
        #expect(await code { try ring.open(first, from: Self.relay) } == .malformed)
        // A question changes nothing, and may come again.
        let question = try proved("1", .getNetwork)
        for _ in 0..<2 { _ = try ring.open(question, from: Self.relay) }
        #expect(await code { try ring.open(proved("2", in: 0), from: Self.relay) } == .malformed)
        #expect(await code { try ring.open(proved("2", in: 3601), from: Self.relay) } == .malformed)
        // Until then each is remembered, as many as there may be of one key.
        for number in 1..<ProtocolLimits.provedCommandsOfKey {
            _ = try ring.open(proved("a\(number)"), from: Self.relay)
        }
        #expect(await code { try ring.open(proved("full"), from: Self.relay) } == .busy)
        bench.advance(by: .seconds(60))
        #expect(await code { try ring.open(first, from: Self.relay) } == .malformed, "it is over")
        _ = try ring.open(proved("free"), from: Self.relay)
        let later = try proved("later")
        bench.setTime(nil)
        #expect(await code { try ring.open(later, from: Self.relay) } == .busy)
    }

    @Test func theCommandsOfAllKeysAreBounded() throws {
        var commands = ProvedCommands()
        let (now, end) = (Timestamp(millisecondsSince1970: 0), Timestamp(millisecondsSince1970: 60_000))
        func check(_ key: String, _ id: Int) throws {
            let use = ProvedCommands.Use(key: try name(key), id: "\(id)")
            try commands.check(use, until: end, isCommand: true, at: now)
        }
        for number in 0..<ProtocolLimits.provedCommands {
            try check("app-\(number / ProtocolLimits.provedCommandsOfKey)", number)
        }
        #expect(throws: ProtocolError.self) { try check("another", 0) }
    }

    @Test func aProofIsByAKeyThatIsValid() async throws {
        let bench = try Bench()
        let ring = try bench.ring()
        let app = try await ring.add(KeyRequest(name: name("app"), role: .see)).code.device
        let invited = try await ring.add(KeyRequest(name: name("guest"), role: .manage, claimWithin: 60)).code.device
        func open(_ key: DeviceKey, _ id: String) throws -> (Request.Body, Peer) {
            let expires = Timestamp(millisecondsSince1970: try #require(bench.time).millisecondsSince1970 + 1000)
            let request = Request(id: id, content: .device(.getNetwork))
            return try ring.open(ProvedRequest(request, until: expires, by: key), from: Self.relay)
        }
        #expect(try open(app, "1").1.role == .see)
        let expires = Timestamp(millisecondsSince1970: try #require(bench.time).millisecondsSince1970 + 1000)
        for number in 0...ProtocolLimits.provedCommands {
            let command = Request(id: "\(number)", content: .device(.closeRescue))
            let proved = try ProvedRequest(command, until: expires, by: app)
            #expect(await code { try ring.open(proved, from: Self.relay) } == .notPermitted, "it fills no memory")
        }
        #expect(await code { try open(invited, "2") } == .keyRefused)
        let stranger = try DeviceKey(deviceId: "bench-01", localKey: app.localKey, name: name("stranger"))
        #expect(await code { try open(stranger, "3") } == .keyRefused)
        _ = try await ring.revoke(app.name)
        #expect(await code { try open(app, "4") } == .keyRevoked)
    }

    @Test(arguments: [
        ("0123456789abcdef", false), ("0123456789abcdef0123456789abcdef", false), ("aaaaaaaaaaaaaaaa", false),
        ("password12345678", false), ("7c1f94d2a86be035", false), ("abcabcabcabcabcabcabcabcabcabcabc", false),
        ("83610927451893027461", false), ("000102030405060708090a0b0c0d0e0f", false),
        ("00112233445566778899aabbccddeeff", false), ("ffeeddccbbaa99887766554433221100", false),
        ("Zx9Q2mZx9Q2mZx9Q2mZx9Q2n", false), ("7c1f94d2a86be03527d9", true), ("Zx9Q2mKp7LwT4vRb", true),
        ("7c1f94d2a86be03527d90c4e5ab3168f", true),
    ])
    func aKeyIsWeakWhereItCanBeGuessed(key: String, isStrong: Bool) {
        #expect((KeyStrength.bits(of: Secret(text: key)) >= KeyStrength.leastBits) == isStrong)
    }

    @Test func keysOfTheDevicesOwnMakingAreStrong() {
        for _ in 0..<2000 {
            #expect(KeyStrength.bits(of: Secret(text: DeviceIdentity.randomDigits(32))) >= KeyStrength.leastBits)
            let bytes = (0..<16).map { _ in UInt8.random(in: 0...255) }
            #expect(KeyStrength.bits(of: Secret(bytes)) >= KeyStrength.leastBits)
        }
    }

    @Test func whatAnAppDidIsASentence() throws {
        let peer = guest(try name("Anna's phone"), isInvited: false)
        let query = KeyQuery(name: try name("lost"))
        guard case .commanded(.revokeKey, by: peer.key?, let text)? = AgentEvent(commanded: .revokeKey(query), by: peer)
        else {
            Issue.record("nothing is told")
            return
        }
        #expect(text.hasPrefix("Anna's phone ") && text.hasSuffix(" lost"))
        #expect(AgentEvent(commanded: .getNetwork, by: peer) == nil)
        #expect(AgentEvent(commanded: .startScan(ScanRequest()), by: peer) == nil)
    }
}
