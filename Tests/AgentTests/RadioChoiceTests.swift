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
}
