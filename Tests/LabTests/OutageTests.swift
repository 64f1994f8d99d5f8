import AgentModel
import AppProtocol
import Lab
import Testing

extension Radios {
    /// Parts of the device itself die and come back.
    @Suite struct OutageTests {
        @Test func supplicantIsKilledAndRestarted() async throws {
            try await scenario("supplicant killed and restarted", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                await lab.station.killSupplicant()
                try await lab.station.startSupplicant()
                try await house.device.decision("online", since: mark, within: .seconds(30))
                try await house.expectTraffic(through: house.home)
                #expect(house.device.stations(since: mark) == [house.home.ssid])

                // And it is in command again: the next failover works.
                try await house.expectFailover(within: .seconds(20))
            }
        }

        @Test func agentIsKilledWhileConnected() async throws {
            try await scenario("agent killed while connected", accessPoints: 2) { lab in
                let house = try await House(lab)
                let kill = ContinuousClock.now
                await house.device.kill()
                try await house.device.start()
                try await house.device.decision("online", within: .seconds(10))
                try await house.pinger.reply(within: .seconds(2))
                #expect(house.pinger.longestGap(since: kill) < .seconds(1), "the link must not drop")
                #expect(house.device.way() == [], "nothing is joined anew")
                #expect(house.device.decisions.first?.reason.rawValue == "linkFound")

                // What it knew, it knows.
                try await house.expectFailover(within: .seconds(20))
            }
        }

        @Test func interfaceGoesDownAndUp() async throws {
            try await scenario("interface down and up", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                try await lab.station.setInterface(up: false)
                let lost = try await house.device.decision("lost", since: mark, within: .seconds(5))
                #expect(["interfaceDown", "linkLost"].contains(lost.reason.rawValue))
                try await house.pinger.silence(of: .milliseconds(500), within: .seconds(5))
                try await lab.station.setInterface(up: true)
                try await house.device.decision("online", since: mark, within: .seconds(30))
                try await house.expectTraffic(through: house.home)
                #expect(house.device.stations(since: mark) == [house.home.ssid])
            }
        }

        @Test func theDHCPServerIsDead() async throws {
            try await scenario("backup gives no address", accessPoints: 3) { lab in
                let house = try await House(lab, backupSignal: -40, settings: ["ALTNET_ADDRESS_LIMIT_S": "5"])
                let spare = try await lab.accessPoint("SpareNet", security: .open, channel: 11, signal: -65)
                try await spare.powerOn()
                try await house.backup.dhcp(false)
                try await house.device.store([await house.backup.asStored(), await spare.asStored()])
                let mark = house.mark
                try await house.home.powerOff()
                try await house.device.online(on: spare, within: .seconds(60))
                try await house.expectTraffic(through: spare)
                #expect(house.device.stations(since: mark) == [spare.ssid], "without an address a network is not up")
                #expect(house.device.decisions.dropFirst(mark).contains { $0.reason.rawValue == "noAddress" })
            }
        }

        @Test func backupTakesNobodyElse() async throws {
            try await scenario("backup is full", accessPoints: 3) { lab in
                let house = try await House(lab, backupSignal: -40)
                let spare = try await lab.accessPoint("SpareNet", security: .open, channel: 11, signal: -65)
                try await spare.powerOn()
                try await house.backup.limitStations(to: 0)
                try await house.device.store([await house.backup.asStored(), await spare.asStored()])
                let mark = house.mark
                try await house.home.powerOff()
                try await house.device.online(on: spare, within: .seconds(60))
                try await house.expectTraffic(through: spare)
                let failed = try await house.device.decision("failed", since: mark, within: .seconds(1))
                #expect(failed.reason.rawValue == "accessPointFull")
            }
        }
    }
}
