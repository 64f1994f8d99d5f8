import AgentModel
import AppProtocol
import Lab
import Testing

extension Radios {
    /// An app in the network that the device is in commands it over TLS, and goes after it.
    @Suite struct PhoneTests {
        private func address(of lab: Lab, in network: AccessPoint) async throws -> IPv4Address {
            var found: IPv4Address?
            try await eventually(within: .seconds(10), "an address of \(network.ssid)") {
                found = await lab.station.address
                return found.map { $0.value >> 8 == network.gateway.value >> 8 } ?? false
            }
            return try #require(found)
        }

        @Test func switchesAndConfirmsOverTheNewNetwork() async throws {
            try await scenario("a phone switches", accessPoints: 2) { lab in
                let house = try await House(lab)
                let key = try await house.device.key
                let atHome = Phone(in: house.home, of: lab, knowing: key)
                let home = try await address(of: lab, in: house.home)
                let network: NetworkStatus = try await atHome.ask(.getNetwork, at: home)
                #expect(network.ssid == house.home.ssid && network.uplink == .wifi)
                #expect(network.flags == [.canUpdateBackups, .canSwitch])
                let backups: BackupList = try await atHome.ask(.getBackups, at: home)
                let hash = try #require(backups.networks.first?.hash)

                // The answer comes before the link drops.
                let request = SwitchRequest(target: .stored(hash), confirmWithin: 60)
                let accepted: SwitchStatus = try await atHome.ask(.switchNetwork(request), at: home)
                #expect(accepted.phase == .accepted)
                try await house.device.phase(.waitingForConfirmation, of: accepted, within: .seconds(30))

                // The listener is where the device is, and has let go of whoever was left behind.
                let atBackup = Phone(in: house.backup, of: lab, knowing: key)
                let query = SwitchQuery(switchId: accepted.switchId)
                let there = try await address(of: lab, in: house.backup)
                let status: SwitchStatus = try await atBackup.ask(.getSwitch(query), at: there)
                #expect(status.phase == .waitingForConfirmation)
                try await eventually(within: .seconds(10), "the connection from home to be closed") {
                    await house.device.log.contains("closed, for the device has left that address")
                }
                let confirmed: SwitchStatus = try await atBackup.ask(.confirmSwitch(query), at: there)
                #expect(confirmed.phase == .committed)
                try await house.expectTraffic(through: house.backup)
            }
        }

        @Test func readsThatItWasRolledBack() async throws {
            try await scenario("a phone does not confirm", accessPoints: 2) { lab in
                let house = try await House(lab)
                let phone = Phone(in: house.home, of: lab, knowing: try await house.device.key)
                let home = try await address(of: lab, in: house.home)
                let backups: BackupList = try await phone.ask(.getBackups, at: home)
                let hash = try #require(backups.networks.first?.hash)
                let request = SwitchRequest(target: .stored(hash), confirmWithin: 5)
                let accepted: SwitchStatus = try await phone.ask(.switchNetwork(request), at: home)
                let outcome = try await house.device.outcome(of: accepted, within: .seconds(60))
                #expect(outcome.phase == .rolledBack)
                try await house.expectTraffic(through: house.home)

                let query = SwitchQuery(switchId: accepted.switchId)
                let back = try await address(of: lab, in: house.home)
                let status: SwitchStatus = try await phone.ask(.getSwitch(query), at: back)
                #expect(status == outcome)
                await #expect(throws: ProtocolError.self) {
                    let _: SwitchStatus = try await phone.ask(.confirmSwitch(query), at: back)
                }
            }
        }

        @Test func aStrangerGetsNoAnswer() async throws {
            try await scenario("a stranger's phone", accessPoints: 2) { lab in
                let house = try await House(lab)
                let home = try await address(of: lab, in: house.home)
                let key = try await house.device.key
                let other = try DeviceKey(deviceId: key.deviceId, localKey: Secret(text: "0123456789abcdef"))
                let stranger = Phone(in: house.home, of: lab, knowing: other)
                await #expect(throws: LabError.self) {
                    let _: NetworkStatus = try await stranger.ask(.getNetwork, at: home, within: .seconds(5))
                }
                try await eventually(within: .seconds(20), "the wrong key to be logged") {
                    await house.device.log.contains("its key is wrong")
                }
                let owner = Phone(in: house.home, of: lab, knowing: key)
                let network: NetworkStatus = try await owner.ask(.getNetwork, at: home)
                #expect(network.ssid == house.home.ssid)
            }
        }
    }
}
