import AgentModel
import AppProtocol
import JSONValues

extension Check {
    static let lists = [
        update("answer", "the answer has the new list with a higher revision") { check in
            let wire = try await check.open()
            let before: BackupList = try await wire.get(.getBackups)
            let network = try check.fresh()
            let after = try await check.update([network], on: wire)
            try expect("a higher revision", after.revision > before.revision, got: "\(after.revision)")
            try expect("the last network", after.networks.last?.ssid, is: network.ssid)
            let read: BackupList = try await wire.get(.getBackups)
            try expect("the list that is read afterwards", read.shown, is: after.shown)
        },
        update("replaces", "a list replaces the earlier list") { check in
            let wire = try await check.open()
            let (first, second) = (try check.fresh(), try check.fresh())
            _ = try await check.update([first], on: wire)
            let list = try await check.update([second], on: wire)
            try expect("the first network gone", !list.networks.contains { $0.ssid == first.ssid }, got: "it stayed")
        },
        update("order", "the networks keep their order") { check in
            let wire = try await check.open()
            let networks = [try check.fresh(), try check.fresh()]
            let kept = try check.kept(leaving: 2)
            // Test both orders, because a device that sorts would pass one of them.
            for (first, last) in [(networks[0], networks[1]), (networks[1], networks[0])] {
                let entries = [check.entry(first)] + kept
                let body: JSONValue = .networks(entries + [check.entry(last)])
                let list: BackupList = try await wire.get(.updateBackups, body)
                try expect("the network sent first", list.networks.first?.ssid, is: first.ssid)
                try expect("the network sent last", list.networks.last?.ssid, is: last.ssid)
            }
        },
        update("empty", "an empty list is accepted") { check in
            let list: BackupList = try await check.open().get(
                .updateBackups, .networks(check.kept(leaving: check.baseline.backups.max)))
            try expect("an empty list", list.networks.isEmpty, got: "\(list.networks.count) networks")
        },
        update("maximum", "the list can be filled to its maximum") { check in
            let wire = try await check.open()
            let list = try await check.fill(on: wire)
            try expect("a full list", list.networks.count, is: list.max)
        },
        update("hidden", "a network keeps its member hidden") { check in
            let wire = try await check.open()
            let fresh = try check.fresh()
            let hidden = CheckNetwork(ssid: fresh.ssid, password: fresh.password, isHidden: true)
            try expect("hidden", try await check.update([hidden], on: wire).networks.last?.isHidden, is: true)
            try expect("hidden", try await check.update([fresh], on: wire).networks.last?.isHidden, is: false)
        },
        update("open", "an open network is stored without a password") { check in
            let wire = try await check.open()
            let open = CheckNetwork(ssid: try check.fresh().ssid, password: nil)
            let list = try await check.update([open], on: wire)
            try expect("security", list.networks.last?.security, is: .open)
        },
        update("twoPasswords", "two networks with one SSID and different passwords are stored apart") { check in
            let wire = try await check.open()
            let first = try check.fresh()
            let second = CheckNetwork(ssid: first.ssid, password: check.freshPassword())
            let list = try await check.update([first, second], on: wire)
            let hashes = list.networks.suffix(2).map(\.hash)
            try expect("two hashes", Set(hashes).count, is: 2)
            let rest = list.references.filter { $0["hash"]?.text != hashes.first?.base64 }
            let after: BackupList = try await wire.get(.updateBackups, .networks(rest))
            try expect("the other network alone", after.networks.last?.hash, is: hashes.last)
        },
        update("ssid.notText", "an SSID that is not UTF-8 comes back byte by byte", section: "Names of networks") {
            check in
            try await check.roundTrip([
                [0xff, 0x00, 0xfe], [0x80], Array(repeating: 0xff, count: 32), [0x63, 0x61, 0x66, 0xe9],
                [0xed, 0xa0, 0x80],
            ])
        },
        update("ssid.anyText", "any other SSID comes back as text", section: "Names of networks") { check in
            try await check.roundTrip([
                Array(repeating: 0x41, count: 32), [0x20], Array("\u{1f4f6}\u{202e}\u{1b}[2J".utf8), [0x00],
                Array("\"\\/".utf8),
                Array("e\u{301}".utf8), Array("\u{e9}".utf8),
            ])
        },
        update("ssid.hexOfText", "ssidHex may have the digits of a text", section: "Names of networks") { check in
            let wire = try await check.open()
            let network = try check.fresh()
            let entry: JSONValue = ["ssidHex": .text(Hex.string(network.ssid.bytes).uppercased()), "security": "open"]
            let list: BackupList = try await wire.get(.updateBackups, .networks(check.kept(leaving: 1) + [entry]))
            try expect("the SSID", list.networks.last?.ssid, is: network.ssid)
        },
        update("ifRevision", "an update for the current revision is accepted") { check in
            let wire = try await check.open()
            let before: BackupList = try await wire.get(.getBackups)
            let entry = check.entry(try check.fresh())
            let body = JSONValue.networks(try check.kept(leaving: 1) + [entry]).with([
                "ifRevision": .integer(before.revision)
            ])
            let _: BackupList = try await wire.get(.updateBackups, body)
        },
        update("race", "exactly one of two updates for one revision is accepted") { check in
            let wires = [try await check.open(), try await check.open()]
            let before: BackupList = try await wires[0].get(.getBackups)
            var bodies: [(wire: Wire, body: JSONValue?)] = []
            for wire in wires {
                let entry = check.entry(try check.fresh())
                let body = JSONValue.networks(try check.kept(leaving: 1) + [entry]).with([
                    "ifRevision": .integer(before.revision)
                ])
                bodies.append((wire, try await wire.sealed(.updateBackups, body)))
            }
            for (wire, body) in bodies { await wire.send(line: .request(.updateBackups, body, id: "race")) }
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
        update("address", "a static address is stored, kept with the hash, changed and removed") { check in
            try check.needsFeature("address")
            let wire = try await check.open()
            let network = try check.fresh()
            let address: JSONValue = ["address": "192.168.1.20/24", "gateway": "192.168.1.1"]
            let entry = check.entry(network).with(["address": address])
            let first: BackupList = try await wire.get(.updateBackups, .networks(check.kept(leaving: 1) + [entry]))
            try expect("the address", first.networks.last?.address?.text, is: "192.168.1.20/24")
            let again: BackupList = try await wire.get(.updateBackups, .networks(first.references))
            try expect("the address that was kept", again.networks.last?.address, is: first.networks.last?.address)
            func changed(_ members: [String: JSONValue]) async throws -> BackupList {
                let references = first.references
                let last = references.suffix(1).map { $0.with(members) }
                return try await wire.get(.updateBackups, .networks(references.dropLast() + last))
            }
            let other = try await changed(["address": ["address": "10.1.2.3/16", "nameServers": ["9.9.9.9"]]])
            try expect("the other address", other.networks.last?.address?.text, is: "10.1.2.3/16")
            try expect("the other gateway", other.networks.last?.address?.gateway, is: nil)
            try expect("another revision", other.revision > again.revision, is: true)
            let taken = try await changed(["dhcp": true])
            try expect("no address", taken.networks.last?.address, is: nil)
            let both =
                first.references.dropLast()
                + first.references.suffix(1).map {
                    $0.with(["dhcp": true, "address": address])
                }
            try await wire.ask(.updateBackups, .networks(Array(both))).expectRefusal(
                .malformed, field: "body.networks[\(both.count - 1)].dhcp")
        },
        update("options", "options are stored, kept with the hash and changed one by one") { check in
            try check.needsFeature("options")
            let wire = try await check.open()
            let network = try check.fresh()
            let entry = check.entry(network).with(["automatic": false])
            let first: BackupList = try await wire.get(.updateBackups, .networks(check.kept(leaving: 1) + [entry]))
            try expect("a manual network", first.networks.last?.options, is: .init(isManual: true))
            let again: BackupList = try await wire.get(.updateBackups, .networks(first.references))
            try expect("the options that were kept", again.networks.last?.options, is: .init(isManual: true))
            func entries(_ members: [String: JSONValue]) -> [JSONValue] {
                first.references.dropLast() + first.references.suffix(1).map { $0.with(members) }
            }
            func changed(_ members: [String: JSONValue]) async throws -> BackupList {
                try await wire.get(.updateBackups, .networks(entries(members)))
            }
            let allowed = try await changed(["allowTkip": true])
            try expect("both options", allowed.networks.last?.options, is: .init(allowsTKIP: true, isManual: true))
            try expect("another revision", allowed.revision > again.revision, is: true)
            let values: [String: JSONValue] = [
                "metered": false, "band": "2.4", "bssid": "02:00:00:00:01:00",
                "ipv6": ["address": "2001:db8::20/64", "gateway": "fe80::1", "nameServers": ["2001:db8::53"]],
            ]
            var all = NetworkOptions(
                allowsTKIP: true, isManual: true, isMetered: false, band: .twoPointFour,
                bssid: BSSID("02:00:00:00:01:00"))
            all.ipv6 = try StaticAddress(
                "2001:db8::20/64", gateway: IPAddress("fe80::1"),
                nameServers: ["2001:db8::53"].compactMap { IPAddress($0) })
            let many = try await changed(values)
            try expect("all options", many.networks.last?.options, is: all)
            let taken = try await changed([
                "allowTkip": false, "automatic": true, "metered": "auto", "band": "any", "bssid": "any", "slaac": true,
            ])
            try expect("no option", taken.networks.last?.options, is: .init())
            let both = entries(values.merging(["slaac": true]) { $1 })
            try await wire.ask(.updateBackups, .networks(both)).expectRefusal(
                .malformed, field: "body.networks[\(both.count - 1)].slaac")
        },
        update("event", "each subscriber gets an event for a change", section: "Events") { check in
            let (wire, other) = (try await check.listening(), try await check.listening())
            let list = try await check.update([try check.fresh()], on: wire)
            for wire in [wire, other] {
                let received = try await wire.event("backups.changed") { $0.backups }
                try expect("the list in the event", received.shown, is: list.shown)
            }
        },
    ]

    static func update(
        _ name: String, _ title: String, section: String = "backups.update",
        _ body: @escaping @Sendable (CheckRun) async throws -> Void
    ) -> Check {
        Check("backups.update.\(name)", title, section: section, touchesBackups: true, body)
    }
}

extension CheckRun {
    /// Stores these networks in addition to the networks that the device already stores.
    func update(_ networks: [CheckNetwork], on wire: Wire) async throws -> BackupList {
        var entries = try kept(leaving: networks.count)
        for network in networks { entries.append(entry(network)) }
        let list: BackupList = try await wire.get(.updateBackups, .networks(entries))
        try expect("the number of networks that were sent", list.networks.count, is: entries.count)
        return list
    }

    func fill(on wire: Wire) async throws -> BackupList {
        let room = baseline.backups.max - (try kept(leaving: 0)).count
        return try await update(try (0..<room).map { _ in try fresh() }, on: wire)
    }

    fileprivate func roundTrip(_ names: [[UInt8]]) async throws {
        let wire = try await open()
        for bytes in names {
            let network = CheckNetwork(ssid: try SSID(bytes: bytes), password: freshPassword())
            let list = try await update([network], on: wire)
            try expect("the SSID", list.networks.last?.ssid, is: network.ssid)
            let read: BackupList = try await wire.get(.getBackups)
            try expect("the SSID", read.networks.last?.ssid, is: network.ssid)
        }
    }
}

extension JSONValue {
    static func networks(_ entries: [JSONValue]) -> JSONValue { ["networks": .array(entries)] }
}

extension BackupList {
    /// Parts that must be equal in equal lists. Measured values can differ, so they are omitted.
    var shown: [String] { ["\(revision)"] + networks.map { "\($0.ssid) \($0.hash) \($0.isHidden)" } }
}

extension Event {
    var backups: BackupList? { if case .backupsChanged(let list) = body { list } else { nil } }
    var progress: SwitchStatus? { if case .switchProgress(let status) = body { status } else { nil } }
    var scan: ScanFinished? { if case .scanFinished(let scan) = body { scan } else { nil } }
    var gap: Gap? { if case .gap(let gap) = body { gap } else { nil } }
}

extension Check {
    static let listRefusals: [Check] =
        BadEntry.all.map { bad in
            update(bad.name, "\(bad.what) is refused as \(bad.code.rawValue)") { check in
                if let feature = bad.feature { try check.needsFeature(feature) }
                let wire = try await check.open()
                let entries = try check.kept(leaving: 1) + [try await bad.entry(check, wire)]
                let field = bad.field.map { "body.networks[\(entries.count - 1)].\($0)" }
                try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(bad.code, field: field)
            }
        } + [
            update("tooManyNetworks", "a list with one network more than the maximum is refused") { check in
                let wire = try await check.open()
                let full = try await check.fill(on: wire)
                let entries = full.references + [check.entry(try check.fresh())]
                try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(
                    .tooManyNetworks, details: ["max": .integer(full.max), "count": .integer(entries.count)])
                let read: BackupList = try await wire.get(.getBackups)
                try expect("the unchanged list", read.shown, is: full.shown)
            },
            update("duplicateNetwork", "a list that names a network twice is refused") { check in
                let wire = try await check.open()
                let network = try check.fresh()
                let kept = try check.kept(leaving: 2)
                let twice = [check.entry(network), check.entry(network)]
                try await wire.ask(.updateBackups, .networks(kept + twice)).expectRefusal(.duplicateNetwork)
            },
            update("duplicateHash", "a list that names a network by hash and by SSID is refused") { check in
                let wire = try await check.open()
                let network = try check.fresh()
                let list = try await check.update([network], on: wire)
                let entries =
                    try check.kept(leaving: 2) + list.references.suffix(1) + [check.entry(network)]
                try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(.duplicateNetwork)
            },
            update("revisionConflict", "an update for another revision is refused with the current revision") { check in
                let wire = try await check.open()
                let before: BackupList = try await wire.get(.getBackups)
                for revision in [before.revision - 1, before.revision + 1, -1, Int.max] {
                    let body = JSONValue.networks(before.references).with(["ifRevision": .integer(revision)])
                    try await wire.ask(.updateBackups, body).expectRefusal(
                        .revisionConflict, details: ["revision": .integer(before.revision)])
                }
            },
        ]

    /// Checks that an update with a bad entry stores no good entry and publishes no event.
    static let atomicity: [Check] =
        BadEntry.all.map { bad in
            Check(
                "backups.atomic.\(bad.name)", "\(bad.what) behind a good entry changes nothing",
                section: "backups.update", touchesBackups: true
            ) { check in
                try await check.changesNothing(bad)
            }
        } + [
            Check(
                "backups.atomic.revisionConflict", "an update for another revision changes nothing",
                section: "backups.update",
                touchesBackups: true
            ) { check in
                let wire = try await check.listening()
                let before: BackupList = try await wire.get(.getBackups)
                let entry = check.entry(try check.fresh())
                let body = JSONValue.networks(try check.kept(leaving: 1) + [entry]).with([
                    "ifRevision": .integer(before.revision + 1)
                ])
                try await wire.ask(.updateBackups, body).expectRefusal(.revisionConflict)
                try await check.expectUnchanged(before, on: wire)
            }
        ]
}

/// One kind of invalid entry in an update.
private struct BadEntry: Sendable {
    let name: String
    let what: String
    let code: ErrorCode
    let field: String?
    /// Required feature of the device. A device without it ignores the entry's members.
    var feature: String?
    let entry: @Sendable (CheckRun, Wire) async throws -> JSONValue

    init(
        _ name: String, _ what: String, _ code: ErrorCode, field: String? = nil,
        _ entry: @escaping @Sendable (CheckRun, Wire) async throws -> JSONValue
    ) {
        self.name = name
        self.what = what
        self.code = code
        self.field = field
        self.entry = entry
    }

    static let all = others + badAddresses + badOptions + badCredentials

    private static let others = [
        BadEntry("unknownNetwork", "a hash that the device does not know", .unknownNetwork) { _, _ in
            ["hash": .text(Check.unknownHash)]
        },
        BadEntry("hash.notBase64", "a hash that is not Base64", .malformed, field: "hash") { _, _ in
            ["hash": "deadbeef"]
        },
        BadEntry("hash.short", "a hash of 31 bytes", .malformed, field: "hash") { _, _ in
            ["hash": .text(String(repeating: "A", count: 42) + "==")]
        },
        BadEntry("nameless", "an entry without name and hash", .malformed, field: "ssid") { _, _ in [:] },
        BadEntry("notAnObject", "an entry that is text", .malformed) { _, _ in "Attic" },
        BadEntry("passwordMissing", "a new network without password", .passwordMissing, field: "password") { check, _ in
            try check.fresh().json
        },
        BadEntry("ssid.empty", "an empty SSID", .invalidSsid, field: "ssid") { _, _ in ["ssid": "", "security": "open"]
        },
        BadEntry("ssid.tooLong", "an SSID of 33 bytes", .invalidSsid, field: "ssid") { _, _ in
            ["ssid": .text(String(repeating: "s", count: 33)), "security": "open"]
        },
        BadEntry("ssid.tooLongInBytes", "an SSID of 17 characters and 34 bytes", .invalidSsid, field: "ssid") { _, _ in
            ["ssid": .text(String(repeating: "\u{e9}", count: 17)), "security": "open"]
        },
        BadEntry("ssidHex.tooLong", "33 bytes in hexadecimal digits", .invalidSsid, field: "ssidHex") { _, _ in
            ["ssidHex": .text(String(repeating: "ff", count: 33)), "security": "open"]
        },
        BadEntry("ssidHex.odd", "an odd number of hexadecimal digits", .malformed, field: "ssidHex") { _, _ in
            ["ssidHex": "fff", "security": "open"]
        },
        BadEntry("ssidHex.notHex", "an ssidHex with other characters than digits", .malformed, field: "ssidHex") {
            _, _ in
            ["ssidHex": "zz", "security": "open"]
        },
        BadEntry("ssid.both", "ssid and ssidHex at once", .malformed, field: "ssid") { _, _ in
            ["ssid": "A", "ssidHex": "41", "security": "open"]
        },
        BadEntry("password.short", "a password of 7 characters", .invalidPassword, field: "password") { check, _ in
            try check.fresh().json.with(["password": "7777777"])
        },
        BadEntry("password.long", "a password of 64 characters", .invalidPassword, field: "password") { check, _ in
            try check.fresh().json.with(["password": .text(String(repeating: "p", count: 64))])
        },
        BadEntry(
            "password.notASCII", "a password with other characters than ASCII", .invalidPassword, field: "password"
        ) {
            check, _ in
            try check.fresh().json.with(["password": "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}"])
        },
        BadEntry("password.control", "a password with a line feed", .invalidPassword, field: "password") { check, _ in
            try check.fresh().json.with(["password": "12345678\n"])
        },
        BadEntry("password.ofOpen", "an open network with a password", .invalidPassword, field: "password") {
            check, _ in
            try check.fresh().json.with(["password": "12345678", "security": "open"])
        },
        BadEntry("security.enterprise", "an enterprise network without a credential", .unsupported, field: "security") {
            check, _ in
            try check.fresh().json.with(["password": "12345678", "security": "enterprise"])
        },
    ]

    /// Invalid credentials. The most dangerous ones would accept any server.
    private static let badCredentials: [BadEntry] = {
        let sound: JSONValue = [
            "method": "peap", "identity": "harness", "password": "harness-password",
            "caCertificate": "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n",
        ]
        func bad(
            _ name: String, _ what: String, _ code: ErrorCode = .invalidEnterprise, field: String,
            _ members: [String: JSONValue]
        ) -> BadEntry {
            var entry = BadEntry("enterprise." + name, what, code, field: "enterprise." + field) { check, _ in
                let name = try check.fresh().json.with(["password": .null, "security": "enterprise"])
                return name.with(["enterprise": sound.with(members)])
            }
            entry.feature = "enterprise"
            return entry
        }
        return [
            bad("unchecked", "a server that is not checked", field: "caCertificate", ["caCertificate": .null]),
            bad(
                "anyName", "the system's authorities without a server name", field: "serverName",
                ["caCertificate": .null, "systemAuthorities": true]),
            bad(
                "twoAuthorities", "a certificate authority in addition to the system's", field: "caCertificate",
                ["systemAuthorities": true]),
            bad("notPEM", "a certificate that is not PEM", field: "caCertificate", ["caCertificate": "harness"]),
            bad("serverName", "a server's name with a wildcard", field: "serverName", ["serverName": "*.example.com"]),
            bad("identity", "no identity", field: "identity", ["identity": .null]),
            bad("password", "no password", field: "password", ["password": .null]),
            bad("method", "an unknown method", .malformed, field: "method", ["method": "md5"]),
            bad("inner", "PAP as the inner method of PEAP", field: "inner", ["inner": "pap"]),
            bad("key", "a private key in addition to a password", field: "privateKey", ["privateKey": "harness"]),
        ]
    }()

    /// Options that a network cannot have.
    private static let badOptions: [BadEntry] = {
        func bad(
            _ name: String, _ what: String, _ code: ErrorCode = .unsupported, field: String,
            _ members: [String: JSONValue]
        ) -> BadEntry {
            var entry = BadEntry("options." + name, what, code, field: field) { check, _ in
                try check.fresh().json.with(["security": "open"]).with(members)
            }
            entry.feature = "options"
            return entry
        }
        return [
            bad("open", "TKIP for an open network", field: "allowTkip", ["allowTkip": true]),
            bad("number", "an option that is a number", .malformed, field: "automatic", ["automatic": 0]),
            bad("metered", "a word for metered", .malformed, field: "metered", ["metered": "yes"]),
            bad("band", "a band that is a number", .malformed, field: "band", ["band": 5]),
            bad("bssid", "a group address as access point", .malformed, field: "bssid", ["bssid": "03:00:00:00:00:01"]),
            bad(
                "ipv6.family", "an IPv4 address as IPv6 address", .invalidAddress, field: "ipv6.address",
                ["ipv6": ["address": "192.168.1.20/24"]]),
            bad(
                "ipv6.gateway", "an IPv6 gateway in another network", .invalidAddress, field: "ipv6.gateway",
                ["ipv6": ["address": "2001:db8::20/64", "gateway": "2001:db9::1"]]),
        ]
    }()

    /// Invalid address settings.
    private static let badAddresses: [BadEntry] = {
        let sound: JSONValue = ["address": "192.168.1.20/24", "gateway": "192.168.1.1", "nameServers": ["192.168.1.1"]]
        func bad(
            _ name: String, _ what: String, _ code: ErrorCode = .invalidAddress, field: String,
            _ members: [String: JSONValue]
        ) -> BadEntry {
            var entry = BadEntry("address." + name, what, code, field: "address." + field) { check, _ in
                try check.fresh().json.with(["security": "open", "address": sound.with(members)])
            }
            entry.feature = "address"
            return entry
        }
        return [
            bad("bare", "an address without a prefix length", field: "address", ["address": "192.168.1.20"]),
            bad("name", "an address that is a name", field: "address", ["address": "router/24"]),
            bad("ipv6", "an IPv6 address", field: "address", ["address": "2001:db8::20/64"]),
            bad("short", "a prefix of 7 bits", field: "address", ["address": "192.168.1.20/7"]),
            bad("long", "a prefix of 33 bits", field: "address", ["address": "192.168.1.20/33"]),
            bad("network", "the address of the network itself", field: "address", ["address": "192.168.1.0/24"]),
            bad("broadcast", "the broadcast address", field: "address", ["address": "192.168.1.255/24"]),
            bad("loopback", "a loopback address", field: "address", ["address": "127.0.0.2/8"]),
            bad("multicast", "a multicast address", field: "address", ["address": "224.0.0.20/24"]),
            bad("number", "an address that is a number", .malformed, field: "address", ["address": 192]),
            bad("missing", "a gateway without an address", .malformed, field: "address", ["address": .null]),
            bad("gateway.outside", "a gateway in another network", field: "gateway", ["gateway": "192.168.2.1"]),
            bad("gateway.self", "the device as its gateway", field: "gateway", ["gateway": "192.168.1.20"]),
            bad("gateway.ipv6", "an IPv6 gateway", field: "gateway", ["gateway": "2001:db8::1"]),
            bad("gateway.name", "a gateway that is a name", .malformed, field: "gateway", ["gateway": "router"]),
            bad(
                "nameServers.name", "a name server that is a name", .malformed, field: "nameServers[1]",
                ["nameServers": ["192.168.1.1", "dns.example.com"]]),
            bad(
                "nameServers.none", "a name server that is not a host address", field: "nameServers[1]",
                ["nameServers": ["192.168.1.1", "0.0.0.0"]]),
            bad(
                "nameServers.four", "four name servers", field: "nameServers",
                ["nameServers": ["192.168.1.1", "192.168.1.2", "192.168.1.3", "192.168.1.4"]]),
            bad(
                "nameServers.text", "name servers that are not a list", .malformed, field: "nameServers",
                ["nameServers": "192.168.1.1"]),
        ]
    }()
}

extension CheckRun {
    fileprivate func changesNothing(_ bad: BadEntry) async throws {
        let wire = try await listening()
        if let feature = bad.feature { try needsFeature(feature) }
        let before: BackupList = try await wire.get(.getBackups)
        let entries =
            try kept(leaving: 2) + [
                entry(try fresh()), try await bad.entry(self, wire),
            ]
        try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(bad.code)
        try await expectUnchanged(before, on: wire)
    }

    /// Checks that the list is unchanged and that the device has published no event. The next change event must belong
    /// to this function's update.
    fileprivate func expectUnchanged(_ before: BackupList, on wire: Wire) async throws {
        let after: BackupList = try await wire.get(.getBackups)
        try expect("the unchanged list", after.shown, is: before.shown)
        let change = try await update([try fresh()], on: wire)
        let received = try await wire.event("backups.changed") { $0.backups }
        try expect("no event for the refused update", received.shown, is: change.shown)
    }
}

extension BackupList {
    var references: [JSONValue] { networks.map { ["hash": .text($0.hash.base64)] } }
}
