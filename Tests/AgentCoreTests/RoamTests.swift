import AgentModel
import Testing

@testable import AgentCore

/// The link goes over to another access point of the network in use.
@Suite struct RoamTests {
    private static let far = BSSID("02:00:00:00:09:09")!

    private func far(_ bench: CoreBench, _ mobility: MobilityDomain? = nil) throws -> BSS {
        BSS(
            bssid: Self.far, ssid: try SSID("Home"), frequency: Frequency(megahertz: 2437), signal: -50,
            lastSeen: bench.now, security: .wpa2, protection: .pmf, mobility: mobility)
    }

    private func home(_ bench: CoreBench, _ mobility: MobilityDomain? = nil) throws -> BSS {
        BSS(
            bssid: CoreBench.access["Home"]!, ssid: try SSID("Home"), frequency: Frequency(megahertz: 2412),
            signal: -50,
            lastSeen: bench.now, security: .wpa2, protection: .pmf, mobility: mobility)
    }

    /// The access point in use sends the device away, and a scan shows another one.
    private func sendAway(_ bench: inout CoreBench, _ domains: (MobilityDomain?, MobilityDomain?) = (nil, nil)) throws {
        bench.scans = []
        bench.handle(.supplicant("wlan0", .disassociationImminent(within: .seconds(5))))
        bench.endScan(.finished([try home(bench, domains.0), try far(bench, domains.1)]))
    }

    @Test func theAddressStays() throws {
        var bench = try CoreBench()
        try bench.start()
        try sendAway(&bench)
        #expect(bench.roams.last == .overTheAir)
        let attempt = try #require(bench.joins["wlan0"]?.attempt)
        let names = bench.handle(.supplicant("wlan0", .connected(attempt: attempt, bssid: Self.far)))
        #expect(names.contains("confirm address wlan0"))
        #expect(!names.contains("seek address wlan0"))
        #expect(bench.core.policy.phase.accessPoint?.bssid == Self.far)
    }

    // covers: rule/roam-through-present
    @Test func accessPointsThatPassRequestsOnAreAskedToDoSo() throws {
        let domain = MobilityDomain(id: 0xb2a1, isOverDistributionSystem: true)
        let other = MobilityDomain(id: 1, isOverDistributionSystem: true)
        let without = MobilityDomain(id: 0xb2a1, isOverDistributionSystem: false)
        for (here, there, way) in [
            (domain, domain, JoinRequest.Roam.overTheDistributionSystem), (domain, other, .overTheAir),
            (domain, without, .overTheAir), (without, domain, .overTheAir),
        ] {
            var bench = try CoreBench()
            try bench.start()
            try sendAway(&bench, (here, there))
            #expect(bench.roams.last == way)
        }
    }

    /// An access point that was not told that the link goes over asks for a second, the next time, whether the device is still there.
    // covers: rule/roam-protected
    @Test func protectedFramesAreLeftByAFrameOrAFastTransition() throws {
        let domain = MobilityDomain(id: 0xb2a1, isOverDistributionSystem: false)
        for (floor, mobility, way) in [
            (LinkProtection.pmf, nil, nil), (.pmf, domain, .overTheAir), ([], nil, .overTheAir),
        ]
            as [(LinkProtection, MobilityDomain?, JoinRequest.Roam?)]
        {
            var bench = try CoreBench()
            try bench.start()
            let here = bench.bss("Home")
            let facts = LinkFacts(
                ssid: try SSID("Home"), bssid: here.bssid, frequency: here.frequency, protection: floor)
            bench.handle(.linkAnswer("wlan0", .protection(bench.home, here.bssid), .linked(facts)))
            try sendAway(&bench, (mobility, mobility))
            #expect(bench.joins["wlan0"] != nil)
            #expect(bench.roams.last == .some(way), "\(floor)")
        }
    }

    // covers: rule/roam-firmware
    @Test func firmwareThatJoinsByItselfIsToldToJoin() throws {
        var bench = try CoreBench()
        bench.surroundings.stations["wlan0"]?.joinsByItself = true
        try bench.start()
        try sendAway(&bench)
        #expect(bench.joins["wlan0"] != nil && bench.roams.last == .some(nil))
    }

    /// A link that is gone goes nowhere.
    @Test func aLostLinkIsJoinedAnew() throws {
        var bench = try CoreBench()
        try bench.start()
        bench.scans = []
        bench.handle(.supplicant("wlan0", .disconnected(reason: 6, locallyGenerated: false)))
        // What was seen before the loss does not count.
        bench.now = bench.now + .milliseconds(50)
        bench.endScan(.finished([try home(bench)]))
        #expect(bench.joins["wlan0"] != nil && bench.roams.last == .some(nil))
    }
}
