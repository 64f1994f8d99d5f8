import AgentModel
import Lab
import Testing

extension Radios {
    /// Access points that change what they want of a station, under the same name.
    @Suite struct SecurityChangeTests {
        struct Change: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let before: NetworkSecurity
            let after: NetworkSecurity
            var settings: [String] = []
        }

        /// More than before, by the same password: the device goes along.
        static let changes = [
            Change(
                testDescription: "WPA2 to WPA3 alone", before: .wpa2("home-password"), after: .wpa3("home-password")),
            Change(
                testDescription: "WPA2 to WPA2 and WPA3", before: .wpa2("home-password"),
                after: .transition("home-password")),
            Change(
                testDescription: "WPA2 and WPA3 to WPA3 alone", before: .transition("home-password"),
                after: .wpa3("home-password")),
            Change(
                testDescription: "protected management frames required", before: .wpa2("home-password"),
                after: .wpa2("home-password"), settings: ["ieee80211w=2", "wpa_key_mgmt=WPA-PSK-SHA256"]),
            Change(
                testDescription: "fast transition (IEEE 802.11r) alone", before: .wpa2("home-password"),
                after: .wpa2("home-password"),
                settings: [
                    "wpa_key_mgmt=FT-PSK", "mobility_domain=a1b2", "nas_identifier=ap1", "ft_psk_generate_local=1",
                ]),
            Change(
                testDescription: "WPA3 by another group and hash-to-element alone", before: .wpa3("home-password"),
                after: .wpa3("home-password"), settings: ["sae_groups=20", "sae_pwe=1"]),
            Change(
                testDescription: "WPA3 with GCMP-256 alone and protected beacons", before: .wpa3("home-password"),
                after: .wpa3("home-password"),
                settings: ["rsn_pairwise=GCMP-256", "group_mgmt_cipher=BIP-GMAC-256", "beacon_prot=1"]),
        ].filter { change in
            // On the dongle there is no fast transition.
            (Lab.radioKind == .softMAC || !change.settings.contains("wpa_key_mgmt=FT-PSK"))
                && (Lab.radioKind.hasSAE || change.after != .wpa3("home-password"))
        }

        @Test(arguments: isCore ? Array(changes.prefix(1)) : changes) func theDeviceGoesAlong(_ change: Change)
            async throws
        {
            try await scenario("security: \(change.testDescription)") { lab in
                let home = try await lab.accessPoint("HomeNet", security: change.before, channel: 1)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                let mark = device.decisions.count
                try await home.powerOff()
                try await home.change(security: change.after, settings: change.settings)
                try await home.powerOn()
                let back = ContinuousClock.now
                let reply = try await pinger.reply(after: back, within: .seconds(20))
                lab.report("altnet: \(change.testDescription), until a ping", reply - back)
                try await device.online(on: home, within: .seconds(5))
                #expect(!device.decisions.dropFirst(mark).contains { $0.kind.rawValue == "blocked" })
            }
        }

        /// An open network gets a password that the device has not got: it is at the backup soon.
        @Test(.extended) func anOpenNetworkGetsAPassword() async throws {
            try await scenario("open network gets a password", accessPoints: 2) { lab in
                let house = try await House(lab, home: .open)
                let mark = house.mark
                let start = ContinuousClock.now
                try await house.home.change(security: .wpa2("another-password"))
                try await house.device.online(on: house.backup, within: .seconds(30))
                lab.report("altnet: an open network gets a password, until at the backup", .now - start)
                try await house.expectTraffic(through: house.backup)
                #expect(house.device.stations(since: mark) == [house.backup.ssid])
            }
        }

        /// An open network with an encrypted half, which hides its name (OWE transition mode): the device is in that half, and
        /// in the other one where that is all there is. Who pretends to be either needs no password.
        @Test(.extended, .onSoftMAC("brcmfmac has no OWE, and joins the open half"))
        func theEncryptedHalfOfAnOpenNetwork() async throws {
            try await scenario("OWE transition mode") { lab in
                let half = "02:00:00:00:01:01"
                let home = try await lab.accessPoint(
                    "Cafe", security: .open, channel: 1,
                    settings: [
                        "owe_transition_bssid=\(half)", "owe_transition_ssid=\"Cafe-owe\"", "bss=owe0", "bssid=\(half)",
                        "ssid=Cafe-owe", "ignore_broadcast_ssid=1", "wpa=2", "wpa_key_mgmt=OWE", "rsn_pairwise=CCMP",
                        "ieee80211w=2", "owe_transition_bssid=02:00:00:00:01:00", "owe_transition_ssid=\"Cafe\"",
                    ])
                // Addresses are given in the encrypted half alone.
                try await home.dhcp(false)
                try await home.powerOn()
                let server = try await home.start(
                    "sh",
                    [
                        "-c",
                        """
                        ip address add 10.77.0.1/24 dev owe0
                        exec dnsmasq --keep-in-foreground --conf-file=/dev/null --port=0 --user=root --pid-file= \
                            --interface=owe0 --dhcp-leasefile=/dev/null --no-ping --dhcp-authoritative \
                            --dhcp-range=10.77.0.10,10.77.0.99,1h --dhcp-option=option:router,10.77.0.1
                        """,
                    ], log: "owe")
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                #expect(device.status?.bssid?.description == half)
                #expect(try await lab.station.ask("STATUS").contains("key_mgmt=OWE"))
                await server.terminate()
                try await home.dhcp(true)
                try await home.change(security: .open)
                try await eventually(within: .seconds(30), "the device to be in the open half") {
                    await lab.station.joined() == home.bssid
                }
                try await device.online(on: home, within: .seconds(15))
            }
        }

        /// It has forgotten the device's keys in a restart, which the device has not.
        @Test(
            .extended,
            arguments: NetworkSecurity.ofOnePassword)
        func aRestartForgetsTheKeys(_ security: NetworkSecurity) async throws {
            try await scenario("keys forgotten, \(security)") { lab in
                let home = try await lab.accessPoint("HomeNet", security: security, channel: 1)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                for _ in 0..<3 {
                    try await home.powerOff()
                    try await home.powerOn()
                    let back = ContinuousClock.now
                    let reply = try await pinger.reply(after: back, within: .seconds(15))
                    lab.report("altnet: keys forgotten by a restart, until a ping", reply - back)
                }
                #expect(!device.decisions.contains { $0.kind.rawValue == "blocked" })
            }
        }

        /// Two access points with fast transition: the device moves over, and the second time to one that does not
        /// know its keys.
        @Test(.extended, .onSoftMAC("brcmfmac has no fast transition on the dongle")) func fastTransition() async throws
        {
            try await scenario("fast transition", accessPoints: 2) { lab in
                func lines(_ name: String, domain: String) -> [String] {
                    [
                        "wpa_key_mgmt=WPA-PSK FT-PSK", "mobility_domain=\(domain)", "nas_identifier=\(name)",
                        "ft_psk_generate_local=1", "ft_over_ds=0",
                    ]
                }
                let security = NetworkSecurity.wpa2("home-password")
                let near = try await lab.accessPoint(
                    "HomeNet", security: security, channel: 1, settings: lines("ap1", domain: "a1b2"))
                let far = try await lab.accessPoint(
                    "HomeNet", security: security, channel: 6, signal: -75, settings: lines("ap2", domain: "a1b2"),
                    extending: near)
                try await near.powerOn()
                try await far.powerOn()
                let device = try await Device.atHome(near, in: lab)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                for (name, target, domain) in [("over the air", far, "a1b2"), ("that fails", near, "ffff")] {
                    let other = target.bssid == far.bssid ? near : far
                    if domain != "a1b2" {
                        try await target.change(security: security, settings: lines("ap1", domain: domain))
                    }
                    let start = ContinuousClock.now
                    try await target.setSignal(-40)
                    try await other.setSignal(-85)
                    try await eventually(within: .seconds(90), "the device to move over") {
                        await lab.station.joined() == target.bssid
                    }
                    try await device.online(on: target, within: .seconds(15))
                    try await pinger.reply(within: .seconds(5))
                    #expect(try await lab.station.ask("STATUS").contains("key_mgmt=FT-PSK"))
                    lab.report("altnet: fast transition \(name), longest gap", pinger.longestGap(since: start))
                }
                #expect(!device.decisions.contains { $0.kind.rawValue == "blocked" })
            }
        }
    }
}
