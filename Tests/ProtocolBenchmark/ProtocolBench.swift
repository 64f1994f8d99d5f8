import ArgumentParser
import Foundation
import Measuring

@main
struct ProtocolBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "protocol-bench",
        abstract: "Measures the app protocol over TLS and over the Unix socket, beside a message through mosquitto.",
        discussion: """
            The server is the one that ships, in a process of its own, with a device behind it that answers at once. \
            Everything goes over loopback. A message through mosquitto goes to the broker and back to the same client.
            """,
        subcommands: [Serve.self])

    @Option(help: "Queries whose latency is measured, of each kind.")
    var queries = 20_000

    @Option(help: "Seconds of throughput, for each number of connections.")
    var seconds = 5

    @Option(help: "Connections that are held without a word.")
    var idle = 1000

    @Option(help: "Handshakes that are timed.")
    var handshakes = 200

    @Option(help: "Queries over which memory must stay flat.")
    var endurance = 1_000_000

    @Flag(help: "How the result is written.")
    var form = Form.text

    @Flag(help: "End with status 1 if a goal is missed.")
    var check = false

    enum Form: String, EnumerableFlag { case text, json, markdown }

    func validate() throws {
        guard [queries, seconds, idle, handshakes, endurance].allSatisfy({ $0 > 0 }) else {
            throw ValidationError("every count must be at least 1")
        }
    }

    func run() async throws {
        let report = try await Benchmark(
            queries: queries, seconds: seconds, idle: idle, handshakes: handshakes, endurance: endurance
        ).run()
        switch form {
        case .text: print(report.text)
        case .markdown: print(report.markdown)
        case .json:
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            print(String(decoding: try encoder.encode(Output(report: report, goals: report.goals)), as: UTF8.self))
        }
        if check, !report.goals.allSatisfy(\.isMet) { throw ExitCode(1) }
    }

    private struct Output: Encodable {
        let report: Report
        let goals: [Goal]
    }
}

/// Why nothing could be measured.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
