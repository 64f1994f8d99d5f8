import AppProtocol
import Foundation
import Randomness
import Testing

@testable import Hotspots

@Suite struct ProviderConnectionTests {
    private func text(_ effect: ProviderConnection.Effect?) -> String {
        guard case .send(let bytes)? = effect else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func introducesItselfFirst() {
        var (connection, effects) = ProviderConnection.opening("a", .authenticate(SignInBench.cafe))
        #expect(text(effects.first) == #"{"provider":"a","type":"open","v":1}"# + "\n")
        #expect(text(effects.last) == #"{"id":"1","type":"hello","v":1}"# + "\n")
        effects = connection.receive(#"{"v":1,"id":"1","ok":true}"#.utf8)
        #expect(effects.isEmpty)
        effects = connection.receive("\n".utf8)
        #expect(text(effects.first).contains(#""type":"authenticate""#))
        effects = connection.receive((#"{"v":1,"id":"2","ok":true,"body":{"result":"success"}}"# + "\n").utf8)
        #expect(effects == [.answer(.signIn(.success(maintainIn: nil, session: nil)))])
        #expect(connection.end() == [.failed(.ended)])
    }

    @Test func whatWasNotAskedForEndsIt() {
        var (connection, _) = ProviderConnection.opening("a", .evaluate(SignInBench.cafe))
        let line = #"{"v":1,"id":"1","ok":true}"# + "\n"
        let effects = connection.receive((line + line).utf8)
        guard case .failed(.garbage)? = effects.last else {
            Issue.record("it went on")
            return
        }
        // And is said once.
        #expect(connection.receive(line.utf8).isEmpty)
        #expect(connection.end().isEmpty)
    }

    @Test func anEndlessLineEndsIt() {
        var (connection, _) = ProviderConnection.opening("a", .evaluate(SignInBench.cafe))
        var effects: [ProviderConnection.Effect] = []
        for _ in 0..<100 { effects += connection.receive([UInt8](repeating: 0x20, count: 4096)) }
        guard effects.count == 1, case .failed(.garbage(let problem)) = effects[0] else {
            Issue.record("\(effects)")
            return
        }
        #expect(problem.contains("65536"))
    }

    @Test func theHostsRefusalIsTold() {
        var (connection, _) = ProviderConnection.opening("a", .evaluate(SignInBench.cafe))
        let line = #"{"v":1,"id":null,"ok":false,"error":{"code":"unsupported","message":"no such provider"}}"# + "\n"
        #expect(
            connection.receive(line.utf8) == [.failed(.refused(ProtocolError(.unsupported, "no such provider")))])
    }

    /// Bytes that are no lines, or lines that are no answers: one end, and never a crash.
    @Test func anyBytes() async {
        var random = SeededRandom(seed: 1)
        let pieces = [
            #"{"v":1,"id":"1","ok":true"#, "}", "\n", #","body":{"#, #""confidence":"high""#, "[", "\"", "\\u0000",
            "1e999",
        ]
        for _ in 0..<3000 {
            var (connection, _) = ProviderConnection.opening("a", .evaluate(SignInBench.cafe))
            var ends = 0
            for _ in 0..<20 {
                let bytes: [UInt8] =
                    Bool.random(using: &random)
                    ? Array((pieces.randomElement(using: &random) ?? "").utf8)
                    : (0..<5).map { _ in UInt8.random(in: 0...255, using: &random) }
                ends += connection.receive(bytes).count { if case .failed = $0 { true } else { false } }
            }
            ends += connection.end().count
            #expect(ends == 1)
            await Task.yield()
        }
    }
}

/// Every message of Docs/reference/providers.md is read, written and read again.
@Suite struct ProviderExampleTests {
    struct Example: Sendable, CustomStringConvertible {
        let request: String
        let answer: String
        var description: String { String(request.prefix(50)) }
    }

    private static let text: String = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return
            (try? String(contentsOf: root.appendingPathComponent("Docs/reference/providers.md"), encoding: .utf8)) ?? ""
    }()

    static let examples: [Example] = zip(lines("-> "), lines("<- ")).map { Example(request: $0, answer: $1) }

    private static func lines(_ arrow: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(arrow) }.map { String($0.dropFirst(arrow.count)) }
    }

    private static func object(_ line: [UInt8]) -> NSObject? {
        (try? JSONSerialization.jsonObject(with: Data(line))) as? NSObject
    }

    @Test func theDocumentHasEveryMessage() throws {
        let kinds = try Self.examples.map { try ProviderRequest(line: Array($0.request.utf8)).kind }
        #expect(Set(kinds) == Set(ProviderRequest.Kind.allCases))
        #expect(Self.lines("-> ").count == Self.lines("<- ").count)
        let results = Set(Self.lines("<- ").compactMap { $0.firstMatch(of: /"result":"(\w+)"/).map { String($0.1) } })
        #expect(
            results == ["success", "uiRequired", "temporaryFailure", "failure", "authenticationRequired"])
    }

    @Test(arguments: examples) func bothSurvive(_ example: Example) throws {
        let request = try ProviderRequest(line: Array(example.request.utf8))
        let written = try request.line()
        #expect(try ProviderRequest(line: written) == request)
        #expect(Self.object(written) == Self.object(Array(example.request.utf8)))

        let line = Array(example.answer.utf8)
        let answer: ProviderAnswer
        do {
            answer = try ProviderAnswer(line: line, to: request.id, of: request.kind)
        } catch {
            guard case .refused(let refusal) = error else { throw error }
            #expect(refusal.code == .unknownType)
            return
        }
        #expect(Self.object(try answer.line(to: request.id)) == Self.object(line))
    }

    @Test func theHostsLinesAreThoseOfTheDocument() throws {
        for request in [HostRequest.list, .open(provider: "click-through")] {
            let line = String(decoding: try request.line(), as: UTF8.self)
            #expect(try HostRequest(line: Array(line.utf8)) == request)
            #expect(
                Self.text.split(separator: "`").contains {
                    Self.object(Array($0.utf8)) == Self.object(Array(line.utf8))
                })
        }
        let list = String(decoding: try ProviderList(names: ["click-through"]).line(), as: UTF8.self)
        #expect(
            Self.text.split(separator: "`").contains { Self.object(Array($0.utf8)) == Self.object(Array(list.utf8)) })
    }

    private static func asking(_ fields: [String]) -> String {
        let start = #"{"v":1,"id":"1","ok":true,"body":{"result":"uiRequired","title":"t","message":"m","fields":["#
        return start + fields.joined(separator: ",") + "]}}"
    }

    /// Older providers answer with the dialogue, others present it on request.
    // covers: seed/provider-ui
    @Test func aDialogueComesAtOnceOrOnRequest() throws {
        func read(_ body: String, _ kind: ProviderRequest.Kind) throws -> ProviderAnswer {
            try ProviderAnswer(line: Array(#"{"v":1,"id":"1","ok":true,"body":\#(body)}"#.utf8), to: "1", of: kind)
        }
        let page = Dialogue(title: "t", message: "m", url: "https://portal.example/")
        let members = #""title":"t","message":"m","url":"https://portal.example/""#
        #expect(try read(#"{"result":"uiRequired",\#(members)}"#, .authenticate) == .signIn(.uiRequired(page)))
        #expect(try read(#"{"result":"uiRequired"}"#, .answer) == .signIn(.uiRequired(nil)))
        #expect(try read("{\(members)}", .presentUI) == .presents(page))
        #expect(throws: ProviderFault.self) { try read(#"{"result":"success"}"#, .presentUI) }
    }

    /// An answer beyond a bound, or to another question, is an error that repeats no value.
    @Test(arguments: [
        #"{"v":1,"id":"2","ok":true,"body":{"result":"success"}}"#,
        #"{"v":2,"id":"1","ok":true,"body":{"result":"success"}}"#,
        #"{"v":1,"id":"1","ok":true,"body":{"result":"hunter2"}}"#,
        #"{"v":1,"id":"1","ok":true}"#,
        #"{"v":1,"id":"1","ok":true,"body":{"result":"uiRequired","title":"","message":"hunter2"}}"#,
        #"{"v":1,"id":"1","ok":true,"body":{"result":"uiRequired","title":"t","message":"m","url":"tel:hunter2"}}"#,
        #"{"v":1,"id":"1","ok":true,"body":{"result":"uiRequired","title":"t","message":"m","url":"javascript:x://"}}"#,
        #"{"v":1,"id":"1","ok":true,"body":{"result":"success","maintainIn":1e99}}"#,
        #"{"v":1,"id":"1","ok":true,"body":{"result":"success","session":"\#(String(repeating: "x", count: 4097))"}}"#,
        #"{"v":1,"id":"1","ok":true,"body":{"result":"failure","reason":"\#(String(repeating: "x", count: 201))"}}"#,
        asking([#"{"name":"hunter2","label":"","kind":"text"}"#, #"{"name":"hunter2","label":"","kind":"text"}"#]),
        asking((0..<17).map { #"{"name":"f\#($0)","label":"","kind":"text"}"# }),
        String(repeating: "[", count: 60_000), "{", "hunter2", "\u{0}",
    ])
    func garbageIsNoAnswer(_ line: String) {
        #expect {
            try ProviderAnswer(line: Array(line.utf8), to: "1", of: .authenticate)
        } throws: { error in
            guard case .garbage(let complaint)? = error as? ProviderFault else { return false }
            return !complaint.contains("hunter2")
        }
    }

    @Test func numbersOfSecondsAreBroughtWithinTheirRange() throws {
        let line = #"{"v":1,"id":"1","ok":true,"body":{"result":"temporaryFailure","retryAfter":-5}}"#
        #expect(
            try ProviderAnswer(line: Array(line.utf8), to: "1", of: .answer)
                == .signIn(.temporaryFailure(retryAfter: 1)))
    }
}
