import Lab
import Testing

extension Radios {
    /// Moves inside one network whose access points are wired together, as those of a house are.
    @Suite(.onSoftMAC("firmware that joins by itself is told to join")) struct RoamTests {
        struct Way: Sendable, CustomTestStringConvertible {
            let testDescription: String
            var security = NetworkSecurity.wpa2("home-password")
            var settings: [String] = []
            /// The key management of the link, as wpa_supplicant names it; nil where that and the gap are only told.
            var keyManagement: String? = "WPA2-PSK"
        }

        private static func fastTransition(_ methods: String, overDistributionSystem: Bool) -> [String] {
            // Keys that access points pass on are encrypted by this one.
            let key = "000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f"
            // With a password each access point can reckon its keys itself; else it asks the first one for them.
            let own = methods.contains("PSK") ? ["ft_psk_generate_local=1"] : []
            return own + [
                "wpa_key_mgmt=\(methods)", "mobility_domain=a1b2", "ft_over_ds=\(overDistributionSystem ? 1 : 0)",
                "r0kh=ff:ff:ff:ff:ff:ff * \(key)", "r1kh=00:00:00:00:00:00 00:00:00:00:00:00 \(key)",
            ]
        }

        static let ways = [
            Way(
                testDescription: "fast transition over the air",
                settings: fastTransition("WPA-PSK FT-PSK", overDistributionSystem: false), keyManagement: "FT-PSK"),
            Way(
                testDescription: "fast transition over the distribution system",
                settings: fastTransition("WPA-PSK FT-PSK", overDistributionSystem: true), keyManagement: "FT-PSK"),
            Way(
                testDescription: "fast transition by SAE over the air", security: .wpa3("home-password"),
                settings: fastTransition("SAE FT-SAE", overDistributionSystem: false), keyManagement: "FT-SAE"),
            Way(testDescription: "no fast transition"),
            Way(
                testDescription: "no fast transition, SAE", security: .wpa3("home-password"), keyManagement: nil),
        ]

        /// Two access points of one network that pass on frames for one another.
        private func accessPoints(_ way: Way, in lab: Lab) async throws -> (near: AccessPoint, far: AccessPoint) {
            func settings(_ number: Int) -> [String] {
                way.settings + ["bss_transition=1", "rrm_neighbor_report=1"]
                    + (way.settings.isEmpty
                        ? [] : ["nas_identifier=ap\(number)", "r1_key_holder=00000000000\(number)"])
            }
            let near = try await lab.accessPoint(
                "HomeNet", security: way.security, channel: 1, settings: settings(1))
            let far = try await lab.accessPoint(
                "HomeNet", security: way.security, channel: 6, signal: -75, settings: settings(2), extending: near)
            try await lab.wire(near, to: far)
            for accessPoint in [near, far] { try await accessPoint.powerOn() }
            return (near, far)
        }

        @Test(.extended, arguments: ways) func aRoamInsideTheNetwork(_ way: Way) async throws {
            try await scenario("roam: \(way.testDescription)", accessPoints: 2) { lab in
                let (near, far) = try await accessPoints(way, in: lab)
                let device = try await Device.atHome(near, in: lab)
                let address = try #require(await lab.station.address)
                // What is sent to the device from the wire's end shows the gap as others see it.
                let pinger = try await near.pinger(to: address, every: .milliseconds(10))
                try await pinger.reply(within: .seconds(5))
                var (gaps, moves): ([Duration], [Duration]) = ([], [])
                // In the first move a network with SAE is joined anew in any case: its first link was made before it was known to have that.
                for round in 0..<6 {
                    let (target, other) = round.isMultiple(of: 2) ? (far, near) : (near, far)
                    let start = ContinuousClock.now
                    let mark = device.decisions.count
                    try await target.setSignal(-40)
                    try await other.setSignal(-84)
                    try await device.decision("join", since: mark, within: .seconds(90))
                    let ordered = ContinuousClock.now
                    try await eventually(within: .seconds(5), "the device to move over") {
                        await lab.station.joined() == target.bssid
                    }
                    try await device.online(on: target, within: .seconds(15))
                    try await pinger.reply(after: .now + .seconds(1), within: .seconds(5))
                    #expect(await lab.station.address == address)
                    if round > 0 {
                        // The scan that found the other one ends just before, and has a gap of its own.
                        gaps.append(pinger.longestGap(since: ordered))
                        moves.append(pinger.longestGap(since: start))
                        let status = try await lab.station.ask("STATUS")
                        if let method = way.keyManagement { #expect(status.contains("\nkey_mgmt=\(method)\n")) }
                    }
                    // What is counted of one move is none of the next.
                    try await Task.sleep(for: .seconds(1))
                }
                gaps.sort()
                moves.sort()
                lab.report(
                    "altnet: \(way.testDescription), gap of a roam, median and worst of \(gaps.count)",
                    "\(gaps[gaps.count / 2]) \(gaps[gaps.count - 1])")
                lab.report(
                    "altnet: \(way.testDescription), the same with the scans before it",
                    "\(moves[moves.count / 2]) \(moves[moves.count - 1])")
                #expect(!device.decisions.contains { ["blocked", "failed", "lost"].contains($0.kind.rawValue) })
                // The goal is 50 ms; a ping goes out each 10, and pings wait for the scan before the move.
                if way.keyManagement != nil { #expect(gaps[gaps.count / 2] <= .milliseconds(80)) }
            }
        }

        /// An access point that wishes the device elsewhere is followed, and the other one's wish back is not.
        @Test(.extended) func wishesAreFollowedInNoCircle() async throws {
            try await scenario("steered without a circle", accessPoints: 2) { lab in
                let (near, far) = try await accessPoints(Self.ways[1], in: lab)
                let device = try await Device.atHome(near, in: lab)
                try await far.setSignal(-50)
                try await Task.sleep(for: .seconds(30))
                let mark = device.decisions.count
                func wish(of accessPoint: AccessPoint, for other: AccessPoint, channel: Int) async throws {
                    let ordered = try await accessPoint.ask(
                        "BSS_TM_REQ \(lab.station.radioAddress) pref=1 abridged=1 "
                            + "neighbor=\(other.bssid),0x0000,81,\(channel),7,0301ff")
                    #expect(ordered.hasPrefix("OK"), "hostapd takes the order")
                }
                try await wish(of: near, for: far, channel: 6)
                try await eventually(within: .seconds(15), "the device to be where it was wished") {
                    await lab.station.joined() == far.bssid
                }
                try await device.online(on: far, within: .seconds(5))
                #expect(
                    device.decisions.dropFirst(mark).first { $0.kind.rawValue == "join" }?.reason.rawValue == "steered")
                for _ in 0..<4 {
                    try await Task.sleep(for: .seconds(65))
                    try await wish(of: far, for: near, channel: 1)
                }
                try await Task.sleep(for: .seconds(15))
                #expect(await lab.station.joined() == far.bssid)
                #expect(device.decisions.dropFirst(mark).count { $0.kind.rawValue == "join" } == 1)
            }
        }
    }
}
