import AgentModel
import Testing

@testable import Failover

/// Several access points of one network, on several bands.
@Suite struct RoamingTests {
    // covers: rule/bssid-roam
    @Test func roamsToAStrongerAccessPointOfTheSameNetwork() throws {
        var bench = Bench.online([Bench.home])
        bench.measure(-85, for: .seconds(12))
        let stronger = bench.observation(Bench.home, -50, channel: 2437, radio: 1)
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -85), stronger]))
        #expect(bench.target == Bench.home)
        #expect(bench.targetBSSID == stronger.bssid)
        let actions = bench.take()
        let target = try #require(actions.joins.last)
        #expect(target.bssid == stronger.bssid)
        #expect(target.frequencies == [Frequency(megahertz: 2437)])
        let decision = try #require(actions.decisions.last { $0.kind == .join })
        #expect(decision.from == decision.to && decision.cause == .critical)
        #expect(decision.fromBSSID == Bench.accessPoint(of: Bench.home.id).bssid && decision.toBSSID == stronger.bssid)
    }

    /// It announced the channel, and the kernel followed.
    @Test func theAccessPointGoesToAnotherChannel() throws {
        var bench = Bench.online([Bench.home])
        let place = try #require(bench.policy.phase.accessPoint)
        let after = AccessPoint(bssid: place.bssid, frequency: Frequency(megahertz: 5180))
        bench.send(.associated(epoch: bench.policy.epoch, after))
        #expect(bench.isOnline && bench.policy.phase.accessPoint == after)
        let actions = bench.take()
        #expect(actions.joins.isEmpty && actions.decisions.isEmpty)
        #expect(actions.contains { if case .watchSignal = $0 { true } else { false } }, "5 GHz has other thresholds")
        #expect(bench.policy.frequency(of: place.bssid) == after.frequency)
        // It is looked for there when it is lost.
        bench.send(.linkLost(.other))
        #expect(bench.policy.scan?.order.frequencies.first == Frequency(megahertz: 5180))
    }

    /// The driver or wpa_supplicant has moved.
    @Test func theLinkMovesByItself() throws {
        var bench = Bench.online([Bench.home])
        bench.measure(-85, for: .seconds(4))
        let other = bench.observation(Bench.home, -40, channel: 2437, radio: 1)
        bench.send(.associated(epoch: bench.policy.epoch, AccessPoint(bssid: other.bssid, frequency: other.frequency)))
        #expect(bench.isOnline && bench.policy.phase.accessPoint?.bssid == other.bssid)
        _ = bench.take()
        // What was weak was the other one.
        bench.measure(-40, for: .seconds(20))
        #expect(bench.take().joins.isEmpty)
        // Without a channel it is where it was.
        bench.send(.associated(epoch: bench.policy.epoch, AccessPoint(bssid: other.bssid, frequency: nil)))
        #expect(bench.policy.phase.accessPoint?.frequency == other.frequency)
        // An older link says nothing of this one.
        let stale = Bench.accessPoint(of: Bench.home.id)
        bench.send(.associated(epoch: bench.policy.epoch - 1, stale))
        #expect(bench.policy.phase.accessPoint?.bssid == other.bssid)
    }

    /// It says that it will end the link: another one of the network is looked for and taken, as long as it is usable.
    // covers: rule/transition-imminent
    @Test func anAccessPointAsksTheDeviceToLeave() throws {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.advance(by: .seconds(100))
        let other = bench.observation(Bench.home, -70, channel: 2437, radio: 1)
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -50), other]))
        _ = bench.take()
        bench.advance(by: .seconds(1))
        bench.send(.disassociationImminent(within: .seconds(2)))
        #expect(bench.policy.scan != nil, "what was seen before is not gone by")
        bench.finishScan([
            bench.observation(Bench.home, -50), bench.observation(Bench.home, -70, channel: 2437, radio: 1),
            bench.observation(Bench.backup, -40),
        ])
        #expect(bench.targetBSSID == other.bssid, "not to another network, however strong")
        #expect(bench.take().decisions.last { $0.kind == .join }?.cause == .steered)
    }

    // covers: rule/transition-imminent
    @Test func itStaysWhereNothingElseIsUsable() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.advance(by: .seconds(100))
        bench.send(.disassociationImminent(within: .seconds(5)))
        for _ in 0..<12 {
            if bench.policy.scan != nil {
                bench.finishScan([
                    bench.observation(Bench.home, -50), bench.observation(Bench.home, -95, channel: 2437, radio: 1),
                    bench.observation(Bench.backup, -40),
                ])
            }
            bench.advance(by: .milliseconds(500))
        }
        #expect(bench.isOnline && bench.take().joins.isEmpty)
        // The notice is of a time that is over.
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -60, channel: 2437, radio: 1)]))
        #expect(bench.take().joins.isEmpty)
    }

    /// Any sender may say so in an access point's name: the limit of departures is that of all.
    @Test func requestsWithoutEndAreNotFollowedWithoutEnd() {
        var bench = Bench.online([Bench.home])
        bench.advance(by: .seconds(100))
        var moves = 0
        for round in 0..<40 {
            bench.send(.disassociationImminent(within: .seconds(60)))
            if bench.policy.scan != nil {
                bench.finishScan((0..<3).map { bench.observation(Bench.home, -50, radio: UInt8($0)) })
            }
            if bench.policy.attempt != nil {
                moves += 1
                bench.joinSucceeds()
            }
            bench.advance(by: .milliseconds(500 + round))
        }
        #expect((1...PolicySettings().switchLimit).contains(moves))
    }

    /// The mean of the last eight seconds is four seconds behind a device that moves.
    // covers: rule/weak-level
    @Test(arguments: [-1, 1]) func aSignalThatMovesCountsWithTheEndOfItsLine(slope: Int) {
        var monitor = LinkMonitor()
        let start = Bench().now
        let settings = PolicySettings()
        for second in 0..<8 {
            monitor.add(
                -65 + slope * second, at: start + .seconds(second), thresholds: settings.twoPointFour, recovery: 2)
        }
        #expect(monitor.level == -65 + slope * 7)
    }

    // covers: rule/weak-level
    @Test func aSignalThatWaversCountsWithItsMean() {
        var monitor = LinkMonitor()
        let start = Bench().now
        let settings = PolicySettings()
        for (second, signal) in [-65, -71, -65, -71, -65, -71, -65, -71].enumerated() {
            monitor.add(signal, at: start + .seconds(second), thresholds: settings.twoPointFour, recovery: 2)
        }
        #expect(monitor.level == -68)
    }

    /// A device on its rounds: each access point is left for the next one when that is much stronger.
    private static func rounds(_ count: Int, every interval: Duration) -> Int {
        var bench = Bench.online([Bench.home])
        var moves = 0
        for round in 1...count {
            bench.advance(by: interval - .seconds(12))
            bench.measure(-85, for: .seconds(12))
            let next = bench.observation(Bench.home, -40, radio: UInt8(round))
            bench.send(.scanned(id: nil, [next]))
            guard bench.policy.attempt != nil else { continue }
            moves += 1
            bench.joinSucceeds()
        }
        return moves
    }

    /// A roam keeps address and connections: it has a limit of its own.
    @Test func moreRoamsThanSwitchesAreAllowed() {
        let settings = PolicySettings()
        #expect(Self.rounds(10, every: .seconds(23)) == 10, "the \(settings.switchLimit) are of switches")
    }

    // covers: rule/limit-moves
    @Test func roamsWithoutEndAreNotMade() {
        let settings = PolicySettings()
        #expect(Self.rounds(18, every: .seconds(13)) == settings.roamLimit)
    }

    /// Each has a count of its own.
    // covers: rule/limit-moves
    @Test func roamsDoNotUseUpTheSwitches() {
        var limits = MoveLimits()
        let settings = PolicySettings()
        let bench = Bench()
        func departs(_ count: Int, isRoam: Bool) {
            for _ in 0..<count {
                limits.departs(isRoam: isRoam, at: bench.now, settings: settings)
            }
        }
        departs(settings.roamLimit, isRoam: true)
        #expect(!limits.allow(roam: true, toClearlyGood: true, at: bench.now, settings: settings))
        #expect(limits.allow(roam: false, toClearlyGood: true, at: bench.now, settings: settings))
        departs(settings.switchLimit, isRoam: false)
        #expect(!limits.allow(roam: false, toClearlyGood: true, at: bench.now, settings: settings))
        let later = bench.now + settings.switchLimitWindow + .milliseconds(1)
        #expect(limits.allow(roam: true, toClearlyGood: true, at: later, settings: settings))
        #expect(limits.allow(roam: false, toClearlyGood: true, at: later, settings: settings))
    }

    @Test func doesNotRoamToTheAccessPointItIsOn() {
        var bench = Bench.online([Bench.home])
        bench.measure(-85, for: .seconds(12))
        // The scan heard the same access point better than the link does.
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -50)]))
        #expect(bench.isOnline)
        #expect(bench.take().joins.isEmpty)
    }

    // covers: rule/bssid-best, rule/unverified-no-key
    @Test func theBestAccessPointOfANetworkIsJoined() {
        var bench = Bench([Bench.home])
        bench.start()
        bench.finishScan([
            bench.observation(Bench.home, -70, radio: 0), bench.observation(Bench.home, -45, radio: 1),
            bench.observation(Bench.home, -60, radio: 2),
        ])
        #expect(bench.targetBSSID == bench.observation(Bench.home, 0, radio: 1).bssid)
    }

    /// -66 dBm is 4 dB above weak on 2.4 GHz, -69 dBm is 7 dB above it on 5 GHz.
    // covers: rule/rank-headroom
    @Test(arguments: [(-69, 36), (-73, 1)])
    func bandsAreWeighed(signalOnFive: Int, channel: Int) {
        var bench = Bench([Bench.home])
        bench.start()
        bench.finishScan([
            bench.observation(Bench.home, -66, channel: 2412, radio: 0),
            bench.observation(Bench.home, signalOnFive, channel: 5180, radio: 1),
        ])
        #expect(bench.take().joins.last?.frequencies.first?.channel == channel)
    }

    // covers: rule/candidate-margin
    @Test func theMarginCountsAcrossBands() {
        var bench = Bench.online([Bench.home])
        bench.measure(-72, for: .seconds(65))
        // 2 dB below weak; -71 on 5 GHz is 5 above: 7 dB better, and 8 are wanted.
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -71, channel: 5180, radio: 1)]))
        #expect(bench.isOnline)
        bench.measure(-72, for: .seconds(31))
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -70, channel: 5180, radio: 1)]))
        bench.measure(-72, for: .seconds(12))
        while bench.policy.scan != nil {
            bench.finishScan([bench.observation(Bench.home, -70, channel: 5180, radio: 1)])
        }
        #expect(bench.take().joins.last?.frequencies == [Frequency(megahertz: 5180)])
    }

    // covers: rule/bssid-failure, seed/one-bad-access-point
    @Test func oneBadAccessPointIsNotHeldAgainstTheOthers() {
        var bench = Bench([Bench.home])
        bench.start()
        let observations = [bench.observation(Bench.home, -45, radio: 1), bench.observation(Bench.home, -60, radio: 2)]
        bench.finishScan(observations)
        #expect(bench.targetBSSID == observations[0].bssid)
        bench.joinFails(.accessPointFull)
        #expect(bench.targetBSSID == observations[1].bssid, "at once, without another scan")
        let actions = bench.take()
        #expect(!actions.decisions.contains { $0.kind == .blocked })
        bench.joinSucceeds()
        #expect(bench.isOnline)
    }

    @Test func theStrongerAccessPointIsTriedAgainWhenItsBlockIsOver() {
        var bench = Bench([Bench.home])
        bench.start()
        for radio in UInt8(1)...2 {
            bench.send(.verified(Bench.home.id, bench.observation(Bench.home, 0, radio: radio).bssid))
        }
        bench.finishScan([bench.observation(Bench.home, -45, radio: 1), bench.observation(Bench.home, -60, radio: 2)])
        bench.joinFails(.accessPointFull)
        bench.joinSucceeds()
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        bench.finishScan([bench.observation(Bench.home, -45, radio: 1), bench.observation(Bench.home, -60, radio: 2)])
        #expect(bench.targetBSSID == bench.observation(Bench.home, 0, radio: 2).bssid, "still blocked")
        bench.joinSucceeds()
        bench.advance(by: .seconds(31))
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        while bench.policy.scan != nil, bench.policy.attempt == nil {
            bench.finishScan([
                bench.observation(Bench.home, -45, radio: 1), bench.observation(Bench.home, -60, radio: 2),
            ])
        }
        #expect(bench.targetBSSID == bench.observation(Bench.home, 0, radio: 1).bssid)
    }

    @Test func aRoamThatFailsEndsOnline() {
        var bench = Bench.online([Bench.home])
        bench.measure(-85, for: .seconds(12))
        let observations = [bench.observation(Bench.home, -85), bench.observation(Bench.home, -50, radio: 1)]
        bench.send(.scanned(id: nil, observations))
        bench.joinFails(.timeout)
        #expect(bench.targetBSSID == observations[0].bssid, "back to the one that worked")
        bench.joinSucceeds()
        #expect(bench.isOnline)
    }

    @Test func aLinkOnAHeldNetworkStillRoamsInsideIt() {
        var bench = Bench.online()
        bench.send(.switchTo(Bench.backup.id, id: 1))
        bench.finishScan([bench.observation(Bench.backup, -60)])
        bench.joinSucceeds()
        bench.advance(by: .seconds(20))
        bench.measure(-85, for: .seconds(12))
        bench.send(
            .scanned(id: nil, [bench.observation(Bench.home, -40), bench.observation(Bench.backup, -55, radio: 1)]))
        #expect(bench.target == Bench.backup)
        #expect(bench.targetBSSID == bench.observation(Bench.backup, 0, radio: 1).bssid)
    }

    /// The way back from a failed switch, when home was not seen for long.
    // covers: rule/bssid-best
    @Test func ofANetworkThatWasNotJustSeenAnyAccessPointWillDo() throws {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(
            .scanned(
                id: nil,
                [
                    bench.observation(Bench.home, -60, channel: 5180, radio: 1), bench.observation(Bench.home, -50),
                    bench.observation(Bench.backup, -60),
                ]))
        bench.advance(by: .seconds(100))
        bench.send(.switchTo(Bench.backup.id, id: 1))
        bench.finishScan([bench.observation(Bench.backup, -60)])
        for _ in 1...2 {
            #expect(bench.target == Bench.backup)
            _ = bench.take()
            bench.joinFails(.wrongKey)
        }
        let target = try #require(bench.take().joins.last)
        #expect(target.network == Bench.home.id && target.bssid == nil)
        #expect(Set(target.frequencies) == Set([2412, 5180].map { Frequency(megahertz: $0) }))
    }

    /// Six access points, and one after the other refuses: three are to blame themselves, and then it is the network.
    // covers: rule/bssid-failure
    @Test func afterThreeAccessPointsTheNetworkIsToBlame() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        bench.finishScan(
            (1...6).map { bench.observation(Bench.home, -40 - $0, radio: UInt8($0)) } + [
                bench.observation(Bench.backup, -60)
            ])
        var refused: [BSSID?] = []
        while bench.target == Bench.home, refused.count < 10 {
            #expect(!bench.take().decisions.contains { $0.kind == .blocked })
            refused.append(bench.targetBSSID)
            bench.joinFails(.rejected)
        }
        #expect(refused == (1...4).map { bench.observation(Bench.home, 0, radio: UInt8($0)).bssid })
        #expect(bench.target == Bench.backup && bench.policy.isBlocked(Bench.home.id, at: bench.now))
    }
}
