import AgentModel
import Lab
import Testing

extension Radios {
    /// What an access point tells its stations to do, and what it does to them.
    @Suite struct AccessPointOrderTests {
        /// Its announcement names the channel, and the kernel goes there: the link is kept.
        @Test(.onSoftMAC("brcmfmac goes along, and tells of no new channel")) func aSwitchOfChannelsIsFollowed()
            async throws
        {
            try await scenario("channel switch announcement", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                let start = ContinuousClock.now
                let ordered = try await house.home.ask("CHAN_SWITCH 5 2462")
                #expect(ordered.hasPrefix("OK"), "hostapd takes the order")
                try await eventually(within: .seconds(15), "the device to say the new channel") {
                    house.device.status?.frequency?.megahertz == 2462
                }
                try await house.expectTraffic(through: house.home)
                lab.report("altnet: channel switch announced, longest gap", house.pinger.longestGap(since: start))
                house.expectWay([], since: mark)
                #expect(house.pinger.longestGap(since: start) < .seconds(2))
            }
        }

        /// It hears radar, announces another channel and goes there: the link is kept.
        @Test(.extended, .onSoftMAC("brcmfmac goes along, and tells of no new channel"))
        func radarDrivesItToAnotherChannel() async throws {
            try await scenario("radar", accessPoints: 2) { lab in
                let house = try await House(lab, homeChannel: 52, homeSettings: Self.radarLines)
                let (mark, start) = (house.mark, ContinuousClock.now)
                try await house.home.hearRadar()
                try await eventually(within: .seconds(20), "the device to say the new channel") {
                    guard let status = house.device.status, status.ssid == house.home.ssid else { return false }
                    return status.state == .online && status.frequency.map { $0.megahertz != 5260 } ?? false
                }
                try await house.expectTraffic(through: house.home)
                lab.report("altnet: radar, longest gap", house.pinger.longestGap(since: start))
                house.expectWay([], since: mark)
            }
        }

        /// It may go to other channels with radar alone, where it has to listen for a minute first: the backup takes over.
        @Test(.extended) func radarSilencesIt() async throws {
            try await scenario("radar silences it", accessPoints: 2) { lab in
                let house = try await House(
                    lab, homeChannel: 52, homeSettings: Self.radarLines + ["chanlist=52 56 60 64"])
                let start = ContinuousClock.now
                try await house.home.hearRadar()
                try await house.device.online(on: house.backup, within: .seconds(30))
                lab.report("altnet: radar silences the access point, until at the backup", .now - start)
                try await house.expectTraffic(through: house.backup)
            }
        }

        /// hostapd watches for radar where a country's rules ask for it.
        private static let radarLines = ["country_code=CN", "ieee80211d=1", "ieee80211h=1"]

        /// It announces a channel and is never heard there.
        @Test(.extended) func aSwitchOfChannelsThatLeadsNowhere() async throws {
            try await scenario("channel switch that leads nowhere", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                let start = ContinuousClock.now
                _ = try await house.home.ask("CHAN_SWITCH 3 2462")
                try await Task.sleep(for: .milliseconds(350))
                try await house.home.powerOff()
                try await house.device.online(on: house.backup, within: .seconds(20))
                try await house.expectTraffic(through: house.backup)
                lab.report("altnet: channel switch to nowhere, longest gap", house.pinger.longestGap(since: start))
                house.expectWay([house.backup], since: mark)
            }
        }

        /// A steering network: the device is told that its link will end, and is at the other access point before.
        @Test(.extended, .onSoftMAC("the firmware keeps such requests to itself"))
        func aSteeringNetworkIsFollowed() async throws {
            try await scenario("steered", accessPoints: 3) { lab in
                let security = NetworkSecurity.wpa2("home-password")
                let near = try await lab.accessPoint(
                    "HomeNet", security: security, channel: 1, signal: -50, settings: ["bss_transition=1"])
                let far = try await lab.accessPoint(
                    "HomeNet", security: security, channel: 6, signal: -60, settings: ["bss_transition=1"],
                    extending: near)
                let backup = try await lab.accessPoint("BackupNet", security: security, channel: 11, signal: -70)
                for accessPoint in [near, far, backup] { try await accessPoint.powerOn() }
                let device = try await Device.atHome(near, in: lab)
                #expect(await lab.station.joined() == near.bssid)
                try await device.store([await backup.asStored()])
                try await device.seen([backup], within: .seconds(60))
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))

                // A link that is lost within its first minute is held against its network.
                try await Task.sleep(for: .seconds(65))
                let mark = device.decisions.count
                let station = lab.station.radioAddress
                // The timer counts beacons: two seconds.
                let ordered = try await near.ask(
                    "BSS_TM_REQ \(station) disassoc_imminent=1 disassoc_timer=20 pref=1 abridged=1 "
                        + "neighbor=\(far.bssid),0x0000,81,6,7,0301ff")
                #expect(ordered.hasPrefix("OK"), "hostapd takes the order")
                let start = ContinuousClock.now
                try await eventually(within: .seconds(3), "the device to be at the other access point") {
                    device.status?.state == .online && device.status?.bssid == far.bssid
                }
                lab.report("altnet: asked to leave, until at the other access point", .now - start)
                _ = try await near.ask("DENY_ACL ADD_MAC \(station)")
                try await pinger.reply(after: .now + .seconds(2), within: .seconds(5))
                lab.report("altnet: asked to leave, longest gap", pinger.longestGap(since: start))
                #expect(device.decisions.dropFirst(mark).first?.reason.rawValue == "steered")
                #expect(!device.decisions.dropFirst(mark).contains { ["blocked", "lost"].contains($0.kind.rawValue) })
                #expect(pinger.longestGap(since: start) < .seconds(1))
            }
        }

        /// A steering network's requests that firmware keeps to itself: the device is thrown out, and is let in by the other
        /// access point alone. It goes there, or to the backup, whichever its search meets first.
        @Test(.extended, .onFullMAC) func aSteeringNetworkThrowsTheDeviceOut() async throws {
            try await scenario("thrown out by steering", accessPoints: 3) { lab in
                let security = NetworkSecurity.wpa2("home-password")
                let near = try await lab.accessPoint(
                    "HomeNet", security: security, channel: 1, signal: -50, settings: ["bss_transition=1"])
                let far = try await lab.accessPoint(
                    "HomeNet", security: security, channel: 6, signal: -60, extending: near)
                for accessPoint in [near, far] { try await accessPoint.powerOn() }
                let device = try await Device.atHome(near, in: lab)
                #expect(await lab.station.joined() == near.bssid)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                // A link that is lost within its first minute is held against its network.
                try await Task.sleep(for: .seconds(65))
                let mark = device.decisions.count
                let station = lab.station.radioAddress
                // The timer counts beacons: two seconds.
                let ordered = try await near.ask("BSS_TM_REQ \(station) disassoc_imminent=1 disassoc_timer=20")
                #expect(ordered.hasPrefix("OK"), "hostapd takes the order")
                try await Task.sleep(for: .milliseconds(1500))
                let start = ContinuousClock.now
                _ = try await near.ask("DENY_ACL ADD_MAC \(station)")
                let reply = try await pinger.reply(after: start + .milliseconds(200), within: .seconds(10))
                lab.report("altnet: thrown out by steering, until a ping", reply - start)
                try await device.online(on: far, within: .seconds(5))
                #expect(!device.decisions.dropFirst(mark).contains { $0.kind.rawValue == "blocked" })
                #expect(pinger.longestGap(since: start) < .seconds(3))
            }
        }

        /// An access list of its own keeps the device out: the backup takes over, and home is returned to once it may.
        @Test(.extended) func anAccessListKeepsTheDeviceOut() async throws {
            try await scenario("access list", accessPoints: 2) { lab in
                let house = try await House(lab, settings: ["ALTNET_RETURN_CONFIRM_S": "5"])
                let mark = house.mark
                let start = ContinuousClock.now
                let station = lab.station.radioAddress
                _ = try await house.home.ask("DENY_ACL ADD_MAC \(station)")
                _ = try await house.home.ask("DEAUTHENTICATE \(station)")
                try await house.device.online(on: house.backup, within: .seconds(30))
                lab.report("altnet: kept out by an access list, until at the backup", .now - start)
                try await house.expectTraffic(through: house.backup)
                #expect(house.device.stations(since: mark) == [house.backup.ssid])
                let back = ContinuousClock.now
                _ = try await house.home.ask("DENY_ACL DEL_MAC \(station)")
                try await house.device.online(on: house.home, within: .seconds(600))
                lab.report("altnet: let in again, until back home", .now - back)
            }
        }

        /// It throws out who is silent for 5 s, and asks nobody before. An idle device sends often enough to stay.
        @Test(.extended) func oneThatThrowsOutTheSilentKeepsTheDevice() async throws {
            try await scenario("thrown out for silence") { lab in
                let home = try await lab.accessPoint(
                    "HomeNet", security: .wpa2("home-password"), channel: 1,
                    settings: ["ap_max_inactivity=5", "skip_inactivity_poll=1"])
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let mark = device.decisions.count
                try await Task.sleep(for: .seconds(120))
                #expect(device.decisions.count == mark)
                try await device.online(on: home, within: .seconds(5))
            }
        }

        /// Keys are made anew every few seconds: nothing is lost by it.
        @Test(.extended, arguments: NetworkSecurity.ofOnePassword)
        func newKeysCostNothing(_ security: NetworkSecurity) async throws {
            try await scenario("rekeying, \(security)") { lab in
                let home = try await lab.accessPoint(
                    "HomeNet", security: security, channel: 1, settings: ["wpa_group_rekey=4", "wpa_ptk_rekey=5"])
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                let mark = device.decisions.count
                let start = ContinuousClock.now
                try await Task.sleep(for: .seconds(40))
                let lines = await home.hostapdLog.split(separator: "\n")
                let pairwise = lines.count { $0.contains("pairwise key handshake completed") }
                let group = lines.count { $0.contains("group key handshake completed") }
                #expect(pairwise >= 5 && group >= 5)
                lab.report(
                    "altnet: \(pairwise) pairwise and \(group) group keys, longest gap", pinger.longestGap(since: start)
                )
                #expect(device.decisions.count == mark)
                #expect(pinger.longestGap(since: start) < .seconds(1))
            }
        }

        /// A beacon a second and a DTIM every ten of them: the link is sound, and its end is noticed all the same.
        @Test(.extended) func rareBeacons() async throws {
            try await scenario("rare beacons", accessPoints: 2) { lab in
                let home = try await lab.accessPoint(
                    "HomeNet", security: .wpa2("home-password"), channel: 1,
                    settings: ["beacon_int=1000", "dtim_period=10"])
                let backup = try await lab.accessPoint(
                    "BackupNet", security: .wpa2("backup-password"), channel: 6, signal: -60)
                try await home.powerOn()
                try await backup.powerOn()
                let device = try await Device.atHome(home, in: lab)
                try await device.store([await backup.asStored()])
                try await device.seen([backup], within: .seconds(120))
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(10))
                let mark = device.decisions.count
                try await Task.sleep(for: .seconds(60))
                #expect(device.decisions.count == mark, "it is left alone")
                let cut = ContinuousClock.now
                try await home.powerOff()
                try await device.online(on: backup, within: .seconds(40))
                let reply = try await pinger.reply(after: cut, within: .seconds(20))
                lab.report("altnet: power cut of an access point with a beacon a second, until a ping", reply - cut)
                #expect(device.way(since: mark) == [backup.ssid])
            }
        }

        /// It asks each station for a token before it reckons (SAE, IEEE 802.11-2020, 12.4.6).
        @Test(.extended, .withSAE) func tokensOfSAE() async throws {
            try await scenario("SAE anti-clogging") { lab in
                let home = try await lab.accessPoint(
                    "HomeNet", security: .wpa3("home-password"), channel: 1, settings: ["sae_anti_clogging_threshold=0"]
                )
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                #expect(!device.decisions.contains { $0.kind.rawValue == "failed" })
            }
        }

        /// The access point asks for radio measurements on all channels (IEEE 802.11-2020, 11.10): wpa_supplicant
        /// scans for it, and the link stays.
        @Test(.extended, .onSoftMAC("brcmfmac has no beacon reports")) func measurementsForTheAccessPoint() async throws
        {
            try await scenario("beacon reports", accessPoints: 2) { lab in
                let house = try await House(lab, homeSettings: ["rrm_beacon_report=1"])
                let (mark, start) = (house.mark, ContinuousClock.now)
                for mode in ["00", "01", "02"] + Array(repeating: "01", count: 5) {
                    // Operating class 81, all channels, 20 ms each; passive, active or from the last scan.
                    let asked = try await house.home.ask(
                        "REQ_BEACON \(lab.station.radioAddress) 510000001400\(mode)ffffffffffff")
                    #expect(!asked.hasPrefix("FAIL"), "hostapd takes the order")
                    try await Task.sleep(for: .seconds(8))
                }
                let reports = await house.home.hostapdLog.split(separator: "\n").count { $0.contains("BEACON-RESP-RX") }
                #expect(reports > 0, "wpa_supplicant reports what it has measured")
                let gap = house.pinger.longestGap(since: start)
                lab.report("altnet: eight beacon requests, longest gap", gap)
                #expect(gap < .seconds(1))
                house.expectWay([], since: mark)
                #expect(!house.device.decisions.dropFirst(mark).contains { $0.kind.rawValue == "lost" })
                try await house.expectFailover(within: .seconds(20))
            }
        }

        /// A move whose destination loses its power at each of its stages, and after each the device is back.
        @Test(.extended) func aMoveIsInterruptedAtEachStage() async throws {
            try await scenario("moves interrupted", accessPoints: 2) { lab in
                let house = try await House(lab)
                for delay in [0, 10, 20, 40, 60, 80, 120, 200] {
                    let mark = house.mark
                    let start = ContinuousClock.now
                    let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid)
                    try await Task.sleep(for: .milliseconds(delay))
                    try await house.backup.powerOff()
                    let outcome = try await house.device.outcome(of: accepted, within: .seconds(40))
                    try await house.device.online(on: house.home, within: .seconds(40))
                    try await house.expectTraffic(through: house.home)
                    lab.report(
                        "altnet: destination dies \(delay) ms into a switch (\(outcome.phase.rawValue)), longest gap",
                        house.pinger.longestGap(since: start))
                    let decisions = house.device.decisions.dropFirst(mark)
                    #expect(!decisions.contains { $0.kind.rawValue == "blocked" && $0.to?.ssid == house.home.ssid })
                    try await house.backup.powerOn()
                    try await house.device.seen([house.backup], within: .seconds(60))
                }
            }
        }
    }
}
