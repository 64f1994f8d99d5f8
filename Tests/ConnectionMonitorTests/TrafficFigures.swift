import AgentModel
import Foundation
import InterfaceNetwork
import Testing

@testable import ConnectionMonitor

/// What it costs to know: `ALTNET_FIGURES_S=300 .build/debug/altnetPackageTests.xctest --testing-library swift-testing
/// --filter TrafficFigures` measures for 300 s each, side by side, and prints the table of the documentation.
@Suite(
    .enabled(
        if: figureSeconds != nil && Server.areInstalled && TestNetwork.isPossible,
        "ALTNET_FIGURES_S is to be set to some seconds, and root is needed"))
struct TrafficFigures {
    private struct Row {
        let scheme: String
        let idle: Int
    }

    @Test func bytesOfADay() async throws {
        let rows =
            [4, 15, 30, 60].map { Row(scheme: "tcp", idle: $0) } + [4, 60].map { Row(scheme: "mqtt", idle: $0) }
        let seconds = try #require(figureSeconds)
        let lines = try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for (index, row) in rows.enumerated() {
                group.addTask { (index, try await Self.measure(row, for: seconds)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        print("| Target | Keep-alive after | Noticed after | Packets a minute | Bytes a day |\n|---|---|---|---|---|")
        print(lines.joined(separator: "\n"))
    }

    private static func measure(_ row: Row, for seconds: Int) async throws -> String {
        let network = try TestNetwork()
        let server = try Server.mosquitto(at: "10.8.0.1", port: 1883, through: network.serverSide)
        try server.start()
        let keepAlive = KeepAlive(idle: .seconds(row.idle))
        let watch = try Watch(
            "a=\(row.scheme)://10.8.0.1:1883", keepAlive: keepAlive, reconnection: Reconnection(), on: network.group)
        watch.connection.start(through: InterfaceNetwork(interface: "wlan0", on: network.group))
        try await watch.becomes(.ready)
        let before = try network.traffic()
        // The measurement is the wait.
        try await Task.sleep(for: .seconds(seconds))
        let after = try network.traffic()
        #expect(watch.connection.status.isOnline)
        let bytes = (after.bytes - before.bytes) * 86_400 / seconds
        let packets = Double(after.packets - before.packets) * 60 / Double(seconds)
        return "| \(row.scheme) | \(row.idle) s | \(keepAlive.detection.milliseconds / 1000) s"
            + " | \(String(format: "%.1f", packets)) | \(bytes / 1000) kB |"
    }
}

private let figureSeconds = ProcessInfo.processInfo.environment["ALTNET_FIGURES_S"].flatMap { Int($0) }
