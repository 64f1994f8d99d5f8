import AgentModel
import AppProtocol
import Lab
import Testing

extension Radios {
    /// The device finds its own way from one network to another.
    @Suite struct FailoverTests {
        // covers: seed/fallback-at-boot
        @Test func coldStart() async throws {
            try await scenario("cold start", accessPoints: 2) { lab in
                let house = try await House(lab)
                await house.device.kill()
                await lab.station.killSupplicant()
                try await house.pinger.silence(of: .milliseconds(500), within: .seconds(5))

                // wpa_supplicant's start counts, as it does where it is alone (SpeedTests).
                let start = ContinuousClock.now
                try await lab.station.startSupplicant()
                try await house.device.start()
                try await house.device.online(on: house.home, within: .seconds(20))
                let first = try await house.pinger.reply(after: start, within: .seconds(5))
                lab.report("altnet: cold start to first ping", first - start)
                try await house.expectTraffic(through: house.home)
                house.expectWay([house.home], since: 0)
            }
        }

        // covers: seed/network-lost
        @Test func accessPointLosesPower() async throws {
            try await scenario("access point loses power", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                let cut = ContinuousClock.now
                try await house.home.powerOff()
                let time = try await house.timeToPing(on: house.backup, since: cut, within: .seconds(20))
                lab.report("altnet: power cut to first ping", time)
                try await house.expectTraffic(through: house.backup)
                house.expectWay([house.backup], since: mark)
            }
        }

        // covers: seed/signal-weak, seed/leave-weak
        @Test func signalFades() async throws {
            try await scenario("signal fades", accessPoints: 2) { lab in
                let house = try await House(lab, backupSignal: -40)
                let mark = house.mark
                let faded = ContinuousClock.now
                try await house.home.setSignal(-85)
                let join = try await house.device.decision("join", since: mark, within: .seconds(30))
                // The averaged signal falls steeply first, and is critical in the end: whichever is noticed first.
                #expect(["critical", "fading"].contains(join.reason.rawValue))
                try await house.device.online(on: house.backup, within: .seconds(10))
                lab.report("altnet: fade to online on the stronger network", .now - faded)
                try await house.expectTraffic(through: house.backup)
                lab.report("altnet: longest gap of the move", house.pinger.longestGap(since: faded))
                house.expectWay([house.backup], since: mark)
            }
        }

        /// When the signal was measured last decides how soon its fall shows; and a driver may tell of the first crossing alone
        /// (brcmfmac).
        @Test(.extended) func signalFadesAtAnyMoment() async throws {
            var times: [Duration] = []
            for moment in [700, 1500, 2300, 9000, 33_000].map({ Duration.milliseconds($0) }) {
                try await scenario("signal fades after \(moment.components.seconds) s", accessPoints: 2) { lab in
                    let house = try await House(lab, backupSignal: -40)
                    try await Task.sleep(for: moment)
                    let (mark, faded) = (house.mark, ContinuousClock.now)
                    try await house.home.setSignal(-85)
                    try await house.device.online(on: house.backup, within: .seconds(20))
                    times.append(.now - faded)
                    house.expectWay([house.backup], since: mark)
                    guard times.count == 5 else { return }
                    times.sort()
                    lab.report("altnet: fade to online on the stronger network, shortest of 5", times[0])
                    lab.report("altnet: fade to online on the stronger network, median", times[2])
                    lab.report("altnet: fade to online on the stronger network, longest", times[4])
                    #expect(times[4] < .seconds(5))
                }
            }
        }

        @Test(.extended) func accessPointRestarts() async throws {
            try await scenario("access point restarts") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let mark = device.decisions.count
                let restart = ContinuousClock.now
                try await home.restart()
                try await device.decision("lost", since: mark, within: .seconds(10))
                try await device.online(on: home, within: .seconds(20))
                lab.report("altnet: access point's restart to online", .now - restart)
                try await lab.pinger(to: home.gateway).reply(within: .seconds(5))
                #expect(try await lab.station.network() == home.ssid)
                #expect(!device.way(since: mark).isEmpty, "it did set out again")
            }
        }

        static let backups: [NetworkSecurity] =
            [.wpa2("backup-password")] + (Lab.radioKind.hasSAE && !isCore ? [.wpa3("backup-password")] : [])

        // covers: seed/network-lost
        @Test(arguments: backups) func backupPasswordIsWrong(_ security: NetworkSecurity) async throws {
            try await scenario("backup's password is wrong", accessPoints: 2) { lab in
                let house = try await House(lab, backup: security, backupPassword: "not-the-password")
                let mark = house.mark
                try await house.home.powerOff()
                let blocked = try await house.device.decision("blocked", since: mark, within: .seconds(60))
                #expect(blocked.from?.ssid == house.backup.ssid)
                #expect(blocked.reason.rawValue == "wrongKey")
                #expect(house.device.way(since: mark) == [house.backup.ssid, house.backup.ssid], "two tries, no more")

                let mark2 = house.mark
                let back = ContinuousClock.now
                try await house.home.powerOn()
                try await house.device.online(on: house.home, within: .seconds(20))
                lab.report("altnet: home returns while the backup is blocked, until online", .now - back)
                try await house.expectTraffic(through: house.home)
                house.expectWay([house.home], since: mark2)
            }
        }

        @Test(.extended) func backupIsOnFiveGigahertz() async throws {
            try await scenario("backup is on 5 GHz", accessPoints: 2) { lab in
                let house = try await House(lab, backupChannel: 36)
                try await house.expectFailover(within: .seconds(30))
                #expect(house.device.status?.frequency?.megahertz == 5180)
            }
        }

        // covers: seed/hidden-networks
        @Test(.extended) func backupIsHidden() async throws {
            try await scenario("backup is hidden", accessPoints: 2) { lab in
                try await House(lab, backupIsHidden: true).expectFailover(within: .seconds(30))
            }
        }

        // covers: seed/hidden-networks
        @Test(.extended) func backupIsAmongHiddenNetworks() async throws {
            try await scenario("backup among hidden networks", accessPoints: 3) { lab in
                // Names of length zero, and names of zeros.
                let others = (1...5).flatMap { number in
                    ["bss=other\(number)", "ssid=Other\(number)", "ignore_broadcast_ssid=\(1 + number % 2)"]
                }
                let neighbour = try await lab.accessPoint(
                    "Neighbour", security: .open, channel: 6, signal: -35, hidden: true, settings: others)
                try await neighbour.powerOn()
                try await House(lab, backupIsHidden: true).expectFailover(within: .seconds(30))
            }
        }

        // covers: seed/wpa3
        @Test(.extended, .withSAE) func backupIsWPA3() async throws {
            try await scenario("backup is WPA3", accessPoints: 2) { lab in
                try await House(lab, backup: .wpa3("backup-password")).expectFailover(within: .seconds(30))
            }
        }

        @Test(.extended) func backupIsTransitionAndHomeIsOpen() async throws {
            try await scenario("open home, backup in transition mode", accessPoints: 2) { lab in
                try await House(lab, home: .open, backup: .transition("backup-password")).expectFailover(
                    within: .seconds(30))
            }
        }

        // covers: seed/network-lost
        @Test(.extended) func theStrongerOfTwoBackupsIsTaken() async throws {
            try await scenario("two backups", accessPoints: 3) { lab in
                let house = try await House(lab, backupSignal: -65)
                let stronger = try await lab.accessPoint(
                    "AnotherNet", security: .wpa2("another-password"), channel: 11, signal: -45)
                try await stronger.powerOn()
                try await house.device.store([await house.backup.asStored(), await stronger.asStored()])
                try await house.device.seen([house.backup, stronger], within: .seconds(30))
                let mark = house.mark
                try await house.home.powerOff()
                try await house.device.online(on: stronger, within: .seconds(20))
                try await house.expectTraffic(through: stronger)
                house.expectWay([stronger], since: mark)

                let mark2 = house.mark
                try await stronger.powerOff()
                try await house.device.online(on: house.backup, within: .seconds(20))
                try await house.expectTraffic(through: house.backup)
                house.expectWay([house.backup], since: mark2)
            }
        }

        // covers: seed/recovery-forever
        @Test func noCandidateAndThenOneAppears() async throws {
            try await scenario("no candidate, then one appears", accessPoints: 2) { lab in
                let house = try await House(lab)
                try await house.backup.powerOff()
                let mark = house.mark
                try await house.home.powerOff()
                try await house.device.decision("search", since: mark, within: .seconds(30))
                #expect(house.device.stations(since: mark) == [])
                let appears = ContinuousClock.now
                try await house.backup.powerOn()
                try await house.device.online(on: house.backup, within: .seconds(20))
                lab.report("altnet: a network appears, until online", .now - appears)
                try await house.expectTraffic(through: house.backup)
                #expect(house.device.stations(since: mark) == [house.backup.ssid])
            }
        }
    }
}

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

                // Its knowledge is still there.
                try await house.expectFailover(within: .seconds(20))
            }
        }

        @Test(.extended) func interfaceGoesDownAndUp() async throws {
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

        // covers: seed/one-bad-access-point
        @Test(.extended) func theDHCPServerIsDead() async throws {
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

        // covers: seed/one-bad-access-point
        @Test(.extended, .onSoftMAC("brcmfmac tells status 16 of every join that failed")) func backupIsFull()
            async throws
        {
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

extension Radios {
    /// A sender in range ends the link again and again, or bears the network's name without its key.
    @Suite struct DeauthenticationTests {
        /// Ten in 250 s and one every four seconds: the device is back each time, and never held off by anything of its
        /// own.
        @Test(.extended, arguments: [(count: 10, every: 25), (count: 25, every: 4)])
        func aStormBlocksNothing(count: Int, every seconds: Int) async throws {
            try await scenario("deauthentication every \(seconds) s") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                let mark = device.decisions.count
                let start = ContinuousClock.now
                for number in 1...count {
                    _ = try await home.ask("DEAUTHENTICATE ff:ff:ff:ff:ff:ff")
                    try await Task.sleep(until: start + .seconds(seconds * number), clock: .continuous)
                }
                let offline = Pinger.interval * pinger.lost(since: start)
                lab.report("altnet: \(count) deauthentications, one every \(seconds) s, without answers", offline)
                lab.report("altnet: longest gap of them", pinger.longestGap(since: start))
                let decisions = device.decisions.dropFirst(mark)
                #expect(!decisions.contains { $0.kind.rawValue == "blocked" })
                #expect(decisions.count { $0.kind.rawValue == "lost" } >= count / 2, "it was thrown out")
                #expect(offline < .seconds(seconds * count / 2))
                try await device.online(on: home, within: .seconds(10))
            }
        }

        /// Eight networks of the right name and a wrong key, all stronger than the real one, on its channel and on
        /// others; the real one is cut for a moment.
        // covers: seed/one-failed-handshake
        @Test(.extended) func roguesDoNotLockTheRealOneOut() async throws {
            try await scenario("rogues of the right name", accessPoints: 5) { lab in
                let home = try await lab.accessPoint(
                    "HomeNet", security: .wpa2("home-password"), channel: 1, signal: -60)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger(to: home.gateway)
                try await pinger.reply(within: .seconds(5))
                for (number, channel) in [1, 6, 11, 36].enumerated() {
                    let twin = [
                        "bss=twin\(number)", "ssid=HomeNet", "wpa=2", "rsn_pairwise=CCMP", "wpa_key_mgmt=WPA-PSK",
                        "wpa_passphrase=somebody-elses-\(number)",
                    ]
                    let rogue = try await lab.accessPoint(
                        "HomeNet", security: .wpa2("not-the-password"), channel: channel, signal: -30 - number,
                        settings: twin)
                    try await rogue.powerOn()
                }
                let mark = device.decisions.count
                for _ in 0..<3 {
                    try await home.powerOff()
                    try await Task.sleep(for: .seconds(1))
                    try await home.powerOn()
                    let back = ContinuousClock.now
                    let online = try await pinger.reply(after: back, within: .seconds(10))
                    lab.report("altnet: back on the real one among eight rogues", online - back)
                    try await Task.sleep(for: .seconds(5))
                }
                // Away for longer: meanwhile the device tries what bears the name.
                try await home.powerOff()
                try await Task.sleep(for: .seconds(60))
                try await home.powerOn()
                let back = ContinuousClock.now
                let online = try await pinger.reply(after: back, within: .seconds(10))
                lab.report("altnet: back on the real one after a minute with eight rogues alone", online - back)
                let decisions = device.decisions.dropFirst(mark)
                #expect(!decisions.contains { $0.kind.rawValue == "blocked" })
                #expect(decisions.contains { $0.kind.rawValue == "failed" }, "it met a rogue")
            }
        }
    }
}
