import AgentModel
import Testing

@testable import AgentCore

/// What providers are asked about the networks that scans find, and what their answers count for.
@Suite struct HotspotClaimsTests {
    private let start = Instant(milliseconds: 1_000_000)

    // covers: seed/provider-filter
    @Test func namedNetworksAreClaimed() throws {
        var claims = HotspotClaims()
        let found = [
            try Self.network(1, "Cafe"), try Self.network(2, "Hotel", .owe), try Self.network(3, "Home", .wpa2),
            try Self.network(4, nil), try Self.network(5, "Old", .wep),
        ]
        #expect(claims.scanned(found, at: start) == [found[0], found[1], found[2], found[4]])
        #expect(found.map { claims[$0.bssid] } == [[], [], [], [], []], "nothing waits for the answer")
        let names = [found[1].bssid: ["cafe", "click-through"], found[2].bssid: ["guests"]]
        #expect(claims.handleAnswer(names, at: start) == nil)
        #expect(found.map { claims[$0.bssid] } == [[], ["cafe", "click-through"], ["guests"], [], []])
    }

    @Test func aNewAnswerReplacesTheOneBefore() throws {
        var claims = HotspotClaims()
        let found = [try Self.network(1, "Cafe"), try Self.network(2, "Hotel")]
        _ = claims.scanned(found, at: start)
        _ = claims.handleAnswer([found[0].bssid: ["cafe"]], at: start)
        #expect(claims.scanned(found, at: start + HotspotClaims.validity) == found)
        #expect(found.map { claims[$0.bssid] } == [["cafe"], []], "until there is another answer")
        _ = claims.handleAnswer([found[1].bssid: ["hotel"]], at: start)
        #expect(found.map { claims[$0.bssid] } == [[], ["hotel"]])
    }

    @Test func oneQuestionAtATimeAndThenTheNewestScan() throws {
        var claims = HotspotClaims()
        let scans = try (1...4).map { try Self.network($0, "Cafe") }
        #expect(claims.scanned([scans[0]], at: start) == [scans[0]])
        for scan in scans.dropFirst() { #expect(claims.scanned([scan], at: start) == nil) }
        #expect(claims.handleAnswer([:], at: start) == [scans[3]])
        #expect(claims.handleAnswer([scans[3].bssid: ["cafe"]], at: start) == nil)
        #expect(scans.map { claims[$0.bssid] } == [[], [], [], ["cafe"]])
    }

    @Test func aboutTheSameAccessPointsNothingIsAskedAgainSoSoon() throws {
        var claims = HotspotClaims()
        let found = [try Self.network(1, "Cafe"), try Self.network(2, "Hotel")]
        _ = claims.scanned(found, at: start)
        _ = claims.handleAnswer([found[0].bssid: ["cafe"]], at: start)
        let later = start + HotspotClaims.validity - .milliseconds(1)
        #expect(claims.scanned(found.reversed(), at: later) == nil)
        #expect(found.map { claims[$0.bssid] } == [["cafe"], []])
        #expect(claims.scanned([found[1]], at: later) == nil, "one less is no news")
        // Another one has come, and that is news.
        #expect(claims.scanned(found + [try Self.network(3, "Club")], at: later)?.count == 3)
    }

    @Test func nothingIsAskedWhereNothingHasAName() throws {
        var claims = HotspotClaims()
        let found = [try Self.network(1, "Cafe")]
        _ = claims.scanned(found, at: start)
        _ = claims.handleAnswer([found[0].bssid: ["cafe"]], at: start)
        #expect(claims.scanned([try Self.network(1, nil)], at: start) == nil)
        #expect(claims[found[0].bssid] == [] && !claims.isAsking)
    }

    @Test func afterTheEndNothingIsAsked() throws {
        var claims = HotspotClaims()
        _ = claims.scanned([try Self.network(1, "Cafe")], at: start)
        _ = claims.scanned([try Self.network(2, "Hotel")], at: start)
        claims.stop()
        #expect(claims.handleAnswer([:], at: start) == nil)
    }

    /// The core asks where there are providers, and shows what they claim.
    @Test(arguments: [true, false]) func theCoreAsksTheProvidersThereAre(hasProviders: Bool) throws {
        var bench = try CoreBench(hasProviders: hasProviders)
        try bench.start()
        let cafe = try Self.network(1, "Cafe")
        bench.handle(.request(1, .startScan(.init())))
        bench.handle(.scanEnded(bench.scans.removeFirst(), .finished([cafe])))
        #expect(bench.claimed == (hasProviders ? [[cafe]] : []))
        bench.handle(.claimed([cafe.bssid: ["cafe"]]))
        let names = bench.core.scanResults([cafe], at: bench.now).networks.map(\.providers)
        #expect(names == (hasProviders ? [["cafe"]] : [[]]))
    }

    /// The weaker, the higher its number.
    private static func network(_ number: Int, _ name: String?, _ security: Security = .open) throws -> BSS {
        BSS(
            bssid: try #require(BSSID("02:00:00:00:00:0\(number)")), ssid: try name.map { try SSID($0) },
            frequency: Frequency(megahertz: 2412), signal: -50 - number, lastSeen: Instant(milliseconds: 1_000_000),
            security: security)
    }
}
