import AgentModel
import Testing

@testable import Failover

/// A network that is joined beside the one in use before it is needed.
@Suite struct StandbyTests {
    private static func settings(validates: Bool = false) -> PolicySettings {
        var settings = PolicySettings()
        settings.keepsStandby = true
        settings.validation = validates ? PolicySettings.Validation() : nil
        return settings
    }

    /// Online at home, with a spare station, and the backup seen before.
    private func online(validates: Bool = false) -> Bench {
        var bench = Bench.online(settings: Self.settings(validates: validates))
        if validates { bench.probeEnds(.online) }
        // Seen too long ago to be joined without a scan.
        let seen = [Bench.home, Bench.backup, Bench.spare].map { bench.observation($0, -55, age: .seconds(20)) }
        bench.send(.scanned(id: nil, seen))
        bench.send(.spare(isReady: true))
        _ = bench.take()
        return bench
    }

    /// The scan for a standby shows the backup.
    private func sought(validates: Bool = false, signal: Int = -55) throws -> (Bench, LinkTarget) {
        var bench = online(validates: validates)
        bench.advance(by: .seconds(6))
        #expect(bench.take().scans.map(\.reason) == [.standby])
        bench.finishScan([bench.observation(Bench.backup, signal)])
        let actions = bench.take()
        #expect(actions.decisions.map(\.kind) == [.standby])
        #expect(actions.decisions.first?.to == Bench.backup.ssid)
        let target = try #require(actions.besides.first)
        return (bench, target)
    }

    private func standingBy(validates: Bool = false) throws -> (Bench, LinkTarget) {
        var (bench, target) = try sought(validates: validates)
        bench.send(.associated(epoch: target.epoch, Bench.accessPoint(of: target.network)))
        bench.send(.successorAddress(epoch: target.epoch, isReady: true))
        if validates { bench.send(.probed(epoch: target.epoch, .online)) }
        let actions = bench.take()
        #expect(actions.decisions == [] && !actions.contains(.useSuccessor(epoch: target.epoch)))
        #expect(bench.target == Bench.home && bench.isOnline && bench.policy.isStandingBy)
        return (bench, target)
    }

    // covers: rule/standby-begin
    @Test func aNetworkIsLookedForAndStandsBy() throws {
        var (bench, _) = try standingBy()
        // It costs nothing from then on.
        bench.advance(by: .seconds(3600))
        #expect(bench.take() == [])
        #expect(bench.policy.isStandingBy)
    }

    // covers: rule/standby-ready
    @Test func itIsFoundGoodOnceAndNotAskedAgain() throws {
        var (bench, target) = try standingBy(validates: true)
        for _ in 0..<600 {
            bench.advance(by: .seconds(1))
            bench.send(.probed(epoch: bench.policy.linkEpoch, .online))
        }
        #expect(bench.policy.isStandingBy)
        let probes = bench.take().filter { if case .probe(target.epoch, _) = $0 { true } else { false } }
        #expect(probes == [])
    }

    // covers: rule/standby-loss
    @Test(arguments: [false, true]) func aLossTakesNoScanAndNoJoin(validates: Bool) throws {
        var (bench, target) = try standingBy(validates: validates)
        bench.send(.linkLost(.silence))
        let actions = bench.take()
        #expect(actions.contains(.useSuccessor(epoch: target.epoch)))
        #expect(actions.scans == [] && actions.joins == [] && actions.besides == [])
        #expect(actions.decisions.map(\.kind) == [.lost, .online])
        #expect(actions.decisions.last?.cause == .linkLost)
        #expect(bench.target == Bench.backup && bench.isOnline && !bench.policy.isStandingBy)
        #expect(bench.policy.linkEpoch == target.epoch)
        // Where it leads is asked now.
        if validates { #expect(actions.probes == 1) }
    }

    @Test func afterALossAnotherOneIsLookedFor() throws {
        var (bench, _) = try standingBy()
        bench.send(.linkLost(.silence))
        _ = bench.take()
        // Whatever it scans for, home is seen, which stands by until the device returns to it.
        bench.advance(by: .seconds(6))
        bench.finishScan([bench.observation(Bench.home, -60)])
        bench.advance(by: .seconds(6))
        #expect(bench.take().besides.map(\.network) == [Bench.home.id])
    }

    // covers: rule/standby-weak
    @Test func aWeakLinkIsLeftForItWithoutAJoin() throws {
        var (bench, target) = try standingBy(validates: true)
        bench.measure(-85, for: .seconds(2), every: .seconds(1))
        if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -45)]) }
        let actions = bench.take()
        #expect(actions.besides == [] && actions.joins == [])
        #expect(actions.contains { if case .probe(target.epoch, _) = $0 { true } else { false } })
        bench.send(.probed(epoch: target.epoch, .online))
        #expect(bench.take().contains(.useSuccessor(epoch: target.epoch)))
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/standby-critical
    @Test func aNetworkThatLeadsNowhereIsLeftForItAtOnce() throws {
        var (bench, target) = try standingBy(validates: true)
        bench.send(.doubted(epoch: bench.policy.linkEpoch))
        for _ in 0..<3 {
            bench.send(.probed(epoch: bench.policy.linkEpoch, .failed))
            bench.advance(by: .seconds(3))
        }
        bench.send(.probed(epoch: target.epoch, .online))
        #expect(bench.take().contains(.useSuccessor(epoch: target.epoch)))
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/standby-weak
    @Test(arguments: [nil, Duration.seconds(60)]) func aCommandUsesIt(confirmWithin: Duration?) throws {
        var (bench, target) = try standingBy(validates: true)
        bench.send(.switchTo(Bench.backup.id, id: 7, confirmWithin: confirmWithin))
        #expect(bench.take().progress == [.accepted, .joining, .waitingForAddress, .validating])
        bench.send(.probed(epoch: target.epoch, .online))
        if confirmWithin != nil {
            #expect(bench.take().progress == [.waitingForConfirmation])
            bench.send(.confirmed(id: 7))
        }
        let actions = bench.take()
        #expect(actions.outcomes == [.committed] && actions.contains(.useSuccessor(epoch: target.epoch)))
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/standby-begin, rule/standby-replaced
    @Test func aCommandToAnotherNetworkTakesItsPlace() throws {
        var (bench, target) = try standingBy()
        bench.send(.switchTo(Bench.spare.id, id: 7, confirmWithin: nil))
        #expect(bench.take().contains(.leaveSuccessor(epoch: target.epoch)))
        bench.finishScan([bench.observation(Bench.spare, -45)])
        let next = try #require(bench.take().besides.first)
        bench.send(.associated(epoch: next.epoch, Bench.accessPoint(of: next.network)))
        bench.send(.successorAddress(epoch: next.epoch, isReady: true))
        #expect(bench.take().outcomes == [.committed])
        #expect(bench.target == Bench.spare)
        // The link that was left has its time before its station is used for another.
        bench.advance(by: .seconds(30))
        #expect(!bench.take().scans.contains { $0.reason == .standby })
        bench.advance(by: .seconds(6))
        #expect(bench.take().scans.contains { $0.reason == .standby })
    }

    // covers: rule/standby-lost
    @Test func oneThatIsLostIsLookedForAgainLessAndLessOften() throws {
        var (bench, target) = try standingBy()
        bench.send(.successorLost(epoch: target.epoch))
        #expect(bench.take() == [.leaveSuccessor(epoch: target.epoch)])
        #expect(bench.isOnline && !bench.policy.isStandingBy)
        bench.advance(by: .seconds(9))
        #expect(bench.take().scans == [])
        bench.advance(by: .seconds(2))
        #expect(bench.take().scans.map(\.reason) == [.standby])
        // Nothing is there.
        bench.finishScan([])
        bench.advance(by: .seconds(19))
        #expect(bench.take().scans == [])
        bench.advance(by: .seconds(2))
        #expect(bench.take().scans.map(\.reason) == [.standby])
    }

    // covers: rule/standby-lost
    @Test func oneThatCannotBeJoinedLeavesTheLinkAlone() throws {
        var (bench, target) = try sought()
        bench.send(.joinFailed(epoch: target.epoch, .rejected))
        let actions = bench.take()
        #expect(actions.contains(.leaveSuccessor(epoch: target.epoch)) && actions.joins == [] && !actions.isLeaving)
        #expect(bench.target == Bench.home && bench.isOnline)
    }

    @Test func theLinkLostWhileItIsJoinedMakesItAnOrdinaryJoin() throws {
        var (bench, target) = try sought(validates: true)
        bench.send(.linkLost(.other))
        #expect(bench.take().contains(.useSuccessor(epoch: target.epoch)))
        bench.send(.associated(epoch: target.epoch, Bench.accessPoint(of: target.network)))
        bench.send(.address(isReady: true))
        #expect(bench.take().decisions.last?.kind == .online)
        #expect(bench.target == Bench.backup && bench.isOnline)
    }

    // covers: rule/standby-loss
    @Test func anAddressThatIsAwayAtTheLossIsWaitedFor() throws {
        var (bench, target) = try standingBy()
        bench.send(.successorAddress(epoch: target.epoch, isReady: false))
        bench.send(.linkLost(.other))
        #expect(bench.take().contains(.useSuccessor(epoch: target.epoch)))
        #expect(!bench.isOnline)
        bench.send(.address(isReady: true))
        #expect(bench.isOnline && bench.target == Bench.backup)
    }

    // covers: rule/standby-lost
    @Test func anAddressThatStaysAwayEndsIt() throws {
        var (bench, target) = try standingBy()
        bench.send(.successorAddress(epoch: target.epoch, isReady: false))
        bench.advance(by: PolicySettings().addressLimit + .seconds(1))
        #expect(bench.take().contains(.leaveSuccessor(epoch: target.epoch)))
        #expect(bench.isOnline && !bench.policy.isStandingBy)
    }

    // covers: rule/standby-lost
    @Test func aSpareThatGoesAndComesBack() throws {
        var (bench, _) = try standingBy()
        bench.send(.spare(isReady: false))
        #expect(!bench.policy.isStandingBy && bench.isOnline)
        bench.advance(by: .seconds(600))
        #expect(!bench.take().scans.contains { $0.reason == .standby })
        bench.send(.spare(isReady: true))
        bench.advance(by: .seconds(6))
        #expect(bench.take().scans.contains { $0.reason == .standby })
    }

    // covers: rule/standby-other-uplink
    @Test func besideACableNothingStandsBy() throws {
        var (bench, target) = try standingBy()
        bench.send(.otherUplink(.wired))
        #expect(bench.take().contains(.leaveSuccessor(epoch: target.epoch)))
        bench.advance(by: .seconds(600))
        #expect(bench.take().besides == [])
    }

    /// What ends one access point of a network often ends the other.
    // covers: rule/standby-begin
    @Test func theSameNetworkIsNoStandby() throws {
        var bench = online()
        bench.advance(by: .seconds(6))
        _ = bench.take()
        bench.finishScan([bench.observation(Bench.home, -40, radio: 1), bench.observation(Bench.backup, -90)])
        #expect(bench.take().besides == [])
    }

    @Test func byItselfNothingStandsBy() throws {
        var bench = Bench.online()
        bench.send(.scanned(id: nil, [bench.observation(Bench.backup, -55)]))
        bench.send(.spare(isReady: true))
        _ = bench.take()
        bench.advance(by: .seconds(600))
        #expect(!bench.take().scans.contains { $0.reason == .standby })
    }
}
