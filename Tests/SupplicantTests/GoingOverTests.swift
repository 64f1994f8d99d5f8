import AgentModel
import Linux
import Testing

@testable import Supplicant

/// A link goes over to another access point of its network.
@Suite(.timeLimit(.minutes(10))) struct GoingOverTests {
    private static let far = BSSID("02:00:00:00:02:00")!

    private static func connected(_ bssid: BSSID, network: Int) -> String {
        "CTRL-EVENT-CONNECTED - Connection to \(bssid) completed [id=\(network) id_str=]"
    }

    private static func request(
        _ roam: JoinRequest.Roam, psk: Secret = Example.psk, minimumSecurity: LinkProtection = []
    ) throws -> JoinRequest {
        var request = try Example.request(
            Array("Home".utf8), .passphrase(Secret(text: Example.passphrase), psk: psk), bssid: far,
            frequencies: [2437],
            minimumSecurity: minimumSecurity)
        request.roam = roam
        return request
    }

    /// A link to the first access point, with nothing left to be asked about it.
    @AgentLoop private func linked(_ timing: Supplicant.Timing = Bench.patient) async throws -> Bench {
        let bench = Bench(timing: timing)
        await bench.start()
        try await bench.supplicant.join(Example.request(bssid: Example.bssid, frequencies: [2412]), attempt: 1)
        bench.fake.send(Self.connected(Example.bssid, network: 0))
        #expect(await bench.log.next() == .connected(attempt: 1, bssid: Example.bssid))
        #expect(await bench.fake.reaches { $0.asked.last == "NEIGHBOR_REP_REQUEST" })
        return bench
    }

    @Test @AgentLoop func aLinkGoesOverInItsOwnNetwork() async throws {
        let bench = try await linked()
        let before = bench.fake.asked.count
        try await bench.supplicant.join(Self.request(.overTheAir), attempt: 2)
        #expect(
            Array(bench.fake.asked[before...]) == [
                "BSSID_IGNORE clear", "SET_NETWORK 0 bssid 02:00:00:00:02:00", "ROAM 02:00:00:00:02:00",
            ])
        bench.fake.send(
            "SME: Trying to authenticate with 02:00:00:00:02:00 (SSID='Home' freq=2437 MHz)",
            "Trying to associate with 02:00:00:00:02:00 (SSID='Home' freq=2437 MHz)",
            "Associated with 02:00:00:00:02:00", Self.connected(Self.far, network: 0))
        #expect(await bench.log.next() == .connected(attempt: 2, bssid: Self.far), "and no word of the old link's end")
    }

    /// A status of before says that the link is made, which is the old one.
    @Test @AgentLoop func theOldLinkIsNotTheNewOne() async throws {
        let bench = try await linked()
        try await bench.supplicant.join(Self.request(.overTheAir), attempt: 2)
        bench.fake.send(Self.connected(Example.bssid, network: 0), Self.connected(Self.far, network: 0))
        #expect(await bench.log.next() == .connected(attempt: 2, bssid: Self.far))
    }

    // covers: rule/roam-over-air
    @Test @AgentLoop func whatFailsIsJoinedAnew() async throws {
        let bench = try await linked()
        try await bench.supplicant.join(Self.request(.overTheAir), attempt: 2)
        bench.fake.send(
            "SME: Trying to authenticate with 02:00:00:00:02:00 (SSID='Home' freq=2437 MHz)",
            "CTRL-EVENT-AUTH-REJECT 02:00:00:00:02:00 auth_type=2 auth_transaction=2 status_code=53")
        #expect(await bench.fake.reaches { $0.asked.contains("SELECT_NETWORK 1") })
        #expect(await bench.log.next() == .disconnected(reason: 0, locallyGenerated: true))
        bench.fake.send(Self.connected(Self.far, network: 1))
        #expect(await bench.log.next() == .connected(attempt: 2, bssid: Self.far))
    }

    /// And where that fails as well, it is one failure.
    // covers: rule/roam-over-air
    @Test @AgentLoop func whatFailsBothWaysHasOneOutcome() async throws {
        let bench = try await linked()
        bench.fake.misbehave(at: "ROAM", .instead(Array("FAIL\n".utf8)))
        try await bench.supplicant.join(Self.request(.overTheAir), attempt: 2)
        #expect(bench.fake.asked.last == "SELECT_NETWORK 1")
        #expect(await bench.log.next() == .disconnected(reason: 0, locallyGenerated: true))
        bench.fake.send("CTRL-EVENT-ASSOC-REJECT bssid=02:00:00:00:02:00 status_code=1")
        guard case .joinFailed(2, .rejected, _) = await bench.log.next() else { return #expect(Bool(false)) }
    }

    /// Asked through the present access point, one that does not answer costs nothing; then it is asked itself.
    // covers: rule/roam-through-present
    @Test @AgentLoop func oneThatDoesNotAnswerThroughTheOtherIsAskedItself() async throws {
        var timing = Bench.patient
        timing.distributionLimit = .milliseconds(5)
        let bench = try await linked(timing)
        try await bench.supplicant.join(Self.request(.overTheDistributionSystem), attempt: 2)
        #expect(bench.fake.asked.contains("FT_DS 02:00:00:00:02:00"))
        #expect(await bench.fake.reaches { $0.asked.last == "ROAM 02:00:00:00:02:00" })
        bench.fake.send(Self.connected(Self.far, network: 0))
        #expect(await bench.log.next() == .connected(attempt: 2, bssid: Self.far))
    }

    @Test @AgentLoop func otherSettingsAreJoinedAnew() async throws {
        for request in [
            try Self.request(.overTheAir, psk: Secret([UInt8](repeating: 9, count: 32))),
            try Self.request(.overTheAir, minimumSecurity: .sae), try Self.request(.overTheAir, minimumSecurity: .pmf),
        ] {
            let bench = try await linked()
            try await bench.supplicant.join(request, attempt: 2)
            #expect(!bench.fake.asked.contains { $0.hasPrefix("ROAM") })
            #expect(bench.fake.asked.last == "SELECT_NETWORK 1")
        }
    }

    /// Wishes and neighbours are told of a link that is there.
    @Test @AgentLoop func whatTheAccessPointSaysIsTold() async throws {
        let bench = try await linked()
        bench.fake.send(
            "WNM: Preferred List Available",
            "RRM-NEIGHBOR-REP-RECEIVED bssid=02:00:00:00:02:00 info=0x0 op_class=81 chan=6 phy_type=7")
        #expect(await bench.log.next() == .transitionRequested)
        #expect(await bench.log.next() == .neighbour(Self.far, Frequency(megahertz: 2437)))
    }

    @Test func neighboursOutOfRangeAreNone() {
        for line in [
            "RRM-NEIGHBOR-REP-RECEIVED", "RRM-NEIGHBOR-REP-RECEIVED bssid=02 info=0x0 op_class=81 chan=6 phy_type=7",
            "RRM-NEIGHBOR-REP-RECEIVED bssid=02:00:00:00:02:00 info=0x0 op_class=81 chan=14 phy_type=7",
            "RRM-NEIGHBOR-REP-RECEIVED bssid=02:00:00:00:02:00 info=0x0 op_class=0 chan=6 phy_type=7",
            "RRM-NEIGHBOR-REP-RECEIVED bssid=02:00:00:00:02:00 info=0x0 op_class=115 chan=255 phy_type=7",
            "RRM-NEIGHBOR-REP-RECEIVED bssid=02:00:00:00:02:00 info=0x0 op_class=-1 chan=99999999999999999999",
        ] { #expect(ControlEvent(line[...]) == .other) }
        let channels = [(81, 13, 2472), (82, 14, 2484), (115, 36, 5180), (128, 155, 5775), (131, 5, 5975)]
        for (operatingClass, channel, megahertz) in channels {
            #expect(Frequency(channel: channel, ofClass: operatingClass) == Frequency(megahertz: megahertz))
        }
    }

    @Test func fastTransitionsByPasswordAreAskedForWhereTheyCanBeMade() throws {
        let request = try Example.request(offer: .wpa3, minimumSecurity: .sae)
        // As wpa_supplicant 2.10 names what it can do.
        let able: Set = ["NONE", "WPA-EAP", "WPA-PSK", "OWE", "FT-PSK", "FT-EAP", "SAE"]
        let block = try NetworkBlock(request, keyManagement: able)
        #expect(block.settings.contains(NetworkBlock.Setting(name: "key_mgmt", value: .plain("SAE FT-SAE"))))
        #expect(!block.settings.contains { $0.name == "psk" })
    }
}
