import AppProtocol
import JSONValues

extension Check {
    static let keys = [
        keys("lasting", "another app's key opens the device until it is revoked") { check in
            let owner = try await check.open()
            try await check.withKey(["role": "see"], owner) { handout in
                let guest = try await check.open(handshake: .opened(handout.code.device))
                try await guest.ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
                let report: AppKeyReport = try await owner.get(.getKeys)
                let entry = report.keys.first { $0.name == handout.key.name }
                try expect("one connection", entry?.sessions, is: 1)
                _ = try await owner.get(.revokeKey, ["name": .text(handout.key.name.text)], as: AppKeyReport.self)
                try await guest.expectEnd(within: .seconds(5))
                try await check.expectRefusal(.keyRevoked, opening: .opened(handout.code.device))
            }
        },
        keys("duringSwitch", "a switch ends as usual if the key of its app is revoked meanwhile") { check in
            let owner = try await check.open()
            let position = try await owner.subscribe()
            let home = try await check.online(owner)
            try await check.withKey(["role": "switch"], owner) { handout in
                let guest = try await check.open(handshake: .opened(handout.code.device))
                let accepted = try await check.command(
                    try check.fresh().json.with(["security": "open"]), on: guest)
                _ = try await owner.get(.revokeKey, ["name": .text(handout.key.name.text)], as: AppKeyReport.self)
                try await guest.expectEnd(within: .seconds(5))
                let journey = try await check.follow(accepted, on: owner, stream: position.stream, to: nil)
                try expect("the outcome", journey.outcome.phase, is: .rolledBack)
                try await check.waitUntilOnline(in: try home.name, on: nil)
            }
        },
        keys("roles", "a key permits the requests of its role only") { check in
            let owner = try await check.open()
            try await check.withKey(["role": "switch"], owner) { handout in
                let guest = try await check.open(handshake: .opened(handout.code.device))
                try await guest.ask(.getBackups).expectSuccess(of: .getBackups, id: nil)
                for type in [MessageType.getKeys, .revokeKey, .setProvider, .setName] {
                    try await guest.ask(type, ["name": "x", "provider": "x", "on": true]).expectRefusal(.notPermitted)
                }
            }
        },
        keys("invitation", "an invitation gives one app a separate key, and permits no other request") { check in
            let owner = try await check.open()
            try await check.withKey(["role": "see", "claimWithin": 60], owner) { invited in
                let guest = try await check.open(handshake: .opened(invited.code.device))
                try await guest.ask(.getNetwork).expectRefusal(.notPermitted)
                let own: KeyHandout = try await guest.get(.claimKey)
                try expect("the name of the invitation", own.key.name, is: invited.key.name)
                try await check.expectRefusal(.keyRefused, opening: .opened(invited.code.device))
                let app = try await check.open(handshake: .opened(own.code.device))
                try await app.ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
                try await app.ask(.claimKey).expectRefusal(.notPermitted)
            }
        },
        keys("expired", "a key that has expired by the device's clock is refused as keyExpired") { check in
            let owner = try await check.open()
            let name = check.freshKeyName()
            let made = try await owner.ask(.addKey, ["name": .text(name.text), "role": "see", "expiresIn": 1])
            if made.code == .unsupported { throw Obstacle("the device does not know the time") }
            let handout: KeyHandout = try made.body(of: .addKey)
            try await check.removingKey(name) {
                let deadline = ContinuousClock.now + .seconds(10)
                while .now < deadline {
                    do {
                        await (try await check.open(handshake: .opened(handout.code.device))).close()
                    } catch WireConnectFailure.refused(let error) {
                        return try expect("the refusal", error.code, is: .keyExpired)
                    }
                    try await Task.sleep(for: .milliseconds(300))
                }
                throw Deviation("the refusal keyExpired", got: "an open session after 10 s")
            }
        },
        keys("refusals", "names in use and unknown names are refused") { check in
            let owner = try await check.open()
            try await check.withKey(["role": "see"], owner) { handout in
                let name = JSONValue.text(handout.key.name.text)
                for name in [name, "owner"] {
                    try await owner.ask(.addKey, ["name": name, "role": "see"]).expectRefusal(.duplicateKey)
                }
                for name in [.text(check.freshKeyName().text), "owner"] as [JSONValue] {
                    try await owner.ask(.revokeKey, ["name": name]).expectRefusal(.unknownKey)
                }
                let faults: [(body: JSONValue, field: String)] = [
                    (["role": "see"], "body.name"), (["name": name], "body.role"),
                    (["name": "x", "role": "king"], "body.role"), (["name": "", "role": "see"], "body.name"),
                    (["name": "x", "role": "see", "expiresIn": 0], "body.expiresIn"),
                    (["name": "x", "role": "see", "claimWithin": 1], "body.claimWithin"),
                ]
                for (body, field) in faults {
                    try await owner.ask(.addKey, body).expectRefusal(.malformed, field: field)
                }
            }
        },
        keys("history", "the history has an app's command with the name of its key") { check in
            let owner = try await check.open()
            try await check.withKey(["role": "see"], owner) { handout in
                let history: History = try await owner.get(.getHistory, ["limit": 200])
                let entry = history.decisions.last { $0.kind.rawValue == "command" && $0.reason.rawValue == "keys.add" }
                try expect("the key that added a key", entry?.by, is: .owner)
            }
        },
    ]

    private static func keys(
        _ name: String, _ title: String, _ body: @escaping @Sendable (CheckRun) async throws -> Void
    ) -> Check {
        Check("keys.\(name)", title, section: "keys.get, keys.add, keys.revoke, key.claim") { check in
            guard check.target.isNetwork else { throw Obstacle("needs a device in the network: --device") }
            try check.needsFeature("keys")
            do {
                try await body(check)
            } catch WireConnectFailure.refused(let error) {
                throw Deviation("an open session", got: "\(error)")
            } catch WireConnectFailure.handshake {
                throw Deviation("a connection", got: "the device broke off the handshake")
            } catch WireConnectFailure.unreachable(let why) {
                throw Deviation("a connection", got: why)
            }
        }
    }
}

extension CheckRun {
    func freshKeyName() -> KeyName { KeyName("harness " + String(freshPassword().suffix(8))) ?? .owner }

    /// Creates a key, calls `use` with it, and revokes it afterwards.
    fileprivate func withKey(
        _ body: JSONValue, _ owner: Wire, _ use: (KeyHandout) async throws -> Void
    ) async throws {
        let name = freshKeyName()
        let handout: KeyHandout = try await owner.get(.addKey, body.with(["name": .text(name.text)]))
        try await removingKey(name) { try await use(handout) }
    }

    fileprivate func removingKey(_ name: KeyName, _ use: () async throws -> Void) async throws {
        let result: Result<Void, any Error>
        do { result = .success(try await use()) } catch { result = .failure(error) }
        // A switch may have ended the earlier connections.
        _ = try await open().ask(.revokeKey, ["name": .text(name.text)])
        try result.get()
    }
}
