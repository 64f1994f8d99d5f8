import AgentModel
import Testing

@testable import Agent

@Suite struct RadioChoiceTests {
    @Test func powerSaveIsSetByName() throws {
        let networks = try #require([SSID: PowerSave](powerSave: #"Garden=on;a=b=traffic;semi\x3bcolon=off"#))
        #expect(try networks == [SSID("Garden"): .on, SSID("a=b"): .traffic, SSID("semi;colon"): .off])
        let choice = PowerSaveChoice(others: .traffic, networks: networks)
        #expect(try choice[SSID("Garden")] == .on)
        #expect(try choice[SSID("Home")] == .traffic)
        #expect(choice[nil] == .traffic)
    }

    @Test(arguments: [
        "", "Garden", "=on", "Garden=", "Garden=ON", "Garden=driver", "Garden=on;", "a=on;a=off", #"\q=on"#,
    ])
    func otherFormsAreNoSetting(text: String) {
        #expect([SSID: PowerSave](powerSave: text) == nil)
    }

    private func address(
        _ choice: MACAddressChoice, in network: String = "Home", of interface: String = "wlan0",
        by key: String = "the local key"
    ) throws -> HardwareAddress? {
        var random = SystemRandomNumberGenerator()
        return try choice.address(in: SSID(network), of: interface, key: Secret(text: key), random: &random)
    }

    @Test func aNetworkHasOneAddress() throws {
        let home = try #require(try address(.perNetwork))
        #expect(try address(.perNetwork) == home)
        #expect(home.isInterface && home.bytes[0] & 0x03 == 0x02)
        let others = [
            try address(.perNetwork, in: "Garden"), try address(.perNetwork, of: "wlan1"),
            try address(.perNetwork, by: "another key"),
        ]
        #expect(Set(others + [home]).count == 4)
    }

    @Test func aJoinHasOneOfItsOwn() throws {
        let addresses = try (0..<64).map { _ in try #require(try address(.random)) }
        #expect(Set(addresses).count == 64)
        #expect(addresses.allSatisfy { $0.isInterface && $0.bytes[0] & 0x03 == 0x02 })
        #expect(try address(.permanent) == nil)
    }
}
