import AgentModel
import AppProtocol
import Foundation
import PipedPrograms
import Simulation
import Testing

/// Prometheus' own tool reads what altnet writes for it.
@Suite(.enabled(if: Promtool.isThere, "promtool is missing: apt install prometheus")) struct MetricsFormatTests {
    /// A device that has lived through a power cut of its access point.
    private static func report() throws -> MetricsReport {
        let scenario = try ScenarioLibrary.scenario(named: "lab-power-cut")
        var state = RealTimeDevice.firstState(of: scenario) { _, _ in Secret([UInt8](repeating: 7, count: 32)) }
        var device = RealTimeDevice(
            scenario, hasStory: true, hasNoise: false, seed: 1, state: state, maximumBackups: 3,
            localKey: Secret(text: "0123456789abcdef"), beginning: Timestamp(millisecondsSince1970: 1_770_000_000_000))
        for second in 1...600 {
            device.run(until: Int64(second) * 1000)
            for case .commit(let id, let change) in device.drainEffects() {
                try change.apply(to: &state)
                device.committed(id, state)
            }
        }
        return device.metrics(version: "1.2.3")
    }

    @Test func promtoolFindsNoFault() throws {
        let report = try Self.report()
        let text = report.text(.prometheus)
        let result = try Promtool.run(["check", "metrics"], input: text)
        // It would have units at the end of names alone, and "bucket" in none: nothing of that is here.
        #expect(result.status == 0, "\(result.output)")
        #expect(text.contains("altnet_connected_seconds_total "))
        let outages = try #require(report.metrics.first { $0.name == "altnet_outages" })
        #expect(outages.samples.first { $0.labels == ["cause": "access_point"] }?.value ?? 0 >= 1)
    }

    @Test func theRulesAreRight() throws {
        let folder = Promtool.board + "/prometheus"
        let check = try Promtool.run(["check", "rules", folder + "/altnet.rules.yml"])
        #expect(check.status == 0, "\(check.output)")
        let tests = try Promtool.run(["test", "rules", folder + "/altnet.test.yml"])
        #expect(tests.status == 0 && tests.output.contains("SUCCESS"), "\(tests.output)")
    }

    /// Each query of the dashboard is one that Prometheus reads, and asks for metrics that there are.
    @Test func theDashboardsQueriesAreRight() throws {
        let dashboard = try JSONDecoder().decode(
            Dashboard.self, from: Data(contentsOf: URL(fileURLWithPath: Promtool.board + "/grafana/altnet.json")))
        #expect(dashboard.uid == "altnet" && dashboard.schemaVersion >= 36)
        #expect(Set(dashboard.panels.map(\.id)).count == dashboard.panels.count)
        let names = try Set(Self.report().metrics.map(\.name))
        var rules = "groups:\n  - name: dashboard\n    rules:\n"
        for panel in dashboard.panels {
            #expect(["stat", "timeseries", "table"].contains(panel.type) && !panel.targets.isEmpty)
            #expect(panel.gridPos.x + panel.gridPos.w <= 24)
            for (index, target) in panel.targets.enumerated() {
                for match in target.expr.matches(of: /altnet_[a-z_]+/) {
                    let name = String(match.output)
                    let family = ["_total", "_bucket"].first { name.hasSuffix($0) }.map {
                        String(name.dropLast($0.count))
                    }
                    #expect(names.contains(family ?? name), "\(name)")
                }
                let expression = target.expr.replacingOccurrences(of: "$__rate_interval", with: "5m")
                    .replacingOccurrences(of: "$__range", with: "1d")
                rules += "      - record: panel:\(panel.id)_\(index)\n        expr: '\(expression)'\n"
            }
        }
        let file = NSTemporaryDirectory() + "altnet-dashboard-\(UUID().uuidString).yml"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try rules.write(toFile: file, atomically: true, encoding: .utf8)
        let result = try Promtool.run(["check", "rules", file])
        #expect(result.status == 0, "\(result.output)")
    }
}

private struct Dashboard: Decodable {
    struct Panel: Decodable {
        struct Place: Decodable { let x, y, w, h: Int }
        struct Target: Decodable { let expr: String }
        let id: Int
        let title, type: String
        let gridPos: Place
        let targets: [Target]
    }
    let uid, title: String
    let schemaVersion: Int
    let panels: [Panel]
}

private enum Promtool {
    static let path = "/usr/bin/promtool"
    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: path) }
    static let board =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path + "/board"

    static func run(_ arguments: [String], input: String = "") throws -> (status: Int32, output: String) {
        let (status, output) = try PipedProgram.run(path, arguments, input: Data(input.utf8), errors: nil)
        return (status, String(decoding: output, as: UTF8.self))
    }
}
