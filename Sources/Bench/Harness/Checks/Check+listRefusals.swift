import AppProtocol

extension Check {
    /// Updates that are refused, each by its own error.
    static let listRefusals: [Check] =
        BadEntry.all.map { bad in
            update(bad.name, "\(bad.what) is refused as \(bad.code.rawValue)") { trial in
                let wire = try await trial.open()
                let entries = try trial.kept(leaving: 1) + [try await bad.entry(trial, wire)]
                let field = bad.field.map { "body.networks[\(entries.count - 1)].\($0)" }
                try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(bad.code, field: field)
            }
        } + [
            update("tooManyNetworks", "one network more than the maximum is refused, and the list stands") { trial in
                let wire = try await trial.open()
                let full = try await trial.fill(on: wire)
                let entries = full.references + [try await trial.entry(try trial.fresh(), on: wire)]
                try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(
                    .tooManyNetworks, details: ["max": .integer(full.max), "count": .integer(entries.count)])
                let read: BackupList = try await wire.get(.getBackups)
                try expect("the list as it was", read.shown, is: full.shown)
            },
            update("duplicateNetwork", "a network that is named twice is refused") { trial in
                let wire = try await trial.open()
                let network = try trial.fresh()
                let kept = try trial.kept(leaving: 2)
                let twice = [try await trial.entry(network, on: wire), try await trial.entry(network, on: wire)]
                try await wire.ask(.updateBackups, .networks(kept + twice)).expectRefusal(.duplicateNetwork)
            },
            update("duplicateHash", "also where it is named by its hash and by its SSID") { trial in
                let wire = try await trial.open()
                let network = try trial.fresh()
                let list = try await trial.update([network], on: wire)
                _ = try trial.kept(leaving: 2)
                let entries = list.references + [try await trial.entry(network, on: wire)]
                try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(.duplicateNetwork)
            },
            update("revisionConflict", "an update for another revision is refused, with the present one") { trial in
                let wire = try await trial.open()
                let before: BackupList = try await wire.get(.getBackups)
                for revision in [before.revision - 1, before.revision + 1, -1, Int.max] {
                    let body = JSONValue.networks(before.references).with(["ifRevision": .integer(revision)])
                    try await wire.ask(.updateBackups, body).expectRefusal(
                        .revisionConflict, details: ["revision": .integer(before.revision)])
                }
            },
        ]

    /// The same behind a good entry: the list and its revision must be what they were, and nobody is told of a change.
    static let atomicity: [Check] =
        BadEntry.all.map { bad in
            Check(
                "backups.atomic.\(bad.name)", "\(bad.what) behind a good entry changes nothing",
                section: "backups.update", touchesBackups: true
            ) { trial in
                try await trial.changesNothing(bad)
            }
        } + [
            Check(
                "backups.atomic.revisionConflict", "nor does an update for another revision", section: "backups.update",
                touchesBackups: true
            ) { trial in
                let wire = try await trial.listening()
                let before: BackupList = try await wire.get(.getBackups)
                let entry = try await trial.entry(try trial.fresh(), on: wire)
                let body = JSONValue.networks(try trial.kept(leaving: 1) + [entry]).with([
                    "ifRevision": .integer(before.revision + 1)
                ])
                try await wire.ask(.updateBackups, body).expectRefusal(.revisionConflict)
                try await trial.expectUnchanged(before, on: wire)
            }
        ]
}

/// One way in which an entry of an update can be wrong.
private struct BadEntry: Sendable {
    let name: String
    let what: String
    let code: ErrorCode
    /// The member that the error names; nil where it names none.
    let field: String?
    let entry: @Sendable (Trial, Wire) async throws -> JSONValue

    init(
        _ name: String, _ what: String, _ code: ErrorCode, field: String? = nil,
        _ entry: @escaping @Sendable (Trial, Wire) async throws -> JSONValue
    ) {
        self.name = name
        self.what = what
        self.code = code
        self.field = field
        self.entry = entry
    }

    static let all = [
        BadEntry("unknownNetwork", "a hash that the device does not know", .unknownNetwork) { _, _ in
            ["hash": .text(Check.unknownHash)]
        },
        BadEntry("hash.notBase64", "a hash that is none", .malformed, field: "hash") { _, _ in ["hash": "deadbeef"] },
        BadEntry("hash.short", "a hash of 31 bytes", .malformed, field: "hash") { _, _ in
            ["hash": .text(String(repeating: "A", count: 42) + "==")]
        },
        BadEntry("nameless", "an entry without name and hash", .malformed, field: "ssid") { _, _ in [:] },
        BadEntry("notAnObject", "an entry that is text", .malformed) { _, _ in "Attic" },
        BadEntry("passwordMissing", "a new network without password", .passwordMissing, field: "password") { trial, _ in
            try trial.fresh().json
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
        BadEntry("ssidHex.notHex", "hexadecimal digits that are none", .malformed, field: "ssidHex") { _, _ in
            ["ssidHex": "zz", "security": "open"]
        },
        BadEntry("ssid.both", "ssid and ssidHex at once", .malformed, field: "ssid") { _, _ in
            ["ssid": "A", "ssidHex": "41", "security": "open"]
        },
        BadEntry("password.short", "a password of 7 characters", .invalidPassword, field: "password") { trial, _ in
            try trial.fresh().json.with(["password": "7777777"])
        },
        BadEntry("password.long", "a password of 64 characters", .invalidPassword, field: "password") { trial, _ in
            try trial.fresh().json.with(["password": .text(String(repeating: "p", count: 64))])
        },
        BadEntry("password.notASCII", "a password with other than ASCII", .invalidPassword, field: "password") {
            trial, _ in
            try trial.fresh().json.with(["password": "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}"])
        },
        BadEntry("password.control", "a password with a line feed", .invalidPassword, field: "password") { trial, _ in
            try trial.fresh().json.with(["password": "12345678\n"])
        },
        BadEntry("password.ofOpen", "an open network with a password", .invalidPassword, field: "password") {
            trial, _ in
            try trial.fresh().json.with(["password": "12345678", "security": "open"])
        },
        BadEntry("security.enterprise", "a network that asks for a user", .unsupported, field: "security") { trial, _ in
            try trial.fresh().json.with(["password": "12345678", "security": "enterprise"])
        },
    ]
}

extension Trial {
    /// Sends a good entry and, after it, a bad one.
    fileprivate func changesNothing(_ bad: BadEntry) async throws {
        let wire = try await listening()
        let before: BackupList = try await wire.get(.getBackups)
        let entries =
            try kept(leaving: 2) + [
                try await entry(try fresh(), on: wire), try await bad.entry(self, wire),
            ]
        try await wire.ask(.updateBackups, .networks(entries)).expectRefusal(bad.code)
        try await expectUnchanged(before, on: wire)
    }

    /// Checks that the list is as it was and that nobody was told otherwise: the next change that is told is one that
    /// this makes.
    fileprivate func expectUnchanged(_ before: BackupList, on wire: Wire) async throws {
        let after: BackupList = try await wire.get(.getBackups)
        try expect("the list as it was", after.shown, is: before.shown)
        let change = try await update([try fresh()], on: wire)
        let told = try await wire.event("backups.changed") { $0.backups }
        try expect("no event of an update that was refused", told.shown, is: change.shown)
    }
}

extension BackupList {
    /// Entries of an update that keep the list as it is.
    var references: [JSONValue] { networks.map { ["hash": .text($0.hash.base64)] } }
}
