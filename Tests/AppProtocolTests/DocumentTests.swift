import AppProtocol
import Foundation
import Testing

@Suite struct RemedyTests {
    @Test(arguments: ErrorCode.allCases) func isASentence(code: ErrorCode) {
        #expect(code.remedy.count > 10 && code.remedy.hasSuffix("."))
    }
}

/// Every message of Docs/reference/protocol.md is read, written and read again.
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
        case .getNetwork, .setName: .network(try ServerLine.body(NetworkStatus.self, of: line))
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
        case .openRescue, .closeRescue: .rescue(try ServerLine.body(SetupAccessPointStatus.self, of: line))
        case .getMetrics: .metrics(try ServerLine.body(MetricsReport.self, of: line))
        }
    }
}

/// Docs/reference/protocol.md, whose examples are the tests' messages.
enum ProtocolDocument {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Docs")

    static let text =
        (try? String(contentsOf: folder.appendingPathComponent("reference/protocol.md"), encoding: .utf8)) ?? ""

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
