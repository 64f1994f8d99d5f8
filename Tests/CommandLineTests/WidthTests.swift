import AgentModel
import AppProtocol
import Terminal
import Testing

@testable import altnet

/// Every view on terminals of every width.
@Suite struct WidthTests {
    private static let widths = [60, 72, 80, 100, 120, 200]

    private static func device() throws -> ScriptedDevice {
        let long = "the driver does not answer: power the device off and on, or look into the log of its kernel"
        return try ScriptedDevice { state in
            state.network.addresses = ["192.168.10.23", "2001:db8:1:2:ff:fe00:1234:5678", "fe80::ff:fe00:1234:5678"]
            state.network.connectivity = Connectivity(
                internet: .captive, portal: Portal(url: "https://portal.example.net/", state: .inactive),
                targets: [
                    TargetStatus(
                        name: "broker", host: "mqtt.example.com", port: 8883, state: .waiting,
                        reason: .connectionRefused, since: Sample.ago(12))
                ])
            state.network.refused = [
                RefusedNetwork(ssid: try SSID("Attic"), security: .open, reason: .lessSecure, remedy: long)
            ]
            state.diagnosis = Diagnosis(steps: [
                .init(layer: .radio, result: .broken, found: long, remedy: long),
                .init(layer: .target, result: .skipped, found: "nothing to check"),
            ])
            state.portal = PortalStatus(request: try PortalCommandTests.request())
        }
    }

    /// Words of a width are those of an unlimited line, and a line is longer than the terminal only if one word is.
    private func fits(_ arguments: [String], _ device: ScriptedDevice) async throws {
        func run(_ width: Int) async throws -> String {
            let run = try await CommandRun.altnet(
                arguments, device: device, style: Style(width: width), password: "12345678")
            return run.output + run.errors
        }
        let words = Set(try await run(.max).split(whereSeparator: \.isWhitespace))
        for width in Self.widths {
            for line in try await run(width).split(separator: "\n") {
                let parts = line.split(separator: " ")
                #expect(String(line).columns <= width || parts.count == 1, "\(arguments) at \(width): \(line)")
                #expect(Set(parts).isSubset(of: words), "\(arguments) at \(width): \(line)")
            }
        }
    }

    @Test(arguments: [
        "status", "diagnose", "history", "scan --no-scan", "scan", "backups", "home", "targets", "name", "keys",
        "setup-ap", "portal --providers", "switch Nowhere", "backups add x --open", "setup-ap open",
        "discover --seconds 0",
        "backups stage HomeNet --change a",
    ])
    func everyViewFits(line: String) async throws {
        try await fits(line.split(separator: " ").map(String.init), try Self.device())
    }

    @Test func everyHelpFits() async {
        for command in [[]] + Altnet.configuration.subcommands.map({ [$0._commandName] }) {
            let wide = await CommandRun.altnet(command + ["--help"], style: Style(width: 10_000))
            let words = Set(wide.output.split(whereSeparator: \.isWhitespace))
            for width in Self.widths {
                let run = await CommandRun.altnet(command + ["--help"], style: Style(width: width))
                for line in run.output.split(separator: "\n") {
                    #expect(String(line).columns <= width || line.split(separator: " ").count == 1, "\(line)")
                    #expect(Set(line.split(separator: " ")).isSubset(of: words), "\(line)")
                }
            }
        }
    }

    @Test(arguments: [
        ("one two three", 8, "one two\nthree"),
        ("  Name  one two three", 16, "  Name  one two\n        three"),
        ("  one two", 6, "  one\n  two"), ("  one two", 5, "  one\n  two"), ("one", 2, "one"), ("a  b", 9, "a  b"),
        ("Code  abcdefghijkl", 10, "Code  abcdefghijkl"), ("a b\n\nc d", 2, "a\nb\n\nc\nd"), ("家家 家", 5, "家家\n家"),
        ("\u{1b}[32mone\u{1b}[0m two", 7, "\u{1b}[32mone\u{1b}[0m two"), ("a    b", 3, "a\nb"),
    ])
    func linesBreakBetweenWords(text: String, width: Int, wrapped: String) {
        #expect(text.wrapped(to: width) == wrapped)
    }
}
