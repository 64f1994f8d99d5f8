import AgentModel
import Testing

@testable import Failover

/// Login pages where a provider signs in.
@Suite struct SigningInTests {
    private static func isUnusable(_ action: PolicyAction) -> Bool {
        if case .record(let decision) = action { decision.kind == .unusable } else { false }
    }

    /// Online where a login page was just found, and a provider takes it on.
    private static func signingIn(for time: Duration) -> Bench {
        var bench = UsefulnessTests.online()
        _ = bench.advance(upTo: .seconds(40)) { if case .probe = $0 { true } else { false } }
        bench.send(.signingIn(epoch: bench.policy.epoch, until: bench.now + time))
        _ = bench.take()
        return bench
    }

    // covers: rule/no-internet-sign-in
    @Test func aLoginPageIsNoVerdictDuringASignIn() {
        var bench = Self.signingIn(for: .seconds(20))
        bench.advance(by: .seconds(19))
        #expect(bench.take().probes == 0, "nothing is asked meanwhile")
        bench.probeEnds(.online)
        bench.advance(by: .seconds(29))
        #expect(!bench.take().contains(where: Self.isUnusable))
        #expect(bench.target == Bench.home)
    }

    // covers: rule/no-internet-sign-in
    @Test func aSignInThatTakesTooLongHasFailed() {
        var bench = Self.signingIn(for: .seconds(20))
        let start = bench.now
        let happens = bench.advance(upTo: .seconds(60), until: Self.isUnusable)
        #expect(happens)
        #expect(bench.now - start == .seconds(20))
        #expect(bench.take().decisions.last { $0.kind == .unusable }?.cause == .failure(.captive))
        bench.finishScan([bench.observation(Bench.home, -40), bench.observation(Bench.backup, -75)])
        #expect(bench.target == Bench.backup, "an open way out is better")
    }

    @Test(arguments: [Duration.seconds(1), .seconds(30)])
    func noSignInLastsForEver(pause: Duration) {
        var bench = Self.signingIn(for: .seconds(86_400))
        let start = bench.now
        while !bench.actions.contains(where: Self.isUnusable), bench.now - start < .seconds(600) {
            bench.advance(by: pause)
            bench.send(.signingIn(epoch: bench.policy.epoch, until: bench.now + .seconds(86_400)))
        }
        #expect(bench.now - start <= UsefulnessTests.settings.validation!.signInLimit + pause)
    }

    /// The provider goes on as long as it likes, and every probe finds the same page: it stays what it is.
    // covers: rule/no-internet-sign-in
    @Test func aLoginPageIsNeverTakenForDeadInternet() {
        var bench = Self.signingIn(for: .seconds(86_400))
        let start = bench.now
        var causes: [PolicyDecision.Cause] = []
        while bench.now - start < .seconds(400) {
            bench.advance(by: .seconds(1))
            let actions = bench.take()
            causes += actions.decisions.filter { $0.kind == .unusable }.map(\.cause)
            if actions.scans.last != nil { bench.finishScan([bench.observation(Bench.home, -40)]) }
            if actions.probes > 0 {
                bench.send(.signingIn(epoch: bench.policy.epoch, until: bench.now + .seconds(86_400)))
            }
        }
        #expect(causes == [.failure(.captive)])
        #expect(bench.target == Bench.home, "nothing else is there")
    }

    /// A provider that has declined reports a time that is over.
    @Test func aTimeThatIsOverIsTheVerdict() {
        var bench = UsefulnessTests.online()
        _ = bench.advance(upTo: .seconds(40)) { if case .probe = $0 { true } else { false } }
        bench.send(.signingIn(epoch: bench.policy.epoch, until: bench.now))
        #expect(bench.take().decisions.last { $0.kind == .unusable }?.cause == .failure(.captive))
    }

    // covers: rule/no-internet-sign-in
    @Test func aWordThatItFailedIsTheVerdict() {
        var bench = Self.signingIn(for: .seconds(20))
        bench.probeEnds(.captive)
        #expect(bench.take().contains(where: Self.isUnusable))
    }

    // MARK: A commanded switch

    /// On the way to the backup network, which has an address and a login page.
    private static func validating() -> Bench {
        var bench = UsefulnessTests.online()
        bench.advance(by: .seconds(1))
        bench.send(.switchTo(Bench.backup.id, id: 7))
        bench.finishScan([bench.observation(Bench.backup, -50)])
        bench.joinSucceeds()
        _ = bench.take()
        return bench
    }

    @Test func aCommandWaitsForTheSignIn() {
        var bench = Self.validating()
        bench.send(.signingIn(epoch: bench.policy.epoch, until: bench.now + .seconds(40)))
        bench.advance(by: .seconds(39))
        #expect(bench.take().outcomes.isEmpty)
        bench.probeEnds(.online)
        #expect(bench.take().outcomes == [.committed])
    }

    // covers: rule/command-validation
    @Test func aCommandDoesNotWaitForEver() {
        var bench = Self.validating()
        let start = bench.now
        while bench.now - start < .seconds(300), bench.target == Bench.backup {
            bench.send(.signingIn(epoch: bench.policy.epoch, until: bench.now + .seconds(300)))
            bench.advance(by: .seconds(1))
        }
        #expect(bench.now - start <= .seconds(12 + 60 + 1))
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.captive)])
        #expect(bench.target == Bench.home)
    }

    @Test func aCommandIsCommittedOnlyWhenTheNetworkLeadsThere() {
        var bench = Self.validating()
        for _ in 1...3 {
            #expect(bench.take().outcomes.isEmpty)
            bench.probeEnds(.failed)
            bench.advance(by: .seconds(1))
        }
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.noInternet)])
    }
}
