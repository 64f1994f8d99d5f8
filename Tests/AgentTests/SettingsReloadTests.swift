import Logging
import Testing

@testable import Agent

@Suite struct SettingsReloadTests {
    /// It has no reader here.
    private static let sink = LogSink(descriptor: -1)

    private func reload(
        _ before: String, _ after: String, environment: [String: String] = [:]
    ) async throws -> (settings: AgentSettings, log: String) {
        var result: (AgentSettings, String)?
        try await inFolder { folder in
            let source = SettingsSource(file: folder + "/conf", environment: environment)
            try write(before, to: folder + "/conf")
            var reload = SettingsReload(running: try source.read())
            try write(after, to: folder + "/conf")
            let log = LineCollector()
            await reload.run(source, Self.sink, nil, Logger(label: "") { _ in log })
            result = (reload.running, log.text.split(separator: folder).joined())
        }
        return try #require(result)
    }

    /// The setting of a line, and its quoted values and its defaults in brackets, in their order.
    private static func values(in line: Substring) -> [String] {
        line.split(whereSeparator: { " ,".contains($0) }).map(String.init)
            .filter { $0.hasPrefix("ALTNET_") || $0.hasPrefix("\"") || $0.hasPrefix("(") }
    }

    @Test func whatCanBeChangedIsAndTheRestIsSaid() async throws {
        let (settings, log) = try await reload(
            "ALTNET_MARGIN_DB=9\nALTNET_INTERFACE=wlan1\n",
            "ALTNET_MARGIN_DB=12\nALTNET_WEAK_2G_DBM=-72\nALTNET_LOG_LEVEL=debug\nALTNET_LAN_PORT=4000\n")
        #expect(settings.policy.margin == 12 && settings.policy.twoPointFour.weak == -72)
        #expect(settings.logLevel == .debug)
        #expect(settings.interface == "wlan1" && settings.lanPort == 25_863)
        // The former value is first.
        #expect(
            log.split(separator: "\n").map { Self.values(in: $0) } == [
                ["ALTNET_INTERFACE", "\"wlan1\"", "(wlan0)"], ["ALTNET_LAN_PORT", "(25863)", "\"4000\""],
                ["ALTNET_WEAK_2G_DBM", "(-70)", "\"-72\""], ["ALTNET_MARGIN_DB", "\"9\"", "\"12\""],
                ["ALTNET_LOG_LEVEL", "(notice)", "\"debug\""],
            ])
        #expect(log.split(separator: "\n").map { $0.contains("restart") } == [true, true, false, false, false])
        #expect(log.split(separator: "\n").allSatisfy { $0.hasPrefix("notice ") })
    }

    @Test func aBrokenFileChangesNothing() async throws {
        let (settings, log) = try await reload(
            "ALTNET_MARGIN_DB=9\n", "ALTNET_MARGIN_DB=12\nALTNET_WEAK_2G_DBM=0\nnonsense\n")
        #expect(settings.policy.margin == 9)
        #expect(log.contains("error /conf:2: ALTNET_WEAK_2G_DBM is \"0\""))
        #expect(log.contains("error /conf:3: ") && log.contains("\"nonsense\""))
        let last = try #require(log.split(separator: "\n").last)
        #expect(last.hasPrefix("error ") && !last.contains("/conf"), "and that nothing was taken over")
    }

    /// A restart's setting that is still another one is told again, for it still waits.
    @Test func whatIsPutBackIsSaid() async throws {
        let (settings, log) = try await reload("ALTNET_MARGIN_DB=9\n", "")
        #expect(settings.policy.margin == 8)
        #expect(log.split(separator: "\n").map { Self.values(in: $0) } == [["ALTNET_MARGIN_DB", "\"9\"", "(8)"]])
        let unchanged = try await reload("", "# other\n").log.split(separator: "\n")
        #expect(unchanged.count == 1 && unchanged[0].hasPrefix("notice ") && !unchanged[0].contains("ALTNET_"))
    }

    @Test func theEnvironmentCountsAsBefore() async throws {
        let (settings, _) = try await reload(
            "ALTNET_MARGIN_DB=9\n", "ALTNET_MARGIN_DB=10\n",
            environment: ["ALTNET_MARGIN_DB": "20", "CREDENTIALS_DIRECTORY": "/run/credentials/x"])
        #expect(settings.policy.margin == 20)
        #expect(settings.credentialsDirectory == "/run/credentials/x")
    }

    @Test func withoutAFileThereIsNothingToRead() async throws {
        let source = SettingsSource(environment: [:])
        var reload = SettingsReload(running: try source.read())
        let log = LineCollector()
        await reload.run(source, Self.sink, nil, Logger(label: "") { _ in log })
        #expect(log.text.contains("without --settings"))
    }
}
