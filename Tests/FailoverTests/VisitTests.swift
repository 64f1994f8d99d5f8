import AgentModel
import Testing

@testable import Failover

/// A switch with `joinOnce`: the device stays for as long as the link lasts, and belongs where it belonged before.
@Suite struct VisitTests {
    private static let kept = [Bench.home, Bench.backup]

    /// - Parameter isKept: whether the network that is visited is a stored one, here the backup, or one that only the
    ///   switch has brought, here the spare.
    private static func visiting(isKept: Bool) -> (Bench, KnownNetwork) {
        let goal = isKept ? Bench.backup : Bench.spare
        var bench = Bench.online(kept)
        bench.send(.networks(isKept ? kept : kept + [goal]))
        bench.send(.switchTo(goal.id, id: 1, joinOnce: true))
        bench.finishScan([bench.observation(goal, -60)])
        bench.joinSucceeds()
        bench.send(.networks(kept))
        #expect(bench.take().outcomes == [.committed])
        return (bench, goal)
    }

    /// Lets the device be with these networks in range, for so many minutes.
    private static func pass(_ minutes: Int, in bench: inout Bench, seeing observations: [(KnownNetwork, Int)]) {
        for _ in 1...minutes {
            bench.advance(by: .seconds(60))
            let results = observations.map { bench.observation($0.0, $0.1) }
            if bench.policy.scan != nil { bench.finishScan(results) } else { bench.send(.scanned(id: nil, results)) }
            if bench.policy.attempt != nil { bench.joinSucceeds() }
        }
    }

    // covers: rule/command-visit, seed/join-once
    @Test(arguments: [false, true]) func lastsAsLongAsTheLink(isKept: Bool) {
        var (bench, goal) = Self.visiting(isKept: isKept)
        #expect(bench.policy.isOnEphemeralNetwork)
        Self.pass(24 * 60, in: &bench, seeing: [(Bench.home, -40), (goal, -60)])
        #expect(bench.policy.phase.network == goal.id && bench.isOnline)
        #expect(bench.take().joins.isEmpty)
    }

    // covers: rule/command-visit
    @Test(arguments: [false, true]) func isForgottenWhenTheLinkIsLost(isKept: Bool) {
        var (bench, goal) = Self.visiting(isKept: isKept)
        bench.send(.linkLost())
        #expect(!bench.policy.isOnEphemeralNetwork)
        bench.advance(by: .seconds(5))
        let observations = [(goal, -40), (Bench.home, -60)]
        if bench.policy.scan != nil { bench.finishScan(observations.map { bench.observation($0.0, $0.1) }) }
        if bench.policy.attempt != nil { bench.joinSucceeds() }
        Self.pass(24 * 60, in: &bench, seeing: observations)
        #expect(bench.target == Bench.home && bench.isOnline)
        let joins = bench.take().joins
        #expect(!joins.isEmpty && joins.allSatisfy { $0.network == Bench.home.id }, "\(joins)")
    }

    @Test func whereNothingElseIsInRangeTheSupplicantForgetsItToo() {
        var (bench, _) = Self.visiting(isKept: false)
        Self.pass(10, in: &bench, seeing: [(Bench.spare, -60)])
        _ = bench.take()
        bench.send(.linkLost())
        let actions = bench.take()
        #expect(actions.joins.isEmpty && actions.isLeaving)
        Self.pass(60, in: &bench, seeing: [(Bench.spare, -40)])
        #expect(bench.policy.phase.network == nil && bench.take().joins.isEmpty)
    }

    /// As with any commanded network, for ten minutes.
    @Test(arguments: [false, true]) func isNotLeftAtOnceForBeingWeak(isKept: Bool) {
        var (bench, goal) = Self.visiting(isKept: isKept)
        let end = bench.now + .seconds(590)
        while bench.now < end {
            bench.measure(-75, for: .seconds(10))
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(goal, -75), bench.observation(Bench.home, -40)])
            }
        }
        #expect(bench.policy.phase.network == goal.id && bench.policy.isOnEphemeralNetwork)
        for _ in 1...60 where bench.policy.isOnEphemeralNetwork {
            bench.measure(-75, for: .seconds(10))
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(goal, -75), bench.observation(Bench.home, -40)])
            }
        }
        #expect(bench.target == Bench.home && !bench.policy.isOnEphemeralNetwork)
    }

    @Test(arguments: [false, true]) func isForgottenWhenTheAddressIsLost(isKept: Bool) {
        var (bench, _) = Self.visiting(isKept: isKept)
        bench.send(.address(isReady: false))
        #expect(bench.policy.isOnEphemeralNetwork, "it may come back")
        bench.advance(by: .seconds(60))
        #expect(!bench.policy.isOnEphemeralNetwork)
    }

    @Test func ofAStoredNetworkItSurvivesRoaming() {
        var (bench, _) = Self.visiting(isKept: true)
        bench.advance(by: .seconds(20))
        bench.measure(-85, for: .seconds(60))
        while bench.policy.scan != nil {
            bench.finishScan([
                bench.observation(Bench.backup, -85), bench.observation(Bench.backup, -45, radio: 1),
                bench.observation(Bench.home, -40),
            ])
        }
        bench.joinSucceeds()
        #expect(bench.target == Bench.backup && bench.targetBSSID?.bytes.last == 1)
        #expect(bench.policy.isOnEphemeralNetwork)
    }

    @Test func isNotLeftForACommandThatFindsNothing() {
        var (bench, goal) = Self.visiting(isKept: false)
        bench.send(.switchTo(Bench.backup.id, id: 2))
        while bench.policy.scan != nil { bench.finishScan() }
        #expect(bench.take().outcomes == [.rolledBack(.notFound)])
        #expect(bench.policy.phase.network == goal.id && bench.policy.isOnEphemeralNetwork)
    }

    /// The network that was left is forgotten: there is no way back to it.
    @Test func endsWithACommandThatLeavesIt() {
        var (bench, _) = Self.visiting(isKept: false)
        bench.send(.switchTo(Bench.backup.id, id: 2))
        bench.finishScan([bench.observation(Bench.backup, -60)])
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.committed])
        #expect(!bench.policy.isOnEphemeralNetwork)
    }

    /// While the switch is under way the network it came from is one to join, stored or not.
    @Test func goesOnWhereTheCommandThatLeftItFails() {
        var (bench, goal) = Self.visiting(isKept: false)
        bench.send(.networks(Self.kept + [goal]))
        bench.send(.switchTo(Bench.backup.id, id: 2))
        bench.finishScan([bench.observation(Bench.backup, -60), bench.observation(goal, -60)])
        #expect(!bench.policy.isOnEphemeralNetwork)
        bench.joinFails(.rejected)
        #expect(bench.target == goal)
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.rejected)])
        bench.send(.networks(Self.kept))
        #expect(bench.policy.isOnEphemeralNetwork)
        Self.pass(60, in: &bench, seeing: [(Bench.home, -40), (goal, -60)])
        #expect(bench.policy.phase.network == goal.id && bench.isOnline)
    }

    @Test func oneThatIsNotConfirmedIsNone() {
        var bench = Bench.online(Self.kept)
        bench.send(.switchTo(Bench.backup.id, id: 1, confirmWithin: .seconds(10), joinOnce: true))
        bench.finishScan([bench.observation(Bench.backup, -60)])
        bench.joinSucceeds()
        bench.advance(by: .seconds(10))
        #expect(bench.target == Bench.home)
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.unconfirmed)])
        #expect(!bench.policy.isOnEphemeralNetwork)
    }

    @Test func becomesAChoiceByCommand() {
        var (bench, goal) = Self.visiting(isKept: false)
        bench.send(.networks(Self.kept + [goal]))
        bench.send(.switchTo(goal.id, id: 2))
        let actions = bench.take()
        #expect(actions.outcomes == [.committed] && actions.joins.isEmpty)
        #expect(!bench.policy.isOnEphemeralNetwork && bench.policy.preferred == goal.id)
    }

    @Test func leavesTheChoiceThatWasBefore() {
        var bench = Bench.online([Bench.home, Bench.backup, Bench.spare])
        bench.send(.switchTo(Bench.backup.id, id: 1))
        bench.finishScan([bench.observation(Bench.backup, -60)])
        bench.joinSucceeds()
        bench.advance(by: .seconds(1))
        bench.send(.switchTo(Bench.spare.id, id: 2, joinOnce: true))
        bench.finishScan([bench.observation(Bench.spare, -60)])
        bench.joinSucceeds()
        #expect(bench.policy.preferred == Bench.spare.id)
        bench.send(.linkLost())
        #expect(bench.policy.preferred == Bench.backup.id)
    }
}
