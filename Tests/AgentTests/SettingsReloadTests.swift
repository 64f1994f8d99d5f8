import Glibc
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

    @Test func whatCanBeChangedIsAndTheRestIsSaid() async throws {
        let (settings, log) = try await reload(
            "ALTNET_MARGIN_DB=9\nALTNET_INTERFACE=wlan1\n",
            "ALTNET_MARGIN_DB=12\nALTNET_WEAK_2G_DBM=-72\nALTNET_LOG_LEVEL=debug\nALTNET_LAN_PORT=4000\n")
        #expect(settings.policy.margin == 12 && settings.policy.twoPointFour.weak == -72)
        #expect(settings.logLevel == .debug)
        #expect(settings.interface == "wlan1" && settings.lanPort == 25_863)
        #expect(
            log.split(separator: "\n") == [
                "notice ALTNET_INTERFACE stays \"wlan1\" until the agent is restarted, then it is the default (wlan0)",
                "notice ALTNET_LAN_PORT stays the default (25863) until the agent is restarted, then it is \"4000\"",
                "notice ALTNET_WEAK_2G_DBM is \"-72\" now, was the default (-70)",
                "notice ALTNET_MARGIN_DB is \"12\" now, was \"9\"",
                "notice ALTNET_LOG_LEVEL is \"debug\" now, was the default (notice)",
            ])
    }

    @Test func aBrokenFileChangesNothing() async throws {
        let (settings, log) = try await reload(
            "ALTNET_MARGIN_DB=9\n", "ALTNET_MARGIN_DB=12\nALTNET_WEAK_2G_DBM=0\nnonsense\n")
        #expect(settings.policy.margin == 9)
        #expect(log.contains("error /conf:2: ALTNET_WEAK_2G_DBM is \"0\""))
        #expect(log.contains("error /conf:3: the line is \"nonsense\""))
        #expect(log.hasSuffix("they stay as they were\n"))
    }

    /// A restart's setting that is still another one is told again, for it still waits.
    @Test func whatIsPutBackIsSaid() async throws {
        let (settings, log) = try await reload("ALTNET_MARGIN_DB=9\n", "")
        #expect(settings.policy.margin == 8)
        #expect(log == "notice ALTNET_MARGIN_DB is the default (8) now, was \"9\"\n")
        #expect(try await reload("", "# other\n").log == "notice the settings are as they were\n")
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
