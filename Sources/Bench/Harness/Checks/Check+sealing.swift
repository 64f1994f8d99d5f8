import AgentModel
import AppProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Check {
    static let sealing = [
        Check("key.agree", "gives a key to seal passwords with", section: "key.agree") { trial in
            let wire = try await trial.open()
            let key = try await trial.sealingKey(wire)
            let again = try await trial.sealingKey(wire)
            // The device may change its key at any time, but not without changing the name.
            try expect(
                "one name for one key", (key.keyId == again.keyId) == (key.publicKey == again.publicKey), got: "not so")
            try expect("a key that is not all zero", key.publicKey.contains { $0 != 0 }, got: "32 zero bytes")
        },
        seal("accepted", "a sealed password is stored like a plain one") { trial in
            let wire = try await trial.open()
            let network = try trial.fresh()
            let entry = try await trial.sealedEntry(network, on: wire)
            let list: BackupList = try await wire.get(.updateBackups, .networks(trial.kept(leaving: 1) + [entry]))
            let hash = NetworkHash(
                localKey: try trial.key().localKey, ssid: network.ssid,
                password: network.password.map { Secret(text: $0) })
            try expect("the hash of what was sealed", list.networks.last?.hash, is: hash)
        },
        seal("used", "a sealed password is accepted once: sent again it is sealUsed") { trial in
            let wire = try await trial.open()
            let entry = try await trial.sealedEntry(try trial.fresh(), on: wire)
            let list: BackupList = try await wire.get(.updateBackups, .networks(trial.kept(leaving: 1) + [entry]))
            try await trial.refusesSealed(entry, .sealUsed, list, wire)
            // Nor over another connection.
            try await trial.refusesSealed(entry, .sealUsed, list, try await trial.open())
        },
        seal("tampered", "a sealed password with one bit changed is sealInvalid") { trial in
            let wire = try await trial.open()
            let list: BackupList = try await wire.get(.getBackups)
            for position in [0, 31, 32, 95, 96, SealedPassword.length - 1] {
                let network = try trial.fresh()
                let sealed = try await trial.seal(network, on: wire)
                var box = sealed.box
                box[position] ^= 1
                guard let changed = SealedPassword(keyId: sealed.keyId, box: box) else { continue }
                let entry = network.json.with(["sealed": try JSONValue(encoding: changed)])
                try await trial.refusesSealed(entry, .sealInvalid, list, wire)
            }
        },
        seal("otherNetwork", "a password that was sealed for another network is sealInvalid") { trial in
            let wire = try await trial.open()
            let list: BackupList = try await wire.get(.getBackups)
            let sealed = try await trial.seal(try trial.fresh(), on: wire)
            let entry = try trial.fresh().json.with(["sealed": try JSONValue(encoding: sealed)])
            try await trial.refusesSealed(entry, .sealInvalid, list, wire)
        },
        seal("otherOwner", "a password that was sealed with another local key is sealInvalid") { trial in
            let wire = try await trial.open()
            let list: BackupList = try await wire.get(.getBackups)
            let network = try trial.fresh()
            let other = try DeviceKey(deviceId: try trial.key().deviceId, localKey: Secret(text: trial.freshPassword()))
            let sealed = try await trial.seal(network, on: wire, for: other)
            let entry = network.json.with(["sealed": try JSONValue(encoding: sealed)])
            try await trial.refusesSealed(entry, .sealInvalid, list, wire)
        },
        seal("rotated", "a key that the device does not have, or no longer, is keyRotated") { trial in
            let wire = try await trial.open()
            let list: BackupList = try await wire.get(.getBackups)
            let network = try trial.fresh()
            let box = try await trial.seal(network, on: wire).box
            guard let sealed = SealedPassword(keyId: "harness-none", box: box) else { return }
            let entry = network.json.with(["sealed": try JSONValue(encoding: sealed)])
            try await trial.refusesSealed(entry, .keyRotated, list, wire)
        },
        seal("malformed", "what is not the Base64 of a sealed password is malformed") { trial in
            let wire = try await trial.open()
            let list: BackupList = try await wire.get(.getBackups)
            let short = Data(repeating: 7, count: SealedPassword.length - 1).base64EncodedString()
            let faults: [(sealed: JSONValue, field: String)] = [
                ("plain", "sealed"), ([:], "sealed.box"), (["keyId": "k", "box": "!"], "sealed"),
                (["keyId": "k", "box": .text(short)], "sealed"), (["keyId": 1, "box": .text(short)], "sealed.keyId"),
            ]
            for (sealed, field) in faults {
                let entry = try trial.fresh().json.with(["sealed": sealed])
                try await trial.refusesSealed(entry, .malformed, field: field, list, wire)
            }
        },
        seal("atomic", "one that cannot be opened makes the whole list be refused") { trial in
            let wire = try await trial.open()
            let list: BackupList = try await wire.get(.getBackups)
            let good = try await trial.sealedEntry(try trial.fresh(), on: wire)
            let network = try trial.fresh()
            let sealed = try await trial.seal(try trial.fresh(), on: wire)
            let bad = network.json.with(["sealed": try JSONValue(encoding: sealed)])
            let entries = try trial.kept(leaving: 2) + [good, bad]
            try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(
                .sealInvalid, field: "body.networks[\(entries.count - 1)].sealed")
            let read: BackupList = try await wire.get(.getBackups)
            try expect("the list as it was", read.shown, is: list.shown)
        },
        Check(
            "key.seal.required", "a plain password over the network is sealRequired", section: section,
            touchesBackups: true
        ) {
            trial in
            guard trial.target.isNetwork else { throw Obstacle("needs a device in the network: --device") }
            let wire = try await trial.open()
            let list: BackupList = try await wire.get(.getBackups)
            let network = try trial.fresh()
            let plain = network.json.with(["password": .text(network.password ?? "")])
            let entries = try trial.kept(leaving: 1) + [plain]
            try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(
                .sealRequired, field: "body.networks[\(entries.count - 1)].password")
            try await wire.ask(.switchNetwork, plain).expectRefusal(.sealRequired, field: "body.password")
            let read: BackupList = try await wire.get(.getBackups)
            try expect("the list as it was", read.shown, is: list.shown)
        },
    ]

    private static let section = "Sealed passwords"

    private static func seal(
        _ name: String, _ title: String, _ body: @escaping @Sendable (Trial) async throws -> Void
    ) -> Check {
        Check("key.seal.\(name)", title, section: section, touchesBackups: true, body)
    }
}

extension Trial {
    fileprivate func sealingKey(_ wire: Wire) async throws -> SealingKey {
        let answer = try await wire.ask(.agreeKey)
        if answer.code == .unsupported { try needsFeature("sealed") }
        return try answer.body(of: .agreeKey)
    }

    fileprivate func seal(_ network: TrialNetwork, on wire: Wire, for device: DeviceKey? = nil) async throws
        -> SealedPassword
    {
        try await sealingKey(wire).seal(
            Secret(text: network.password ?? ""), ssid: network.ssid, for: try device ?? key())
    }

    fileprivate func sealedEntry(_ network: TrialNetwork, on wire: Wire) async throws -> JSONValue {
        network.json.with(["sealed": try JSONValue(encoding: try await seal(network, on: wire))])
    }

    /// Sends the entry in an update, which must be refused and change nothing.
    /// - Parameter field: the member of the entry that the error names.
    fileprivate func refusesSealed(
        _ entry: JSONValue, _ code: ErrorCode, field: String = "sealed", _ list: BackupList, _ wire: Wire
    ) async throws {
        let entries = try kept(leaving: 1) + [entry]
        try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(
            code, field: "body.networks[\(entries.count - 1)].\(field)")
        let read: BackupList = try await wire.get(.getBackups)
        try expect("the list as it was", read.shown, is: list.shown)
    }
}
