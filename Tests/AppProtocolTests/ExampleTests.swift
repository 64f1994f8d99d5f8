import AgentModel
import AppProtocol
import Testing

/// Every message of Docs/protocol.md is read, written and read again.
@Suite struct ExampleTests {
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
        case .getBackups, .updateBackups: .backups(try ServerLine.body(BackupList.self, of: line))
        case .switchNetwork, .getSwitch, .confirmSwitch: .switchStatus(try ServerLine.body(SwitchStatus.self, of: line))
        case .startScan: .scanStarted(try ServerLine.body(ScanStarted.self, of: line))
        case .getScan: .scan(try ServerLine.body(ScanResults.self, of: line))
        case .subscribe: .subscribed(try ServerLine.body(Subscribed.self, of: line))
        case .getHistory: .history(try ServerLine.body(History.self, of: line))
        case .agreeKey: .key(try ServerLine.body(SealingKey.self, of: line))
        case .getDiagnosis: .diagnosis(try ServerLine.body(Diagnosis.self, of: line))
        case .getPortal, .answerPortal: .portal(try ServerLine.body(PortalStatus.self, of: line))
        }
    }
}
