import AgentModel
import AppProtocol

extension Check {
    /// Updates that succeed.
    static let lists = [
        update("answer", "the answer is the new list, with the next revision") { trial in
            let wire = try await trial.open()
            let before: BackupList = try await wire.get(.getBackups)
            let network = try trial.fresh()
            let after = try await trial.update([network], on: wire)
            try expect("a higher revision", after.revision > before.revision, got: "\(after.revision)")
            try expect("the last network", after.networks.last?.ssid, is: network.ssid)
            let read: BackupList = try await wire.get(.getBackups)
            try expect("the list that is read afterwards", read.shown, is: after.shown)
        },
        update("replaces", "a list replaces the whole list before") { trial in
            let wire = try await trial.open()
            let (first, second) = (try trial.fresh(), try trial.fresh())
            _ = try await trial.update([first], on: wire)
            let list = try await trial.update([second], on: wire)
            try expect("the first network gone", !list.networks.contains { $0.ssid == first.ssid }, got: "it stayed")
        },
        update("order", "the networks keep their order") { trial in
            let wire = try await trial.open()
            let networks = [try trial.fresh(), try trial.fresh()]
            let kept = try trial.kept(leaving: 2)
            // Both ways, so that no order of the device's own can be the one that was sent.
            for (first, last) in [(networks[0], networks[1]), (networks[1], networks[0])] {
                let entries = [try await trial.entry(first, on: wire)] + kept
                let body: JSONValue = .networks(entries + [try await trial.entry(last, on: wire)])
                let list: BackupList = try await wire.get(.updateBackups, body)
                try expect("the network sent first", list.networks.first?.ssid, is: first.ssid)
                try expect("the network sent last", list.networks.last?.ssid, is: last.ssid)
            }
        },
        update("empty", "an empty list is a list") { trial in
            let list: BackupList = try await trial.open().get(
                .updateBackups, .networks(trial.kept(leaving: trial.baseline.backups.max)))
            try expect("an empty list", list.networks.isEmpty, got: "\(list.networks.count) networks")
        },
        update("maximum", "the list can be filled to its maximum") { trial in
            let wire = try await trial.open()
            let list = try await trial.fill(on: wire)
            try expect("a full list", list.networks.count, is: list.max)
        },
        update("hidden", "a network stays hidden or not, as it was sent") { trial in
            let wire = try await trial.open()
            let fresh = try trial.fresh()
            let hidden = TrialNetwork(ssid: fresh.ssid, password: fresh.password, isHidden: true)
            try expect("hidden", try await trial.update([hidden], on: wire).networks.last?.isHidden, is: true)
            try expect("hidden", try await trial.update([fresh], on: wire).networks.last?.isHidden, is: false)
        },
        update("open", "an open network is stored without a password") { trial in
            let wire = try await trial.open()
            let open = TrialNetwork(ssid: try trial.fresh().ssid, password: nil)
            let list = try await trial.update([open], on: wire)
            try expect("security", list.networks.last?.security, is: .open)
        },
        update("ssid.notText", "an SSID that is not UTF-8 comes back byte by byte", section: "Names of networks") {
            trial in
            try await trial.roundTrip([
                [0xff, 0x00, 0xfe], [0x80], Array(repeating: 0xff, count: 32), [0x63, 0x61, 0x66, 0xe9],
                [0xed, 0xa0, 0x80],
            ])
        },
        update("ssid.anyText", "any other SSID comes back as text", section: "Names of networks") { trial in
            try await trial.roundTrip([
                Array(repeating: 0x41, count: 32), [0x20], Array("\u{1f4f6}\u{202e}\u{1b}[2J".utf8), [0x00],
                Array("\"\\/".utf8),
                Array("e\u{301}".utf8), Array("\u{e9}".utf8),
            ])
        },
        update("ssid.hexOfText", "text may come in hexadecimal digits, too", section: "Names of networks") { trial in
            let wire = try await trial.open()
            let network = try trial.fresh()
            let entry: JSONValue = ["ssidHex": .text(Hex.string(network.ssid.bytes).uppercased()), "security": "open"]
            let list: BackupList = try await wire.get(.updateBackups, .networks(trial.kept(leaving: 1) + [entry]))
            try expect("the SSID", list.networks.last?.ssid, is: network.ssid)
        },
        update("ifRevision", "an update for the present revision is accepted") { trial in
            let wire = try await trial.open()
            let before: BackupList = try await wire.get(.getBackups)
            let entry = try await trial.entry(try trial.fresh(), on: wire)
            let body = JSONValue.networks(try trial.kept(leaving: 1) + [entry]).with([
                "ifRevision": .integer(before.revision)
            ])
            let _: BackupList = try await wire.get(.updateBackups, body)
        },
        update("race", "of two updates for one revision exactly one wins") { trial in
            let wires = [try await trial.open(), try await trial.open()]
            let before: BackupList = try await wires[0].get(.getBackups)
            for wire in wires {
                let entry = try await trial.entry(try trial.fresh(), on: wire)
                let body = JSONValue.networks(try trial.kept(leaving: 1) + [entry]).with([
                    "ifRevision": .integer(before.revision)
                ])
                await wire.send(line: .request(.updateBackups, body, id: "race"))
            }
            var refusals = 0
            for wire in wires {
                let answer = try await wire.answer()
                if answer.code == nil {
                    try answer.expectSuccess(of: .updateBackups, id: "race")
                } else {
                    try answer.expectRefusal(.revisionConflict)
                    refusals += 1
                }
            }
            try expect("one refusal", refusals, is: 1)
        },
        update("event", "each subscriber hears of a change", section: "Events") { trial in
            let (wire, other) = (try await trial.listening(), try await trial.listening())
            let list = try await trial.update([try trial.fresh()], on: wire)
            for wire in [wire, other] {
                let told = try await wire.event("backups.changed") { $0.backups }
                try expect("the list in the event", told.shown, is: list.shown)
            }
        },
    ]

    static func update(
        _ name: String, _ title: String, section: String = "backups.update",
        _ body: @escaping @Sendable (Trial) async throws -> Void
    ) -> Check {
        Check("backups.update.\(name)", title, section: section, touchesBackups: true, body)
    }
}

extension Trial {
    /// Has the device store these networks besides its own.
    func update(_ networks: [TrialNetwork], on wire: Wire) async throws -> BackupList {
        var entries = try kept(leaving: networks.count)
        for network in networks { entries.append(try await entry(network, on: wire)) }
        let list: BackupList = try await wire.get(.updateBackups, .networks(entries))
        try expect("as many networks as were sent", list.networks.count, is: entries.count)
        return list
    }

    /// Fills the list up to its maximum.
    func fill(on wire: Wire) async throws -> BackupList {
        let room = baseline.backups.max - (try kept(leaving: 0)).count
        return try await update(try (0..<room).map { _ in try fresh() }, on: wire)
    }

    fileprivate func roundTrip(_ names: [[UInt8]]) async throws {
        let wire = try await open()
        for bytes in names {
            let network = TrialNetwork(ssid: try SSID(bytes: bytes), password: freshPassword())
            let list = try await update([network], on: wire)
            try expect("the SSID", list.networks.last?.ssid, is: network.ssid)
            let read: BackupList = try await wire.get(.getBackups)
            try expect("the SSID", read.networks.last?.ssid, is: network.ssid)
        }
    }
}

extension JSONValue {
    /// The body of an update.
    static func networks(_ entries: [JSONValue]) -> JSONValue { ["networks": .array(entries)] }
}

extension BackupList {
    /// What has to be the same in two lists that are the same; what is measured can differ.
    var shown: [String] { ["\(revision)"] + networks.map { "\($0.ssid) \($0.hash) \($0.isHidden)" } }
}

extension Event {
    var backups: BackupList? { if case .backupsChanged(let list) = body { list } else { nil } }
    var progress: SwitchStatus? { if case .switchProgress(let status) = body { status } else { nil } }
    var scan: ScanFinished? { if case .scanFinished(let scan) = body { scan } else { nil } }
    var gap: Gap? { if case .gap(let gap) = body { gap } else { nil } }
}
