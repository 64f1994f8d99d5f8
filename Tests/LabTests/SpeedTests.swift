import Lab
import Testing

extension Radios {
    /// Figures for the reader of the run, altnet beside wpa_supplicant alone; nothing is asserted about them.
    @Suite struct SpeedTests {
        @Test func theSupplicantAlone() async throws {
            try await scenario("wpa_supplicant alone", accessPoints: 2) { lab in
                let home = try await lab.accessPoint(
                    "HomeNet", security: .wpa2("home-password"), channel: 1, signal: -50)
                let backup = try await lab.accessPoint(
                    "BackupNet", security: .wpa2("backup-password"), channel: 6, signal: -60)
                try await home.powerOn()
                try await backup.powerOn()
                let pinger = try await lab.pinger()
                try await lab.station.startDHCPClient()
                let start = ContinuousClock.now
                try await lab.station.startSupplicant(knowing: [
                    KnownNetwork(home.ssid, security: .wpa2("home-password"), priority: 2),
                    KnownNetwork(backup.ssid, security: .wpa2("backup-password"), priority: 1),
                ])
                lab.report(
                    "wpa_supplicant alone: cold start to first ping",
                    try await pinger.reply(within: .seconds(60)) - start)
                #expect(try await lab.station.network() == home.ssid)

                let cut = ContinuousClock.now
                try await home.powerOff()
                try await pinger.silence(of: .milliseconds(500), within: .seconds(5))
                let back = try await pinger.reply(after: cut + .milliseconds(100), within: .seconds(120))
                lab.report("wpa_supplicant alone: power cut to first ping", back - cut)
                #expect(try await lab.station.network() == backup.ssid)
            }
        }

        @Test func theAgentsMemory() async throws {
            try await scenario("memory", accessPoints: 2) { lab in
                let house = try await House(lab)
                let memory = try #require(await house.device.residentMemory)
                lab.report("altnet: resident memory", "\(memory) KiB")
            }
        }
    }
}
