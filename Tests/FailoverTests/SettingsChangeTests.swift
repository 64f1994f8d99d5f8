import AgentModel
import Testing

@testable import Failover

/// Settings that change while the policy runs.
@Suite struct SettingsChangeTests {
    private func changed(_ change: (inout PolicySettings) -> Void) -> PolicySettings {
        var settings = PolicySettings()
        change(&settings)
        return settings
    }

    @Test func aLinkIsJudgedByTheNewThresholds() {
        var bench = Bench.online([Bench.home, Bench.backup])
        _ = bench.take()
        bench.send(.settings(changed { $0.twoPointFour = .init(weak: -60, critical: -65, minimumSignal: -65) }))
        #expect(bench.take().watches.last??.threshold == -60, "the kernel watches the new one")
        // A signal that the old settings would accept.
        bench.measure(-66, for: .seconds(15))
        if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -40)]) }
        #expect(bench.target == Bench.backup)
    }

    @Test func aLinkStaysWhileTheSettingsChange() {
        var bench = Bench.online([Bench.home, Bench.backup])
        _ = bench.take()
        bench.send(.settings(changed { $0.margin = 20 }))
        let actions = bench.take()
        #expect(bench.isOnline && actions.joins.isEmpty && !actions.isLeaving)
        #expect(bench.policy.settings.margin == 20)
    }

    @Test func whatChangesNothingDoesNothing() {
        var bench = Bench.online([Bench.home, Bench.backup])
        _ = bench.take()
        bench.send(.settings(bench.policy.settings))
        #expect(bench.take().isEmpty)
        // Contradictory ones are left alone as a whole.
        bench.send(
            .settings(
                changed {
                    $0.twoPointFour.weak = -90; $0.margin = 20
                }))
        #expect(bench.take().isEmpty && bench.policy.settings == PolicySettings())
    }

    @Test func whetherLinksAreProbedStays() {
        var bench = Bench.online([Bench.home])
        bench.send(
            .settings(
                changed {
                    $0.validation = .init(); $0.margin = 9
                }))
        #expect(bench.policy.settings.validation == nil && bench.policy.settings.margin == 9)
    }

    /// A smaller budget for scans counts at once.
    @Test func theBudgetFollows() {
        let settings = changed { $0.scanReserve = .seconds(6) }
        let now = Instant(milliseconds: 0)
        var budget = ScanBudget()
        #expect(budget.spend(on: [Frequency(megahertz: 2412)], share: 5, at: now, settings: PolicySettings()) == nil)
        #expect(budget.spend(on: [], share: 5, at: now, settings: settings) == nil)
        #expect(budget.spend(on: [], share: 5, at: now, settings: settings) == .seconds(1200))
    }
}
