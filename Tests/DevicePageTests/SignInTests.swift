import AgentModel
import AppProtocol
import AppServer
import Testing

@testable import DevicePage

/// The page in the network, behind the device's keys.
@Suite struct SignInTests {
    @Test func withoutAKeyThereIsNothingButTheQuestionForIt() {
        var bench = SiteBench()
        for path in ["/", "/status", "/networks", "/history", "/diagnosis", "/result", "/join", "/x"] {
            #expect(bench.browse(.get, path).view == .signIn(nil), "\(path)")
        }
        for path in ["/join", "/move", "/scan", "/diagnosis", "/sign-out", "/store", "/backups", "/done"] {
            let effect = bench.browse(.post, path, "network=486f6d65.open&hash=x")
            #expect(effect.command == nil && effect.view == .signIn(.ended), "\(path)")
        }
    }

    @Test func theKeyOpensASession() throws {
        var bench = SiteBench()
        let session = try bench.signIn("0123456789abcdef")
        #expect(bench.browse(.get, "/", cookie: session).view == .status)
        let peer = bench.browse(.get, "/status", cookie: session).visitor?.peer
        #expect(peer == Peer(origin: .page(address: "192.168.1.9"), role: .manage, key: .owner))
        #expect(bench.browse(.post, "/scan", cookie: session).command != nil)
        #expect(bench.browse(.post, "/diagnosis", cookie: session).view == .diagnosis(isRun: true))
        let end = bench.browse(.post, "/sign-out", cookie: session)
        #expect(end.response?.header("Set-Cookie")?.contains("Max-Age=0") == true)
        #expect(bench.browse(.get, "/status", cookie: session).view == .signIn(.ended))
    }

    @Test func aPairingCodeOpensASessionWithTheRoleOfItsKey() throws {
        let name = try #require(KeyName("Anna's phone"))
        let key = AppKey(name: name, secret: Secret(text: "another key than that"), role: .see)
        var bench = SiteBench(keys: [Keys.owner, key])
        let code = PairingCode(try DeviceKey(deviceId: "bench-01", localKey: key.secret, name: name)).uri()
        let session = try bench.signIn(Self.encoded("  \(code) "))
        #expect(bench.browse(.get, "/", cookie: session).visitor?.peer.role == .see)
    }

    @Test func aWrongKeyCostsWhatItCostsAtTheDoor() throws {
        let name = try #require(KeyName("Anna"))
        let secret = Secret(text: "another key than that")
        let revoked = AppKey(name: name, secret: secret, role: .manage, state: .revoked)
        var bench = SiteBench(keys: [Keys.owner, revoked])
        let code = PairingCode(try DeviceKey(deviceId: "bench-01", localKey: secret, name: name)).uri()
        let other = PairingCode(try DeviceKey(deviceId: "other", localKey: Keys.owner.secret)).uri()
        for given in [
            "", "x", "0123456789abcdeF", Self.encoded(code), Self.encoded(other), "altnet:", "altnet://pair?v=1",
        ] {
            let response = bench.browse(.post, "/sign-in", "key=\(given)").response
            #expect(response?.keyResult == .wrong && response?.status == 403, "\(given)")
            #expect(response?.header("Set-Cookie")?.contains(Site.sessionCookie) == false)
        }
    }

    @Test func anInvitationIsForAnApp() throws {
        let name = try #require(KeyName("Anna"))
        let secret = Secret(text: "another key than that")
        var bench = SiteBench(keys: [AppKey(name: name, secret: secret, role: .manage, isInvitation: true)])
        let code = PairingCode(
            try DeviceKey(deviceId: "bench-01", localKey: secret, name: name), isInvitation: true
        ).uri()
        #expect(bench.browse(.post, "/sign-in", "key=\(Self.encoded(code))").view == .signIn(.invitation))
    }

    @Test func aSessionEndsWhenItIsNotUsedAndInTheEndInAnyCase() throws {
        var bench = SiteBench()
        let idle = try bench.signIn("0123456789abcdef")
        bench.now = bench.now + WebSessions.idleTime
        #expect(bench.browse(.get, "/", cookie: idle).view == .signIn(.ended))
        let used = try bench.signIn("0123456789abcdef")
        let uses = Int(WebSessions.lifetime / WebSessions.idleTime) * 2 - 1
        for _ in 0..<uses {
            bench.now = bench.now + WebSessions.idleTime / 2
            #expect(bench.browse(.get, "/", cookie: used).view == .status)
        }
        bench.now = bench.now + WebSessions.idleTime / 2
        #expect(bench.browse(.get, "/", cookie: used).view == .signIn(.ended))
    }

    @Test func anOpenPageDoesNotKeepItsSession() throws {
        var bench = SiteBench()
        let session = try bench.signIn("0123456789abcdef")
        for _ in 0..<3 {
            bench.now = bench.now + WebSessions.idleTime / 3
            _ = bench.browse(.get, "/status", cookie: session, query: "live")
        }
        #expect(bench.browse(.get, "/status", cookie: session).view == .signIn(.ended))
    }

    @Test func thereAreSoManySessionsAndTheOldestGives() throws {
        var bench = SiteBench()
        var sessions: [String] = []
        for _ in 0...WebSessions.maximum {
            bench.now = bench.now + .seconds(1)
            sessions.append(try bench.signIn("0123456789abcdef"))
        }
        #expect(bench.browse(.get, "/", cookie: sessions[0]).view == .signIn(.ended))
        #expect(bench.browse(.get, "/", cookie: sessions[1]).view == .status)
        #expect(bench.browse(.get, "/", cookie: sessions.last).view == .status)
    }

    @Test func oneKeyEndsNoSessionOfAnother() throws {
        var sessions = WebSessions()
        let anna = AppKey(
            name: try #require(KeyName("Anna")), secret: Secret(text: "another key than that"), role: .see)
        let keys = Keys(keys: [Keys.owner, anna])
        var now = Instant(milliseconds: 0)
        let owners = sessions.open(with: .owner, Keys.owner.secret, at: now)
        var last = ""
        for _ in 0..<100 {
            now = now + .seconds(1)
            last = sessions.open(with: anna.name, anna.secret, at: now)
        }
        #expect(sessions.key(of: owners, in: keys, at: now)?.name == .owner)
        #expect(sessions.key(of: last, in: keys, at: now)?.name == anna.name)
    }

    @Test func aKeyThatWasTakenBackOrReplacedEndsItsSessions() throws {
        var sessions = WebSessions()
        let (now, secret) = (Instant(milliseconds: 0), Keys.owner.secret)
        let session = sessions.open(with: .owner, secret, at: now)
        #expect(sessions.key(of: session, in: Keys(keys: [Keys.owner]), at: now) != nil)
        #expect(sessions.key(of: session, in: Keys(keys: []), at: now) == nil)
        #expect(sessions.key(of: session, in: Keys(keys: [Keys.owner]), at: now) == nil)
        let again = sessions.open(with: .owner, secret, at: now)
        let other = AppKey(name: .owner, secret: Secret(text: "another key than that"), role: .manage)
        #expect(sessions.key(of: again, in: Keys(keys: [other]), at: now) == nil)
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { "%" + Hex.string([$0]) }.joined()
    }
}

extension SiteBench {
    mutating func signIn(_ key: String) throws -> String {
        let response = try #require(browse(.post, "/sign-in", "key=\(key)").response)
        #expect(response.keyResult == .right && response.status == 303)
        let cookie = try #require(response.header("Set-Cookie"))
        #expect(cookie.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=Strict"))
        return String(cookie.dropFirst("__Host-session=".count).prefix { $0 != ";" })
    }
}
