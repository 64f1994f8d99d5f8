import AgentModel
import Lab
import Testing

extension Radios {
    /// A network that the device joins, and that lies to it to end its agent.
    @Suite struct HostileNetworkTests {
        /// Answers of the captive portal's API (RFC 8908) that end a careless reader: each number overflows an exponent, an
        /// integer or a duration, and each form is one that another reader takes.
        private static let answers = [
            #"{"captive": false, "seconds-remaining": 10e9223372036854775807}"#,
            #"{"captive": false, "seconds-remaining": -0.0e9223372036854775808, "bytes-remaining": 0e99999999999999999999}"#,
            #"{"captive": false, "seconds-remaining": 9223372036854775807, "bytes-remaining": 9223372036854775807}"#,
            #"{"captive": true, "seconds-remaining": -9223372036854775808, "x": 1e400,}"#,
            String(repeating: "[", count: 16_000),
        ]

        /// The attack that ended the agent in every try: the network announces the API by DHCP (RFC 8910), the device asks, and
        /// after each restart it asks again.
        @Test func theCaptivePortalAPIAnswersHostileNumbers() async throws {
            try await scenario("hostile captive portal API") { lab in
                let upstream = try await lab.upstream()
                let home = try await lab.accessPoint("HomeNet", security: .open, channel: 1)
                try await home.connect(to: upstream)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab, settings: House.servers)
                try await device.broker(.ready, within: .seconds(15))
                let agent = try #require(await device.program?.pid)
                for answer in Self.answers {
                    let before = await home.timesAskedOfPortal
                    try await home.powerOff()
                    try await home.captivePortal(apiSays: answer)
                    try await home.powerOn()
                    try await device.online(on: home, within: .seconds(60))
                    try await eventually(within: .seconds(60), "the device to ask the portal's API") {
                        await home.timesAskedOfPortal > before
                    }
                    // The answer has been read once the device goes on to say what its network is like.
                    try await device.connectivity(within: .seconds(30), "the device to know the portal") {
                        $0.internet == .captive
                    }
                    #expect(await device.isRunning, "\(answer.prefix(80))")
                    #expect(await device.program?.pid == agent)
                }
                try await home.endCaptivePortal()
                try await device.broker(.ready, within: .seconds(120))
            }
        }
    }
}
