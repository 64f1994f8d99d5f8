import AgentModel
import Testing

@testable import Failover

/// A radio that goes away and comes back, as it does when its firmware crashes: no access point is to blame.
@Suite struct RadioReturnTests {
    private static let home = Bench.home
    private static let backup = Bench.backup

    /// Online at home with a good backup in range.
    private func online() -> Bench {
        var bench = Bench([Self.home, Self.backup])
        bench.start()
        bench.finishScan([bench.observation(Self.home, -55), bench.observation(Self.backup, -40, channel: 2437)])
        if bench.policy.attempt == nil {
            bench.finishScan([bench.observation(Self.home, -55), bench.observation(Self.backup, -40, channel: 2437)])
        }
        bench.joinSucceeds()
        bench.advance(by: .seconds(30))
        bench.send(
            .scanned(id: nil, [bench.observation(Self.home, -55), bench.observation(Self.backup, -40, channel: 2437)]))
        _ = bench.take()
        return bench
    }

    private func isHome(_ bench: Bench) -> Bool { bench.policy.attempt?.network == Self.home.id }

    /// Both are in range, and the backup is the stronger: the device goes back where it was.
    @Test(arguments: [4000, 5000, 60_000])
    func theNetworkThatWasInUseComesFirst(milliseconds: Int) {
        var bench = online()
        #expect(bench.target == Self.home)
        bench.send(.interface(isUp: false))
        bench.advance(by: .milliseconds(milliseconds))
        bench.send(.interface(isUp: true))
        let back = bench.now
        #expect(bench.policy.scan?.order.frequencies.map(\.megahertz) == [2412], "its own channel alone")
        bench.advance(by: .milliseconds(70))
        bench.finishScan([bench.observation(Self.home, -55)])
        #expect(isHome(bench))
        #expect(bench.now - back <= .milliseconds(100))
        bench.joinSucceeds()
        #expect(bench.isOnline && bench.policy.radioReturn == nil)
    }

    /// An interface that is set down and up again: the access point is where it was a moment ago.
    @Test func afterAMomentNothingIsScanned() {
        var bench = online()
        bench.send(.interface(isUp: false))
        bench.advance(by: .milliseconds(200))
        bench.send(.interface(isUp: true))
        #expect(isHome(bench))
        #expect(bench.take().scans == [])
    }

    /// The link is lost a moment before the driver takes the interface away, and the backup is tried in vain in between.
    @Test func aLossThatTheRadioWasToBlameForIsForgotten() {
        var bench = online()
        let before = bench.policy.losses
        bench.send(.linkLost(.other))
        #expect(bench.policy.attempt?.network == Self.backup.id, "it was seen just now")
        bench.advance(by: .milliseconds(300))
        bench.joinFails(.timeout)
        bench.send(.interface(isUp: false))
        #expect(bench.policy.losses == before)
        #expect(bench.policy.histories.values.allSatisfy { $0.block == nil && $0.goneSince == nil })
        bench.advance(by: .seconds(5))
        _ = bench.take()
        bench.send(.interface(isUp: true))
        #expect(bench.take().scans.first?.frequencies.map(\.megahertz) == [2412])
        bench.finishScan([bench.observation(Self.home, -55)])
        #expect(isHome(bench))
    }

    /// A loss long before is one of its own.
    @Test func aLossOfBeforeStands() {
        var bench = Bench.online([Self.home])
        bench.send(.linkLost(.silence))
        bench.advance(by: .seconds(10))
        bench.send(.interface(isUp: false))
        #expect(bench.policy.histories[Self.home.id]?.goneSince != nil)
        #expect(bench.policy.radioReturn == nil)
    }

    /// It may have gone with the device's radio, as in a power cut.
    @Test func anAccessPointThatIsNotThereIsNotWaitedForLong() {
        var bench = online()
        bench.send(.interface(isUp: false))
        bench.advance(by: .seconds(5))
        bench.send(.interface(isUp: true))
        let back = bench.now
        while bench.policy.attempt == nil, bench.now - back < .seconds(10) {
            guard let scan = bench.policy.scan else {
                bench.advance(by: .milliseconds(10))
                continue
            }
            bench.advance(by: .milliseconds(70))
            let isSeen = scan.order.frequencies.isEmpty || scan.order.frequencies.contains(Frequency(megahertz: 2437))
            bench.finishScan(isSeen ? [bench.observation(Self.backup, -40, channel: 2437)] : [])
        }
        #expect(bench.policy.attempt?.network == Self.backup.id)
        #expect(bench.now - back <= .milliseconds(1500), "\(bench.now - back)")
    }

    /// Scans may be refused for a moment by a radio that has just come back.
    @Test func scansThatAreRefusedPutNothingOff() {
        var bench = online()
        bench.send(.interface(isUp: false))
        bench.advance(by: .seconds(5))
        bench.send(.interface(isUp: true))
        bench.send(.scanRefused(id: bench.policy.scan?.order.id ?? 0, joinsUnseen: true))
        bench.advance(by: .seconds(1))
        bench.finishScan([bench.observation(Self.home, -55)])
        #expect(isHome(bench))
    }

    @Test func aCommandGoesItsOwnWay() {
        var bench = online()
        bench.send(.interface(isUp: false))
        bench.send(.switchTo(Self.backup.id, id: 1))
        bench.advance(by: .seconds(2))
        bench.send(.interface(isUp: true))
        #expect(bench.policy.attempt?.network == Self.backup.id, "it was seen a moment ago")
    }

    /// The radio goes again and again: nothing is ever blocked.
    @Test func aRadioThatGoesAgainAndAgainBlocksNothing() {
        var bench = online()
        for _ in 0..<20 {
            bench.advance(by: .seconds(3))
            bench.send(.interface(isUp: false))
            bench.advance(by: .seconds(2))
            bench.send(.interface(isUp: true))
            bench.finishScan([bench.observation(Self.home, -55)])
            #expect(isHome(bench))
            bench.joinSucceeds()
        }
        #expect(
            !bench.policy.losses.isUnstable(
                bench.targetBSSID ?? Bench.accessPoint(of: Self.home.id).bssid, at: bench.now,
                settings: bench.policy.settings))
    }
}
