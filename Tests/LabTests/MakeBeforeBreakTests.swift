import AgentModel
import AppClient
import AppProtocol
import FoundationEssentials
import Lab
import Testing

extension Radios {
    /// With a second station interface the next network is joined before the present one is left: nothing is lost.
    @Suite struct MakeBeforeBreakTests {
        /// A radio with firmware of its own has one station interface.
        static let spares: [SpareStation] = Lab.radioKind == .softMAC ? [.sameRadio, .otherRadio] : [.otherRadio]

        /// How long the old network stays joined, in s.
        private static let grace = 4

        /// How many pings a scan of one channel may lose, which a move begins with. Where the radio has one channel at a time, mac80211 scans in
        /// software; Linux 6.12 drops what the device sends meanwhile, 6.1 sends it afterwards.
        private static func lostInAScan(_ spare: SpareStation) -> Int {
            spare == .otherRadio && !Lab.kernel.hasPrefix("6.1.") ? 5 : 0
        }

        /// How many rules of the agent's there are.
        private func rules(_ lab: Lab) async throws -> Int {
            try await lab.station.ip(["rule"]).split(separator: "\n").count { $0.contains("lookup 2586") }
        }

        /// The routes follow the device's decision within some milliseconds.
        private func expectTraffic(through network: AccessPoint, in house: House) async throws {
            try await eventually(within: .seconds(2), "the traffic to go through \(network.ssid)") {
                try await house.lab.station.network() == network.ssid
            }
            try await house.expectTraffic(through: network)
        }

        private func house(_ lab: Lab, backupSignal: Int = -60, backupPassword: String? = nil) async throws -> House {
            let house = try await House(
                lab, backupSignal: backupSignal, backupPassword: backupPassword,
                settings: ["ALTNET_SPARE_GRACE_S": "\(Self.grace)"])
            try await expectSpare(in: house)
            return house
        }

        private func expectSpare(in house: House) async throws {
            try await eventually(within: .seconds(10), "the spare station to be ready") {
                try await house.device.ask { client throws(ClientError) in try await client.network() }.handover
                    == .makeBeforeBreak
            }
        }

        @Test(arguments: spares) func aCommandedSwitchLosesNothing(_ spare: SpareStation) async throws {
            try await scenario("commanded switch beside, \(spare)", accessPoints: 2, spare: spare) { lab in
                let house = try await house(lab)
                let old = try await lab.echoConnection(with: house.home)
                let (mark, start) = (house.mark, ContinuousClock.now)
                let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid)
                #expect(try await house.device.outcome(of: accepted, within: .seconds(20)).phase == .committed)
                try await expectTraffic(through: house.backup, in: house)
                // Transfers over the old network go on in the grace.
                try await old.heard(within: .seconds(1))
                try await Task.sleep(for: .seconds(2))
                try await old.heard(within: .seconds(1))
                #expect(house.pinger.lost(since: start) <= Self.lostInAScan(spare))
                lab.report("altnet: longest gap of a commanded switch, \(spare)", house.pinger.longestGap(since: start))
                house.expectWay([house.backup], since: mark)
                // Then it is left, and nothing remains of it.
                try await eventually(within: .seconds(Self.grace + 5), "the old network to be left") {
                    await lab.station.joined() == nil
                }
                try await Task.sleep(for: .seconds(1))
                #expect(try await rules(lab) == 1)

                // And back, by the other interface.
                let back = ContinuousClock.now
                let second = try await house.device.switchNetwork(to: house.home)
                #expect(try await house.device.outcome(of: second, within: .seconds(20)).phase == .committed)
                try await expectTraffic(through: house.home, in: house)
                try await Task.sleep(for: .seconds(Self.grace + 2))
                try await expectTraffic(through: house.home, in: house)
                #expect(house.pinger.lost(since: back) <= Self.lostInAScan(spare))
            }
        }

        /// A hundred moves there and back, with a packet each 20 ms.
        @Test(.extended) func aHundredMovesLoseNothing() async throws {
            try await scenario("a hundred moves beside", accessPoints: 2, spare: Self.spares[0]) { lab in
                let house = try await house(lab)
                let start = ContinuousClock.now
                var committed = 0
                for round in 0..<100 {
                    let target = round.isMultiple(of: 2) ? house.backup : house.home
                    let accepted = try await house.device.switchNetwork(to: target)
                    let outcome = try await house.device.outcome(of: accepted, within: .seconds(20))
                    committed += outcome.phase == .committed ? 1 : 0
                    // The old network has to be left before it can be joined beside again.
                    try await Task.sleep(for: .seconds(Self.grace + 2))
                }
                #expect(committed == 100)
                lab.report("altnet: packets lost in \(committed) moves beside", "\(house.pinger.lost(since: start))")
                lab.report("altnet: longest gap of \(committed) moves beside", house.pinger.longestGap(since: start))
                #expect(house.pinger.lost(since: start) == 0)
            }
        }

        // covers: seed/leave-weak
        @Test(.extended, arguments: spares) func aWeakSignalLosesNothing(_ spare: SpareStation) async throws {
            try await scenario("weak signal beside, \(spare)", accessPoints: 2, spare: spare) { lab in
                let house = try await house(lab, backupSignal: -40)
                let (mark, start) = (house.mark, ContinuousClock.now)
                try await house.home.setSignal(-85)
                try await house.device.online(on: house.backup, within: .seconds(40))
                lab.report("altnet: fade to online on the stronger network, \(spare)", .now - start)
                try await expectTraffic(through: house.backup, in: house)
                try await Task.sleep(for: .seconds(Self.grace + 2))
                #expect(house.pinger.lost(since: start) == 0)
                lab.report("altnet: longest gap of the move, \(spare)", house.pinger.longestGap(since: start))
                house.expectWay([house.backup], since: mark)
            }
        }

        @Test(.extended, .onSoftMAC("brcmfmac has one station interface")) func aMissingSpareInterfaceIsMade()
            async throws
        {
            try await scenario("the spare interface goes", accessPoints: 2, spare: .sameRadio) { lab in
                let house = try await house(lab)
                let spare = try #require(lab.station.spareInterface)
                func index() throws -> String {
                    try String(contentsOfFile: "/sys/class/net/\(spare)/ifindex", encoding: .utf8)
                }
                let before = try index()
                try await lab.station.removeInterface(spare)
                try await eventually(within: .seconds(5), "the agent to make another") {
                    (try? index()) ?? before != before
                }
                // Its wpa_supplicant finds it by itself.
                try await Task.sleep(for: .seconds(1))
                try await expectSpare(in: house)
                let start = ContinuousClock.now
                let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid)
                #expect(try await house.device.outcome(of: accepted, within: .seconds(20)).phase == .committed)
                try await expectTraffic(through: house.backup, in: house)
                #expect(house.pinger.lost(since: start) == 0)
            }
        }

        @Test(.extended, .onSoftMAC("brcmfmac has one station interface")) func aWrongPasswordCostsNothing()
            async throws
        {
            try await scenario("wrong password beside", accessPoints: 2, spare: .sameRadio) { lab in
                let house = try await house(lab, backupPassword: "not-the-password")
                let (mark, start) = (house.mark, ContinuousClock.now)
                let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid)
                let outcome = try await house.device.outcome(of: accepted, within: .seconds(60))
                #expect(outcome.phase == .rolledBack)
                #expect(outcome.reason?.rawValue == "wrongKey")
                try await expectTraffic(through: house.home, in: house)
                try await Task.sleep(for: .seconds(2))
                #expect(house.pinger.lost(since: start) == 0)
                house.expectWay([house.backup, house.backup], since: mark)
            }
        }

        @Test(.extended, .onSoftMAC("brcmfmac has one station interface")) func aNetworkWithoutAddressesCostsNothing()
            async throws
        {
            try await scenario("no addresses beside", accessPoints: 2, spare: .sameRadio) { lab in
                let house = try await house(lab)
                try await house.backup.dhcp(false)
                let (mark, start) = (house.mark, ContinuousClock.now)
                let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid)
                let outcome = try await house.device.outcome(of: accepted, within: .seconds(60))
                #expect(outcome.phase == .rolledBack)
                #expect(outcome.reason?.rawValue == "noAddress")
                try await expectTraffic(through: house.home, in: house)
                try await Task.sleep(for: .seconds(2))
                #expect(house.pinger.lost(since: start) == 0)
                house.expectWay([house.backup], since: mark)
            }
        }

        @Test(.extended, .onSoftMAC("brcmfmac has one station interface")) func theOldAccessPointDiesInTheMiddle()
            async throws
        {
            try await scenario("the old access point dies in the middle", accessPoints: 2, spare: .sameRadio) { lab in
                let house = try await house(lab)
                try await house.backup.dhcp(false)
                let mark = house.mark
                let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid)
                try await house.device.phase(.waitingForAddress, of: accepted, within: .seconds(20))
                try await house.home.powerOff()
                try await house.device.decision("lost", since: mark, within: .seconds(10))
                try await house.backup.dhcp(true)
                #expect(try await house.device.outcome(of: accepted, within: .seconds(30)).phase == .committed)
                try await expectTraffic(through: house.backup, in: house)
                house.expectWay([house.backup], since: mark)
            }
        }

        /// In the middle of the move.
        @Test(.extended, .onSoftMAC("brcmfmac has one station interface")) func theAgentIsKilled() async throws {
            try await scenario("killed beside", accessPoints: 2, spare: .sameRadio) { lab in
                let house = try await house(lab)
                try await house.backup.dhcp(false)
                let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid)
                try await house.device.phase(.waitingForAddress, of: accepted, within: .seconds(20))
                await house.device.kill()
                try await house.device.start()
                try await house.device.phase(.rolledBack, of: accepted, within: .seconds(20))
                try await house.device.online(on: house.home, within: .seconds(10))
                try await expectTraffic(through: house.home, in: house)
            }
        }

        @Test(.extended, .onSoftMAC("brcmfmac has one station interface")) func hardwareThatCannotSaysSoAndMovesAsEver()
            async throws
        {
            try await scenario("one channel", accessPoints: 2, spare: .sameChannel) { lab in
                let house = try await House(lab)
                try await eventually(within: .seconds(10), "the device to say what the hardware allows") {
                    house.device.status?.handover == .breakBeforeMake(.oneChannel)
                }
                let mark = house.mark
                let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid)
                #expect(try await house.device.outcome(of: accepted, within: .seconds(20)).phase == .committed)
                try await expectTraffic(through: house.backup, in: house)
                house.expectWay([house.backup], since: mark)
            }
        }
    }
}

extension Radios {
    /// Access points of one network, the way home, and other ways out.
    @Suite struct RoamingTests {
        /// One network with two access points on one wire: the near one fades, and the device moves over without losing
        /// its address.
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

        // covers: seed/return-preferred
        @Test(.extended) func returnsHomeAfterItsPowerCut() async throws {
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
        @Test(.extended) func aWeakLinkIsKeptWhileACableCarriesTheTraffic() async throws {
            try await scenario("weak link beside a cable", accessPoints: 2) { lab in
                let house = try await House(lab, backupSignal: -40)
                let cable = try await lab.cable(to: lab.upstream())
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
