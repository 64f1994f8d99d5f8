import AgentModel
import Glibc
import Testing

@testable import Netlink

/// The example in Docs/integrator/connectivity.md, word for word: it compiles, and does what it says.
@Suite struct ExampleTests {
    func watch() async throws(NetlinkError) {
        let monitor = try await ReachabilityMonitor(of: .internet)
        await monitor.start()
        for await path in monitor.changes {
            let uplink = path.uplink.map { "\($0.interface) (\($0.kind.rawValue))" } ?? "nothing"
            let carrier = path.uplink?.carrier.map { " on \($0.interface) (\($0.kind.rawValue))" } ?? ""
            print(path.isReachable ? "online by \(uplink)\(carrier)" : "offline")
            if path.flags.contains(.isCellular) { print("traffic costs money") }
        }
    }

    @Test func isTheOneInTheDocumentation() throws {
        let example = try #require(
            block(
                in: "../../Docs/integrator/connectivity.md", from: "func watch() async throws(NetlinkError)",
                to: "}\n```"))
        let ours = try #require(block(in: "ReachabilityTests.swift", from: "    func watch()", to: "    }\n\n"))
        let unindented = ours.split(separator: "\n").map { $0.dropFirst(4) }.joined(separator: "\n")
        #expect(unindented == example)
    }

    @Test(.timeLimit(.minutes(10))) func endsWhenItsTaskDoes() async throws {
        let task = Task { try await watch() }
        task.cancel()
        try await task.value
    }

    private func block(in file: String, from start: String, to end: String) -> String? {
        let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
        guard let stream = fopen("/\(folder)/\(file)", "r") else { return nil }
        defer { fclose(stream) }
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let text = String(decoding: buffer[..<fread(&buffer, 1, buffer.count, stream)], as: UTF8.self)
        guard let first = text.firstRange(of: start),
            let last = text[first.lowerBound...].firstRange(of: end)
        else { return nil }
        return String(text[first.lowerBound..<last.lowerBound]) + (end.hasPrefix("    }") ? "    }" : "}")
    }
}
