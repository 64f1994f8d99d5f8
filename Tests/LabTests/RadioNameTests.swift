import AgentModel
import AppProtocol
import Lab
import Testing

extension Radios {
    /// Two radios, of which the settings name one by its address or its path.
    @Suite struct RadioNameTests {
        @Test(
            .extended, .onSoftMAC("the dongle has one radio"),
            arguments: ["mac:02:00:00:00:00:00", "path:*/hwsim0"])
        func aRadioIsUsedUnderEachOfItsNames(text: String) async throws {
            try await scenario("radios swap names, \(text.prefix(4))", spare: .otherRadio) { lab in
                let home = try await lab.accessPoint(
                    "HomeNet", security: .wpa2("home-password"), channel: 1, signal: -50)
                try await home.powerOn()
                let device = try await Device.atHome(
                    home, in: lab, settings: ["ALTNET_INTERFACE": text, "ALTNET_SPARE_INTERFACE": ""])
                try await device.online(on: home, within: .seconds(30))
                #expect(await lab.station.joined() == home.bssid)
                await device.stop()
                try await lab.station.swapRadioNames()
                // The name belongs to the other radio now.
                #expect(BSSID(ofInterface: lab.station.interface) != lab.station.radioAddress)
                try await device.start()
                try await device.online(on: home, within: .seconds(30))
                #expect(await lab.station.joined() == nil)
                try await lab.pinger(to: home.gateway).reply(within: .seconds(5))
            }
        }
    }
}
