import AgentModel
import AppClient
import Lab
import Testing

extension Radios {
    /// What happens to the radio of the device, and what else uses it.
    @Suite struct RadioTroubleTests {
        /// Blocked by a program, and let go: it says so meanwhile, and is back at once.
        @Test func aBlockedRadioIsToldAndComesBack() async throws {
            try await scenario("rfkill") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                try await lab.station.block(true)
                try await eventually(within: .seconds(20), "the device to say that its radio is blocked") {
                    await device.log.contains("is blocked (rfkill)")
                }
                let mark = device.decisions.count
                try await Task.sleep(for: .seconds(20))
                let back = ContinuousClock.now
                try await lab.station.block(false)
                let reply = try await pinger.reply(after: back, within: .seconds(30))
                lab.report("altnet: radio unblocked, until a ping", reply - back)
                #expect(!device.decisions.dropFirst(mark).contains { $0.kind.rawValue == "blocked" })
            }
        }

        /// Another program scans all the time: the device is in its network, and leaves a dead one all the same.
        @Test(.extended) func scansByOthers() async throws {
            try await scenario("scans by others", accessPoints: 2) { lab in
                let house = try await House(lab)
                let scanner = try await lab.start(
                    "bash",
                    ["-c", "while :; do iw dev \(lab.station.interface) scan >/dev/null 2>&1; sleep 0.2; done"],
                    log: "scanner")
                let start = ContinuousClock.now
                let mark = house.mark
                try await Task.sleep(for: .seconds(20))
                lab.report("altnet: another program scans, longest gap", house.pinger.longestGap(since: start))
                house.expectWay([], since: mark)
                let cut = ContinuousClock.now
                try await house.home.powerOff()
                let reply = try await house.pinger.reply(after: cut, within: .seconds(30))
                lab.report("altnet: power cut while another program scans, until a ping", reply - cut)
                try await house.device.online(on: house.backup, within: .seconds(10))
                scanner.kill()
            }
        }

        /// Elements of beacons that are cut off, empty, too long, there twice, or of no version that there is.
        private static let malformed = [
            "dd", "30ff", "0000", "00ff" + String(repeating: "41", count: 200), "3014010000", "3000", "30020100",
            "300101300101", "0301", "05020001", "2c00", "4700", "ff01", "dd04506f9a1c",
        ]

        @Test(.extended) func malformedBeacons() async throws {
            try await scenario("malformed beacons", accessPoints: 2) { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                let odd = try await lab.accessPoint("OddNet", security: .open, channel: 1, signal: -30)
                try await home.powerOn()
                try await odd.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger()
                let mark = device.decisions.count
                for elements in Self.malformed {
                    try await odd.change(security: .open, settings: ["vendor_elements=\(elements)"])
                    let results = try await device.ask { client throws(ClientError) in try await client.scan().results }
                    #expect(results.networks.contains { $0.bssid == home.bssid }, "beside \(elements)")
                    try await pinger.reply(within: .seconds(5))
                }
                #expect(device.decisions.count == mark)
            }
        }

        /// The kernel takes the devices through a suspend and back.
        @Test(.extended) func aSuspendIsSurvived() async throws {
            try await scenario("suspend") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                let mark = device.decisions.count
                try await lab.suspend()
                let back = ContinuousClock.now
                let reply = try await pinger.reply(after: back, within: .seconds(30))
                lab.report("altnet: after a suspend, until a ping", reply - back)
                try await device.online(on: home, within: .seconds(10))
                #expect(!device.decisions.dropFirst(mark).contains { $0.kind.rawValue == "blocked" })
            }
        }
    }
}
