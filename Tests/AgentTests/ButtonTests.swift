import Testing

@testable import Agent

/// How long the button is held decides what it means.
@Suite struct ButtonTests {
    private static let settings = ButtonSettings(key: 529, provisioning: .seconds(3), reset: .seconds(10))

    // covers: seed/button
    @Test(
        arguments: [
            (0, nil), (2999, nil), (3000, .provisioning), (9999, .provisioning), (10_000, .factoryReset),
            (39_999, .factoryReset), (40_000, nil), (86_400_000, nil),
        ] as [(Int, ButtonHold.Action?)])
    func theTimeDecides(milliseconds: Int, action: ButtonHold.Action?) {
        var hold = ButtonHold(Self.settings)
        #expect(hold.handle(.pressed, at: .seconds(100)) == nil)
        #expect(hold.handle(.released, at: .seconds(100) + .milliseconds(milliseconds)) == action)
        // Once for each press.
        #expect(hold.handle(.released, at: .seconds(105)) == nil)
    }

    /// A button that was down when the watch began, or whose events were lost, is not counted.
    @Test func aPressHasABeginning() {
        var hold = ButtonHold(Self.settings)
        #expect(hold.handle(.released, at: .seconds(20)) == nil)
        #expect(hold.handle(.pressed, at: .seconds(30)) == nil)
        #expect(hold.handle(.lost, at: .seconds(31)) == nil)
        #expect(hold.handle(.released, at: .seconds(42)) == nil)
        // A press of which the end was lost begins anew.
        #expect(hold.handle(.pressed, at: .seconds(50)) == nil)
        #expect(hold.handle(.pressed, at: .seconds(60)) == nil)
        #expect(hold.handle(.released, at: .seconds(64)) == .provisioning)
    }

    /// The clock of the kernel does not go back, and a device that says so resets nothing.
    @Test func timeThatGoesBackDoesNothing() {
        var hold = ButtonHold(Self.settings)
        #expect(hold.handle(.pressed, at: .seconds(100)) == nil)
        #expect(hold.handle(.released, at: .seconds(1)) == nil)
    }

    @Test func keysHaveNamesAndNumbers() throws {
        #expect(try AgentSettings(environment: [:]).button == nil)
        let named = try AgentSettings(environment: ["ALTNET_BUTTON_KEY": "KEY_WPS_BUTTON"]).button
        #expect(named == Self.settings)
        let set = [
            "ALTNET_BUTTON_KEY": "141", "ALTNET_BUTTON_PROVISION_S": "1", "ALTNET_BUTTON_RESET_S": "20",
        ]
        #expect(
            try AgentSettings(environment: set).button
                == ButtonSettings(key: 141, provisioning: .seconds(1), reset: .seconds(20)))
    }

    @Test(arguments: [
        ["ALTNET_BUTTON_KEY": "KEY_NONE"], ["ALTNET_BUTTON_KEY": "0"], ["ALTNET_BUTTON_KEY": "768"],
        ["ALTNET_BUTTON_PROVISION_S": "10"], ["ALTNET_BUTTON_RESET_S": "3"],
    ])
    func impossibleButtonsAreRefused(environment: [String: String]) {
        #expect(throws: InvalidSettings.self) { try AgentSettings(environment: environment) }
    }
}
