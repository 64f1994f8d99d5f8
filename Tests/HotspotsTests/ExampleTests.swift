import AppProtocol
import Foundation
import Hotspots
import Testing

/// Every message of Docs/providers.md is read, written and read again.
@Suite struct ExampleTests {
    struct Example: Sendable, CustomStringConvertible {
        let request: String
        let answer: String
        var description: String { String(request.prefix(50)) }
    }

    private static let text: String = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return (try? String(contentsOf: root.appendingPathComponent("Docs/providers.md"), encoding: .utf8)) ?? ""
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

    /// What exceeds a bound, or is not what was asked for, is an error that repeats no value.
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
