import AgentModel
import Lab
import Testing

extension Radios {
    /// An access point of the device's own on the Raspberry Pi's kind of radio: its firmware authenticates, and wpa_supplicant
    /// does the handshake about keys.
    @Suite(.onFullMAC) struct FullMACAccessPointTests {
        private static let device = IPv4Address(192, 168, 77, 1)
        private static let phone = IPv4Address(192, 168, 77, 2)

        private func open(_ lab: Lab, on interface: String? = nil, channel: Int = 6) async throws {
            let start = ContinuousClock.now
            try await lab.station.openAccessPoint(
                SSID("altnet-1234"), password: "device-password", channel: channel, on: interface, address: Self.device)
            lab.report("access point opened", .now - start)
        }

        private func join(_ phone: WirelessPhone, of lab: Lab) async throws {
            let start = ContinuousClock.now
            let network = ConfiguredNetwork(try SSID("altnet-1234"), security: .wpa2("device-password"))
            try await phone.join(network, address: Self.phone, within: .seconds(20))
            try await phone.pinger(to: Self.device).reply(after: start, within: .seconds(10))
            lab.report("phone started until its first ping", .now - start)
        }

        @Test(.extended) func insteadOfTheStation() async throws {
            try await scenario("fullmac access point instead of the station", accessPoints: 2) { lab in
                let phone = try await lab.wirelessPhone()
                try await open(lab)
                try await join(phone, of: lab)
                try await lab.station.closeAccessPoint()
                try await eventually(within: .seconds(10), "the phone to notice") { await !phone.isJoined }

                // And the station works as before.
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                try await home.powerOn()
                try await lab.station.startSupplicant(
                    knowing: [ConfiguredNetwork(home.ssid, security: .wpa2("home-password"))])
                try await eventually(within: .seconds(20), "the station to join") {
                    await lab.station.joined() == home.bssid
                }
            }
        }

        /// One channel for both: that of the station, whatever the access point was to have.
        @Test func besideTheStation() async throws {
            try await scenario("fullmac access point beside the station", accessPoints: 3) { lab in
                let phone = try await lab.wirelessPhone()
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                let other = try await lab.accessPoint("OtherNet", security: .wpa2("home-password"), channel: 11)
                try await home.powerOn()
                let networks = [home, other].map { ConfiguredNetwork($0.ssid, security: .wpa2("home-password")) }
                try await lab.station.startSupplicant(knowing: networks)
                try await eventually(within: .seconds(20), "the station to join") {
                    await lab.station.joined() == home.bssid
                }
                try await open(lab, on: "ap0", channel: 1)
                try await join(phone, of: lab)
                #expect(await lab.station.joined() == home.bssid, "the station has kept its link")

                // The station looks around, and the phone stays.
                let pinger = try await phone.pinger(to: Self.device)
                let start = ContinuousClock.now
                try await lab.station.ask("SCAN")
                try await Task.sleep(for: .seconds(5))
                lab.report("longest gap of the phone's ping while the station scans", pinger.longestGap(since: start))
                #expect(await phone.isJoined)

                // The station moves to another channel: the access point goes along, and the phone joins anew.
                try await other.powerOn()
                let cut = ContinuousClock.now
                try await home.powerOff()
                try await eventually(within: .seconds(30), "the station to move") {
                    await lab.station.joined() == other.bssid
                }
                let moved = try await pinger.reply(within: .seconds(30))
                lab.report("power cut of home until the phone's ping again", moved - cut)

                try await lab.station.closeAccessPoint()
                #expect(await lab.station.joined() == other.bssid)
            }
        }
    }
}
