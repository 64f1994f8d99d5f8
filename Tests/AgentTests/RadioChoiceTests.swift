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

    private let key = Secret(text: "the local key")

    @Test func aNetworkHasOneAddress() throws {
        var random = SystemRandomNumberGenerator()
        func address(_ name: String, _ interface: String = "wlan0", _ key: Secret) throws -> HardwareAddress? {
            try MACAddressChoice.perNetwork.address(in: SSID(name), of: interface, key: key, random: &random)
        }
        let home = try #require(try address("Home", key))
        #expect(try address("Home", key) == home)
        #expect(home.isInterface && home.bytes[0] & 0x03 == 0x02)
        let others = try [
            address("Garden", key), address("Home", "wlan1", key), address("Home", Secret(text: "another key")),
        ]
        #expect(Set(others + [home]).count == 4)
    }

    @Test func aJoinHasOneOfItsOwn() throws {
        var random = SystemRandomNumberGenerator()
        let addresses = try (0..<64).map { _ in
            try #require(try MACAddressChoice.random.address(in: SSID("Home"), of: "wlan0", key: key, random: &random))
        }
        #expect(Set(addresses).count == 64)
        #expect(addresses.allSatisfy { $0.isInterface && $0.bytes[0] & 0x03 == 0x02 })
        #expect(try MACAddressChoice.permanent.address(in: SSID("Home"), of: "wlan0", key: key, random: &random) == nil)
    }
}
