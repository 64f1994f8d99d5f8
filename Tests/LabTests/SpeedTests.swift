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

        /// The kernel looks for missing beacons on whole seconds, so one power cut says little: these are spread over the second.
        @Test func powerCuts() async throws {
            var times: [Duration] = []
            for tenth in stride(from: 0, to: 10, by: 2) {
                try await scenario("power cut \(tenth)", accessPoints: 2) { lab in
                    let house = try await House(lab)
                    // What was seen just now would be joined without a look, and power cuts seldom come just then.
                    try await house.pinger.reply(after: .now + .seconds(15), within: .seconds(20))
                    try await lab.wait(untilTenth: tenth)
                    let cut = ContinuousClock.now
                    try await house.home.powerOff()
                    try await house.device.online(on: house.backup, within: .seconds(20))
                    times.append(
                        try await house.pinger.reply(after: cut + .milliseconds(100), within: .seconds(5)) - cut)
                    guard times.count == 5 else { return }
                    times.sort()
                    lab.report("altnet: power cut to first ping, shortest of 5", times[0])
                    lab.report("altnet: power cut to first ping, median", times[2])
                    lab.report("altnet: power cut to first ping, longest", times[4])
                }
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
