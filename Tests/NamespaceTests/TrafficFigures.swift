import AgentModel
import ConnectivitySupport
import Foundation
import Testing

@testable import Connectivity

/// The cost of knowing: `ALTNET_FIGURES_S=300 .build/debug/altnetPackageTests.xctest --testing-library swift-testing
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
            + [4, 60].map { Row(scheme: "mqtts", idle: $0) }
        let seconds = try #require(figureSeconds)
        let authority = try Authority()
        let lines = try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for (index, row) in rows.enumerated() {
                let certificate = row.scheme == "mqtts" ? try authority.certify("IP:10.8.0.1") : nil
                let bench = try Bench(
                    row, certificate: certificate, trust: try TargetTrust(authorities: authority.path))
                try await bench.start()
                group.addTask { (index, try await bench.measure(for: seconds)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        print(
            "| Target | Keep-alive after | Noticed after | Segments of TCP a minute | Other packets a minute"
                + " | Bytes a day | A second connection |\n|---|---|---|---|---|---|---|")
        print(lines.joined(separator: "\n"))
    }

    /// The cost of the source of validation by itself, from the name's end on: nginx with `return 204`.
    @Test func bytesOfAQuestion() async throws {
        let network = try TestNetwork()
        let server = try Server.nginx(at: "10.8.0.1", port: 80, through: network.serverSide)
        try server.start()
        let validator = OnlineValidator(source: try ValidationSource(url: "http://10.8.0.1/check"))
        let way = InterfaceNetwork(interface: "wlan0", on: network.group)
        var look = await validator.look(through: way, within: .seconds(10))
        while look.finding != .online { look = await validator.look(through: way, within: .seconds(10)) }
        let count = 100
        let before = try network.traffic()
        for _ in 0..<count { look = await validator.look(through: way, within: .seconds(10)) }
        // The goodbyes of the last one come behind.
        try await Task.sleep(for: .milliseconds(200))
        let after = try network.traffic()
        #expect(look.finding == .online)
        print("one question: \(look.cost) bytes counted,", (after.bytes - before.bytes) / count, "bytes on the link in")
        print(Double(after.packets - before.packets) / Double(count), "packets")
    }

    private struct Bench {
        let row: Row
        let network: TestNetwork
        let server: Program
        let watch: Watch
        let keepAlive: KeepAlive

        init(_ row: Row, certificate: String?, trust: TargetTrust) throws {
            self.row = row
            network = try TestNetwork()
            // No host answers the questions of IPv6 in these networks, so that it would ask on and on.
            try network.onDevice("echo 1 | tee /proc/sys/net/ipv6/conf/*/disable_ipv6")
            try network.onRouter("echo 1 | tee /proc/sys/net/ipv6/conf/*/disable_ipv6")
            server = try Server.mosquitto(
                at: "10.8.0.1", port: 1883, certificate: certificate, through: network.serverSide)
            keepAlive = KeepAlive(idle: .seconds(row.idle))
            watch = try Watch(
                "a=\(row.scheme)://10.8.0.1:1883", trust: trust, keepAlive: keepAlive, reconnection: Reconnection(),
                on: network.group)
        }

        func start() async throws {
            try server.start()
            watch.connection.start(through: InterfaceNetwork(interface: "wlan0", on: network.group))
            try await watch.becomes(.ready)
        }

        func measure(for seconds: Int) async throws -> String {
            let before = try network.traffic()
            // The measurement is the wait.
            try await Task.sleep(for: .seconds(seconds))
            let after = try network.traffic()
            #expect(watch.connection.status.isOnline)
            let minute = { (count: Int) in String(format: "%.1f", Double(count) * 60 / Double(seconds)) }
            let segments = after.segments - before.segments
            let bytes = (after.bytes - before.bytes) * 86_400 / seconds
            return
                "| \(row.scheme) | \(row.idle) s | \(keepAlive.detection.milliseconds / 1000) s | \(minute(segments))"
                + " | \(minute(after.packets - before.packets - segments)) | \(bytes / 1000) kB"
                + " | \(try await costOfAProbe()) bytes |"
        }

        /// Of one that finds the connection silent for too long, and makes another one beside it.
        private func costOfAProbe() async throws -> Int {
            let count = 100
            let before = try network.traffic().bytes
            for _ in 0..<count {
                #expect(await watch.connection.probe(within: .seconds(10), freshness: .seconds(-1)) == nil)
            }
            // The goodbyes of the last one come behind.
            try await Task.sleep(for: .milliseconds(200))
            return (try network.traffic().bytes - before) / count
        }
    }
}

private let figureSeconds = ProcessInfo.processInfo.environment["ALTNET_FIGURES_S"].flatMap { Int($0) }
