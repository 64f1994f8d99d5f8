import AgentModel
import Lab
import Testing

extension Radios {
    /// Access points in range that refuse the device for a reason of their own.
    @Suite struct RefusalTests {
        struct Refusal: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let settings: [String]
            /// Command to hostapd, once the access point is on.
            var command: String?
            /// Reason of the failed join. wpa_supplicant skips an access point that disallows associations.
            let reason: String
        }

        static let refusals = [
            Refusal(
                testDescription: "association disallowed (MBO)", settings: ["ieee80211w=1", "mbo=1"],
                command: "SET mbo_assoc_disallow 1", reason: "notFound"),
            Refusal(
                testDescription: "poor channel conditions (status 71)",
                settings: ["rssi_reject_assoc_rssi=-1", "rssi_reject_assoc_timeout=60"], reason: "rejected"),
        ]

        /// The weaker of two backups takes over. When it is gone too, the other one is joined soon after it accepts
        /// stations again.
        @Test(.extended, .onSoftMAC("brcmfmac reports status 16 for every failed join"), arguments: refusals)
        func theOtherBackupIsTaken(_ refusal: Refusal) async throws {
            try await scenario("refusal: \(refusal.testDescription)", accessPoints: 3) { lab in
                let house = try await House(lab, backupSignal: -40)
                let security = NetworkSecurity.wpa2("backup-password")
                let spare = try await lab.accessPoint("SpareNet", security: .open, channel: 11, signal: -65)
                try await spare.powerOn()
                try await house.device.store([await house.backup.asStored(), await spare.asStored()])
                try await house.backup.change(security: security, settings: refusal.settings)
                if let command = refusal.command { #expect(try await house.backup.ask(command).hasPrefix("OK")) }
                try await house.device.seen([house.backup, spare], within: .seconds(120))

                let mark = house.mark
                let cut = ContinuousClock.now
                try await house.home.powerOff()
                let reply = try await house.timeToPing(on: spare, since: cut, within: .seconds(60))
                lab.report("altnet: \(refusal.testDescription), until at the other backup", reply)
                try await house.expectTraffic(through: spare)
                #expect(house.device.stations(since: mark) == [spare.ssid])
                let failed = try await house.device.decision("failed", since: mark, within: .seconds(1))
                #expect(failed.reason.rawValue == refusal.reason)

                try await spare.powerOff()
                try await Task.sleep(for: .seconds(60))
                try await house.backup.change(security: security)
                let back = ContinuousClock.now
                let accepted = try await house.timeToPing(on: house.backup, since: back, within: .seconds(90))
                lab.report("altnet: \(refusal.testDescription) ends, until online", accepted)
                try await house.expectTraffic(through: house.backup)
            }
        }
    }
}
