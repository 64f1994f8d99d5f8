import AgentModel
import AppProtocol
import Randomness
import Testing

@testable import Hotspots

@Suite struct ConversationTests {
    private func text(_ output: ProviderConnection.Output?) -> String {
        guard case .send(let bytes)? = output else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func introducesItselfFirst() {
        var (connection, outputs) = ProviderConnection.opening("a", .authenticate(SignInBench.cafe))
        #expect(text(outputs.first) == #"{"provider":"a","type":"open","v":1}"# + "\n")
        #expect(text(outputs.last) == #"{"id":"1","type":"hello","v":1}"# + "\n")
        outputs = connection.receive(#"{"v":1,"id":"1","ok":true}"#.utf8)
        #expect(outputs.isEmpty)
        outputs = connection.receive("\n".utf8)
        #expect(text(outputs.first).contains(#""type":"authenticate""#))
        outputs = connection.receive((#"{"v":1,"id":"2","ok":true,"body":{"result":"success"}}"# + "\n").utf8)
        #expect(outputs == [.answered(.signIn(.success(maintainIn: nil, session: nil)))])
        #expect(connection.end() == [.failed(.ended)])
    }

    @Test func whatWasNotAskedForEndsIt() {
        var (connection, _) = ProviderConnection.opening("a", .evaluate(SignInBench.cafe))
        let line = #"{"v":1,"id":"1","ok":true}"# + "\n"
        let outputs = connection.receive((line + line).utf8)
        guard case .failed(.garbage)? = outputs.last else {
            Issue.record("it went on")
            return
        }
        // And is said once.
        #expect(connection.receive(line.utf8).isEmpty)
        #expect(connection.end().isEmpty)
    }

    @Test func anEndlessLineEndsIt() {
        var (connection, _) = ProviderConnection.opening("a", .evaluate(SignInBench.cafe))
        var outputs: [ProviderConnection.Output] = []
        for _ in 0..<100 { outputs += connection.receive([UInt8](repeating: 0x20, count: 4096)) }
        #expect(outputs == [.failed(.garbage("the line is longer than 65536 bytes"))])
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
