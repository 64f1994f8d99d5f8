import AgentModel
import Testing

@testable import Failover

/// The first scan after a link was lost: few channels, and the right ones.
@Suite struct FirstScanTests {
    /// A device at home on channel 1 that has seen the backup on channel 6, the spare on 11 and home on 36 besides, not
    /// lately.
    private static func lost(_ end: LinkEnd, backup signal: Int = -60) -> Bench {
        var bench = Bench.online()
        bench.send(
            .scanned(
                id: nil,
                [
                    bench.observation(Bench.home, -60, channel: 5180, radio: 1), bench.observation(Bench.home, -50),
                    bench.observation(Bench.backup, signal, channel: 2437),
                    bench.observation(Bench.spare, -70, channel: 2462),
                ]))
        bench.advance(by: .seconds(100))
        _ = bench.take()
        bench.send(.linkLost(end))
        return bench
    }

    private static func channels(_ megahertz: Int...) -> [Frequency] { megahertz.map { Frequency(megahertz: $0) } }

    // covers: rule/lost-likely-channels
    @Test func looksAtTheLatestChannelOfEachNetworkButNotAtTheSilentOne() {
        var bench = Self.lost(.silence)
        #expect(bench.take().scans.map(\.frequencies) == [Self.channels(5180, 2437, 2462)], "the best network first")
        bench.finishScan([bench.observation(Bench.backup, -60, channel: 2437)])
        #expect(bench.target == Bench.backup)
    }

    @Test func anAccessPointThatEndedTheLinkMayBeThereStill() {
        var bench = Self.lost(.other)
        #expect(bench.take().scans.map(\.frequencies) == [Self.channels(2412)])
        bench.advance(by: .milliseconds(60))
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == Bench.home)
    }

    // covers: rule/lost-likely-channels
    @Test func theLikeliestPlaceComesAloneAndThenTheOthers() {
        var bench = Self.lost(.other)
        bench.finishScan()
        #expect(bench.policy.scan?.order.frequencies == Self.channels(2437, 2462))
        bench.finishScan([
            bench.observation(Bench.backup, -60, channel: 2437), bench.observation(Bench.spare, -70, channel: 2462),
        ])
        #expect(bench.target == Bench.backup)
        #expect(bench.take().joins.map(\.offer) == [.wpa2])
    }

    // covers: rule/lost-likely-channels
    @Test func whatIsPoorAtTheLikeliestPlaceWaitsForTheOthers() {
        var bench = Self.lost(.other)
        bench.finishScan([bench.observation(Bench.home, -78)])
        #expect(bench.target == nil)
        bench.finishScan([bench.observation(Bench.backup, -60, channel: 2437)])
        #expect(bench.target == Bench.backup)
    }

    private static func starting() -> Bench {
        var bench = Bench([Bench.home, Bench.backup])
        bench.send(.remembered(Bench.home.id, Frequency(megahertz: 2412)))
        bench.send(.remembered(Bench.backup.id, Frequency(megahertz: 2437)))
        bench.send(.interface(isUp: true))
        return bench
    }

    // covers: rule/search-ready
    @Test func looksWhileTheSupplicantStarts() {
        var bench = Self.starting()
        #expect(bench.take().scans.map(\.frequencies) == [Self.channels(2412)])
        bench.advance(by: .milliseconds(60))
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == nil && bench.policy.scan == nil)
        bench.advance(by: .milliseconds(60))
        bench.send(.supplicant(isAvailable: true))
        #expect(bench.target == Bench.home)
        #expect(bench.take().scans.isEmpty)
    }

    @Test func aSupplicantThatIsQuickerWaitsForTheLook() {
        var bench = Self.starting()
        bench.send(.supplicant(isAvailable: true))
        #expect(bench.take().scans.count == 1)
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == Bench.home)
    }

    @Test func whatWasSeenLongBeforeTheSupplicantIsLookedForAgain() {
        var bench = Self.starting()
        bench.finishScan([bench.observation(Bench.home, -50)])
        _ = bench.take()
        bench.advance(by: .seconds(60))
        #expect(bench.take().scans.isEmpty, "once, and no more while nothing can be joined")
        bench.send(.supplicant(isAvailable: true))
        #expect(bench.take().scans.map(\.frequencies) == [Self.channels(2412)])
    }

    // covers: rule/lost-known-channels
    @Test func everywhereItWasSeenComesNextAndThenEverywhere() {
        var bench = Self.lost(.silence)
        bench.finishScan()
        bench.finishScan()
        #expect(bench.take().scans.dropFirst().map(\.frequencies) == [Self.channels(2412, 2437, 2462, 5180)])
        for _ in 0..<30 where bench.policy.scan == nil || bench.policy.scan?.order.frequencies != [] {
            if bench.policy.scan != nil { bench.finishScan() }
            bench.advance(by: .milliseconds(100))
        }
        #expect(bench.take().scans.last?.frequencies == [])
    }

    @Test func whatIsPoorIsNotTakenBeforeTheOthersWereLookedAt() {
        var bench = Self.lost(.silence)
        bench.finishScan([bench.observation(Bench.backup, -78, channel: 2437)])
        #expect(bench.target == nil)
        bench.finishScan([bench.observation(Bench.backup, -78, channel: 2437)])
        #expect(bench.target == Bench.backup)
    }

    @Test func aBlockedNetworkIsNoPlaceToLookFirst() {
        var bench = Self.lost(.silence)
        bench.finishScan([bench.observation(Bench.backup, -60, channel: 2437)])
        for _ in 0..<2 {
            bench.joinFails(.wrongKey)
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -60, channel: 2437)]) }
        }
        bench.advance(by: .milliseconds(300))
        while bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.spare, -60, channel: 2462)]) }
        bench.joinSucceeds(frequency: 2462)
        #expect(bench.target == Bench.spare)
        bench.advance(by: .seconds(30))
        while bench.policy.scan != nil { bench.finishScan() }
        _ = bench.take()
        bench.send(.linkLost(.silence))
        #expect(bench.take().scans.map(\.frequencies) == [Self.channels(2412)])
    }

    /// In domain US all channels take 14 s, in which the known ones are not scanned.
    @Test func aLongScanOfAllChannelsIsRare() {
        var bench = Bench.online()
        bench.send(.linkLost(.silence))
        var full: [Instant] = []
        let start = bench.now
        while bench.now - start < .seconds(300) {
            guard let order = bench.policy.scan?.order else {
                bench.advance(by: .milliseconds(500))
                continue
            }
            if order.frequencies.isEmpty { full.append(bench.now) }
            bench.advance(by: order.frequencies.isEmpty ? .seconds(14) : .milliseconds(100))
            bench.finishScan()
        }
        let gaps = zip(full.dropFirst(), full).map { $0 - $1 }
        #expect(gaps.allSatisfy { $0 >= .seconds(84) && $0 < .seconds(90) } && gaps.count >= 2)
    }
}
