import Lab
import Testing

extension Radios {
    /// The owner may have a radio sleep between beacons.
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

        private func move(to network: AccessPoint, _ house: House) async throws {
            let accepted = try await house.device.switchNetwork(to: network)
            _ = try await house.device.outcome(of: accepted, within: .seconds(30))
            try await house.device.online(on: network, within: .seconds(10))
            try await house.expectTraffic(through: network)
        }
    }
}
