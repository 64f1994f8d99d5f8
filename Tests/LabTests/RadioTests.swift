import AgentModel
import Dispatch
import Glibc
import Lab
import Linux
import Synchronization
import Testing

@testable import Netlink

extension Radios {
    /// nl80211 on a real kernel with simulated radios, real access points and the real supplicant.
    @Suite(.onSoftMAC("FullMACTests have what brcmfmac tells and takes")) @AgentLoop struct RadioTests {
        let journal = Journal<RadioEvent>()
        let homePassword = NetworkSecurity.wpa2("home-password")

        func radio(in lab: Lab) async throws -> WirelessRadio {
            let journal = journal
            return try await WirelessRadio(interface: lab.station.interface) { journal.record($0) }
        }

        /// The radio of a station that the supplicant has joined to HomeNet, on channel 1.
        private func connectedRadio(in lab: Lab) async throws -> (radio: WirelessRadio, home: AccessPoint) {
            let home = try await lab.accessPoint("HomeNet", security: homePassword, channel: 1)
            try await home.powerOn()
            let radio = try await radio(in: lab)
            try await lab.station.startSupplicant(knowing: [ConfiguredNetwork(home.ssid, security: homePassword)])
            try await journal.next { $0 == .connected(home.bssid) }
            return (radio, home)
        }

        @Test func describesItself() async throws {
            // The radios of access points that are not set up stay here.
            try await scenario("radio describes itself", accessPoints: 2) { lab in
                let radio = try await radio(in: lab)
                let interfaces = try await radio.interfaces()
                #expect(Set(interfaces.map(\.name)) == ["wlan0", "wlan1", "wlan2"])
                let own = try #require(interfaces.first { $0.name == "wlan0" })
                #expect(own.index == radio.interfaceIndex)
                #expect(own.isStation)
                #expect(own.address?.description == "02:00:00:00:00:00")
                #expect(own.ssid == nil)

                let phy = try await radio.phy()
                #expect(phy.index == own.phy)
                #expect(phy.name == "phy\(own.phy)")
                #expect(phy.bands.isSuperset(of: [.twoPointFour, .five]))
                #expect(phy.channels.first { $0.frequency.channel == 14 }?.isDisabled == true)
                #expect(phy.channels.first { $0.frequency.megahertz == 2412 }?.isDisabled == false)
                #expect(phy.maximumScanSSIDs == 4)
                #expect(phy.signalThresholds == .many)
                #expect(phy.stationConcurrency.channels == 1)
                #expect(phy.stationConcurrency.links > 1)

                #expect(try await radio.regulatoryDomain() == "CN")
                try await lab.setRegulatoryDomain("DE")
                try await journal.next { $0 == .regulatoryChanged(country: "DE") }
                #expect(try await radio.regulatoryDomain() == "DE")
                try await lab.setRegulatoryDomain("00")
                try await journal.next { $0 == .regulatoryChanged(country: "00") }
            }
        }

        @Test func measuresTheLink() async throws {
            try await scenario("radio measures the link") { lab in
                let (radio, home) = try await connectedRadio(in: lab)
                try await home.setSignal(-58)
                let link = try #require(try await radio.link())
                #expect(
                    link == AssociatedBSS(bssid: home.bssid, ssid: home.ssid, frequency: Frequency(megahertz: 2412)))
                // Ten beacons a second bring the measure along.
                try await eventually(within: .seconds(5), "-58 dBm") { try await radio.station()?.signal == -58 }
                let station = try #require(try await radio.station())
                #expect(station.beaconsReceived != nil)
                #expect(station.strength.map { (-100 ... -20).contains($0) } == true)
                #expect(station.inactive != nil)
                #expect(station.connected != nil)
                #expect((station.transmitBitRate ?? 0) > 0)

                // The supplicant's link is not ours to end, and ends with the supplicant.
                await #expect { try await radio.disconnect() } throws: { ($0 as? NetlinkError)?.errno == EPERM }
                await lab.station.killSupplicant()
                try await journal.next { $0.isDisconnected(byAccessPoint: false) }
                #expect(try await radio.station() == nil)
                #expect(try await radio.link() == nil)
            }
        }

        @Test(.extended) func hearsOfWeakAndStrongSignal() async throws {
            try await scenario("radio hears of weak and strong signal") { lab in
                let (radio, home) = try await connectedRadio(in: lab)
                try await home.setSignal(-40)
                try await radio.setSignalThresholds([-60, -75], hysteresis: 2)
                try await home.setSignal(-85)
                let low = try #require(try await journal.next(where: \.isSignalLow).signal)
                #expect((-85 ... -60).contains(low))
                try await home.setSignal(-30)
                let high = try #require(try await journal.next(where: \.isSignalHigh).signal)
                #expect((-85 ... -30).contains(high))
                try await radio.setSignalThresholds([])
            }
        }

        @Test(.extended) func hearsOfALostLink() async throws {
            try await scenario("radio hears of a lost link") { lab in
                let (radio, home) = try await connectedRadio(in: lab)
                try await home.powerOff()
                try await journal.next { $0 == .beaconLoss }
                try await journal.next { $0.isDisconnected(byAccessPoint: false) }
                #expect(try await radio.station() == nil)
            }
        }

        @Test(.extended) func hearsOfAnAccessPointThatSaysGoodbye() async throws {
            try await scenario("radio hears of a goodbye") { lab in
                let (radio, home) = try await connectedRadio(in: lab)
                await home.shutDown()
                try await journal.next { $0.isDisconnected(byAccessPoint: true) }
                #expect(try await radio.link() == nil)
            }
        }

        @Test(.extended) func connectsToAnOpenNetworkByItself() async throws {
            try await scenario("radio connects by itself") { lab in
                let open = try await lab.accessPoint("OpenNet", security: .open, channel: 1)
                try await open.powerOn()
                try await lab.station.setInterface(up: true)
                let radio = try await radio(in: lab)
                #expect(try await radio.link() == nil)
                #expect(try await radio.station() == nil)
                try await radio.connect(to: open.ssid, frequency: Frequency(megahertz: 2412))
                try await journal.next { $0 == .connected(open.bssid) }
                #expect(try await radio.link()?.ssid == open.ssid)
                try await radio.disconnect()
                try await journal.next(where: \.isDisconnected)
                try await radio.connect(to: open.ssid, bssid: open.bssid)
                try await journal.next { $0 == .connected(open.bssid) }
                try await radio.deauthenticate(from: open.bssid)
                try await journal.next(where: \.isDisconnected)
                try await radio.connect(to: try SSID("Absent"), frequency: Frequency(megahertz: 2412))
                try await journal.next { if case .connectionFailed = $0 { true } else { false } }
            }
        }

        @Test(.extended) func followsAnInterfaceThatGoesAndComesBack() async throws {
            try await scenario("radio's interface goes and comes back") { lab in
                let (radio, _) = try await connectedRadio(in: lab)
                let index = radio.interfaceIndex
                await lab.station.killSupplicant()
                try await lab.station.removeInterface()
                try await journal.next { $0 == .interfaceRemoved }
                #expect(radio.interfaceIndex == nil)
                await #expect { _ = try await radio.scan() } throws: { error in
                    (error as? NetlinkError)?.reason == .interfaceMissing("wlan0")
                }
                try await lab.station.addInterface()
                try await journal.next { $0 == .interfaceAdded }
                #expect(radio.interfaceIndex != nil)
                #expect(radio.interfaceIndex != index)
                await #expect { _ = try await radio.scan() } throws: {
                    ($0 as? NetlinkError)?.isInterfaceDown == true
                }
                try await lab.station.setInterface(up: true)
                #expect(try await radio.scan(ScanRequest(frequencies: [Frequency(megahertz: 2412)])) != .aborted)
            }
        }

        @Test(.extended) func resynchronisesAfterAnOverrun() async throws {
            try await scenario("radio's news is too much") { lab in
                let (radio, _) = try await connectedRadio(in: lab)
                let events = Journal<RadioEvent>()
                let small = try NetlinkSocket(.generic, receiveBuffer: 4096)
                let overrun = try await WirelessRadio(interface: lab.station.interface, socket: small) {
                    events.record($0)
                }
                #expect(try await overrun.station() != nil)
                // More news than fits; the loss of the link is the last of it.
                try whileNothingReads {
                    for number in 1...20 { try await lab.station.addInterface("more\(number)") }
                    await lab.station.killSupplicant()
                }
                try await events.next { $0 == .resynchronise }
                #expect(try await overrun.station() == nil)
                // A socket with room misses nothing.
                try await journal.next(where: \.isDisconnected)
                #expect(!journal.events.contains(.resynchronise))
                #expect(try await radio.station() == nil)
            }
        }

        @Test(.extended) func aRenamedInterfaceIsFoundByItsName() async throws {
            try await scenario("radio's interface is renamed") { lab in
                try await lab.station.renameInterface(to: "other")
                let radio = try await radio(in: lab)
                #expect(radio.interfaceIndex == nil)
                await #expect { _ = try await radio.phy() } throws: {
                    ($0 as? NetlinkError)?.isInterfaceMissing == true
                }
                try await lab.station.renameInterface(to: lab.station.interface)
                #expect(try await radio.phy().maximumScanSSIDs == 4)
                #expect(journal.events.contains(.interfaceAdded))
            }
        }

        @Test(.extended) func theUplinkIsWiFi() async throws {
            try await scenario("radio is the uplink") { lab in
                let (radio, home) = try await connectedRadio(in: lab)
                let routes = Journal<RouteEvent>()
                let monitor = try await RouteMonitor { routes.record($0) }
                let index = try #require(radio.interfaceIndex)
                #expect(monitor.links[index]?.kind == .wifi)
                try await lab.station.startDHCPClient()
                let uplink = ActiveUplink(kind: .wifi, interface: "wlan0", index: index)
                try await routes.next { $0 == .uplinkChanged(uplink) }
                // The address and the route stay: what is lost is the link alone.
                await lab.station.killDHCPClient()
                try await home.powerOff()
                try await routes.next { $0 == .uplinkChanged(nil) }
                #expect(monitor.links[index]?.hasCarrier == false)
            }
        }

        /// Holds the loop until `body` has ended, so that what the kernel sends meanwhile waits in the sockets.
        private func whileNothingReads(_ body: @escaping @Sendable () async throws -> Void) throws {
            let hasEnded = DispatchSemaphore(value: 0)
            let failure = Mutex<(any Error)?>(nil)
            Task.detached {
                do { try await body() } catch { failure.withLock { $0 = error } }
                hasEnded.signal()
            }
            hasEnded.wait()
            if let error = failure.withLock({ $0 }) { throw error }
        }
    }
}

extension RadioEvent {
    fileprivate var isSignalLow: Bool { if case .signalLow = self { true } else { false } }
    fileprivate var isSignalHigh: Bool { if case .signalHigh = self { true } else { false } }
    fileprivate var signal: Int? {
        switch self {
        case .signalLow(let signal), .signalHigh(let signal): signal
        default: nil
        }
    }

    fileprivate var isDisconnected: Bool { if case .disconnected = self { true } else { false } }

    fileprivate func isDisconnected(byAccessPoint: Bool) -> Bool {
        if case .disconnected(_, byAccessPoint) = self { true } else { false }
    }
}

extension Radios.RadioTests {
    @Test(.extended) func scansEverything() async throws {
        let open = ["auth_algs=1", "wpa=0"]
        let rsn = ["wpa=2", "rsn_pairwise=CCMP"]
        let password = "wpa_passphrase=lab-password"
        let networks: [(name: String, settings: [String], security: Security)] = [
            ("wpa3", rsn + ["wpa_key_mgmt=SAE", "ieee80211w=2", password], .wpa3),
            ("transition", rsn + ["wpa_key_mgmt=WPA-PSK SAE", "ieee80211w=1", password], .wpa2wpa3),
            ("old", ["wpa=1", "wpa_pairwise=TKIP", "wpa_key_mgmt=WPA-PSK", password], .legacy),
            ("office", rsn + ["wpa_key_mgmt=WPA-EAP", "ieee8021x=1", "eap_server=1"], .enterprise),
            ("owe", rsn + ["wpa_key_mgmt=OWE", "ieee80211w=2"], .owe),
            ("open", open, .open),
        ]
        try await scenario("radio scans everything") { lab in
            let others = networks.flatMap { ["bss=\($0.name)", "ssid=\($0.name)"] + $0.settings }
            let ones = ["bss=ones", "ssid2=\(String(repeating: "ff", count: 32))"] + open
            let home = try await lab.accessPoint(
                "HomeNet", security: homePassword, channel: 1, signal: -47, settings: others + ones)
            try await home.powerOn()
            try await lab.station.setInterface(up: true)

            let radio = try await radio(in: lab)
            let start = Instant.now
            var found: [BSS] = []
            // An active scan stays on a channel for 30 ms, and an access point of eight networks on an emulated machine
            // does not always get all its answers out by then.
            try await eventually(within: .seconds(30), "all eight networks to be found") {
                found = try await radio.scan().found
                return found.count == networks.count + 2
            }
            #expect(journal.events.map(\.withoutChannels).starts(with: [.scanStarted, .scanFinished(aborted: false)]))
            for (name, security) in networks.map({ ($0.name, $0.security) }) + [("HomeNet", .wpa2)] {
                let bss = try #require(found.first { $0.ssid?.text == name }, "\(name) was not found")
                #expect(bss.security == security, "\(name)")
            }
            #expect(found.contains { $0.ssid?.bytes == Array(repeating: 0xff, count: 32) })
            let bss = try #require(found.first { $0.ssid == home.ssid })
            #expect(bss.bssid == home.bssid)
            #expect(bss.frequency.megahertz == 2412)
            #expect(bss.signal == -47)
            #expect((start...Instant.now).contains(bss.lastSeen))
        }
    }

    @Test(.extended) func scansForAHiddenNetworkOnOneFrequency() async throws {
        try await scenario("radio scans for a hidden network", accessPoints: 2) { lab in
            let home = try await lab.accessPoint("HomeNet", security: homePassword, channel: 1, hidden: true)
            try await home.powerOn()
            try await lab.accessPoint("Elsewhere", security: .open, channel: 6).powerOn()
            try await lab.station.setInterface(up: true)
            let radio = try await radio(in: lab)
            // An active scan stays on a channel for less than a beacon interval, and a hidden access point answers
            // only to its name. So only a scan that listens is sure to hear it.
            let listening = ScanRequest(asksEverybody: false, frequencies: [Frequency(megahertz: 2412)])
            #expect(try await radio.scan(listening).found.contains { $0.bssid == home.bssid && $0.ssid == nil })

            let request = ScanRequest(
                ssids: [home.ssid], frequencies: [Frequency(megahertz: 2412)], flush: true)
            let found = try await radio.scan(request).found
            #expect(found.contains { $0.ssid == home.ssid })
            #expect(found.allSatisfy { $0.frequency.megahertz == 2412 })

            let tooMany = ScanRequest(ssids: try (1...4).map { try SSID("\($0)") })
            await #expect { _ = try await radio.scan(tooMany) } throws: { error in
                (error as? NetlinkError)?.reason == .exceeds(limit: 4, of: "SSIDs")
            }
        }
    }

    @Test(.extended) func oneScanAtATimeAndItCanBeAborted() async throws {
        try await scenario("radio's scan is aborted") { lab in
            let radio = try await radio(in: lab)
            // Many channels: a scan takes 14 s.
            try await lab.setRegulatoryDomain("US")
            try await journal.next { $0 == .regulatoryChanged(country: "US") }
            try await lab.station.setInterface(up: true)
            let first = Task { try await radio.scan() }
            try await journal.next { $0 == .scanStarted }
            await #expect { _ = try await radio.scan() } throws: { ($0 as? NetlinkError)?.isBusy == true }
            radio.abortScan()
            #expect(try await first.value == .aborted)
            try await journal.next { $0.withoutChannels == .scanFinished(aborted: true) }

            // Another program's: refused by the kernel, and its end is not taken for ours.
            _ = try await lab.start("iw", ["dev", lab.station.interface, "scan", "trigger"])
            try await journal.next { $0 == .scanStarted }
            await #expect { _ = try await radio.scan() } throws: { ($0 as? NetlinkError)?.isBusy == true }
            _ = try await lab.start("iw", ["dev", lab.station.interface, "scan", "abort"])
            try await journal.next { $0.withoutChannels == .scanFinished(aborted: true) }

            await #expect { _ = try await radio.scan(deadline: .milliseconds(300)) } throws: { error in
                (error as? NetlinkError)?.reason == .timedOut(after: .milliseconds(300))
            }
            try await journal.next { $0.withoutChannels == .scanFinished(aborted: true) }
            let brief = ScanRequest(frequencies: [Frequency(megahertz: 2412)])
            #expect(try await radio.scan(brief) != .aborted)
        }
    }
}

extension ScanOutcome {
    fileprivate var found: [BSS] {
        guard case .finished(let found) = self else { return [] }
        return found
    }
}

extension RadioEvent {
    /// Which channels a scan has ended on is not what these scenarios are about.
    fileprivate var withoutChannels: RadioEvent {
        if case .scanFinished(let isAborted, _) = self { .scanFinished(aborted: isAborted) } else { self }
    }
}
