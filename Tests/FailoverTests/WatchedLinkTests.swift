import AgentModel
import Testing

@testable import Failover

/// How closely a link in use is measured, and when other channels are scanned meanwhile
/// (Docs/contributor/failover-rules.md).
@Suite struct WatchedLinkTests {
    /// Online at home; the backup was seen on channel 6.
    private static func online() -> Bench {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.scanned(id: nil, [bench.observation(Bench.backup, -90, channel: 2437)]))
        bench.advance(by: .seconds(100))
        _ = bench.take()
        return bench
    }

    private static let known = [2412, 2437].map { Frequency(megahertz: $0) }

    private static func interval(_ bench: inout Bench) -> Duration? {
        bench.take().watches.compactMap(\.self).last?.interval
    }

    // MARK: Samples

    // covers: rule/weak-2ghz, rule/weak-fine, rule/weak-sampling, rule/weak-breaking
    @Test func aLinkIsMeasuredAsOftenAsItsStateWants() {
        var bench = Self.online()
        bench.send(.signal(-75))
        #expect(Self.interval(&bench) == .milliseconds(2500), "doubtful")
        bench.send(.signal(-85))
        #expect(Self.interval(&bench) == .seconds(1), "perhaps a sudden fall")
        bench.send(.signal(-60))
        let calm = bench.take().watches.compactMap(\.self).last
        #expect(calm?.interval == .seconds(10) && calm?.unsupervisedInterval == .seconds(10))
        #expect(calm?.threshold == -70, "the kernel tells of this crossing")
        bench.measure(-75, for: .seconds(297))
        #expect(Self.interval(&bench) == .milliseconds(2500))
        bench.measure(-75, for: .seconds(5))
        #expect(Self.interval(&bench) == .seconds(10), "nothing came of it for five minutes")
    }

    // covers: rule/weak-recovery
    @Test func aLinkIsFineAgainTwoDecibelsAboveWeak() {
        var bench = Self.online()
        bench.send(.signal(-71))
        _ = bench.take()
        bench.send(.signal(-69))
        #expect(bench.take().watches.isEmpty)
        bench.send(.signal(-68))
        #expect(Self.interval(&bench) == .seconds(10))
    }

    // covers: rule/weak-samples
    @Test(arguments: [(-150, true), (-151, false), (51, false), (.min, false)])
    func aSampleOutOfRangeIsNone(signal: Int, counts: Bool) {
        var bench = Self.online()
        bench.send(.signal(signal))
        #expect(bench.take().isEmpty != counts)
    }

    // MARK: For what it is left

    /// 13 dB better are enough for an access point of the same network, and not for another network.
    // covers: rule/bssid-roam
    @Test(arguments: [(Bench.home, true), (Bench.backup, false)])
    func aSaggingLinkIsLeftForItsOwnNetworkSooner(network: KnownNetwork, moves: Bool) {
        var bench = Self.online()
        bench.measure(-75, for: .seconds(12))
        bench.send(.scanned(id: bench.policy.scan?.order.id, [bench.observation(network, -62, radio: 1)]))
        bench.measure(-75, for: .seconds(12))
        if bench.policy.scan != nil { bench.finishScan([bench.observation(network, -62, radio: 1)]) }
        #expect((bench.policy.attempt?.network == network.id) == moves)
    }

    /// The backup could not be joined before.
    // covers: rule/candidate-sound
    @Test(arguments: [(-85, true), (-75, false)])
    func aSuspectNetworkIsReasonToLeaveACriticalLinkOnly(signal: Int, moves: Bool) {
        var bench = Bench([Bench.backup, Bench.spare])
        bench.start()
        bench.finishScan([bench.observation(Bench.backup, -50), bench.observation(Bench.spare, -60)])
        bench.joinFails(.timeout)
        #expect(bench.target == Bench.spare)
        bench.joinSucceeds()
        bench.measure(signal, for: .seconds(65))
        bench.send(.scanned(id: nil, [bench.observation(Bench.backup, -50)]))
        #expect((bench.target == Bench.backup) == moves)
    }

    /// The mean with -90 dBm is below the minimum.
    // covers: rule/candidate-minimum
    @Test(arguments: [(nil, true), (-90, false)])
    func theLastTwoObservationsCount(before: Int?, moves: Bool) {
        var bench = Self.online()
        bench.measure(-84, for: .seconds(12))
        if let before { bench.send(.scanned(id: nil, [bench.observation(Bench.backup, before)])) }
        bench.advance(by: .seconds(1))
        bench.send(.scanned(id: nil, [bench.observation(Bench.backup, -72)]))
        bench.measure(-84, for: .seconds(3), every: .seconds(1))
        #expect((bench.target == Bench.backup) == moves)
    }

    // MARK: Scans

    /// When scans were ordered, in seconds, while nothing else was in range.
    private func scans(_ bench: inout Bench, _ signal: Int, every interval: Duration, for seconds: Int) -> [Int64] {
        var moments: [Int64] = []
        let start = bench.now
        while bench.now - start < .seconds(seconds) {
            bench.send(.signal(signal))
            while bench.policy.scan != nil { bench.finishScan() }
            moments += bench.take().scans.map { _ in (bench.now - start).milliseconds / 1000 }
            bench.advance(by: interval)
            while bench.policy.scan != nil { bench.finishScan() }
            moments += bench.take().scans.map { _ in (bench.now - start).milliseconds / 1000 }
        }
        return moments
    }

    // covers: rule/scan-trouble
    @Test func aDoubtIsAScanOfKnownChannelsAndNotTheNextOneSoSoon() {
        var bench = Self.online()
        bench.send(.signal(-75))
        #expect(bench.take().scans.map(\.frequencies) == [Self.known])
        bench.finishScan()
        bench.send(.signal(-60))
        bench.advance(by: .seconds(10))
        bench.send(.signal(-75))
        bench.advance(by: .milliseconds(9900))
        #expect(bench.take().scans.isEmpty)
        bench.advance(by: .milliseconds(100))
        #expect(bench.take().scans.map(\.frequencies) == [Self.known])
    }

    /// At once when the link is weak; the waits grow.
    // covers: rule/scan-while-weak
    @Test func aWeakLinkIsScannedForLessAndLessOften() {
        var bench = Self.online()
        #expect(scans(&bench, -75, every: .milliseconds(2500), for: 600) == [0, 20, 60, 140, 300, 460])
    }

    /// At once, and then after 5, 10, 10 ... s.
    // covers: rule/scan-fading, rule/scan-while-critical
    @Test func aCriticalLinkIsScannedForOften() {
        var bench = Self.online()
        #expect(scans(&bench, -85, every: .seconds(1), for: 50) == [0, 5, 15, 25, 35, 45])
    }

    /// The mean of -72 and -80 dBm is 4 dB less than at the last scan.
    // covers: rule/scan-weaker
    @Test(arguments: [(6, -80, 1), (4, -80, 0), (6, -74, 0)])
    func aLinkThatGotWeakerIsScannedForAtOnce(pause: Int, signal: Int, scans: Int) {
        var bench = Self.online()
        bench.send(.signal(-72))
        bench.finishScan()
        _ = bench.take()
        bench.advance(by: .seconds(pause))
        bench.send(.signal(signal))
        #expect(bench.take().scans.count == scans)
    }
}
