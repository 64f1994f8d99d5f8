import AgentModel
import AppProtocol
import Foundation
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
        (
            "characters of a password",
            "\(Self.text(Passphrase.allowedLength)), or \(Passphrase.keyDigits) hexadecimal digits"
        ),
        ("bytes of a password beside `wpa3-sae`", Self.text(Passphrase.saeLength)),
        ("bytes of PEM text in a credential, in its one form", Self.text(EnterpriseCredential.pemLength)),
        ("bytes of a user's name", Self.text(EnterpriseCredential.identityLength)),
        ("networks in an update", "\(ProtocolLimits.updateEntries)"),
        ("SSIDs, and frequencies, of a scan", "\(ProtocolLimits.scanTargets) each"),
        ("providers that claim a network in range", "\(ProtocolLimits.providers)"),
        ("bytes of a provider's name", Self.text(ProtocolLimits.providerNameLength)),
        ("targets", "\(ProtocolLimits.targets)"),
        ("bytes of a target's name", Self.text(ProtocolLimits.targetNameLength)),
        ("bytes of a target's URL", Self.text(ProtocolLimits.targetURLLength)),
        ("seconds of `confirmWithin`", Self.text(ProtocolLimits.confirmWithin)),
        (
            "decisions of a `history.get`",
            "\(Self.text(ProtocolLimits.historyDecisions)), else \(ProtocolLimits.defaultHistoryDecisions)"
        ),
        ("bytes of a device id", "\(Self.text(ProtocolLimits.deviceIdLength)), printable ASCII without spaces"),
        (
            "bytes of a local key",
            "\(Self.text(ProtocolLimits.localKeyLength)); [80 bits](factory.md#provisioning) of entropy"
        ),
        ("seconds until a proved request expires", "\(ProtocolLimits.provedRequestLife)"),
        ("proved commands remembered until they expire", "\(ProtocolLimits.provedCommands)"),
        ("bytes of a `keyId`", Self.text(ProtocolLimits.keyIdLength)),
        ("bytes of the name of an app's key", Self.text(ProtocolLimits.keyNameLength)),
        ("keys of apps beside the owner's", "\(ProtocolLimits.appKeys)"),
        ("seconds of `expiresIn`", Self.text(ProtocolLimits.keyLifetime)),
        ("seconds of `claimWithin`", Self.text(ProtocolLimits.claimWithin)),
        ("bytes of the first line of a connection from the network", "\(ProtocolLimits.openingLineLength)"),
        (
            "bytes of WebSocket frames before that line is complete, pings included",
            "\(ProtocolLimits.openingFramesLength)"
        ),
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

    // covers: seed/allowed-by-flags
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

/// Every message of Docs/protocol.md is read, written and read again.
@Suite struct ExampleTests {
    // covers: seed/one-protocol
    @Test func theDocumentHasEveryMessage() {
        let types = ProtocolDocument.requests.compactMap { try? Request(line: Array($0.utf8)).type }
        #expect(Set(types) == Set(MessageType.allCases))
        #expect(types.count == ProtocolDocument.requests.count)
        let events = ProtocolDocument.events.compactMap { read($0)?.body.name }
        #expect(
            Set(events) == [
                "network.changed", "signal", "scan.finished", "backups.changed", "switch.progress", "decision", "gap",
                "target.changed", "portal.request", "portal.ended",
            ])
    }

    @Test(arguments: ProtocolDocument.requests)
    func requestSurvives(line: String) throws {
        let request = try Request(line: Array(line.utf8))
        let written = try request.line()
        #expect(try Request(line: written) == request)
        #expect(ProtocolDocument.object(String(decoding: written, as: UTF8.self)) == ProtocolDocument.object(line))
    }

    @Test(arguments: ProtocolDocument.answers)
    func answerSurvives(line: String) throws {
        let bytes = Array(line.utf8)
        guard case .answer(let id?, let failure) = try ServerLine(line: bytes) else {
            Issue.record("no answer")
            return
        }
        let result: Result<Response.Body, ProtocolError>
        if let failure {
            result = .failure(failure)
        } else {
            let type = try #require(ProtocolDocument.type(ofRequest: id).flatMap(MessageType.init(rawValue:)))
            result = .success(try body(of: bytes, answering: type))
        }
        let written = Response(id: id, result: result).line()
        #expect(ProtocolDocument.object(String(decoding: written, as: UTF8.self)) == ProtocolDocument.object(line))
    }

    // covers: seed/connection-events
    @Test(arguments: ProtocolDocument.events)
    func eventSurvives(line: String) throws {
        let event = try #require(read(line))
        let written = String(decoding: event.line(), as: UTF8.self)
        #expect(read(written) == event)
        #expect(ProtocolDocument.object(written) == ProtocolDocument.object(line))
    }

    private func read(_ line: String) -> Event? {
        guard case .event(let event)? = try? ServerLine(line: Array(line.utf8)) else { return nil }
        return event
    }

    private func body(of line: [UInt8], answering type: MessageType) throws -> Response.Body {
        switch type {
        case .getCapabilities: .capabilities(try ServerLine.body(Capabilities.self, of: line))
        case .getNetwork: .network(try ServerLine.body(NetworkStatus.self, of: line))
        case .getBackups, .updateBackups, .stagePassword, .dropPassword:
            .backups(try ServerLine.body(BackupList.self, of: line))
        case .switchNetwork, .getSwitch, .confirmSwitch, .proveRequest:
            .switchStatus(try ServerLine.body(SwitchStatus.self, of: line))
        case .startScan: .scanStarted(try ServerLine.body(ScanStarted.self, of: line))
        case .getScan: .scan(try ServerLine.body(ScanResults.self, of: line))
        case .subscribe: .subscribed(try ServerLine.body(Subscribed.self, of: line))
        case .getHistory: .history(try ServerLine.body(History.self, of: line))
        case .agreeKey: .key(try ServerLine.body(SealingKey.self, of: line))
        case .getDiagnosis: .diagnosis(try ServerLine.body(Diagnosis.self, of: line))
        case .getPortal, .answerPortal: .portal(try ServerLine.body(PortalStatus.self, of: line))
        case .getTargets, .updateTargets: .targets(try ServerLine.body(TargetList.self, of: line))
        case .getProviders, .setProvider: .providers(try ServerLine.body(HotspotProviders.self, of: line))
        case .openSession: .opened(try ServerLine.body(SessionOpened.self, of: line))
        case .getKeys, .revokeKey: .keys(try ServerLine.body(AppKeyReport.self, of: line))
        case .addKey, .claimKey: .handout(try ServerLine.body(KeyHandout.self, of: line))
        case .openRescue, .closeRescue: .rescue(try ServerLine.body(RescueStatus.self, of: line))
        case .getMetrics: .metrics(try ServerLine.body(MetricsReport.self, of: line))
        }
    }
}

/// Docs/protocol.md, whose examples are the tests' messages.
enum ProtocolDocument {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Docs")

    static let text = (try? String(contentsOf: folder.appendingPathComponent("protocol.md"), encoding: .utf8)) ?? ""

    static let requests = lines(after: "-> ")
    static let answers = lines(after: "<- ").filter {
        !$0.contains(#""event":"#) && !$0.hasPrefix(#"{"v":1,"nonce""#)
    }
    static let events = lines(after: "<- ").filter { $0.contains(#""event":"#) }

    /// The type of the request with this id.
    static func type(ofRequest id: String) -> String? {
        requests.lazy.compactMap { object($0) as? [String: Any] }.first { $0["id"] as? String == id }?["type"]
            as? String
    }

    /// The codes in the first column of the table with this heading.
    static func codes(inTable heading: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).drop { !$0.hasPrefix("| \(heading) |") }
            .dropFirst(2)
            .prefix { $0.hasPrefix("|") }
            .flatMap { row in (row.split(separator: "|").first ?? "").matches(of: /`([^`]+)`/).map { String($0.1) } }
    }

    /// The cells after the first one of the row that begins with this one.
    static func row(_ first: String) -> [String] {
        let row = text.split(separator: "\n").first { $0.hasPrefix("| \(first) |") }
        return row?.split(separator: "|").dropFirst().map { $0.trimmingCharacters(in: .whitespaces) } ?? []
    }

    /// The texts of the Swift files of these folders of `Sources`.
    static func sources(_ targets: [String]) throws -> [String] {
        let sources = folder.deletingLastPathComponent().appendingPathComponent("Sources")
        return try targets.flatMap { target in
            let files = FileManager.default.enumerator(atPath: sources.appendingPathComponent(target).path)
            return try (files?.allObjects ?? []).compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }
                .map { try String(contentsOf: sources.appendingPathComponent("\(target)/\($0)"), encoding: .utf8) }
        }
    }

    /// A JSON line as something that compares by meaning.
    static func object(_ line: some StringProtocol) -> NSObject? {
        (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? NSObject
    }

    private static func lines(after arrow: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(arrow) }.map { String($0.dropFirst(arrow.count)) }
    }
}
