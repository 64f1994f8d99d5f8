import AgentModel
import AppClient
import AppProtocol
import Lab
import Testing

extension Radios {
    /// The app's permissions follow from the interface that carries the traffic.
    @Suite struct UplinkTests {
        private func expectRefusal(
            _ house: House, while uplink: Uplink, _ networkSignal: (Int?) -> Bool
        ) async throws {
            // Wi-Fi may carry the traffic again until the uplink has been checked.
            var since: ContinuousClock.Instant?
            try await eventually(within: .seconds(30), "the device to rely on its \(uplink) uplink for 5 s") {
                let status = house.device.status
                since = status?.uplink == uplink && status?.flags == .canUpdateBackups ? since ?? .now : nil
                return since.map { ContinuousClock.now - $0 > .seconds(5) } ?? false
            }
            let client = try await house.device.client()
            let status = try await client.network()
            #expect(status.flags == .canUpdateBackups)
            #expect(networkSignal(status.signal), "signal \(status.signal ?? 0)")
            do throws(ClientError) {
                let stored = try await client.backups()
                let hash = stored.networks.first?.hash
                #expect(hash != nil)
                if let hash { _ = try await client.switchNetwork(to: .stored(hash)) }
                Issue.record("a switch was accepted")
            } catch {
                #expect(error.code == .cannotSwitch)
            }
            // The list is only stored.
            let cafe = NewNetwork(ssid: try SSID("Cafe \(uplink)"), password: nil)
            #expect(try await client.updateBackups([.new(cafe)]).networks.count == 1)
            _ = try await client.updateBackups([.new(await house.backup.asStored())])
            await client.close()
        }

        // covers: seed/current-network, seed/allowed-by-flags
        @Test(.extended) func wiredAndCellularAllowNoSwitch() async throws {
            try await scenario("other uplinks", accessPoints: 2) { lab in
                let house = try await House(lab)
                #expect(house.device.status?.flags == [.canUpdateBackups, .canSwitch])

                let cable = try await lab.cable(to: lab.upstream())
                try await expectRefusal(house, while: .wired) { $0 != nil }
                try cable.pull()
                let modem = try await lab.modem()
                try await expectRefusal(house, while: .cellular) { $0 == nil }
                try modem.remove()

                try await eventually(within: .seconds(10), "Wi-Fi to carry the traffic again") {
                    house.device.status?.uplink == .wifi
                        && house.device.status?.flags == [.canUpdateBackups, .canSwitch]
                }
                let switched = try await house.device.switchNetwork(toStored: house.backup.ssid)
                #expect(try await house.device.outcome(of: switched, within: .seconds(30)).phase == .committed)
            }
        }

        // covers: seed/switch-beside-cable
        @Test(.extended) func wiFiMovesBesideACableWhereThatIsAskedFor() async throws {
            try await scenario("Wi-Fi moves beside a cable", accessPoints: 2) { lab in
                let house = try await House(lab)
                let cable = try await lab.cable(to: lab.upstream())
                try await eventually(within: .seconds(10), "the device to notice its cable") {
                    house.device.status?.uplink == .wired
                }
                let client = try await house.device.client()
                let list = try await client.backups()
                #expect(list.preferred?.ssid == house.home.ssid)
                let backup = try #require(list.networks.first { $0.ssid == house.backup.ssid })
                let accepted = try await client.switchNetwork(to: .stored(backup.hash), besideUplink: true)
                #expect(accepted.trafficOver == .wired)
                let outcome = try await house.device.outcome(of: accepted, within: .seconds(30))
                #expect(outcome.phase == .committed && outcome.trafficOver == .wired)
                let status = try await client.network()
                #expect(status.ssid == house.backup.ssid && status.state == .online)
                #expect(status.uplink == .wired && status.flags == .canUpdateBackups)
                #expect(try await client.backups().chosen?.ssid == house.backup.ssid)
                await client.close()
                try cable.pull()
                try await eventually(within: .seconds(10), "Wi-Fi to carry the traffic") {
                    house.device.status?.uplink == .wifi && house.device.status?.ssid == house.backup.ssid
                }
            }
        }
    }
}

extension Radios {
    /// A cable, a modem and a VPN come and go beside a Wi-Fi link that is good.
    @Suite struct OtherWaysOutTests {
        /// By address: whom to ask for names, a cable and a modem do not say.
        private static func servers(of upstream: Upstream) -> [String: String] {
            [
                "ALTNET_TARGETS": "broker=mqtt://\(upstream.broker.address):1883",
                "ALTNET_VALIDATION_URL": "http://\(Upstream.mirror)/generate_204",
            ]
        }

        // covers: seed/reach-changes
        @Test(.extended) func aCableIsPluggedInAndOut() async throws {
            try await scenario("cable in and out", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream)
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                let cable = try await lab.cable(to: upstream)
                try await eventually(within: .seconds(10), "the cable to carry the traffic") {
                    house.device.status?.uplink == .wired
                }
                try await lab.station.seen(as: "\(Cable.address)", within: .seconds(10))
                #expect(house.device.status?.state == .online)
                try cable.pull()
                try await eventually(within: .seconds(10), "Wi-Fi to carry the traffic again") {
                    house.device.status?.uplink == .wifi
                }
                try await house.expectBroker(through: house.home, within: .seconds(15))
                house.expectWay([], since: mark)
            }
        }

        /// No Wi-Fi network is known, and none is in range.
        @Test(.extended) func aDeviceHasACableAlone() async throws {
            try await scenario("cable alone") { lab in
                let upstream = try await lab.upstream()
                let device = Device(in: lab, settings: Self.servers(of: upstream))
                try await lab.station.startSupplicant()
                try await device.start()
                let cable = try await lab.cable(to: upstream)
                try await device.broker(.ready, within: .seconds(30))
                try await device.connectivity(within: .seconds(30), "the levels by cable") {
                    $0.level == .target && $0.internet == .yes
                }
                #expect(device.status?.uplink == .wired)
                try await lab.station.seen(as: "\(Cable.address)", within: .seconds(10))
                let said = try await device.commandLine(["status"])
                #expect(said.contains("internet: yes") && said.contains("broker: answering"), "\(said)")
                try cable.pull()
                try await device.connectivity(within: .seconds(30), "nothing to be left") {
                    $0.level == nil && $0.internet != .yes && $0.targets.allSatisfy { !$0.isOnline }
                }
            }
        }

        /// A modem without credit: nothing that is sent over it is answered. Wi-Fi keeps the traffic.
        // covers: seed/reach-flags
        @Test func aModemHasNoCredit() async throws {
            try await scenario("modem without credit") { lab in
                let upstream = try await lab.upstream()
                let home = try await lab.accessPoint("HomeNet", security: .open, channel: 1)
                try await home.connect(to: upstream)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab, settings: Self.servers(of: upstream))
                try await device.broker(.ready, within: .seconds(15))
                let address = try #require(await lab.station.address)
                let modem = try await lab.modem()
                try await lab.station.seen(as: "\(address)", within: .seconds(10))
                let beside = try await device.network()
                #expect(beside.uplink == .wifi && beside.carrier == nil && beside.state == .online)
                #expect(beside.flags == [.canUpdateBackups, .canSwitch])
                #expect(beside.connectivity?.level == .target)
                // Long after the modem has failed its checks.
                try await Task.sleep(for: .seconds(15))
                try await lab.station.seen(as: "\(address)", within: .seconds(3))
                try await home.powerOff()
                try await device.connectivity(within: .seconds(30), "the modem to lead nowhere") {
                    $0.reachability.contains([.reachable, .isCellular]) && $0.level == .lan && $0.internet == .no
                        && $0.targets.allSatisfy { !$0.isOnline }
                }
                #expect(device.status?.uplink == .cellular)
                try modem.remove()
                try await device.connectivity(within: .seconds(10), "nothing to be left") {
                    !$0.reachability.contains(.reachable) && $0.level == nil
                }
                try await home.powerOn()
                try await device.broker(.ready, within: .seconds(60))
                try await device.connectivity(within: .seconds(10), "Wi-Fi alone") {
                    $0.reachability == .reachable && $0.level == .target
                }
                #expect(device.status?.uplink == .wifi)
            }
        }

        /// Waits until traffic of programs goes over Wi-Fi, and the status says so.
        private func expectWiFi(_ lab: Lab, _ device: Device, within limit: Duration) async throws {
            let address = try #require(await lab.station.address)
            try await lab.station.seen(as: "\(address)", within: limit)
            try await eventually(within: .seconds(2), "the status to name Wi-Fi") {
                device.status?.uplink == .wifi && device.status?.flags == [.canUpdateBackups, .canSwitch]
            }
        }

        private func expectCable(_ lab: Lab, _ device: Device, within limit: Duration) async throws {
            try await lab.station.seen(as: "\(Cable.address)", within: limit)
            try await eventually(within: .seconds(2), "the status to name the cable") {
                device.status?.uplink == .wired && device.status?.flags == .canUpdateBackups
            }
        }

        private func ownRoutes(_ lab: Lab) async throws -> String {
            try await lab.station.ip(["route", "show", "table", "main", "proto", "175"])
        }

        // covers: rule/uplink-validated
        @Test(.extended) func aCablesRouterLosesItsUpstream() async throws {
            try await scenario("cable without upstream", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream, settings: Self.servers(of: upstream))
                try await house.device.broker(.ready, within: .seconds(15))
                let mark = house.mark
                let cable = try await lab.cable(to: upstream)
                try await expectCable(lab, house.device, within: .seconds(10))
                #expect(try await ownRoutes(lab).isEmpty)
                var lost = ContinuousClock.now
                try cable.loseUpstream()
                try await expectWiFi(lab, house.device, within: .seconds(10))
                lab.report("altnet: a cable loses its upstream, until Wi-Fi carries the traffic", .now - lost)
                #expect(try await house.device.commandLine(["status"]).contains("internet: yes"))
                lost = .now
                try cable.recover()
                try await expectCable(lab, house.device, within: .seconds(60))
                lab.report("altnet: a cable's upstream is back, until it carries the traffic", .now - lost)
                #expect(try await ownRoutes(lab).isEmpty)
                house.expectWay([], since: mark)
                // The agent leaves while Wi-Fi carries the traffic: the cable's routes are as before.
                try cable.loseUpstream()
                try await expectWiFi(lab, house.device, within: .seconds(10))
                #expect(try await !ownRoutes(lab).isEmpty)
                await house.device.stop()
                #expect(try await ownRoutes(lab).isEmpty)
                #expect(try await !lab.station.ip(["rule"]).contains("lookup 2586"))
                try cable.pull()
            }
        }

        // covers: rule/uplink-validated
        @Test(.extended) func aCableRequiresASignIn() async throws {
            try await scenario("captive cable", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream, settings: Self.servers(of: upstream))
                try await house.device.broker(.ready, within: .seconds(15))
                let mark = house.mark
                let cable = try await lab.cable(to: upstream)
                try await expectCable(lab, house.device, within: .seconds(10))
                try await cable.requireSignIn(upstream)
                try await expectWiFi(lab, house.device, within: .seconds(10))
                #expect(house.device.status?.connectivity?.internet == .yes)
                try cable.recover()
                try await expectCable(lab, house.device, within: .seconds(60))
                house.expectWay([], since: mark)
                try cable.pull()
            }
        }

        /// Cable and Wi-Fi fail in turn, and a cable that fails again and again returns later each time.
        // covers: rule/uplink-validated
        @Test(.extended) func cableAndWiFiFailInTurn() async throws {
            try await scenario("cable and Wi-Fi fail in turn") { lab in
                let upstream = try await lab.upstream()
                let home = try await lab.accessPoint("HomeNet", security: .open, channel: 1)
                try await home.connect(to: upstream)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab, settings: Self.servers(of: upstream))
                try await device.broker(.ready, within: .seconds(15))
                let cable = try await lab.cable(to: upstream)
                try await expectCable(lab, device, within: .seconds(10))
                var returns: [Duration] = []
                for _ in 0..<2 {
                    try cable.loseUpstream()
                    try await expectWiFi(lab, device, within: .seconds(10))
                    let back = ContinuousClock.now
                    try cable.recover()
                    try await expectCable(lab, device, within: .seconds(90))
                    returns.append(.now - back)
                }
                #expect(returns[1] > returns[0] + .seconds(5), "\(returns)")
                // Wi-Fi loses the internet while it carries the traffic.
                try cable.loseUpstream()
                try await expectWiFi(lab, device, within: .seconds(10))
                try await home.cutInternet()
                try await device.connectivity(within: .seconds(60), "Wi-Fi to lead nowhere") { $0.internet == .no }
                try cable.recover()
                try await lab.station.seen(as: "\(Cable.address)", within: .seconds(120))
                try cable.loseUpstream()
                try await home.restoreInternet()
                try await expectWiFi(lab, device, within: .seconds(120))
                try cable.pull()
                try await expectWiFi(lab, device, within: .seconds(5))
            }
        }

        /// Wi-Fi is not there, and the cable goes: what the modem does is ModemManager's to say.
        // covers: seed/current-network, seed/reach-cellular
        @Test(.extended) func aModemTellsItsSignalAndWhetherItIsConnected() async throws {
            let project = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
            try await scenario("modem's signal") { lab in
                let device = Device(in: lab)
                try await lab.station.startSupplicant()
                try await device.start()
                let manager = try await lab.modemManager(
                    project + "/Tests/Servers/modem-manager", helper: project + "/board/systemd/altnet-modem")
                let cable = try await lab.cable(to: lab.upstream())
                let modem = try await lab.modem(metric: 20)
                try await eventually(within: .seconds(20), "the modem to be told beside the cable") {
                    device.status?.uplink == .wired && device.status?.modem?.state == .connected
                }
                #expect(device.status?.signal == nil)
                try cable.pull()
                try await eventually(within: .seconds(60), "the modem's signal to be told") {
                    device.status?.uplink == .cellular && device.status?.signal == -67 && device.status?.quality == 72
                }
                #expect(device.status?.modem?.rsrp == -95 && device.status?.modem?.technology == .fourth)
                try await device.connectivity(within: .seconds(10), "a way that costs money") {
                    $0.reachability.isReachable && $0.reachability.contains(.isCellular)
                }
                let said = try await device.commandLine(["status"])
                #expect(said.contains("wwan0, connected, 4g, T\u{e9}l\u{e9}phone \"1\", -67 dBm, 72 %"), "\(said)")
                // The interface stays as it is.
                try manager.set(connected: false)
                try await eventually(within: .seconds(60), "the modem to carry nothing") {
                    device.status?.uplink == nil && device.status?.modem?.state == .registered
                }
                try await device.connectivity(within: .seconds(10), "the modem not to be reachable") {
                    !$0.reachability.isReachable
                }
                try manager.set(connected: true)
                try await eventually(within: .seconds(60), "the modem to carry the traffic again") {
                    device.status?.uplink == .cellular && device.status?.signal == -67
                }
                try modem.remove()
                try await eventually(within: .seconds(10), "nothing to be left") {
                    device.status?.uplink == nil && device.status?.modem == nil
                }
                manager.end()
            }
        }

        // covers: seed/reach-flags, seed/under-tunnel
        @Test(.extended) func aTunnelIsMadeAndEnded() async throws {
            try await scenario("tunnel up and down", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream)
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                let tunnel = try await lab.tunnel(to: upstream, through: house.home)
                try await lab.station.seen(as: "\(Tunnel.address)", within: .seconds(15))
                try await house.device.connectivity(within: .seconds(10), "something that comes and goes on Wi-Fi") {
                    $0.reachability.contains([.reachable, .transientConnection])
                }
                try await eventually(within: .seconds(10), "Wi-Fi to be named underneath") {
                    house.device.status?.uplink == .other && house.device.status?.carrier == .wifi
                }
                let above = try await house.device.network()
                #expect(above.carrier == .wifi && above.state == .online)
                #expect(above.flags.contains(.canSwitch), "Wi-Fi is what carries it")
                try tunnel.disconnect()
                try await house.device.connectivity(within: .seconds(10), "Wi-Fi alone") {
                    $0.reachability.contains(.reachable) && !$0.reachability.contains(.transientConnection)
                }
                try await eventually(within: .seconds(10), "nothing to be underneath") {
                    house.device.status?.uplink == .wifi && house.device.status?.carrier == nil
                }
                try await house.expectBroker(through: house.home, within: .seconds(15))
                house.expectWay([], since: mark)
            }
        }
    }
}
