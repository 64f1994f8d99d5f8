import AgentModel
import AppProtocol
import Testing

/// The tables of Docs/protocol.md say what the code does.
@Suite struct DocumentTests {
    @Test(arguments: ErrorCode.allCases)
    func explains(code: ErrorCode) {
        let matter = "\(code.matterStatus)".prefix(1).uppercased() + "\(code.matterStatus)".dropFirst()
        let row = ProtocolDocument.row("`\(code.rawValue)`")
        #expect(row.count == 4)
        #expect(row.first == matter)
        #expect(row.last == code.remedy)
        #expect(row.dropFirst(2).first?.isEmpty == false)
    }

    @Test func explainsNoOther() {
        #expect(ProtocolDocument.codes(inTable: "code") == ErrorCode.allCases.map(\.rawValue))
    }

    @Test(arguments: [
        ("bytes of a line, without its line feed", "\(ProtocolLimits.lineLength)"),
        ("levels of objects and lists in a line", "\(ProtocolLimits.nesting)"),
        ("bytes of an `id`", "1 to \(ProtocolLimits.idLength)"),
        ("bytes of an SSID", "1 to \(SSID.maximumLength)"),
        ("characters of a password", Self.text(Passphrase.allowedLength)),
        ("networks in an update", "\(ProtocolLimits.updateEntries)"),
        ("SSIDs, and frequencies, of a scan", "\(ProtocolLimits.scanTargets) each"),
        ("providers that claim a network in range", "\(ProtocolLimits.providers)"),
        ("bytes of a provider's name", Self.text(ProtocolLimits.providerNameLength)),
        ("seconds of `confirmWithin`", Self.text(ProtocolLimits.confirmWithin)),
        (
            "decisions of a `history.get`",
            "\(Self.text(ProtocolLimits.historyDecisions)), else \(ProtocolLimits.defaultHistoryDecisions)"
        ),
        ("bytes of a device id", "\(Self.text(ProtocolLimits.deviceIdLength)), printable ASCII without spaces"),
        ("bytes of a local key", Self.text(ProtocolLimits.localKeyLength)),
        ("bytes of a `keyId`", Self.text(ProtocolLimits.keyIdLength)),
        (
            "boxes that a sealing key opens",
            "\(ProtocolLimits.sealingKeyBoxes), and \(ProtocolLimits.sealingKeyBoxes) in its grace"
        ),
        ("seconds that a sealing key is the one to use", "\(ProtocolLimits.sealingKeyAge)"),
        ("seconds that a `diagnosis.get` takes", "\(ProtocolLimits.diagnosisSeconds)"),
        ("fields of a `portal.request`, and values of a `portal.answer`", "\(ProtocolLimits.portalFields)"),
        ("bytes of a field's name", Self.text(ProtocolLimits.portalNameLength)),
        ("bytes of a value", "\(ProtocolLimits.portalValueLength)"),
        ("bytes of a title, and of a label", "\(ProtocolLimits.portalTitleLength)"),
        ("bytes of a message to a person", "\(ProtocolLimits.portalMessageLength)"),
        ("bytes of a portal's URL", "\(ProtocolLimits.portalURLLength)"),
        ("seconds of its grace", "\(ProtocolLimits.sealingKeyGrace)"),
    ])
    func saysTheLimit(what: String, limit: String) {
        #expect(ProtocolDocument.row(what).first == limit)
    }

    @Test(arguments: [
        ("Wi-Fi", Uplink.wifi, true), ("wired", .wired, true), ("cellular", .cellular, true),
        ("none", nil, true), ("none, and no Wi-Fi interface", nil, false),
    ])
    func saysWhatIsAllowed(over name: String, uplink: Uplink?, radioPresent: Bool) {
        let flags = NetworkFlags.allowed(uplink: uplink, radioPresent: radioPresent, switchInProgress: false)
        let row = ProtocolDocument.row(name)
        #expect(row.count == 6)
        #expect(row.first == uplink.map { "`\($0.rawValue)`" } ?? "absent")
        #expect(
            row.suffix(3) == [
                flags.contains(.canUpdateBackups) ? "yes" : "no", flags.contains(.canSwitch) ? "yes" : "no",
                "\(flags.rawValue)",
            ])
    }

    @Test func namesTheWayIn() {
        #expect(ProtocolDocument.text.contains("TCP, port \(ProtocolLimits.port) "))
        #expect(ProtocolDocument.text.contains("112 bytes in standard Base64") && SealedPassword.length == 112)
    }

    private static func text(_ range: ClosedRange<Int>) -> String { "\(range.lowerBound) to \(range.upperBound)" }
}
