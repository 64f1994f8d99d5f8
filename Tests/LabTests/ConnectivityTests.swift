import AgentModel
import AppProtocol
import Lab
import Testing

extension Radios {
    /// Wi-Fi is perfect, and what is behind it is not.
    @Suite struct ConnectivityTests {
        /// By default settings, to the end: what led nowhere is not tried for 300 s, and what is preferred is looked
        /// for every 120 s then.
        // covers: seed/wifi-and-broker, seed/leave-no-internet
        @Test(.extended) func theInternetBehindTheAccessPointIsCutAndHeals() async throws {
            try await scenario("internet cut and healed", accessPoints: 2) { lab in
                let house = try await House(lab, upstream: lab.upstream())
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.cutInternet()
                let cut = ContinuousClock.now
                try await house.device.online(on: house.backup, within: .seconds(15))
                try await house.device.broker(.ready, within: cut + .seconds(15) - .now)
                lab.report("internet cut until the broker answers through the backup", .now - cut)
                try await house.expectBroker(through: house.backup, within: .seconds(1))
                house.expectWay([house.backup], since: mark)
                #expect(try await lab.station.signal() == -60, "Wi-Fi was never at fault")

                try await house.home.restoreInternet()
                try await house.expectBroker(through: house.home, within: cut + .seconds(480) - .now)
                lab.report("internet cut, soon healed, until the broker answers at home again", .now - cut)
                house.expectWay([house.backup, house.home], since: mark)
            }
        }

        /// A return that comes too early is undone at once, and is no reason not to try again.
        @Test(.extended) func theDeviceReturnsBeforeTheInternetHasHealed() async throws {
            try await scenario("returned too early", accessPoints: 2) { lab in
                let house = try await House(
                    lab, upstream: lab.upstream(), settings: ["ALTNET_NO_INTERNET_RETRY_S": "10"])
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.cutInternet(.reject)
                try await house.expectBroker(through: house.backup, within: .seconds(15))
                try await eventually(within: .seconds(150), "home to be tried and left again") {
                    house.device.way(since: mark).count > 2
                }
                try await house.expectBroker(through: house.backup, within: .seconds(15))
                house.expectWay([house.backup, house.home, house.backup], since: mark)
                try await house.home.restoreInternet()
                try await house.expectBroker(through: house.home, within: .seconds(300))
                house.expectWay([house.backup, house.home, house.backup, house.home], since: mark)
            }
        }

        /// There is no server to ask whether a network is online; the gateway and the broker decide.
        // covers: seed/wifi-and-broker
        @Test(.extended) func theWayToTheBrokerIsCutAndNoOtherServerIsAsked() async throws {
            try await scenario("broker alone decides", accessPoints: 2) { lab in
                let house = try await House(
                    lab, upstream: lab.upstream(), settings: ["ALTNET_VALIDATION_URL": ""])
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.cutInternet()
                try await house.expectBroker(through: house.backup, within: .seconds(20))
                house.expectWay([house.backup], since: mark)
                #expect(try await lab.station.signal() == -60, "Wi-Fi was never at fault")
            }
        }

        @Test(.extended, arguments: [NameService.failing, .denying, .everythingAt(IPv4Address(10, 1, 0, 1))])
        func nameServersLie(_ lie: NameService) async throws {
            try await scenario("name servers lie", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream)
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.names(lie)
                // A connection that lives needs no names; a new one does.
                await upstream.broker.kill()
                try await upstream.broker.start()
                try await house.expectBroker(through: house.backup, within: .seconds(60))
                house.expectWay([house.backup], since: mark)
            }
        }

        @Test(.extended) func nameServersAreDead() async throws {
            try await scenario("name servers dead", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream)
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.names(.silent)
                try await house.expectDiagnosis(of: [.names])
                #expect(house.device.connectivity?.level == .target, "a connection that lives needs no names")
                house.expectWay([], since: mark)

                // Now it needs them.
                await upstream.broker.kill()
                try await upstream.broker.start()
                try await house.expectBroker(through: house.backup, within: .seconds(40))
                house.expectWay([house.backup], since: mark)
            }
        }

        @Test(.extended) func anAddressNeverComes() async throws {
            try await scenario("no address", accessPoints: 3) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, backupSignal: -40, upstream: upstream)
                let spare = try await lab.accessPoint("SpareNet", security: .open, channel: 11, signal: -65)
                try await spare.connect(to: upstream)
                try await spare.powerOn()
                try await house.backup.dhcp(false)
                try await house.device.store([await house.backup.asStored(), await spare.asStored()])
                let mark = house.mark
                try await house.home.powerOff()
                try await eventually(within: .seconds(20), "the backup to be joined") {
                    await lab.station.joined() == house.backup.bssid
                }
                try await house.expectDiagnosis(of: [.address])
                try await house.expectBroker(through: spare, within: .seconds(60))
                #expect(house.device.stations(since: mark) == [spare.ssid])
            }
        }

        @Test(.extended) func aNetworkWithoutAWayOutIsNoDestination() async throws {
            try await scenario("upstream black-holed", accessPoints: 2) { lab in
                let house = try await House(lab, upstream: lab.upstream())
                try await house.expectBroker(through: house.home, within: .seconds(15))
                try await house.backup.cutInternet()
                let mark = house.mark
                let switched = try await house.device.switchNetwork(toStored: house.backup.ssid)
                let outcome = try await house.device.outcome(of: switched, within: .seconds(60))
                #expect(outcome.phase != .committed)
                try await house.expectBroker(through: house.home, within: .seconds(30))
                house.expectWay([house.backup, house.home], since: mark)

                // Now there is no way out at all.
                try await house.home.cutInternet()
                try await house.device.connectivity(within: .seconds(30), "the gateway and nothing behind it") {
                    $0.level == .lan && $0.internet == .no
                }
                try await house.expectDiagnosis(of: [.names, .internet])
            }
        }

        /// A board without a battery starts in 1970, where no certificate is valid, and reaches no time server.
        // covers: seed/no-clock
        @Test(.extended) func theNetworkIsKeptWhileTheClockIsNotSet() async throws {
            try await scenario("clock not set", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let (_, authority) = try await upstream.appServer()
                // The kernel takes no time before that of its start.
                let back = LabClock.time - 86_400
                try LabClock.isKnown(false)
                try LabClock.move(by: -back)
                var isBehind = true
                defer { if isBehind { try? LabClock.move(by: back) } }
                let house = try await House(
                    lab, upstream: upstream,
                    settings: [
                        "ALTNET_TARGETS": "app=https://\(Upstream.appName):443", "ALTNET_AUTHORITIES": authority,
                        "ALTNET_VALIDATION_URL": "",
                    ])
                let mark = house.mark
                try await house.device.connectivity(within: .seconds(20), "the clock to be the reason") {
                    $0.level == .lan && $0.internet == .unknown && $0.targets.map(\.reason) == [.clockNotSet]
                }
                try await Task.sleep(for: .seconds(120))
                #expect(house.device.status?.state == .online)
                house.expectWay([], since: mark)

                try LabClock.move(by: back)
                isBehind = false
                try LabClock.isKnown(true)
                try await house.expectBroker(through: house.home, within: .seconds(120))
                house.expectWay([], since: mark)
            }
        }

        @Test(.extended) func theServerSaysThatTheNetworkIsMetered() async throws {
            try await scenario("metered network", accessPoints: 2) { lab in
                let house = try await House(lab)
                #expect(try await !house.device.network().isMetered)
                try await house.backup.announceMetered()
                try await house.move(to: house.backup)
                #expect(try await house.device.network().isMetered)
                // The owner decides otherwise.
                let owner = ["backups", "set-options", "\(house.backup.ssid)", "--metered", "no"]
                _ = try await house.device.commandLine(owner)
                #expect(try await !house.device.network().isMetered)
                try await house.move(to: house.home)
                #expect(try await !house.device.network().isMetered)
            }
        }

        @Test(.extended) func aNetworkHasIPv6Alone() async throws {
            try await scenario("broker over IPv6", accessPoints: 2) { lab in
                let house = try await House(lab, backupHasOnlyIPv6: true, upstream: lab.upstream())
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.powerOff()
                try await house.device.online(on: house.backup, within: .seconds(30))
                try await house.device.broker(.ready, within: .seconds(15))
                house.expectWay([house.backup], since: mark)
                #expect(await lab.station.address == nil)
                let seen = try await lab.station.curl("http://[\(Upstream.mirror6)]/address").text
                #expect(seen.hasPrefix("2001:db8:2:"))
                try await house.device.connectivity(within: .seconds(5), "the level of a target") {
                    $0.level == .target
                }
            }
        }
    }
}

extension Radios {
    /// The network is good, and the device's own server is not.
    @Suite struct BrokerTests {
        // covers: seed/connection-restart
        @Test(.extended) func aBrokerThatRefusesIsNoReasonToLeave() async throws {
            try await scenario("broker refuses", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream)
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark

                await upstream.broker.kill()
                try await house.device.broker(.failed, because: .connectionRefused, within: .seconds(20))
                try await house.expectInternet()
                try await house.expectDiagnosis(of: [.target])
                let status = try await house.device.commandLine(["status"])
                #expect(status.contains("connection refused"), "\(status)")
                try await upstream.broker.start()
                try await house.device.broker(.ready, within: .seconds(60))

                try await upstream.broker.firewall(.reject)
                try await house.device.broker(.failed, because: .connectionRefused, within: .seconds(20))
                try await upstream.broker.firewall(nil)
                try await house.device.broker(.ready, within: .seconds(60))
                house.expectWay([], since: mark)
                try await house.expectBroker(through: house.home, within: .seconds(5))
            }
        }

        // covers: seed/connection-states
        @Test(.extended) func aBrokerThatIsSilentIsNoticed() async throws {
            try await scenario("broker silent", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream)
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark

                try await upstream.broker.firewall(.drop)
                try await house.device.connectivity(within: .seconds(20), "the broker's silence to be noticed") {
                    $0.targets.allSatisfy { !$0.isOnline && $0.reason == .timedOut }
                }
                try await upstream.broker.firewall(nil)
                try await house.device.broker(.ready, within: .seconds(60))

                // Its kernel goes on to acknowledge; only MQTT's own keep-alive shows that the broker is gone.
                await upstream.broker.freeze()
                try await house.device.connectivity(within: .seconds(50), "the frozen broker to be noticed") {
                    $0.targets.allSatisfy { !$0.isOnline && $0.reason == .timedOut }
                }
                await upstream.broker.thaw()
                try await house.expectBroker(through: house.home, within: .seconds(60))
                house.expectWay([], since: mark)
            }
        }

        /// The server of the app speaks TLS, and the device trusts only its authority.
        // covers: seed/connection-events
        @Test(.extended) func aServerBehindTLSHangsAndIsCutOff() async throws {
            try await scenario("TLS server", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let (server, authority) = try await upstream.appServer()
                let house = try await House(
                    lab, upstream: upstream,
                    settings: [
                        "ALTNET_TARGETS": "app=https://\(Upstream.appName):443", "ALTNET_AUTHORITIES": authority,
                    ])
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark

                await server.freeze()
                try await house.device.connectivity(within: .seconds(50), "the frozen server to be noticed") {
                    $0.targets.allSatisfy { !$0.isOnline && $0.reason == .timedOut }
                }
                await server.thaw()
                try await house.device.broker(.ready, within: .seconds(60))

                try await server.firewall(.drop)
                try await house.device.connectivity(within: .seconds(20), "the server's silence to be noticed") {
                    $0.targets.allSatisfy { !$0.isOnline && $0.reason == .timedOut }
                }
                try await house.expectInternet()
                try await server.firewall(.reject)
                try await house.device.connectivity(within: .seconds(40), "the server's refusal to be noticed") {
                    $0.targets.allSatisfy { !$0.isOnline && $0.reason == .connectionRefused }
                }
                try await server.firewall(nil)
                try await house.expectBroker(through: house.home, within: .seconds(60))
                house.expectWay([], since: mark)
            }
        }
    }
}
