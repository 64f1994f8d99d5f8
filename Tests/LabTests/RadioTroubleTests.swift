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

        /// What follows the name, rates and channel in beacons: cut off, empty, too long, there twice, of no version
        /// that there is, or several networks in one (multiple BSSID).
        private static let oddElements = [
            "dd", "30ff", "0000", "00ff" + String(repeating: "41", count: 200), "3014010000", "3000", "30020100",
            "300101300101", "0301", "05020001", "2c00", "4700", "47020200", "470403000f0153020001", "ff01",
            "dd04506f9a1c", "dd07506f9a1c020000", "30140100000fac04ffff000fac040100000fac020000",
            "2503000b01", "3c04000c0b01", "c900", "3d00", "bf00",
        ]

        @Test(.extended) func malformedBeacons() async throws {
            try await scenario("malformed beacons", accessPoints: 2) { lab in
                let house = try await House(lab)
                let beacons = try await house.home.craftedBeacons()
                let mark = house.mark
                let start = ContinuousClock.now
                let sender = Task {
                    while !Task.isCancelled {
                        for (number, elements) in Self.oddElements.enumerated() {
                            let bssid = try #require(BSSID(bytes: [2, 0xee, 0, 0, 0, UInt8(number)]))
                            // Another network's name, then home's own.
                            for name in ["Odd", "HomeNet"] {
                                let known = [0, UInt8(name.utf8.count)] + Array(name.utf8) + [1, 1, 0x82, 3, 1, 1]
                                try beacons.send(from: bssid, elements: known + Self.bytes(elements))
                            }
                        }
                        // Home's own address, with another interval and another name than it has.
                        try beacons.send(from: house.home.bssid, elements: [0, 3, 0x41, 0x41, 0x41], interval: 0)
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
                for _ in 0..<3 {
                    let results = try await house.device.ask { client throws(ClientError) in
                        try await client.scan().results
                    }
                    #expect(results.networks.contains { $0.bssid == house.home.bssid })
                    #expect(results.networks.contains { $0.ssid.text == "Odd" }, "they are heard")
                }
                sender.cancel()
                _ = await sender.result
                try await house.expectTraffic(through: house.home)
                house.expectWay([], since: mark)
                lab.report("altnet: among malformed beacons, longest gap", house.pinger.longestGap(since: start))
                try await house.expectFailover(within: .seconds(20))
            }
        }

        /// Every beacon has an address and a name of its own: the kernel keeps a thousand.
        @Test(.extended) func thousandsOfAccessPoints() async throws {
            try await scenario("thousands of access points", accessPoints: 2) { lab in
                let house = try await House(lab)
                let beacons = try await house.home.craftedBeacons()
                let mark = house.mark
                let sender = Task {
                    for number in 0..<10_000 where !Task.isCancelled {
                        let low = UInt8(truncatingIfNeeded: number)
                        let high = UInt8(truncatingIfNeeded: number >> 8)
                        let bssid = try #require(BSSID(bytes: [2, 0xee, 0, 0, high, low]))
                        let name = number.isMultiple(of: 3) ? "HomeNet" : "Net\(number)"
                        try beacons.send(
                            from: bssid,
                            elements: [0, UInt8(name.utf8.count)] + Array(name.utf8) + [1, 1, 0x82, 3, 1, 1])
                        if number.isMultiple(of: 50) { try await Task.sleep(for: .milliseconds(10)) }
                    }
                }
                for _ in 0..<2 {
                    let results = try await house.device.ask { client throws(ClientError) in
                        try await client.scan().results
                    }
                    lab.report("altnet: access points in an answer", "\(results.networks.count)")
                    #expect(results.networks.count > 10, "they are heard")
                }
                _ = await sender.result
                try await house.expectTraffic(through: house.home)
                house.expectWay([], since: mark)
                let memory = try #require(await house.device.residentMemory)
                lab.report("altnet: resident memory", "\(memory) KiB")
                try await house.expectFailover(within: .seconds(20))
            }
        }

        private static func bytes(_ hexadecimal: String) -> [UInt8] {
            let digits = Array(hexadecimal)
            return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
                UInt8(String(digits[$0...($0 + 1)]), radix: 16)
            }
        }
    }
}
