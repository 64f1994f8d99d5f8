import AgentModel
import Lab
import Testing

extension Radios {
    /// Access points of one network, the way home, and other ways out.
    @Suite struct RoamingTests {
        /// One network with two access points on one wire: the near one fades, and the device moves over without losing its
        /// address.
        @Test func withinANetworkTheAddressIsKept() async throws {
            try await scenario("roaming within a network", accessPoints: 2) { lab in
                let near = try await lab.accessPoint(
                    "HomeNet", security: .wpa2("home-password"), channel: 1, signal: -50)
                let far = try await lab.accessPoint(
                    "HomeNet", security: .wpa2("home-password"), channel: 6, signal: -75, extending: near)
                try await near.powerOn()
                try await far.powerOn()
                let device = try await Device.atHome(near, in: lab)
                #expect(await lab.station.joined() == near.bssid)
                let address = await lab.station.address
                #expect(address != nil)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))

                let mark = device.decisions.count
                let faded = ContinuousClock.now
                try await far.setSignal(-45)
                try await near.setSignal(-85)
                try await eventually(within: .seconds(60), "the device to move over") {
                    await lab.station.joined() == far.bssid
                }
                try await device.online(on: far, within: .seconds(15))
                try await pinger.reply(within: .seconds(5))
                lab.report("altnet: fade to the other access point of the network", .now - faded)
                lab.report("altnet: longest gap of the roam", pinger.longestGap(since: faded))
                #expect(await lab.station.address == address)
                #expect(device.way(since: mark) == [far.ssid], "one move, and within the network")
            }
        }

        @Test func returnsHomeAfterItsPowerCut() async throws {
            let settings = ["ALTNET_RETURN_CONFIRM_S": "5"]
            try await scenario("return after a power cut", accessPoints: 2) { lab in
                let house = try await House(lab, settings: settings)
                try await house.expectFailover(within: .seconds(20))
                let mark = house.mark
                let back = ContinuousClock.now
                try await house.home.powerOn()
                let join = try await house.device.decision("join", since: mark, within: .seconds(150))
                #expect(join.reason.rawValue == "preferred")
                try await house.device.online(on: house.home, within: .seconds(15))
                lab.report("altnet: home returns while on the backup, until back home", .now - back)
                try await house.expectTraffic(through: house.home)
                house.expectWay([house.home], since: mark)
            }
        }

        /// A cable with a default route: the weak link is kept as it is.
        @Test func aWeakLinkIsKeptWhileACableCarriesTheTraffic() async throws {
            let settings = ["ALTNET_CRITICAL_CONFIRM_S": "3", "ALTNET_WEAK_CONFIRM_S": "3"]
            try await scenario("weak link beside a cable", accessPoints: 2) { lab in
                let house = try await House(lab, backupSignal: -40, settings: settings)
                let cable = try await lab.cable()
                try await eventually(within: .seconds(10), "the device to notice the cable") {
                    house.device.status?.uplink == .wired
                }
                let mark = house.mark
                try await house.home.setSignal(-82)
                try await Task.sleep(for: .seconds(15))
                #expect(house.device.way(since: mark) == [])
                try cable.pull()
                try await house.device.online(on: house.backup, within: .seconds(60))
                try await house.expectTraffic(through: house.backup)
                house.expectWay([house.backup], since: mark)
            }
        }
    }
}
