import AppProtocol
import FoundationEssentials
import Lab
import Testing

extension Radios {
    /// The address is there as soon as the link is.
    @Suite struct AddressTests {
        /// Each command to a radio with firmware of its own takes a moment more.
        private static let atOnce = Duration.milliseconds(Lab.radioKind == .softMAC ? 100 : 150)

        @Test func anAddressComesAtOnce() async throws {
            try await scenario("address at once", accessPoints: 2) { lab in
                let house = try await House(lab)
                let new = try await house.move(to: house.backup)
                lab.report("association to first ping, new network", new)
                #expect(new <= .milliseconds(700))

                let known = try await house.move(to: house.home)
                lab.report("association to first ping, known network", known)
                #expect(known <= Self.atOnce)

                // Both ways of confirming the lease lose their first packet.
                try await house.backup.lose(questions: 1, resolutions: 1)
                let loss = try await house.move(to: house.backup)
                lab.report("association to first ping, known network, first packets lost", loss)
                #expect(loss <= .milliseconds(300))
                #expect(try await house.backup.lost == 2)

                try await house.home.lose(answers: 1)
                let start = ContinuousClock.now
                try await house.move(to: house.home)
                let gap = house.pinger.longestGap(since: start)
                lab.report("gap of a commanded switch, the server's first answer lost", gap)
                #expect(gap <= .milliseconds(300))
                #expect(try await house.home.lost == 1)
            }
        }

        @Test(.extended) func theKnownGatewayStandsInForASilentServer() async throws {
            try await scenario("silent DHCP server", accessPoints: 2) { lab in
                let house = try await House(lab)
                try await house.move(to: house.backup)
                let address = try #require(await lab.station.address)
                try await house.move(to: house.home)
                try await house.backup.dhcp(false)
                let known = try await house.move(to: house.backup)
                lab.report("association to first ping, the server off", known)
                #expect(known <= Self.atOnce)
                #expect(await lab.station.address == address)
                try await house.stays(on: house.backup, for: .seconds(90))
                #expect(await lab.station.address == address)
            }
        }

        @Test(.extended) func anAddressInUseIsLeftToItsHost() async throws {
            try await scenario("address in use", accessPoints: 2) { lab in
                let house = try await House(lab)
                try await house.move(to: house.backup)
                let address = try #require(await lab.station.address)
                try await house.move(to: house.home)
                try await house.backup.addHost(at: address)
                let start = ContinuousClock.now
                let accepted = try await house.device.switchNetwork(to: house.backup)
                let outcome = try await house.device.outcome(of: accepted, within: .seconds(60))
                lab.report("switch to a network where the remembered address is in use", .now - start)
                #expect(outcome.phase == .committed)
                #expect(await lab.station.address != address)
                try await house.stays(on: house.backup, for: .seconds(30))
                #expect(await lab.station.address != address)
                #expect(await house.device.log.contains("ARP: \(address) is in use"))
            }
        }

        enum Other: CaseIterable { case sameAddresses, otherAddresses }

        /// The router is replaced: its network has the name and the password of the one before.
        @Test(.extended, arguments: Other.allCases) func anotherNetworkBehindTheSameName(_ other: Other) async throws {
            try await scenario("another network, \(other)", accessPoints: 3) { lab in
                let house = try await House(lab)
                try await house.move(to: house.backup)
                try await house.move(to: house.home)
                try await house.backup.powerOff()
                let successor = try await lab.accessPoint(
                    house.backup.ssid, security: .wpa2("backup-password"), channel: 6, signal: -60,
                    extending: other == .sameAddresses ? house.backup : nil)
                try await successor.powerOn()
                let new = try await house.move(to: successor)
                lab.report("association to first ping, another network of the same name, \(other)", new)
                #expect(new <= .milliseconds(700))
                try await house.stays(on: successor, for: .seconds(20))
            }
        }

        @Test(.extended) func aRestartOfTheAgentKeepsTheAddress() async throws {
            try await scenario("address through a restart") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger(to: home.gateway)
                try await pinger.reply(within: .seconds(5))
                let address = try #require(await lab.station.address)
                let monitor = try await lab.start("ip", ["monitor", "address"], log: "monitor")
                await device.kill()
                let start = ContinuousClock.now
                try await device.start()
                try await device.online(on: home, within: .seconds(20))
                try await Task.sleep(for: .seconds(20))
                lab.report(
                    "longest gap of a ping when the agent is killed and started", pinger.longestGap(since: start))
                #expect(pinger.longestGap(since: start) <= .milliseconds(300))
                #expect(await lab.station.address == address)
                let changes = try String(contentsOfFile: monitor.log, encoding: .utf8)
                #expect(!changes.contains("Deleted"), "\(changes)")
            }
        }

        /// ALTNET_ADDRESS_CLIENT=other: the agent watches the owner's own client.
        @Test(.extended) func theOwnersClient() async throws {
            try await scenario("the owner's DHCP client", accessPoints: 2) { lab in
                try await lab.station.startDHCPClient()
                let house = try await House(lab, settings: ["ALTNET_ADDRESS_CLIENT": "other"])
                let move = try await house.move(to: house.backup)
                lab.report("association to first ping, the owner's client", move)
                let mark = house.mark
                try await house.backup.powerOff()
                try await house.device.online(on: house.home, within: .seconds(20))
                try await house.expectTraffic(through: house.home)
                house.expectWay([house.home], since: mark)
            }
        }
    }
}

extension House {
    /// Commands the device to a network that it knows.
    ///
    /// - Returns: from the association until the first ping there.
    @discardableResult
    func move(to network: AccessPoint) async throws -> Duration {
        let pinger = try await lab.pinger(to: network.gateway)
        let start = ContinuousClock.now
        let accepted = try await device.switchNetwork(to: network)
        let reply = try await pinger.reply(after: start, within: .seconds(30))
        pinger.end()
        let association = try #require(await network.associations.first { $0 > start })
        let outcome = try await device.outcome(of: accepted, within: .seconds(30))
        #expect(outcome.phase == .committed)
        // What goes on after the first ping, such as the probe for conflicts, comes to its end.
        try await Task.sleep(for: .seconds(8))
        return reply - association
    }

    /// The device goes nowhere else meanwhile.
    func stays(on network: AccessPoint, for time: Duration) async throws {
        let mark = mark
        try await Task.sleep(for: time)
        try await expectTraffic(through: network)
        expectWay([], since: mark)
    }
}
