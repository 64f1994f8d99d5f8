import AgentModel
import AppClient
import AppProtocol
import KeyFile
import Lab
import Testing

extension Radios {
    /// Access points that bear the name of the device's network and offer something else.
    @Suite struct TwinTests {
        struct Twin: Sendable, CustomTestStringConvertible {
            let testDescription: String
            /// The real network, with more lines of hostapd.conf.
            let home: NetworkSecurity
            var homeSettings: [String] = []
            /// The owner's word of it.
            var word: Security?
            /// Without one the device has been in it for three days.
            var isLearned = false
            let twin: NetworkSecurity
            var twinSettings: [String] = []
            let refusal: JoinFailure
        }

        static let twins = [
            Twin(
                testDescription: "WPA2 with another password, for a WPA3 network", home: .wpa3("home-password"),
                word: .wpa3, twin: .wpa2("other-password"), refusal: .lessSecure),
            Twin(
                testDescription: "WPA2 with another password, for one with WPA2 and WPA3",
                home: .transition("home-password"), isLearned: true, twin: .wpa2("other-password"),
                refusal: .lessSecure),
            Twin(
                testDescription: "WPA with TKIP and the right password", home: .wpa2("home-password"),
                twin: .wpa2("home-password"), twinSettings: ["wpa=1", "wpa_pairwise=TKIP"],
                refusal: .unsupportedSecurity),
            Twin(
                testDescription: "open, for a network with OWE", home: .open, homeSettings: owe, word: .owe,
                twin: .open,
                refusal: .lessSecure),
            Twin(
                testDescription: "open, for a network with a password", home: .wpa2("home-password"), twin: .open,
                refusal: .lessSecure),
        ]

        /// Those whose real network the device's radio can be in, by no less than it offers.
        private static let playable =
            Lab.radioKind == .softMAC
            ? twins : twins.filter { NetworkSecurity.ofOnePassword.contains($0.home) }

        private static let owe = ["wpa=2", "wpa_key_mgmt=OWE", "rsn_pairwise=CCMP", "ieee80211w=2"]

        /// A minute beside the twin alone, which is near, and a restart of the agent: not one frame goes to it, and as
        /// soon as the real network is back, which is far, the device is in it.
        // covers: seed/wpa3
        @Test(arguments: isCore ? Array(playable.prefix(1)) : playable) func isNotJoined(_ twin: Twin) async throws {
            try await scenario("twin: \(twin.testDescription)", accessPoints: 2) { lab in
                let home = try await lab.accessPoint(
                    "HomeNet", security: twin.home, channel: 1, signal: -65, settings: twin.homeSettings)
                let other = try await lab.accessPoint(
                    "HomeNet", security: twin.twin, channel: 6, signal: -30, settings: twin.twinSettings)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab, security: twin.word)
                #expect(await lab.station.joined() == home.bssid)
                if twin.isLearned { try await device.learnFloor(of: home) }

                try await other.powerOn()
                try await home.powerOff()
                let scanned = ContinuousClock.now
                try await eventually(within: .seconds(30), "the twin to be seen") {
                    try await Self.refusal(of: other, device) == twin.refusal
                }
                lab.report("twin refused: \(twin.testDescription)", .now - scanned)
                try await Task.sleep(for: .seconds(30))
                await device.stop()
                try await device.start()
                try await Task.sleep(for: .seconds(30))
                #expect(device.status?.state == .offline)

                let mark = device.decisions.count
                let back = ContinuousClock.now
                try await home.powerOn()
                try await eventually(within: .seconds(15), "the device to be home") {
                    await lab.station.joined() == home.bssid
                }
                try await device.online(on: home, within: .seconds(10))
                lab.report("home beside a twin: \(twin.testDescription)", .now - back)
                #expect(device.way(since: mark) == [home.ssid], "the first try")
                #expect(!device.decisions.contains { ["blocked", "failed"].contains($0.kind.rawValue) })
                #expect(device.decisions.contains { $0.text.contains("with its name") })
                let heard = await other.hostapdLog
                #expect(heard.contains("AP-ENABLED"))
                #expect(!heard.contains("\(lab.station.radioAddress)"), "\(heard)")
            }
        }

        private static func refusal(of accessPoint: AccessPoint, _ device: Device) async throws -> JoinFailure? {
            let results = try await device.ask { client throws(ClientError) in try await client.scanResults() }
            return results.networks.first { $0.bssid == accessPoint.bssid }?.refusal
        }

        /// A router that was set back to WPA2 is not joined, until its owner sends the password again.
        @Test(.extended, .withSAE) func theOwnerLowersTheFloor() async throws {
            try await scenario("router set back to WPA2", accessPoints: 2) { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa3("home-password"), channel: 1)
                let reset = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 6)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                try await device.learnFloor(of: home)
                #expect(device.decisions.contains { $0.kind.rawValue == "floor" && $0.reason.rawValue == "raised" })
                try await reset.powerOn()
                try await home.powerOff()
                try await Task.sleep(for: .seconds(30))
                #expect(device.status?.state == .offline)
                let diagnosis = try await device.commandLine(["diagnose"])
                #expect(diagnosis.contains("was reset"), "\(diagnosis)")

                let outcome = try await device.outcome(of: device.switchNetwork(to: reset), within: .seconds(40))
                #expect(outcome.phase == .committed)
                #expect(await lab.station.joined() == reset.bssid)
            }
        }

        /// Anybody can have the name of an open network with OWE: however long the device was in that, the real one is
        /// joined when it is there.
        @Test(.extended, .onSoftMAC("brcmfmac has no OWE")) func anOWETwinKeepsNobodyOut() async throws {
            try await scenario("OWE twin of an open network", accessPoints: 2) { lab in
                let home = try await lab.accessPoint("HomeNet", security: .open, channel: 1, signal: -65)
                let twin = try await lab.accessPoint(
                    "HomeNet", security: .open, channel: 6, signal: -30, settings: Self.owe)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                try await twin.powerOn()
                try await home.powerOff()
                try await eventually(within: .seconds(60), "the device to be in the twin") {
                    await lab.station.joined() == twin.bssid
                }
                try await device.online(on: twin, within: .seconds(15))
                try await device.learnFloor(of: twin, after: .pmf)
                try await twin.powerOff()
                let back = ContinuousClock.now
                try await home.powerOn()
                try await eventually(within: .seconds(30), "the device to be home") {
                    await lab.station.joined() == home.bssid
                }
                try await device.online(on: home, within: .seconds(15))
                lab.report("home after an OWE twin", .now - back)
                #expect(!device.decisions.contains { $0.kind.rawValue == "floor" })
            }
        }

        /// Who knows the password can have the network's name with SAE. Once is nothing; alone for three days it keeps a
        /// router out that can do WPA2 only, and the setup access point opens within its time.
        @Test(.extended, .withSAE) func anSAETwinKeepsNobodyOut() async throws {
            try await scenario("SAE twin by one who knows the password", accessPoints: 2) { lab in
                let home = try await lab.accessPoint(
                    "HomeNet", security: .wpa2("home-password"), channel: 1, signal: -65)
                let twin = try await lab.accessPoint(
                    "HomeNet", security: .wpa3("home-password"), channel: 6, signal: -30)
                try await home.powerOn()
                let device = try await Device.withAccessPoint(lab)
                try await device.provision(home)
                func moveToTwin() async throws {
                    try await twin.powerOn()
                    try await home.powerOff()
                    try await eventually(within: .seconds(60), "the device to be in the twin") {
                        await lab.station.joined() == twin.bssid
                    }
                    try await device.online(on: twin, within: .seconds(15))
                    try await Task.sleep(for: .seconds(1))
                }
                try await moveToTwin()
                try await home.powerOn()
                try await twin.powerOff()
                let back = ContinuousClock.now
                try await eventually(within: .seconds(60), "the device to be home") {
                    await lab.station.joined() == home.bssid
                }
                try await device.online(on: home, within: .seconds(15))
                lab.report("home after an SAE twin", .now - back)

                try await moveToTwin()
                // The kernel drops scan results of the real router, which offers less, after 30 s.
                try await Task.sleep(for: .seconds(60))
                try await device.learnFloor(of: twin)
                try await device.decision("floor", within: .seconds(5))
                try await home.powerOn()
                try await twin.powerOff()
                let lost = ContinuousClock.now
                try await device.opened(because: "nothingSeen", within: .seconds(420))
                lab.report("setup AP: from the end of an SAE twin to the access point", .now - lost)
                // Its owner sends the password again.
                try await device.provision(home)
                #expect(await lab.station.joined() == home.bssid)
                try await device.closed(within: .seconds(10))
            }
        }

        /// A router that serves WPA and WPA2 side by side has TKIP for the group.
        @Test(.extended, arguments: [["wpa=3", "wpa_pairwise=TKIP"], ["wpa=1", "wpa_pairwise=TKIP"]])
        func aCommandSaysWhatToDoAboutTKIP(_ settings: [String]) async throws {
            try await scenario("switch to a network with TKIP", accessPoints: 2) { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                let old = try await lab.accessPoint(
                    "Old", security: .wpa2("old-password"), channel: 6, settings: settings)
                try await home.powerOn()
                try await old.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let outcome = try await device.outcome(of: device.switchNetwork(to: old), within: .seconds(60))
                #expect(outcome.phase == .rolledBack)
                #expect(outcome.reason?.rawValue == "unsupportedSecurity")
                #expect(outcome.text?.contains("WPA2 with AES") == true)
                #expect(await !old.hostapdLog.contains("\(lab.station.radioAddress)"))
                let scan = try await device.ask { client throws(ClientError) in try await client.scanResults() }
                #expect(scan.networks.first { $0.bssid == old.bssid }?.security == .legacy)
                // With the owner's permission it is joined, by the best that it offers.
                let name = old.ssid
                let allowed = NewNetwork(
                    ssid: name, password: Secret(text: "old-password"), options: .init(allowsTKIP: true))
                let status = try await device.ask { client throws(ClientError) in
                    try await client.switchNetwork(to: .new(allowed))
                }
                #expect(try await device.outcome(of: status, within: .seconds(60)).phase == .committed)
                #expect(await lab.station.joined() == old.bssid)
            }
        }
    }
}

extension Radios {
    /// `joinOnce`: the device is in a network for as long as the link lasts.
    @Suite struct VisitTests {
        private func guest(of lab: Lab) async throws -> AccessPoint {
            let guest = try await lab.accessPoint("Guest", security: .wpa2("guest-password"), channel: 11)
            try await guest.powerOn()
            return guest
        }

        /// Every network of which the device's key file has the password.
        private static func names(storedIn device: Device) throws -> Set<SSID> {
            let state = try device.store.open(maximumBackups: 3).state
            let roles = [state.home, state.chosen, state.current, state.previous, state.pendingSwitch?.target]
            return Set((roles.compactMap(\.self) + state.backups).map(\.ssid))
        }

        private func refusal(_ ask: () async throws -> SwitchStatus) async throws -> ErrorCode? {
            do {
                _ = try await ask()
                return nil
            } catch let error as ClientError {
                return error.code
            }
        }

        // covers: seed/join-once
        @Test func isForgottenWhenTheLinkIsLost() async throws {
            try await scenario("visit until the link is lost", accessPoints: 3) { lab in
                let house = try await House(lab)
                let guest = try await guest(of: lab)
                let visit = try await house.device.switchNetwork(to: guest, joinOnce: true)
                #expect(try await house.device.outcome(of: visit, within: .seconds(30)).phase == .committed)
                try await house.expectTraffic(through: guest)
                let hash = try #require(house.device.status?.hash)
                let again = try await refusal { try await house.device.switchNetwork(to: guest, joinOnce: true) }
                #expect(again == .alreadyAssociated)

                var mark = house.mark
                try await guest.powerOff()
                // At once, or by way of the backup where that is seen first.
                try await house.device.online(on: house.home, within: .seconds(90))
                #expect(!house.device.way(since: mark).contains(guest.ssid))

                // It is nothing to fall back to any more.
                try await guest.powerOn()
                mark = house.mark
                try await house.home.powerOff()
                try await house.device.online(on: house.backup, within: .seconds(30))
                house.expectWay([house.backup], since: mark)
                let client = try await house.device.client()
                #expect(
                    try await refusal { try await client.switchNetwork(to: .stored(hash)) } == .unknownNetwork)
                #expect(try await client.backups().networks.map(\.ssid) == [house.backup.ssid])
                await client.close()
            }
        }

        // covers: seed/join-once
        @Test(.extended) func isForgottenByARestart() async throws {
            try await scenario("visit until the agent restarts", accessPoints: 3) { lab in
                let house = try await House(lab)
                let guest = try await guest(of: lab)
                let visit = try await house.device.switchNetwork(to: guest, joinOnce: true)
                #expect(try await house.device.outcome(of: visit, within: .seconds(30)).phase == .committed)
                // In order, so that it stores all that it would store at some time.
                await house.device.stop()
                #expect(try Self.names(storedIn: house.device) == [house.home.ssid, house.backup.ssid])
                try await house.device.start()
                try await house.device.online(on: house.home, within: .seconds(30))
                try await house.expectTraffic(through: house.home)
            }
        }

        @Test(.extended) func isUndoneByARestartInTheMiddle() async throws {
            try await scenario("restart in the middle of a visit's switch", accessPoints: 3) { lab in
                let house = try await House(lab)
                let guest = try await guest(of: lab)
                let visit = try await house.device.switchNetwork(to: guest, confirmWithin: 300, joinOnce: true)
                try await house.device.phase(.waitingForConfirmation, of: visit, within: .seconds(30))
                await house.device.kill()
                try await house.device.start()
                try await house.device.phase(.rolledBack, of: visit, within: .seconds(40))
                try await house.device.online(on: house.home, within: .seconds(5))
            }
        }

        // covers: seed/join-kept, seed/choice-sticks
        @Test(.extended) func becomesAChoiceWithoutLeaving() async throws {
            try await scenario("visit that is kept", accessPoints: 3) { lab in
                let house = try await House(lab)
                let guest = try await guest(of: lab)
                let visit = try await house.device.switchNetwork(to: guest, joinOnce: true)
                #expect(try await house.device.outcome(of: visit, within: .seconds(30)).phase == .committed)
                let mark = house.mark
                let kept = try await house.device.switchNetwork(to: guest)
                #expect(try await house.device.outcome(of: kept, within: .seconds(30)).phase == .committed)
                // The history has the command, and no move.
                #expect(house.device.decisions.dropFirst(mark).map(\.kind.rawValue) == ["command"], "the link stays")
                await house.device.kill()
                try await house.device.start()
                try await house.device.online(on: guest, within: .seconds(10))
            }
        }
    }
}
