import AgentModel
import EventLoop
import Glibc
import Testing

@testable import Netlink

/// nl80211 on a real kernel with simulated radios, real access points and the real supplicant.
@Suite(
    .serialized, .timeLimit(.minutes(3)),
    .enabled(if: Air.isThere, "needs a kernel with simulated radios: run the tests by board/lab/run"))
@AgentLoop struct RadioLabTests {
    let journal = Journal<RadioEvent>()
    let bssid = BSSID(Air.address)!

    private func radio() async throws -> WirelessRadio {
        let journal = journal
        return try await WirelessRadio(interface: "wlan0") { journal.record($0) }
    }

    private func connectedRadio() async throws -> WirelessRadio {
        try await Air.clear()
        try await Air.powerOn(Air.home)
        let radio = try await radio()
        try await Air.join(Air.homeNetwork)
        _ = try await journal.next { $0 == .connected(bssid) }
        return radio
    }

    @Test func describesItself() async throws {
        try await Air.clear(domain: "CN")
        let radio = try await radio()
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
        try await Shell.run("iw reg set DE")
        _ = try await journal.next { $0 == .regulatoryChanged(country: "DE") }
        #expect(try await radio.regulatoryDomain() == "DE")
        try await Shell.run("iw reg set 00")
        _ = try await journal.next { $0 == .regulatoryChanged(country: "00") }
    }

    @Test func scansEverything() async throws {
        try await Air.clear()
        let open = "auth_algs=1\nwpa=0"
        let rsn = "wpa=2\nrsn_pairwise=CCMP\nwpa_passphrase=lab-password"
        let networks: [(ssid: String, settings: String, security: Security)] = [
            ("wpa3", "\(rsn)\nwpa_key_mgmt=SAE\nieee80211w=2", .wpa3),
            ("transition", "\(rsn)\nwpa_key_mgmt=WPA-PSK SAE\nieee80211w=1", .wpa2wpa3),
            ("old", "wpa=1\nwpa_pairwise=TKIP\nwpa_key_mgmt=WPA-PSK\nwpa_passphrase=lab-password", .wpa2),
            ("office", "wpa=2\nrsn_pairwise=CCMP\nwpa_key_mgmt=WPA-EAP\nieee8021x=1\neap_server=1", .enterprise),
            ("owe", "wpa=2\nrsn_pairwise=CCMP\nwpa_key_mgmt=OWE\nieee80211w=2", .owe),
            ("open", open, .open),
        ]
        let others = networks.map { "bss=\($0.ssid)\nssid=\($0.ssid)\n\($0.settings)" }
        let ones = "bss=ones\nssid2=\(String(repeating: "ff", count: 32))\n\(open)"
        try await Air.powerOn(([Air.home] + others + [ones]).joined(separator: "\n"))
        try await Air.setSignal(-47)

        let radio = try await radio()
        let start = Instant.now
        let found = try await radio.scan().found
        #expect(journal.events.starts(with: [.scanStarted, .scanFinished(aborted: false)]))
        for (ssid, _, security) in networks + [("Home", "", .wpa2)] {
            let bss = try #require(found.first { $0.ssid?.text == ssid }, "\(ssid) was not found")
            #expect(bss.security == security, "\(ssid)")
        }
        #expect(found.contains { $0.ssid?.bytes == Array(repeating: 0xff, count: 32) })
        let home = try #require(found.first { $0.ssid?.text == "Home" })
        #expect(home.bssid == bssid)
        #expect(home.frequency.megahertz == 2412)
        #expect(home.signal == -47)
        #expect((start...Instant.now).contains(home.lastSeen))
    }

    @Test func scansForAHiddenNetworkOnOneFrequency() async throws {
        try await Air.clear()
        try await Air.powerOn("\(Air.home)\nignore_broadcast_ssid=1")
        try await Air.powerOn("ssid=Elsewhere\nhw_mode=g\nchannel=6", on: "wlan2")
        let radio = try await radio()
        // An active scan stays on a channel for less than a beacon interval, and a hidden access point answers only to its
        // name. So only a scan that listens is sure to hear it.
        let listening = ScanRequest(asksEverybody: false, frequencies: [Frequency(megahertz: 2412)])
        #expect(try await radio.scan(listening).found.contains { $0.bssid == bssid && $0.ssid == nil })

        let home = try SSID("Home")
        let request = ScanRequest(ssids: [home], frequencies: [Frequency(megahertz: 2412)], flush: true)
        let found = try await radio.scan(request).found
        #expect(found.contains { $0.ssid == home })
        #expect(found.allSatisfy { $0.frequency.megahertz == 2412 })

        let tooMany = ScanRequest(ssids: try (1...4).map { try SSID("\($0)") })
        await #expect { _ = try await radio.scan(tooMany) } throws: { error in
            (error as? NetlinkError)?.reason == .exceeds(limit: 4, of: "SSIDs")
        }
    }

    @Test func oneScanAtATimeAndItCanBeAborted() async throws {
        try await Air.clear(domain: "US")
        let radio = try await radio()
        let first = Task { try await radio.scan() }
        _ = try await journal.next { $0 == .scanStarted }
        await #expect { _ = try await radio.scan() } throws: { ($0 as? NetlinkError)?.isBusy == true }
        radio.abortScan()
        #expect(try await first.value == .aborted)
        _ = try await journal.next { $0 == .scanFinished(aborted: true) }

        // Somebody else's: refused by the kernel, and its end is not taken for ours.
        try await Shell.run("iw dev wlan0 scan trigger")
        _ = try await journal.next { $0 == .scanStarted }
        await #expect { _ = try await radio.scan() } throws: { ($0 as? NetlinkError)?.isBusy == true }
        try await Shell.run("iw dev wlan0 scan abort")
        _ = try await journal.next { $0 == .scanFinished(aborted: true) }

        await #expect { _ = try await radio.scan(deadline: .milliseconds(300)) } throws: { error in
            (error as? NetlinkError)?.reason == .timedOut(after: .milliseconds(300))
        }
        _ = try await journal.next { $0 == .scanFinished(aborted: true) }
        let brief = ScanRequest(frequencies: [Frequency(megahertz: 2412)])
        #expect(try await radio.scan(brief) != .aborted)
    }

    @Test func measuresTheLink() async throws {
        let radio = try await connectedRadio()
        try await Air.setSignal(-58)
        let link = try #require(try await radio.link())
        #expect(link == AssociatedBSS(bssid: bssid, ssid: try SSID("Home"), frequency: Frequency(megahertz: 2412)))
        // Ten beacons a second bring the measure along.
        var station = try #require(try await radio.station())
        for _ in 0..<200 where station.signal != -58 { station = try #require(try await radio.station()) }
        #expect(station.beaconsReceived != nil)
        #expect(station.strength.map { (-100 ... -20).contains($0) } == true)
        #expect(station.inactive != nil)
        #expect(station.connected != nil)
        #expect((station.transmitBitRate ?? 0) > 0)

        // The supplicant's link is not ours to end, and ends with the supplicant.
        await #expect { try await radio.disconnect() } throws: { ($0 as? NetlinkError)?.errno == EPERM }
        try await Shell.run("kill -KILL $(cat /run/air-wlan0.pid)")
        _ = try await journal.next { if case .disconnected(_, byAccessPoint: false) = $0 { true } else { false } }
        #expect(try await radio.station() == nil)
        #expect(try await radio.link() == nil)
    }

    @Test func hearsOfWeakAndStrongSignal() async throws {
        let radio = try await connectedRadio()
        try await Air.setSignal(-40)
        try await radio.setSignalThresholds([-60, -75], hysteresis: 2)
        try await Air.setSignal(-85)
        guard case .signalLow(let low?) = try await journal.next(where: \.isSignalLow) else { return }
        #expect((-85 ... -60).contains(low))
        try await Air.setSignal(-30)
        guard case .signalHigh(let high?) = try await journal.next(where: \.isSignalHigh) else { return }
        #expect((-85 ... -30).contains(high))
        try await radio.setSignalThresholds([])
    }

    @Test func hearsOfALostLink() async throws {
        let radio = try await connectedRadio()
        try await Air.powerOff()
        _ = try await journal.next { $0 == .beaconLoss }
        _ = try await journal.next { if case .disconnected(_, byAccessPoint: false) = $0 { true } else { false } }
        #expect(try await radio.station() == nil)
    }

    @Test func hearsOfAnAccessPointThatSaysGoodbye() async throws {
        let radio = try await connectedRadio()
        try await Shell.run("kill $(cat /run/air-wlan1.pid)")
        _ = try await journal.next { if case .disconnected(_, byAccessPoint: true) = $0 { true } else { false } }
        #expect(try await radio.link() == nil)
    }

    @Test func connectsToAnOpenNetworkByItself() async throws {
        try await Air.clear()
        try await Air.powerOn("ssid=Open\nhw_mode=g\nchannel=1")
        let radio = try await radio()
        #expect(try await radio.link() == nil)
        #expect(try await radio.station() == nil)
        try await radio.connect(to: try SSID("Open"), frequency: Frequency(megahertz: 2412))
        _ = try await journal.next { $0 == .connected(bssid) }
        #expect(try await radio.link()?.ssid?.text == "Open")
        try await radio.disconnect()
        _ = try await journal.next { if case .disconnected = $0 { true } else { false } }
        try await radio.connect(to: try SSID("Open"), bssid: bssid)
        _ = try await journal.next { $0 == .connected(bssid) }
        try await radio.deauthenticate(from: bssid)
        _ = try await journal.next { if case .disconnected = $0 { true } else { false } }
        try await radio.connect(to: try SSID("Absent"), frequency: Frequency(megahertz: 2412))
        _ = try await journal.next { if case .connectionFailed = $0 { true } else { false } }
    }

    @Test func followsAnInterfaceThatGoesAndComesBack() async throws {
        let radio = try await connectedRadio()
        let index = radio.interfaceIndex
        let phy = try await radio.phy().name
        try await Shell.run("kill -KILL $(cat /run/air-wlan0.pid); iw dev wlan0 del")
        _ = try await journal.next { $0 == .interfaceRemoved }
        #expect(radio.interfaceIndex == nil)
        await #expect { _ = try await radio.scan() } throws: { error in
            (error as? NetlinkError)?.reason == .interfaceMissing("wlan0")
        }
        try await Shell.run("iw phy \(phy) interface add wlan0 type managed")
        _ = try await journal.next { $0 == .interfaceAdded }
        #expect(radio.interfaceIndex != nil)
        #expect(radio.interfaceIndex != index)
        await #expect { _ = try await radio.scan() } throws: { ($0 as? NetlinkError)?.isInterfaceDown == true }
        try await Shell.run("ip link set wlan0 up")
        #expect(try await radio.scan(ScanRequest(frequencies: [Frequency(megahertz: 2412)])) != .aborted)
    }

    @Test func resynchronisesAfterAnOverrun() async throws {
        let radio = try await connectedRadio()
        let events = Journal<RadioEvent>()
        let small = try NetlinkSocket(.generic, receiveBuffer: 4096)
        let overrun = try await WirelessRadio(interface: "wlan0", socket: small) { events.record($0) }
        let phy = try await radio.phy().name
        #expect(try await overrun.station() != nil)
        // More news than fits, while nobody reads; the loss of the link is the last of it.
        try Shell.runBlocking(
            """
            for number in $(seq 1 20); do iw phy \(phy) interface add more$number type managed; done
            kill -KILL $(cat /run/air-wlan0.pid)
            """)
        _ = try await events.next { $0 == .resynchronise }
        #expect(try await overrun.station() == nil)
        _ = try await journal.next { if case .disconnected = $0 { true } else { false } }
        #expect(!journal.events.contains(.resynchronise))
    }

    @Test func aRenamedInterfaceIsFoundByItsName() async throws {
        try await Air.clear()
        try await Shell.run("ip link set wlan0 down; ip link set wlan0 name other")
        let radio = try await radio()
        #expect(radio.interfaceIndex == nil)
        await #expect { _ = try await radio.phy() } throws: { ($0 as? NetlinkError)?.isInterfaceMissing == true }
        try await Shell.run("ip link set other name wlan0")
        #expect(try await radio.phy().maximumScanSSIDs == 4)
        #expect(journal.events.contains(.interfaceAdded))
    }

    @Test func theUplinkIsWiFi() async throws {
        let radio = try await connectedRadio()
        let routes = Journal<RouteEvent>()
        let monitor = try await RouteMonitor { routes.record($0) }
        let index = try #require(radio.interfaceIndex)
        #expect(monitor.links[index]?.kind == .wifi)
        try await Shell.run("ip address add 192.0.2.2/24 dev wlan0; ip route add default via 192.0.2.1 dev wlan0")
        let uplink = ActiveUplink(kind: .wifi, interface: "wlan0", index: index)
        _ = try await routes.next { $0 == .uplinkChanged(uplink) }
        try await Air.powerOff()
        _ = try await routes.next { $0 == .uplinkChanged(nil) }
        #expect(monitor.links[index]?.hasCarrier == false)
    }
}

extension ScanOutcome {
    fileprivate var found: [BSS] {
        guard case .finished(let found) = self else { return [] }
        return found
    }
}

extension RadioEvent {
    fileprivate var isSignalLow: Bool { if case .signalLow = self { true } else { false } }
    fileprivate var isSignalHigh: Bool { if case .signalHigh = self { true } else { false } }
}
