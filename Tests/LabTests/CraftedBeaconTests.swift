import Lab
import Testing

extension Radios {
    /// Beacons that no honest access point sends, over the air: the kernel, wpa_supplicant and the agent all read them. Elements
    /// that are cut off hostapd cannot send: the kernel refuses them.
    @Suite struct CraftedBeaconTests {
        /// An element: its number, and what is in it.
        private static func element(_ number: UInt8, _ body: [UInt8]) -> [UInt8] {
            [number, UInt8(truncatingIfNeeded: body.count)] + body
        }

        private static func line(_ elements: [UInt8]) -> String {
            let digits = elements.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
            return "vendor_elements=" + digits.joined()
        }

        /// Names, security, country and capabilities twice, too short, too long or empty.
        private static let nonsense =
            element(0, Array("OtherNet".utf8)) + element(0, Array(repeating: 0x41, count: 200)) + element(48, [])
            + element(48, [1, 0, 0, 0x0f, 0xac, 4, 0xff, 0xff, 0, 0x0f]) + element(48, [1])
            + element(7, [0x43]) + element(45, [1]) + element(61, []) + element(191, [0]) + element(3, [])
            + element(37, [1]) + element(11, [1, 2]) + element(221, []) + element(221, [0, 0x50, 0xf2, 1])
            + element(255, []) + element(5, [])

        /// A network that an access point claims to have at an address of its own, as IEEE 802.11-2020, 9.4.2.45 has it.
        private static func claimed(_ name: String, index: UInt8, security: [UInt8] = []) -> [UInt8] {
            let profile =
                element(83, [0x11, 0x04]) + element(0, Array(name.utf8)) + element(85, [index, 1, 0]) + security
            return element(71, [3] + element(0, profile))
        }

        private static let wpa2: [UInt8] = element(
            48, [1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 2, 0, 0])

        /// Beacons without sense, of its own network and from the neighbours: it joins, and moves, as ever.
        @Test(.extended) func elementsWithoutSense() async throws {
            try await scenario("beacons without sense", accessPoints: 3) { lab in
                let neighbour = try await lab.accessPoint(
                    "Neighbour", security: .open, channel: 6, signal: -30,
                    settings: [
                        Self.line(
                            Self.nonsense + Self.element(71, [9]) + Self.element(71, [3, 0, 200])
                                + Self.claimed("HomeNet", index: 0) + Self.claimed("HomeNet", index: 200))
                    ])
                try await neighbour.powerOn()
                let house = try await House(lab, homeSettings: [Self.line(Self.nonsense)])
                let seen = try await house.device.commandLine(["scan"])
                #expect(seen.contains("Neighbour"))
                try await house.expectFailover(within: .seconds(20))
                try await house.home.powerOn()
                try await house.device.online(on: house.home, within: .seconds(90))
                try await house.expectTraffic(through: house.home)
            }
        }

        /// A stronger access point claims to have the backup at an address of its own, where nothing answers. The real one
        /// is joined all the same.
        @Test(.extended) func aClaimedBackup() async throws {
            try await scenario("claimed backup", accessPoints: 3) { lab in
                let liar = try await lab.accessPoint(
                    "Neighbour", security: .open, channel: 6, signal: -35,
                    settings: [Self.line(Self.claimed("BackupNet", index: 1, security: Self.wpa2))])
                try await liar.powerOn()
                let house = try await House(lab)
                let client = try await house.device.client()
                let started = try await client.startScan()
                try await eventually(within: .seconds(20), "the scan to end") {
                    try await client.scanResults().lastScanId == started.scanId
                }
                let seen = try await client.scanResults().networks.filter { $0.ssid == house.backup.ssid }
                #expect(seen.contains { $0.signal == -35 && $0.bssid != house.backup.bssid }, "\(seen)")
                await client.close()
                let cut = ContinuousClock.now
                try await house.home.powerOff()
                try await house.device.online(on: house.backup, within: .seconds(40))
                lab.report("altnet: power cut, backup claimed by a stronger access point, until online", .now - cut)
                try await house.expectTraffic(through: house.backup)
            }
        }

        /// One access point with two networks in one beacon: the one that is not in its own name is found at its address.
        @Test(.extended) func networksInOneBeacon() async throws {
            try await scenario("networks in one beacon", accessPoints: 2) { lab in
                let crowd = try await lab.accessPoint(
                    "Neighbour", security: .open, channel: 1, signal: -35,
                    settings: [Self.line(Self.claimed("GuestNet", index: 2, security: Self.wpa2))])
                try await crowd.powerOn()
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 6)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                try await eventually(within: .seconds(60), "the second network of the beacon to be seen") {
                    try await device.commandLine(["scan"]).contains("GuestNet")
                }
            }
        }
    }
}
