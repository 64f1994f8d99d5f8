import AgentModel
import Lab
import Testing

extension Radios {
    /// What the owner may have a radio do otherwise: sleep between beacons, and be known by another address.
    @Suite(.extended) struct RadioSettingsTests {
        @Test func powerSaveIsOfTheNetwork() async throws {
            try await scenario("power save of a network", accessPoints: 2) { lab in
                let house = try await House(lab, settings: ["ALTNET_POWER_SAVE_NETWORKS": "BackupNet=on"])
                try await eventually(within: .seconds(2), "no power save at home") {
                    try await !lab.station.mayRadioSleep()
                }
                try await move(to: house.backup, house)
                try await eventually(within: .seconds(2), "power save in the backup") {
                    try await lab.station.mayRadioSleep()
                }
                // A restarted agent finds the link.
                await house.device.stop()
                try await house.device.start()
                try await house.device.online(on: house.backup, within: .seconds(10))
                try await eventually(within: .seconds(2), "power save again") {
                    try await lab.station.mayRadioSleep()
                }
                try await move(to: house.home, house)
                try await eventually(within: .seconds(2), "no power save at home again") {
                    try await !lab.station.mayRadioSleep()
                }
            }
        }

        @Test(.onSoftMAC("the dongle's firmware takes no other address")) func networksSeeOtherAddresses()
            async throws
        {
            try await scenario("a hardware address for each network", accessPoints: 2) { lab in
                let house = try await House(lab, settings: ["ALTNET_MAC_ADDRESS": "per-network"])
                let home = try await station(of: house.home)
                #expect(home != lab.station.radioAddress && isOwn(home), "\(home)")
                let mark = house.mark
                let moved = ContinuousClock.now
                try await move(to: house.backup, house)
                let gap = house.pinger.longestGap(since: moved)
                lab.report("altnet: longest gap of a switch with another hardware address", gap)
                let backup = try await station(of: house.backup)
                #expect(backup != home && isOwn(backup), "\(backup)")
                try await move(to: house.home, house)
                #expect(try await station(of: house.home) == home, "the same each time")
                house.expectWay([house.backup, house.home], since: mark)
                await house.device.stop()
                try await house.device.start()
                try await house.expectFailover(within: .seconds(20))
                #expect(try await station(of: house.backup) == backup, "also after a restart")
            }
        }

        @Test(.onSoftMAC("the dongle's firmware takes no other address")) func eachJoinIsByAnotherAddress()
            async throws
        {
            try await scenario("another hardware address in each join", accessPoints: 2) { lab in
                let house = try await House(lab, settings: ["ALTNET_MAC_ADDRESS": "random"])
                let first = try await station(of: house.home)
                #expect(isOwn(first), "\(first)")
                try await move(to: house.backup, house)
                try await move(to: house.home, house)
                let second = try await station(of: house.home)
                #expect(first != second && isOwn(second), "\(second)")
            }
        }

        @Test(.onFullMAC) func aRadioKeepsItsAddress() async throws {
            try await scenario("a hardware address that is refused", accessPoints: 2) { lab in
                let house = try await House(lab, settings: ["ALTNET_MAC_ADDRESS": "per-network"])
                #expect(await house.device.log.contains("keeps its hardware address"))
                try await move(to: house.backup, house)
            }
        }

        private func move(to network: AccessPoint, _ house: House) async throws {
            let accepted = try await house.device.switchNetwork(toStored: network.ssid)
            _ = try await house.device.outcome(of: accepted, within: .seconds(30))
            try await house.device.online(on: network, within: .seconds(10))
            try await house.expectTraffic(through: network)
        }

        /// The one that the access point has.
        private func station(of network: AccessPoint) async throws -> BSSID {
            let line = try await network.ask("STA-FIRST").split(separator: "\n").first
            return try #require(line.flatMap { BSSID(String($0)) })
        }

        private func isOwn(_ address: BSSID) -> Bool { address.bytes[0] & 0x03 == 0x02 }
    }
}
