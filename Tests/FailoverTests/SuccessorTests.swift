import AgentModel
import Testing

@testable import Failover

/// Make before break: with a spare station a living link is left when the next one is there and verified.
@Suite struct SuccessorTests {
    /// Online at home, with a spare station.
    private func online(_ settings: PolicySettings = PolicySettings(), signal: Int = -50) -> Bench {
        var bench = Bench.online(signal: signal, settings: settings)
        if settings.validation != nil { bench.probeEnds(.online) }
        bench.send(.spare(isReady: true))
        _ = bench.take()
        return bench
    }

    private static var validating: PolicySettings {
        var settings = PolicySettings()
        settings.validation = PolicySettings.Validation()
        return settings
    }

    /// Critical until the device has found the backup.
    private func weak(_ settings: PolicySettings = PolicySettings()) throws -> (Bench, LinkTarget) {
        var bench = online(settings)
        bench.measure(-85, for: .seconds(12), every: .seconds(1))
        if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -45)]) }
        let target = try #require(bench.take().besides.first)
        return (bench, target)
    }

    private func commanded(confirmWithin: Duration? = nil, _ settings: PolicySettings = PolicySettings()) throws -> (
        Bench, LinkTarget
    ) {
        var bench = online(settings)
        bench.send(.switchTo(Bench.backup.id, id: 7, confirmWithin: confirmWithin))
        bench.finishScan([bench.observation(Bench.backup, -45)])
        let target = try #require(bench.take().besides.first)
        return (bench, target)
    }

    private func succeeds(_ target: LinkTarget, _ bench: inout Bench) {
        associates(target, &bench)
        bench.send(.successorAddress(epoch: target.epoch, isReady: true))
    }

    private func associates(_ target: LinkTarget, _ bench: inout Bench) {
        bench.send(.associated(epoch: target.epoch, Bench.accessPoint(of: target.network)))
    }

    // covers: rule/move-decided
    @Test func aWeakLinkIsKeptUntilTheNextOneIsThere() throws {
        var (bench, target) = try weak()
        #expect(target.network == Bench.backup.id)
        #expect(bench.target == Bench.home)
        #expect(bench.isOnline)
        associates(target, &bench)
        #expect(bench.take() == [])
        #expect(bench.target == Bench.home)
        bench.send(.successorAddress(epoch: target.epoch, isReady: true))
        let actions = bench.take()
        #expect(actions.contains(.useSuccessor(epoch: target.epoch)))
        #expect(!actions.isLeaving)
        #expect(actions.decisions.map(\.kind) == [.online])
        // The signal of the new link is watched, and from then on.
        let use = try #require(actions.firstIndex(of: .useSuccessor(epoch: target.epoch)))
        #expect(actions[use...].contains { if case .watchSignal(.some) = $0 { true } else { false } })
        #expect(bench.target == Bench.backup)
        #expect(bench.policy.successor == nil)
        #expect(bench.policy.linkEpoch == target.epoch)
    }

    // covers: rule/move-probe
    @Test func whatALinkIsLeftForIsVerifiedBefore() throws {
        var (bench, target) = try weak(Self.validating)
        succeeds(target, &bench)
        #expect(bench.take().contains { $0 == .probe(epoch: target.epoch, within: .seconds(3)) })
        #expect(bench.target == Bench.home)
        bench.send(.probed(epoch: target.epoch, .online))
        #expect(bench.take().contains(.useSuccessor(epoch: target.epoch)))
        #expect(bench.target == Bench.backup)
    }

    @Test func aNetworkThatLeadsNowhereIsNotMovedTo() throws {
        var (bench, target) = try weak(Self.validating)
        succeeds(target, &bench)
        for _ in 0..<3 {
            bench.send(.probed(epoch: target.epoch, .failed))
            bench.advance(by: .seconds(1))
        }
        let actions = bench.take()
        #expect(actions.contains(.leaveSuccessor(epoch: target.epoch)))
        #expect(!actions.isLeaving && actions.joins.isEmpty)
        #expect(bench.target == Bench.home)
        #expect(bench.policy.lastFailure(of: Bench.backup.id) == .noInternet)
    }

    /// A report about one link says nothing of the other.
    @Test func eachLinkHasItsOwnProof() throws {
        var (bench, target) = try weak(Self.validating)
        succeeds(target, &bench)
        let home = bench.policy.linkEpoch
        bench.send(.probed(epoch: home, .online))
        #expect(bench.target == Bench.home)
        bench.send(.doubted(epoch: home))
        #expect(bench.take().contains { if case .probe(home, _) = $0 { true } else { false } })
        bench.send(.probed(epoch: target.epoch, .online))
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/move-failure
    @Test(arguments: [JoinFailure.wrongKey, .timeout, .notFound, .accessPointFull, .rejected])
    func aFailureLeavesTheDeviceWhereItWas(_ failure: JoinFailure) throws {
        var (bench, target) = try weak()
        bench.send(.joinFailed(epoch: target.epoch, failure))
        let actions = bench.take()
        #expect(actions.contains(.leaveSuccessor(epoch: target.epoch)))
        #expect(!actions.isLeaving && actions.joins.isEmpty)
        #expect(bench.isOnline && bench.target == Bench.home)
        #expect(bench.policy.successor == nil)
    }

    @Test func anAddressThatDoesNotComeLeavesTheDeviceWhereItWas() throws {
        var (bench, target) = try weak()
        associates(target, &bench)
        bench.advance(by: .seconds(16))
        #expect(bench.take().contains(.leaveSuccessor(epoch: target.epoch)))
        #expect(bench.isOnline && bench.target == Bench.home)
        #expect(bench.policy.lastFailure(of: Bench.backup.id) == .noAddress)
    }

    // covers: rule/move-old-lost
    @Test func theOldLinkLostInTheMiddleMakesItAnOrdinaryJoin() throws {
        var (bench, target) = try weak()
        bench.send(.linkLost())
        let actions = bench.take()
        #expect(actions.contains(.useSuccessor(epoch: target.epoch)))
        #expect(actions.joins.isEmpty && actions.scans.isEmpty)
        #expect(bench.target == Bench.backup && !bench.isOnline)
        // From here on it is the link in use that is spoken of.
        bench.joinSucceeds()
        #expect(bench.isOnline && bench.target == Bench.backup)
    }

    @Test func aLinkThatHasAnAddressIsUsedWithoutProofWhenTheOldOneIsLost() throws {
        var (bench, target) = try weak(Self.validating)
        succeeds(target, &bench)
        bench.send(.linkLost())
        #expect(bench.isOnline && bench.target == Bench.backup)
        #expect(bench.take().contains(.useSuccessor(epoch: target.epoch)))
    }

    @Test func theInterfaceOfTheOldLinkGoesAndTheOtherGoesOn() throws {
        var (bench, target) = try weak()
        bench.send(.interface(isUp: false))
        #expect(bench.take().contains(.useSuccessor(epoch: target.epoch)))
        bench.send(.interface(isUp: true))
        bench.joinSucceeds()
        #expect(bench.isOnline && bench.target == Bench.backup)
    }

    @Test func theNewLinkLostBeforeItIsUsedIsAFailure() throws {
        var (bench, target) = try weak()
        associates(target, &bench)
        bench.send(.successorLost(epoch: target.epoch))
        #expect(bench.take().contains(.leaveSuccessor(epoch: target.epoch)))
        #expect(bench.isOnline && bench.target == Bench.home)
    }

    @Test func theSpareStationGoesAndTheNetworkIsNotToBlame() throws {
        var (bench, target) = try commanded()
        bench.send(.spare(isReady: false))
        #expect(bench.take().outcomes == [.rolledBack(.supplicantUnavailable)])
        #expect(bench.isOnline && bench.target == Bench.home)
        #expect(bench.policy.successor == nil)
        #expect(bench.policy.lastFailure(of: target.network) == nil)

        // A link that is about to break is left as it was before there were spare stations.
        (bench, target) = try weak()
        bench.send(.spare(isReady: false))
        #expect(bench.take().joins.map(\.network) == [Bench.backup.id])
    }

    @Test func anAnswerToAnEarlierJoinIsDropped() throws {
        var (bench, target) = try weak()
        bench.send(.associated(epoch: target.epoch - 1, Bench.accessPoint(of: target.network)))
        bench.send(.successorAddress(epoch: target.epoch - 1, isReady: true))
        bench.send(.successorLost(epoch: target.epoch + 1))
        #expect(bench.policy.successor?.epoch == target.epoch)
        #expect(bench.target == Bench.home)
    }

    // covers: rule/move-same-network
    @Test func anotherAccessPointOfTheSameNetworkIsJoinedByTheStationInUse() {
        var bench = online()
        bench.measure(-85, for: .seconds(12), every: .seconds(1))
        bench.finishScan([bench.observation(Bench.home, -45, radio: 1)])
        let actions = bench.take()
        #expect(actions.besides.isEmpty)
        #expect(actions.joins.map(\.network) == [Bench.home.id])
    }

    @Test func withoutASpareStationItIsAsEver() {
        var bench = Bench.online()
        bench.measure(-85, for: .seconds(12), every: .seconds(1))
        bench.finishScan([bench.observation(Bench.backup, -45)])
        let actions = bench.take()
        #expect(actions.besides.isEmpty)
        #expect(actions.joins.map(\.network) == [Bench.backup.id])
    }

    // MARK: Commands

    @Test func aCommandMovesWhenTheNewLinkIsThere() throws {
        var (bench, target) = try commanded()
        #expect(bench.target == Bench.home && bench.isOnline)
        succeeds(target, &bench)
        let actions = bench.take()
        #expect(actions.contains(.useSuccessor(epoch: target.epoch)))
        #expect(actions.outcomes == [.committed])
        #expect(bench.target == Bench.backup)
    }

    @Test func aCommandThatFailsNeverLeftAndIsRolledBack() throws {
        var (bench, target) = try commanded()
        bench.send(.joinFailed(epoch: target.epoch, .wrongKey))
        let second = try #require(bench.take().besides.first)
        bench.send(.joinFailed(epoch: second.epoch, .wrongKey))
        let actions = bench.take()
        #expect(actions.outcomes == [.rolledBack(.wrongKey)])
        #expect(actions.joins.isEmpty && !actions.isLeaving)
        #expect(bench.isOnline && bench.target == Bench.home)
    }

    @Test func theOldLinkStaysInUseUntilTheAppHasConfirmed() throws {
        var (bench, target) = try commanded(confirmWithin: .seconds(30))
        succeeds(target, &bench)
        #expect(bench.take().progress.last == .waitingForConfirmation)
        #expect(bench.target == Bench.home && bench.isOnline)
        bench.send(.confirmed(id: 7))
        #expect(bench.take().outcomes == [.committed])
        #expect(bench.target == Bench.backup)
    }

    @Test func withoutConfirmationItWasNeverLeft() throws {
        var (bench, target) = try commanded(confirmWithin: .seconds(30))
        succeeds(target, &bench)
        bench.advance(by: .seconds(31))
        let actions = bench.take()
        #expect(actions.outcomes == [.rolledBack(.unconfirmed)])
        #expect(actions.contains(.leaveSuccessor(epoch: target.epoch)) && actions.joins.isEmpty)
        #expect(bench.isOnline && bench.target == Bench.home)
    }

    @Test func theOldLinkLostInTheMiddleOfACommandThatFailsIsReturnedTo() throws {
        var (bench, target) = try commanded()
        bench.send(.linkLost())
        #expect(bench.take().contains(.useSuccessor(epoch: target.epoch)))
        associates(target, &bench)
        bench.advance(by: .seconds(16))
        #expect(bench.take().joins.map(\.network) == [Bench.home.id])
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.noAddress)])
    }

    @Test func aCommandTakesOverWhatIsBeingJoinedBeside() throws {
        var (bench, target) = try weak()
        bench.send(.switchTo(Bench.backup.id, id: 8))
        #expect(bench.take().progress == [.accepted, .joining])
        succeeds(target, &bench)
        #expect(bench.take().outcomes == [.committed])
    }

    @Test func aCommandReplacesWhatIsBeingJoinedBeside() throws {
        var (bench, target) = try weak()
        bench.send(.switchTo(Bench.spare.id, id: 8))
        let actions = bench.take()
        #expect(actions.contains(.leaveSuccessor(epoch: target.epoch)))
        bench.finishScan([bench.observation(Bench.spare, -45)])
        #expect(bench.take().besides.map(\.network) == [Bench.spare.id])
    }

    /// A provider may sign in over the link in use only.
    @Test func aCommandToANetworkWithALoginPageIsVerifiedInUse() throws {
        var (bench, target) = try commanded(Self.validating)
        succeeds(target, &bench)
        bench.send(.probed(epoch: target.epoch, .captive))
        #expect(bench.take().contains(.useSuccessor(epoch: target.epoch)))
        bench.send(.signingIn(epoch: target.epoch, until: bench.now + .seconds(20)))
        bench.send(.probed(epoch: target.epoch, .online))
        #expect(bench.take().outcomes == [.committed])
        #expect(bench.isOnline && bench.target == Bench.backup)
    }

    /// The login page shows when the time to prove the network is over: there is none left to sign in.
    @Test func aLoginPageThatComesTooLateLeavesTheDeviceWhereItWas() throws {
        var (bench, target) = try commanded(Self.validating)
        succeeds(target, &bench)
        _ = bench.take()
        bench.jump(by: .seconds(13))
        bench.send(.probed(epoch: target.epoch, .captive))
        let actions = bench.take()
        #expect(!actions.contains(.useSuccessor(epoch: target.epoch)))
        #expect(actions.contains(.leaveSuccessor(epoch: target.epoch)))
        #expect(bench.isOnline && bench.target == Bench.home)
        #expect(actions.outcomes == [.rolledBack(.captive)])
    }
}

extension [PolicyAction] {
    var besides: [LinkTarget] {
        compactMap { if case .joinBeside(let target) = $0 { target } else { nil } }
    }
}
