import AgentModel
import Lab
import Linux
import Testing

@testable import Netlink

extension Radios.RadioTests {
    @Test func scansEverything() async throws {
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
            #expect(journal.events.starts(with: [.scanStarted, .scanFinished(aborted: false)]))
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

    @Test func scansForAHiddenNetworkOnOneFrequency() async throws {
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

    @Test func oneScanAtATimeAndItCanBeAborted() async throws {
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
            try await journal.next { $0 == .scanFinished(aborted: true) }

            // Somebody else's: refused by the kernel, and its end is not taken for ours.
            _ = try await lab.start("iw", ["dev", lab.station.interface, "scan", "trigger"])
            try await journal.next { $0 == .scanStarted }
            await #expect { _ = try await radio.scan() } throws: { ($0 as? NetlinkError)?.isBusy == true }
            _ = try await lab.start("iw", ["dev", lab.station.interface, "scan", "abort"])
            try await journal.next { $0 == .scanFinished(aborted: true) }

            await #expect { _ = try await radio.scan(deadline: .milliseconds(300)) } throws: { error in
                (error as? NetlinkError)?.reason == .timedOut(after: .milliseconds(300))
            }
            try await journal.next { $0 == .scanFinished(aborted: true) }
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
