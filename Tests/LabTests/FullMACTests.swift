import AgentModel
import FoundationEssentials
import Glibc
import Lab
import Linux
import Testing

@testable import Netlink

extension Radios {
    /// nl80211 with the kernel's driver of the Raspberry Pi's radio: what it tells and takes, and what it does not.
    @Suite(.onFullMAC) @AgentLoop struct FullMACTests {
        private let journal = Journal<RadioEvent>()

        private func radio(in lab: Lab) async throws -> WirelessRadio {
            let journal = journal
            return try await WirelessRadio(interface: lab.station.interface) { journal.record($0) }
        }

        private func connectedRadio(in lab: Lab) async throws -> (radio: WirelessRadio, home: AccessPoint) {
            let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
            try await home.powerOn()
            let radio = try await radio(in: lab)
            try await lab.station.startSupplicant(knowing: [
                ConfiguredNetwork(home.ssid, security: .wpa2("home-password"))
            ])
            try await journal.next { $0 == .connected(home.bssid) }
            return (radio, home)
        }

        @Test func describesItself() async throws {
            try await scenario("fullmac radio describes itself") { lab in
                let radio = try await radio(in: lab)
                let phy = try await radio.phy()
                #expect(phy.bands.isSuperset(of: [.twoPointFour, .five]))
                #expect(phy.maximumScanSSIDs == 10)
                #expect(phy.signalThresholds == .many)
                // Newer drivers offer two: whether the firmware knows that is another question.
                #expect(phy.stationConcurrency.links == (Lab.kernel.hasPrefix("6.1.") ? 1 : 2))
                #expect(phy.channels.first { $0.frequency.channel == 34 }?.isDisabled == true)
            }
        }

        @Test func measuresTheLink() async throws {
            try await scenario("fullmac radio measures the link") { lab in
                let (radio, home) = try await connectedRadio(in: lab)
                try await home.setSignal(-58)
                try await eventually(within: .seconds(5), "-58 dBm") { try await radio.station()?.signal == -58 }
                let station = try #require(try await radio.station())
                #expect(station.beaconsReceived == nil && station.beaconLossCount == nil)
                #expect(station.beaconSignalAverage == nil && station.strength != nil)
                #expect(station.inactive.map { $0.milliseconds.isMultiple(of: 1000) } == true, "in whole seconds")

                // One threshold is refused, two are watched.
                await #expect { try await radio.setSignalThresholds([-70]) } throws: {
                    ($0 as? NetlinkError)?.errno == EOPNOTSUPP
                }
                try await radio.setSignalThresholds([-75, -65])
                try await home.setSignal(-70)
                try await journal.next(within: .seconds(10)) { if case .signalLow = $0 { true } else { false } }
            }
        }

        /// 4 s after the last beacon, with the module options of Raspberry Pi OS. No beacon is told as lost before.
        @Test func hearsOfALostLink() async throws {
            try await scenario("fullmac radio hears of a lost link") { lab in
                let (radio, home) = try await connectedRadio(in: lab)
                let cut = ContinuousClock.now
                try await home.powerOff()
                try await journal.next { if case .disconnected = $0 { true } else { false } }
                lab.report("power cut to lost link", .now - cut)
                #expect((3.8...4.5).contains((ContinuousClock.now - cut) / .seconds(1)))
                #expect(!journal.events.contains(.beaconLoss))
                #expect(try await radio.station() == nil)
            }
        }

        /// With the driver's own default, `roamoff=0`: whatever wpa_supplicant wants, and within one network only.
        @Test(.extended) func roamsByItself() async throws {
            try await scenario("fullmac radio roams by itself", accessPoints: 2) { lab in
                let security = NetworkSecurity.wpa2("home-password")
                let home = try await lab.accessPoint("HomeNet", security: security, channel: 1)
                let other = try await lab.accessPoint(
                    "HomeNet", security: security, channel: 6, signal: -45, extending: home)
                try await home.powerOn()
                try await #require(lab.fullMAC).roamByItself()
                let radio = try await radio(in: lab)
                try await lab.station.startSupplicant(knowing: [ConfiguredNetwork(home.ssid, security: security)])
                try await journal.next { $0 == .connected(home.bssid) }
                try await other.powerOn()
                let faded = ContinuousClock.now
                try await home.setSignal(-85)
                try await eventually(within: .seconds(30), "the firmware to move") {
                    await lab.station.joined() == other.bssid
                }
                lab.report("signal falls to -85 dBm until the firmware has moved", .now - faded)
                #expect(try await radio.link()?.bssid == other.bssid)

                let cut = ContinuousClock.now
                try await other.powerOff()
                try await journal.next { if case .disconnected = $0 { true } else { false } }
                lab.report("power cut to lost link, the firmware roaming", .now - cut)
                #expect((1.8...2.5).contains((ContinuousClock.now - cut) / .seconds(1)))
            }
        }

        /// The device of Wi-Fi Direct that wpa_supplicant asks for at its start, where it is not told to leave that.
        @Test(.extended) func looksForDirectDevices() async throws {
            try await scenario("fullmac radio has wi-fi direct") { lab in
                let (_, home) = try await connectedRadio(in: lab)
                #expect(try await lab.station.ask("STATUS").contains("\np2p_device_address="))
                #expect(try await lab.station.ask("P2P_FIND 3") == "OK\n")
                try await eventually(within: .seconds(20), "the search to end") {
                    let log = try? String(contentsOfFile: lab.directory + "/wpa_supplicant.log", encoding: .utf8)
                    return log?.contains("P2P-FIND-STOPPED") == true
                }
                #expect(await lab.station.joined() == home.bssid)
                #expect(try await lab.kernelSaid("brcmf_p2p").isEmpty)
            }
        }

        @Test func scans() async throws {
            try await scenario("fullmac radio scans", accessPoints: 2) { lab in
                let home = try await lab.accessPoint("HomeNet", security: .open, channel: 1, signal: -47)
                let hidden = try await lab.accessPoint("HiddenNet", security: .open, channel: 6, hidden: true)
                for accessPoint in [home, hidden] { try await accessPoint.powerOn() }
                try await lab.station.setInterface(up: true)
                let radio = try await radio(in: lab)
                let start = Instant.now
                let scan = Task { try await radio.scan(ScanRequest(ssids: [hidden.ssid])) }
                try await journal.next { $0 == .scanStarted }
                await #expect { _ = try await radio.scan() } throws: { ($0 as? NetlinkError)?.isBusy == true }
                guard case .finished(let found) = try await scan.value else {
                    throw LabError.unexpected("the scan was aborted")
                }
                lab.report("scan of all channels, CN, nothing joined", Instant.now - start)
                let bss = try #require(found.first { $0.ssid == home.ssid })
                #expect(bss.signal == -47 && bss.bssid == home.bssid)
                #expect(found.contains { $0.ssid == hidden.ssid })
                // They are told at the end, as if they had been heard then.
                #expect(found.allSatisfy { Instant.now - $0.lastSeen < .milliseconds(300) })
            }
        }
    }
}
