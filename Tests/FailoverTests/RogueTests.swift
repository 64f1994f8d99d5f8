import AgentModel
import Testing

@testable import Failover

/// Access points that bear a network's name and do not have its key.
@Suite struct RogueTests {
    private static let home = Bench.home
    private static let backup = Bench.backup
    private static let verified = Bench.accessPoint(of: home.id).bssid

    /// Ends the scans and lets time pass until something is being joined.
    private func join(_ bench: inout Bench, _ results: (Bench) -> [BSS], within limit: Duration = .seconds(12)) {
        let start = bench.now
        while bench.policy.attempt == nil, bench.now - start < limit {
            if bench.policy.scan != nil { bench.finishScan(results(bench)) }
            if bench.policy.attempt == nil { bench.advance(by: .milliseconds(50)) }
        }
    }

    private func rogue(_ number: UInt8, in bench: Bench, _ signal: Int = -40) -> BSS {
        bench.observation(Self.home, signal, channel: 2437, radio: number)
    }

    private func real(in bench: Bench, _ signal: Int = -60) -> BSS { bench.observation(Self.home, signal) }

    /// Online at home, and then the link is lost.
    private func lost(_ networks: [KnownNetwork] = [home]) -> Bench {
        var bench = Bench.online(networks)
        bench.advance(by: .seconds(100))
        bench.send(.linkLost())
        _ = bench.take()
        return bench
    }

    // covers: rule/rank-verified
    @Test func whatTheKeyHasOpenedComesBeforeWhatIsStronger() {
        var bench = lost()
        join(&bench) { [rogue(1, in: $0), rogue(2, in: $0), real(in: $0)] }
        #expect(bench.targetBSSID == Self.verified)
    }

    @Test func soItDoesAfterARestart() {
        var bench = Bench([Self.home])
        bench.send(.verified(Self.home.id, Self.verified))
        bench.start()
        join(&bench) { [rogue(1, in: $0), real(in: $0)] }
        #expect(bench.targetBSSID == Self.verified)
    }

    // covers: rule/unverified-failure
    @Test func nothingIsHeldAgainstTheNetworkForAnUnverifiedAccessPoint() {
        var bench = lost()
        for number in UInt8(1)...20 {
            join(&bench) { [rogue(number, in: $0)] }
            #expect(bench.targetBSSID != Self.verified)
            bench.joinFails([.wrongKey, .rejected, .timeout, .accessPointFull][Int(number) % 4])
        }
        #expect(!bench.take().decisions.contains { $0.kind == .blocked })
        #expect(bench.policy.lastFailure(of: Self.home.id) == nil)
        join(&bench) { [rogue(21, in: $0), real(in: $0, -75)] }
        #expect(bench.targetBSSID == Self.verified, "also where it is much weaker, once a stranger has failed")
    }

    /// An attacker that sends many names does not push it out of memory.
    // covers: rule/verified-kept
    @Test(arguments: [9, 40]) func itIsNeverForgottenForOthers(count: Int) {
        var bench = lost()
        join(&bench) { bench in (1...count).map { rogue(UInt8($0), in: bench) } + [real(in: bench)] }
        #expect(bench.targetBSSID == Self.verified)
    }

    /// Ten thousand of one name in one scan: a few are kept, on a few channels, and the verified one among them.
    @Test func tenThousandOfOneNameAreAFew() {
        let now = Instant(milliseconds: 1_000_000)
        var verified = VerifiedAccessPoints()
        verified.opened(Self.verified)
        let all = (0..<10_000).map { number in
            BSS(
                bssid: BSSID(bytes: [6, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255)])!, ssid: Self.home.ssid,
                frequency: Frequency(megahertz: 2412 + number % 700), signal: -30 - number % 60, lastSeen: now,
                security: .wpa2)
        }
        let real = BSS(
            bssid: Self.verified, ssid: Self.home.ssid, frequency: Frequency(megahertz: 5180), signal: -80,
            lastSeen: now,
            security: .wpa2)
        var cache = ScanCache()
        for _ in 0..<2 { cache.note([real] + all, of: [Self.home, Self.backup], verified: { _ in verified }, at: now) }
        let kept = cache.accessPoints(of: Self.home.id, since: now)
        #expect(kept.count <= ScanCache.accessPointsPerNetwork + 1)
        #expect(kept.contains { $0.bssid == Self.verified })
        #expect(cache.places(of: Self.home.id).count <= ScanCache.frequenciesPerNetwork)
        #expect(cache.places(of: Self.home.id).first == real.frequency)
        #expect(cache.accessPoints(of: Self.backup.id, since: now).isEmpty)
    }

    // covers: rule/verified-kept
    @Test func norIsItsChannel() {
        var bench = lost()
        let channels = [2417, 2422, 2427, 2432, 2437, 2442, 5180, 5200]
        for _ in 0..<3 {
            join(&bench) { bench in
                channels.enumerated().map { bench.observation(Self.home, -40, channel: $1, radio: UInt8($0 + 1)) }
            }
            bench.joinFails(.wrongKey)
        }
        #expect(bench.policy.knownPlaces.contains(Frequency(megahertz: 2412)))
    }

    // covers: rule/unverified-scan-first
    @Test func beforeEachTryOfADistrustedAccessPointTheDeviceScans() {
        var bench = lost()
        let rogues = { (bench: Bench) in (1...8).map { rogue(UInt8($0), in: bench) } }
        join(&bench, rogues)
        for _ in 0..<6 {
            bench.advance(by: .milliseconds(4200))
            _ = bench.take()
            bench.joinFails(.wrongKey)
            #expect(bench.take().scans.contains { $0.frequencies.contains(Frequency(megahertz: 2412)) })
            join(&bench, rogues)
        }
        bench.advance(by: .milliseconds(4200))
        bench.joinFails(.wrongKey)
        join(&bench) { rogues($0) + [real(in: $0)] }
        #expect(bench.targetBSSID == Self.verified)
    }

    /// One that says nothing at all does not hold the device up for long.
    // covers: rule/join-unverified
    @Test func anUnverifiedAccessPointHasSixSeconds() {
        var bench = lost()
        join(&bench) { [rogue(1, in: $0)] }
        bench.advance(by: .seconds(6))
        join(&bench) { [rogue(1, in: $0), real(in: $0)] }
        #expect(bench.targetBSSID == Self.verified)
    }

    // covers: rule/unverified-wait
    @Test func aNewRouterIsJoinedSoonAndBelievedFromThenOn() {
        var bench = lost()
        let start = bench.now
        join(&bench) { [rogue(1, in: $0)] }
        #expect(bench.now - start >= .milliseconds(1500), "the one that was lost may be back")
        #expect(bench.now - start <= .seconds(2))
        bench.joinSucceeds(frequency: 2437)
        #expect(bench.isOnline)
        let new = rogue(1, in: bench).bssid
        #expect(bench.policy.verifiedAccessPoints(of: Self.home.id) == [new, Self.verified])
    }

    // covers: rule/unverified-wait
    @Test func aNetworkThatFailedDoesNotOvertakeTheOneThatWaits() {
        var bench = Bench([Self.home, Self.backup])
        bench.send(.verified(Self.home.id, Self.verified))
        bench.start()
        for _ in 0..<2 {
            join(&bench) { [$0.observation(Self.backup, -50)] }
            bench.joinFails(.wrongKey)
        }
        join(&bench) { [real(in: $0)] }
        bench.joinSucceeds()
        bench.advance(by: .seconds(600))
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        join(&bench) { [rogue(1, in: $0), $0.observation(Self.backup, -50)] }
        #expect(bench.targetBSSID == rogue(1, in: bench).bssid)
    }

    @Test func aVerifiedOneWhoseKeyWasChangedIsNoLoop() {
        var bench = lost()
        var tries = 0
        while !bench.take().decisions.contains(where: { $0.kind == .blocked }), tries < 10 {
            join(&bench) { [rogue(1, in: $0), real(in: $0)] }
            bench.joinFails(.wrongKey)
            tries += 1
        }
        #expect(tries == 3, "its two tries, and the stranger's turn in between")
        join(&bench) { [real(in: $0)] }
        #expect(bench.policy.attempt == nil)
    }

    /// In a round each verified access point in range is tried once, and one of the others, however many there are.
    // covers: rule/bssid-rounds
    @Test func aRoundHasTheVerifiedOneAndOneOther() {
        var bench = Bench([Self.home])
        bench.send(.verified(Self.home.id, Self.verified))
        bench.start()
        var way: [Bool] = []
        for number in UInt8(0)..<10 {
            join(&bench) { bench in
                [real(in: bench)] + (1...6).map { rogue(number * 6 + $0, in: bench) }
            }
            way.append(bench.targetBSSID == Self.verified)
            bench.advance(by: .milliseconds(1))
            bench.joinFails(.timeout)
        }
        #expect(way == (0..<10).map { $0.isMultiple(of: 2) }, "\(way)")
    }

    // covers: rule/unverified-distrusted
    @Test func anotherNetworkComesBeforeDistrustedAccessPoints() {
        var bench = lost([Self.home, Self.backup])
        join(&bench) { [rogue(1, in: $0)] }
        bench.joinFails(.wrongKey)
        join(&bench) { [rogue(2, in: $0), $0.observation(Self.backup, -68, channel: 2462)] }
        #expect(bench.target == Self.backup)
    }

    // covers: rule/unverified-distrusted
    @Test func aLivingLinkIsNotGivenUpForThemTwice() {
        var bench = lost([Self.home, Self.backup])
        join(&bench) { [$0.observation(Self.backup, -60, channel: 2462)] }
        bench.joinSucceeds(frequency: 2462)
        let observations = { (bench: Bench) in
            [rogue(3, in: bench), bench.observation(Self.backup, -60, channel: 2462)]
        }
        func stay(for duration: Duration) {
            let end = bench.now + duration
            while bench.now < end, bench.policy.attempt == nil {
                if bench.policy.scan != nil { bench.finishScan(observations(bench)) }
                bench.advance(by: .seconds(1))
            }
        }
        stay(for: .seconds(120))
        #expect(bench.target == Self.home, "it may be a new router")
        bench.joinFails(.wrongKey)
        join(&bench, observations)
        #expect(bench.target == Self.backup)
        bench.joinSucceeds(frequency: 2462)
        stay(for: .seconds(280))
        #expect(bench.target == Self.backup)
    }

    // covers: rule/verified-kept
    @Test func fourAreRememberedTheLatestFirst() {
        var bench = Bench.online([Self.home])
        for number in UInt8(1)...5 {
            bench.advance(by: .seconds(100))
            bench.send(.linkLost())
            join(&bench) { [rogue(number, in: $0)] }
            bench.joinSucceeds(frequency: 2437)
        }
        #expect(
            bench.policy.verifiedAccessPoints(of: Self.home.id) == (2...5).reversed().map { rogue($0, in: bench).bssid }
        )
    }

    // covers: rule/unblock-password
    @Test func anotherPasswordIsAnotherNetwork() {
        var bench = Bench.online([Self.home])
        #expect(bench.policy.verifiedAccessPoints(of: Self.home.id) == [Self.verified])
        let renewed = Bench.network(9, "Home", isPreferred: true)
        bench.send(.networks([renewed]))
        #expect(bench.policy.verifiedAccessPoints(of: renewed.id).isEmpty)
        #expect(bench.policy.verifiedAccessPoints(of: Self.home.id).isEmpty)
    }

    // covers: rule/unverified-no-key
    @Test func whatHasNoKeyProvesNothing() {
        let open = Bench.network(1, "Open", usesPassphrase: false)
        let bench = Bench.online([open])
        #expect(bench.policy.verifiedAccessPoints(of: open.id).isEmpty)
    }
}
