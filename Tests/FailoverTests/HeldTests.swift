import AgentModel
import Testing

@testable import Failover

/// A user is at the setup access point, which a join would take away.
@Suite struct HeldTests {
    // covers: rule/search-held
    @Test func nothingIsJoinedOrLookedForMeanwhile() {
        var bench = Bench()
        bench.start()
        bench.finishScan([])
        _ = bench.take()
        bench.send(.held(true))
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -50)]))
        bench.advance(by: .seconds(600))
        let actions = bench.take()
        #expect(actions.joins.isEmpty && actions.scans.isEmpty && bench.policy.nextWake == nil)
        // Afterwards at once.
        bench.send(.held(false))
        #expect(!bench.take().scans.isEmpty)
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == Bench.home)
    }

    // covers: rule/search-held
    @Test func whatIsCommandedIsDoneAllTheSame() {
        var bench = Bench()
        bench.start()
        bench.finishScan([])
        bench.send(.held(true))
        _ = bench.take()
        bench.send(.switchTo(Bench.backup.id, id: 1))
        while bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
        #expect(bench.target == Bench.backup)
        // A failure of it begins no search.
        for _ in 0..<4 {
            guard let epoch = bench.policy.phase.epoch else { break }
            bench.send(.joinFailed(epoch: epoch, .wrongKey))
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
        }
        _ = bench.take()
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -50)]))
        bench.advance(by: .seconds(60))
        #expect(bench.take().joins.isEmpty)
    }

    @Test func aLinkThatIsThereStays() {
        var bench = Bench.online()
        bench.send(.held(true))
        bench.advance(by: .seconds(60))
        #expect(bench.isOnline && bench.take().joins.isEmpty)
    }
}
