import AgentModel
import AppClient
import AppProtocol
import Lab
import Testing

extension Radios {
    /// What the app may do follows from what carries the traffic.
    @Suite struct UplinkTests {
        private func expectRefusal(
            _ house: House, while uplink: Uplink, _ networkSignal: (Int?) -> Bool
        ) async throws {
            try await eventually(within: .seconds(10), "the device to notice its \(uplink) uplink") {
                house.device.status?.uplink == uplink
            }
            let client = try await house.device.client()
            let status = try await client.network()
            #expect(status.flags == .canUpdateBackups)
            #expect(networkSignal(status.signal), "signal \(status.signal ?? 0)")
            do throws(ClientError) {
                let stored = try await client.backups()
                let hash = stored.networks.first?.hash
                #expect(hash != nil)
                if let hash { _ = try await client.switchNetwork(to: .stored(hash)) }
                Issue.record("a switch was accepted")
            } catch {
                #expect(error.code == .cannotSwitch)
            }
            // The list is only stored.
            let cafe = NewNetwork(ssid: try SSID("Cafe \(uplink)"), password: nil)
            #expect(try await client.updateBackups([.new(cafe)]).networks.count == 1)
            _ = try await client.updateBackups([.new(await house.backup.asStored())])
            await client.close()
        }

        @Test func wiredAndCellularAllowNoSwitch() async throws {
            try await scenario("other uplinks", accessPoints: 2) { lab in
                let house = try await House(lab)
                #expect(house.device.status?.flags == [.canUpdateBackups, .canSwitch])

                let cable = try await lab.cable()
                try await expectRefusal(house, while: .wired) { $0 != nil }
                try cable.pull()
                let modem = try await lab.modem()
                try await expectRefusal(house, while: .cellular) { $0 == nil }
                try modem.remove()

                try await eventually(within: .seconds(10), "Wi-Fi to carry the traffic again") {
                    house.device.status?.uplink == .wifi
                        && house.device.status?.flags == [.canUpdateBackups, .canSwitch]
                }
                let switched = try await house.device.switchNetwork(toStored: house.backup.ssid)
                #expect(try await house.device.outcome(of: switched, within: .seconds(30)).phase == .committed)
            }
        }
    }
}
