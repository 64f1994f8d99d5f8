import AgentModel
import AppProtocol

extension Check {
    static let hashes = [
        Check(
            "hashes.rule", "a hash is the Base64 of the SHA-256 of local key, SSID and password", section: section,
            touchesBackups: true
        ) { trial in
            try await trial.expectHashes(of: [try trial.fresh()])
        },
        Check(
            "hashes.open", "an open network counts as one with the empty password", section: section,
            touchesBackups: true
        ) {
            trial in
            try await trial.expectHashes(of: [TrialNetwork(ssid: try trial.fresh().ssid, password: nil)])
        },
        Check("hashes.bytes", "the SSID counts as bytes", section: section, touchesBackups: true) { trial in
            try await trial.expectHashes(of: [
                TrialNetwork(ssid: try SSID(bytes: [0xff, 0x00, 0xfe]), password: trial.freshPassword()),
                TrialNetwork(ssid: try SSID("caf\u{e9}"), password: trial.freshPassword()),
            ])
        },
        Check(
            "hashes.edges", "passwords of 8 and of 63 characters count whole", section: section, touchesBackups: true
        ) { trial in
            for length in [8, 63] {
                let password = String(trial.freshPassword().reversed()).padded(to: length)
                try await trial.expectHashes(of: [TrialNetwork(ssid: try trial.fresh().ssid, password: password)])
            }
        },
        Check(
            "hashes.keep", "an entry by its hash keeps its password", section: "backups.update", touchesBackups: true
        ) { trial in
            let wire = try await trial.open()
            let first = try await trial.update([try trial.fresh()], on: wire)
            let again: BackupList = try await wire.get(.updateBackups, .networks(first.references))
            try expect("the same hashes", again.networks.map(\.hash), is: first.networks.map(\.hash))
            try expect("the same names", again.networks.map(\.ssid), is: first.networks.map(\.ssid))
        },
        Check(
            "hashes.forget", "a network that was removed is known no more", section: "backups.update",
            touchesBackups: true
        ) { trial in
            let wire = try await trial.open()
            let network = try trial.fresh()
            let list = try await trial.update([network], on: wire)
            _ = try await trial.update([], on: wire)
            try await wire.ask(.updateBackups, .networks(list.references)).expectRefusal(.unknownNetwork)
        },
        Check(
            "hashes.passwordCounts", "a password beside a hash makes the entry a new one", section: "backups.update",
            touchesBackups: true
        ) { trial in
            let wire = try await trial.open()
            let network = try trial.fresh()
            let old = try await trial.update([network], on: wire)
            let changed = TrialNetwork(ssid: network.ssid, password: trial.freshPassword())
            let oldHash = old.networks.last?.hash.base64 ?? ""
            let entry = try await trial.entry(changed, on: wire).with(["hash": .text(oldHash)])
            let list: BackupList = try await wire.get(.updateBackups, .networks(old.references.dropLast() + [entry]))
            try expect("another hash", list.networks.last?.hash.base64 != oldHash, got: "the old one")
            try expect("the same SSID", list.networks.last?.ssid, is: network.ssid)
        },
        Check(
            "hashes.distinct", "another password is another hash", section: section, touchesBackups: true
        ) { trial in
            let wire = try await trial.open()
            let network = try trial.fresh()
            let other = TrialNetwork(ssid: network.ssid, password: trial.freshPassword())
            let first = try await trial.update([network], on: wire).networks.last?.hash
            let second = try await trial.update([other], on: wire).networks.last?.hash
            let third = try await trial.update([network], on: wire).networks.last?.hash
            try expect("another hash for another password", first != second, got: "the same")
            try expect("the same hash for the same password", first == third, got: "another")
        },
    ]

    private static let section = "Names of networks"
}

extension Trial {
    fileprivate func expectHashes(of networks: [TrialNetwork]) async throws {
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
