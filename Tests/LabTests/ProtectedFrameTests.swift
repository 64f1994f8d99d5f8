import AgentModel
import Lab
import Testing

extension Radios {
    /// Links with protected management frames (IEEE 802.11-2020, 11.13).
    @Suite(.withSAE) struct ProtectedFrameTests {
        /// Unprotected deauthentications and disassociations, as an attacker sends them. The SA Query that each starts
        /// is answered, so the link stays.
        @Test(.extended) func unprotectedDeauthenticationsCostNothing() async throws {
            try await scenario("unprotected deauthentications", accessPoints: 2) { lab in
                let house = try await House(lab, home: .wpa3("home-password"))
                let station = lab.station.radioAddress
                let (mark, start) = (house.mark, ContinuousClock.now)
                for _ in 0..<30 {
                    for order in ["DEAUTHENTICATE", "DISASSOCIATE"] {
                        let answer = try await house.home.ask("\(order) \(station) reason=6 test=0")
                        #expect(answer.hasPrefix("OK"), "hostapd takes the order")
                    }
                    try await Task.sleep(for: .milliseconds(500))
                }
                let gap = house.pinger.longestGap(since: start)
                lab.report("altnet: 60 unprotected deauthentications, longest gap", gap)
                #expect(gap < .seconds(1))
                #expect(house.mark == mark, "the agent decides nothing")
                try await house.expectFailover(within: .seconds(20))
            }
        }

        /// The device restarts without a deauthentication. Its access point still has the old link, refuses the new
        /// one for a moment (status 30) and queries the device.
        @Test(.extended, .onSoftMAC("the dongle cannot be separated from the air"))
        func aRestartThatTheAccessPointDoesNotNotice() async throws {
            try await scenario("association comeback") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa3("home-password"), channel: 1)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                await device.kill()
                try await lab.station.separate(true)
                await lab.station.killSupplicant()
                try await lab.station.setInterface(up: false)
                try await Task.sleep(for: .seconds(5))
                try await lab.station.separate(false)
                #expect(try await home.ask("STA \(lab.station.radioAddress)").contains("[AUTHORIZED]"))
                let start = ContinuousClock.now
                try await lab.station.startSupplicant()
                try await device.start()
                let reply = try await pinger.reply(after: start, within: .seconds(20))
                lab.report("altnet: restart that the access point does not notice, until a ping", reply - start)
                try await device.online(on: home, within: .seconds(5))
                #expect(!device.decisions.contains { $0.kind.rawValue == "blocked" })
            }
        }
    }
}
