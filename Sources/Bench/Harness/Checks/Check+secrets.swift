import AgentModel
import AppProtocol
import FoundationEssentials
import JSONValues

extension Check {
    static let hashes = [
        Check(
            "hashes.rule", "a hash is the Base64 of the SHA-256 of local key, SSID and password", section: section,
            touchesBackups: true
        ) { check in
            try await check.expectHashes(of: [try check.fresh()])
        },
        Check(
            "hashes.open", "an open network counts as one with the empty password", section: section,
            touchesBackups: true
        ) {
            check in
            try await check.expectHashes(of: [CheckNetwork(ssid: try check.fresh().ssid, password: nil)])
        },
        Check("hashes.bytes", "the SSID counts as bytes", section: section, touchesBackups: true) { check in
            try await check.expectHashes(of: [
                CheckNetwork(ssid: try SSID(bytes: [0xff, 0x00, 0xfe]), password: check.freshPassword()),
                CheckNetwork(ssid: try SSID("caf\u{e9}"), password: check.freshPassword()),
            ])
        },
        Check(
            "hashes.edges", "all characters of a password count, also of 8 or 63", section: section,
            touchesBackups: true
        ) { check in
            for length in [8, 63] {
                let password = String(check.freshPassword().reversed()).padded(to: length)
                try await check.expectHashes(of: [CheckNetwork(ssid: try check.fresh().ssid, password: password)])
            }
        },
        Check(
            "hashes.keep", "an entry by its hash keeps its password", section: "backups.update", touchesBackups: true
        ) { check in
            let wire = try await check.open()
            let first = try await check.update([try check.fresh()], on: wire)
            let again: BackupList = try await wire.get(.updateBackups, .networks(first.references))
            try expect("the same hashes", again.networks.map(\.hash), is: first.networks.map(\.hash))
            try expect("the same names", again.networks.map(\.ssid), is: first.networks.map(\.ssid))
        },
        Check(
            "hashes.forget", "the hash of a removed network is unknown", section: "backups.update",
            touchesBackups: true
        ) { check in
            let wire = try await check.open()
            let network = try check.fresh()
            let list = try await check.update([network], on: wire)
            _ = try await check.update([], on: wire)
            try await wire.ask(.updateBackups, .networks(list.references)).expectRefusal(.unknownNetwork)
        },
        Check(
            "hashes.passwordCounts", "an entry with hash and password is a new entry", section: "backups.update",
            touchesBackups: true
        ) { check in
            let wire = try await check.open()
            let network = try check.fresh()
            let old = try await check.update([network], on: wire)
            let changed = CheckNetwork(ssid: network.ssid, password: check.freshPassword())
            let oldHash = old.networks.last?.hash.base64 ?? ""
            let entry = check.entry(changed).with(["hash": .text(oldHash)])
            let list: BackupList = try await wire.get(.updateBackups, .networks(old.references.dropLast() + [entry]))
            try expect("another hash", list.networks.last?.hash.base64 != oldHash, got: "the old one")
            try expect("the same SSID", list.networks.last?.ssid, is: network.ssid)
        },
        Check(
            "hashes.distinct", "another password gives another hash", section: section, touchesBackups: true
        ) { check in
            let wire = try await check.open()
            let network = try check.fresh()
            let other = CheckNetwork(ssid: network.ssid, password: check.freshPassword())
            let first = try await check.update([network], on: wire).networks.last?.hash
            let second = try await check.update([other], on: wire).networks.last?.hash
            let third = try await check.update([network], on: wire).networks.last?.hash
            try expect("another hash for another password", first != second, got: "the same")
            try expect("the same hash for the same password", first == third, got: "another")
        },
    ]

    private static let section = "Names of networks"
}

extension CheckRun {
    fileprivate func expectHashes(of networks: [CheckNetwork]) async throws {
        let key = try key()
        let wire = try await open()
        for network in networks {
            let hash = NetworkHash(
                localKey: key.localKey, ssid: network.ssid, password: network.password.map { Secret(text: $0) })
            let list = try await update([network], on: wire)
            try expect("the hash", list.networks.last?.hash, is: hash)
        }
    }
}

extension String {
    fileprivate func padded(to length: Int) -> String {
        String((self + String(repeating: "x", count: length)).prefix(length))
    }
}

extension Check {
    static let sealing = [
        Check("key.agree", "the answer has a key for sealing passwords", section: "key.agree") { check in
            let wire = try await check.open()
            let key = try await check.sealingKey(wire)
            let again = try await check.sealingKey(wire)
            // The device may change its key at any time, but must then also change the ID.
            try expect(
                "a new ID exactly for a new key", (key.keyId == again.keyId) == (key.publicKey == again.publicKey),
                got: "only one changed")
            try expect("a key that is not all zero", key.publicKey.contains { $0 != 0 }, got: "32 zero bytes")
        },
        seal("accepted", "a sealed password is stored like a plain one") { check in
            let wire = try await check.open()
            let network = try check.fresh()
            let entry = try await check.sealedEntry(network, on: wire)
            let list: BackupList = try await wire.get(.updateBackups, .networks(check.kept(leaving: 1) + [entry]))
            let hash = NetworkHash(
                localKey: try check.key().localKey, ssid: network.ssid,
                password: network.password.map { Secret(text: $0) })
            try expect("the hash of the sealed password", list.networks.last?.hash, is: hash)
        },
        seal("used", "a sealed password that is sent again is refused as sealUsed") { check in
            let wire = try await check.open()
            let entry = try await check.sealedEntry(try check.fresh(), on: wire)
            let list: BackupList = try await wire.get(.updateBackups, .networks(check.kept(leaving: 1) + [entry]))
            try await check.refusesSealed(entry, .sealUsed, list, wire)
            // The device must also refuse the seal over another connection.
            try await check.refusesSealed(entry, .sealUsed, list, try await check.open())
        },
        seal("tampered", "a sealed password with one bit changed is sealInvalid") { check in
            let wire = try await check.open()
            let list: BackupList = try await wire.get(.getBackups)
            for position in [0, 31, 32, 95, 96, SealedPassword.length - 1] {
                let network = try check.fresh()
                let sealed = try await check.seal(network, on: wire)
                guard let changed = sealed.changed(at: position, keyId: sealed.sealed.keyId) else { continue }
                let entry = network.json.with(["sealed": try JSONValue(encoding: changed)])
                try await check.refusesSealed(entry, .sealInvalid, list, wire)
            }
        },
        seal("otherNetwork", "a password that was sealed for another network is sealInvalid") { check in
            let wire = try await check.open()
            let list: BackupList = try await wire.get(.getBackups)
            let sealed = try await check.seal(try check.fresh(), on: wire)
            let entry = try check.fresh().json.with(["sealed": try JSONValue(encoding: sealed)])
            try await check.refusesSealed(entry, .sealInvalid, list, wire)
        },
        seal("otherOption", "a password that was sealed for another request or option is sealInvalid") { check in
            let wire = try await check.open()
            let list: BackupList = try await wire.get(.getBackups)
            let network = try check.fresh()
            let sealed = try JSONValue(encoding: try await check.seal(network, on: wire))
            let entry = network.json.with(["sealed": sealed])
            for option: [String: JSONValue] in [["hidden": true], ["security": "wpa2-psk"]] {
                try await check.refusesSealed(entry.with(option), .sealInvalid, list, wire)
            }
            try await wire.ask(.switchNetwork, entry).expectRefusal(.sealInvalid, field: "body.sealed")
            let body = JSONValue.networks(try check.kept(leaving: 1) + [entry]).with([
                "ifRevision": .integer(list.revision)
            ])
            try await wire.ask(.updateBackups, body).expectRefusal(.sealInvalid)
        },
        seal("proved", "the device proves its sealing key for the nonce of the request") { check in
            let device = try check.key()
            let wire = try await check.open()
            let nonce = Nonce.random()
            guard check.target.isNetwork else {
                // A local program has not proved a key, so the device sends it no proof.
                let body: JSONValue = ["nonce": try JSONValue(encoding: nonce)]
                return try await wire.ask(.agreeKey, body).expectRefusal(.proofRequired)
            }
            let key: SealingKey = try await wire.get(.agreeKey, ["nonce": try JSONValue(encoding: nonce)])
            try expect("a proof", key.isProved(to: device, over: nonce), got: "none")
            try expect(
                "a proof for this nonce only", !key.isProved(to: device, over: .random()), got: "a proof for any nonce")
        },
        seal("otherOwner", "a password that was sealed with another local key is sealInvalid") { check in
            let wire = try await check.open()
            let list: BackupList = try await wire.get(.getBackups)
            let network = try check.fresh()
            let other = try DeviceKey(deviceId: try check.key().deviceId, localKey: Secret(text: check.freshPassword()))
            let sealed = try await check.seal(network, on: wire, for: other)
            let entry = network.json.with(["sealed": try JSONValue(encoding: sealed)])
            try await check.refusesSealed(entry, .sealInvalid, list, wire)
        },
        seal("rotated", "a seal with an unknown key is refused as keyRotated") { check in
            let wire = try await check.open()
            let list: BackupList = try await wire.get(.getBackups)
            let network = try check.fresh()
            let made = try await check.seal(network, on: wire)
            guard let sealed = made.changed(at: nil, keyId: "harness-none") else { return }
            let entry = network.json.with(["sealed": try JSONValue(encoding: sealed)])
            try await check.refusesSealed(entry, .keyRotated, list, wire)
        },
        seal("malformed", "an invalid seal is malformed") { check in
            let wire = try await check.open()
            let list: BackupList = try await wire.get(.getBackups)
            let short = Data(repeating: 7, count: SealedPassword.length - 1).base64EncodedString()
            let proof = JSONValue.text(Data(repeating: 7, count: Proof.length).base64EncodedString())
            let faults: [(sealed: JSONValue, field: String)] = [
                ("plain", "sealed"), ([:], "sealed.box"), (["keyId": "k", "box": "!", "proof": proof], "sealed"),
                (["keyId": "k", "box": .text(short), "proof": proof], "sealed"),
                (["keyId": 1, "box": .text(short), "proof": proof], "sealed.keyId"),
                (["keyId": "k", "box": .text(short)], "sealed.proof"),
                (["keyId": "k", "box": .text(short), "proof": "!"], "sealed.proof"),
            ]
            for (sealed, field) in faults {
                let entry = try check.fresh().json.with(["sealed": sealed])
                try await check.refusesSealed(entry, .malformed, field: field, list, wire)
            }
        },
        seal("atomic", "a list with an invalid seal is refused as a whole") { check in
            let wire = try await check.open()
            let list: BackupList = try await wire.get(.getBackups)
            let good = try await check.sealedEntry(try check.fresh(), on: wire)
            let network = try check.fresh()
            let sealed = try await check.seal(try check.fresh(), on: wire)
            let bad = network.json.with(["sealed": try JSONValue(encoding: sealed)])
            let entries = try check.kept(leaving: 2) + [good, bad]
            try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(
                .sealInvalid, field: "body.networks[\(entries.count - 1)].sealed")
            let read: BackupList = try await wire.get(.getBackups)
            try expect("the unchanged list", read.shown, is: list.shown)
        },
        Check(
            "key.seal.required", "a plain password over the network is sealRequired", section: sealingSection,
            touchesBackups: true
        ) {
            check in
            guard check.target.isNetwork else { throw Obstacle("needs a device in the network: --device") }
            let wire = try await check.open()
            let list: BackupList = try await wire.get(.getBackups)
            let network = try check.fresh()
            let plain = network.json.with(["password": .text(network.password ?? "")])
            let entries = try check.kept(leaving: 1) + [plain]
            try await wire.ask(.updateBackups, .networks(entries), sealing: false).expectRefusal(
                .sealRequired, field: "body.networks[\(entries.count - 1)].password")
            try await wire.ask(.switchNetwork, plain, sealing: false).expectRefusal(
                .sealRequired, field: "body.password")
            let read: BackupList = try await wire.get(.getBackups)
            try expect("the unchanged list", read.shown, is: list.shown)
        },
    ]

    private static let sealingSection = "a sealed password"

    private static func seal(
        _ name: String, _ title: String, _ body: @escaping @Sendable (CheckRun) async throws -> Void
    ) -> Check {
        Check("key.seal.\(name)", title, section: sealingSection, touchesBackups: true, body)
    }
}

extension SealedPassword {
    /// Returns a copy with one bit of the box changed, or with another key ID; nil if the copy is invalid.
    fileprivate func changed(at position: Int?, keyId: String) -> SealedPassword? {
        var bytes = sealed.bytes
        if let position { bytes[position] ^= 1 }
        return SealedBox(keyId: keyId, bytes: bytes, key: sealed.key, proof: sealed.proof).flatMap(SealedPassword.init)
    }
}

extension CheckRun {
    fileprivate func sealingKey(_ wire: Wire) async throws -> SealingKey {
        let answer = try await wire.ask(.agreeKey)
        if answer.code == .unsupported { try needsFeature("seal") }
        return try answer.body(of: .agreeKey)
    }

    fileprivate func seal(_ network: CheckNetwork, on wire: Wire, for device: DeviceKey? = nil) async throws
        -> SealedPassword
    {
        let context = SealContext(
            of: NewNetwork(ssid: network.ssid, password: network.password.map { Secret(text: $0) }),
            in: BackupsUpdate(networks: []))
        return try await sealingKey(wire).seal(
            Secret(text: network.password ?? ""), in: context, for: try device ?? key())
    }

    fileprivate func sealedEntry(_ network: CheckNetwork, on wire: Wire) async throws -> JSONValue {
        network.json.with(["sealed": try JSONValue(encoding: try await seal(network, on: wire))])
    }

    /// Sends an update with the entry. Checks that the device refuses it and keeps its list.
    /// - Parameter field: member of the entry that the error must name.
    fileprivate func refusesSealed(
        _ entry: JSONValue, _ code: ErrorCode, field: String = "sealed", _ list: BackupList, _ wire: Wire
    ) async throws {
        let entries = try kept(leaving: 1) + [entry]
        try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(
            code, field: "body.networks[\(entries.count - 1)].\(field)")
        let read: BackupList = try await wire.get(.getBackups)
        try expect("the unchanged list", read.shown, is: list.shown)
    }
}
