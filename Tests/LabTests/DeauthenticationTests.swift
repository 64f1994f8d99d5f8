import AgentModel
import AppProtocol
import Lab
import Testing

extension Radios {
    /// Somebody in range ends the link again and again, or bears the network's name without its key.
    @Suite struct DeauthenticationTests {
        /// Ten in 250 s and one every four seconds: the device is back each time, and never held off by anything of its own.
        @Test(arguments: [(count: 10, every: 25), (count: 25, every: 4)])
        func aStormBlocksNothing(count: Int, every seconds: Int) async throws {
            try await scenario("deauthentication every \(seconds) s") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                let mark = device.decisions.count
                let start = ContinuousClock.now
                for number in 1...count {
                    _ = try await home.ask("DEAUTHENTICATE ff:ff:ff:ff:ff:ff")
                    try await Task.sleep(until: start + .seconds(seconds * number), clock: .continuous)
                }
                let offline = Pinger.interval * pinger.lost(since: start)
                lab.report("altnet: \(count) deauthentications, one every \(seconds) s, without answers", offline)
                lab.report("altnet: longest gap of them", pinger.longestGap(since: start))
                let decisions = device.decisions.dropFirst(mark)
                #expect(!decisions.contains { $0.kind.rawValue == "blocked" })
                #expect(decisions.count { $0.kind.rawValue == "lost" } >= count / 2, "it was thrown out")
                #expect(offline < .seconds(seconds * count / 2))
                try await device.online(on: home, within: .seconds(10))
            }
        }

        /// Eight networks of the right name and a wrong key, all stronger than the real one, on its channel and on others; the
        /// real one is cut for a moment.
        @Test func roguesDoNotLockTheRealOneOut() async throws {
            try await scenario("rogues of the right name", accessPoints: 5) { lab in
                let home = try await lab.accessPoint(
                    "HomeNet", security: .wpa2("home-password"), channel: 1, signal: -60)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger(to: home.gateway)
                try await pinger.reply(within: .seconds(5))
                for (number, channel) in [1, 6, 11, 36].enumerated() {
                    let twin = [
                        "bss=twin\(number)", "ssid=HomeNet", "wpa=2", "rsn_pairwise=CCMP", "wpa_key_mgmt=WPA-PSK",
                        "wpa_passphrase=somebody-elses-\(number)",
                    ]
                    let rogue = try await lab.accessPoint(
                        "HomeNet", security: .wpa2("not-the-password"), channel: channel, signal: -30 - number,
                        settings: twin)
                    try await rogue.powerOn()
                }
                let mark = device.decisions.count
                for _ in 0..<3 {
                    try await home.powerOff()
                    try await Task.sleep(for: .seconds(1))
                    try await home.powerOn()
                    let back = ContinuousClock.now
                    let online = try await pinger.reply(after: back, within: .seconds(10))
                    lab.report("altnet: back on the real one among eight rogues", online - back)
                    try await Task.sleep(for: .seconds(5))
                }
                // Away for longer: meanwhile the device tries what bears the name.
                try await home.powerOff()
                try await Task.sleep(for: .seconds(60))
                try await home.powerOn()
                let back = ContinuousClock.now
                let online = try await pinger.reply(after: back, within: .seconds(10))
                lab.report("altnet: back on the real one after a minute with eight rogues alone", online - back)
                let decisions = device.decisions.dropFirst(mark)
                #expect(!decisions.contains { $0.kind.rawValue == "blocked" })
                #expect(decisions.contains { $0.kind.rawValue == "failed" }, "it met a rogue")
            }
        }
    }
}
