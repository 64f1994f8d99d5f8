import AgentModel
import AppProtocol
import Lab
import Testing

extension Radios {
    /// What goes wrong with radios that have firmware of their own, at the kernel's driver for the Raspberry Pi's.
    @Suite(.onFullMAC) struct RadioFaultTests {
        private func radio(of lab: Lab) throws -> FullMACRadio { try #require(lab.fullMAC) }

        /// The access point is innocent, so the device goes back to the network that it was on.
        @Test func firmwareCrashes() async throws {
            try await scenario("firmware crashes", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                try await radio(of: lab).crash(for: .seconds(5))
                let back = ContinuousClock.now
                try await house.device.decision("online", since: mark, within: .seconds(60))
                let reply = try await house.pinger.reply(after: back, within: .seconds(5))
                lab.report("altnet: firmware crash, radio's return to first ping", reply - back)
                #expect(house.device.stations(since: mark) == [house.home.ssid])
                try await house.expectTraffic(through: house.home)
            }
        }
    }
}
