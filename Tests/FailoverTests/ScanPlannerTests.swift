import AgentModel
import Testing

@testable import Failover

/// When scans are due, and what they may cost.
@Suite struct ScanPlannerTests {
    private let settings = PolicySettings()
    private let start = Instant(milliseconds: 1_000_000)
    private let channel = Frequency(megahertz: 2412)

    private func scan(
        _ planner: inout ScanPlanner, _ frequencies: [Frequency] = [], for need: ScanPlanner.Need = .escape,
        hidden: [SSID] = [], share: Int? = nil, isSparing: Bool = false, then wait: Duration? = nil, at now: Instant
    ) -> ScanOrder? {
        planner.next(
            frequencies, for: need, as: .weak, hidden: hidden, share: share, isSparing: isSparing, then: wait, at: now,
            settings: settings)
    }

    @Test func aScanRunsUntilItEnds() throws {
        var planner = ScanPlanner()
        planner[.escape].due = start
        #expect(planner.isDue(.escape, at: start) && !planner.isDue(.escape, at: start - .milliseconds(1)))
        let order = try #require(scan(&planner, [channel], then: .seconds(5), at: start))
        #expect(planner.running?.deadline == start + settings.scanLimit && !planner.isFree)
        #expect(planner[.escape].due == start + .seconds(5))
        #expect(!planner.isDue(.escape, at: start + .seconds(5)), "one runs")
        #expect(planner.ended(order.id + 1, isComplete: true, isOnLink: true, at: start) == nil)
        #expect(planner.ended(order.id, isComplete: true, isOnLink: true, at: start)?.since == start)
        #expect(planner.isFree && planner.isDue(.escape, at: start + .seconds(5)))
    }

    @Test func scansAreCountedForEachNeed() throws {
        var planner = ScanPlanner()
        for (need, frequencies) in [(ScanPlanner.Need.escape, []), (.escape, [channel]), (.known, [channel])] {
            let order = try #require(scan(&planner, frequencies, for: need, at: start))
            _ = planner.ended(order.id, isComplete: false, isOnLink: true, at: start)
        }
        #expect(planner[.escape].count == 2 && planner[.escape].last == start && planner[.escape].lastFull == start)
        #expect(planner[.known].count == 1 && planner[.known].lastFull == nil)
        #expect(planner[.standby] == ScanPlanner.Entry())
    }

    @Test func aScanWithoutAirTimeIsDueWhenThereIsSome() throws {
        var planner = ScanPlanner()
        var now = start
        while let order = scan(&planner, share: 5, then: .zero, at: now) {
            now = now + .seconds(1)
            _ = planner.ended(order.id, isComplete: false, isOnLink: true, at: now)
        }
        let due = try #require(planner[.escape].due)
        #expect(due > now && planner.isFree)
        #expect(scan(&planner, share: 5, at: due - .seconds(1)) == nil)
        #expect(scan(&planner, share: 5, at: due) != nil, "and then it can be paid for")
    }

    @Test func aSparingScanLeavesHalfOfOneOfAllChannels() throws {
        var planner = ScanPlanner()
        var now = start
        while let order = scan(&planner, share: 5, isSparing: true, at: now) {
            now = now + .seconds(1)
            _ = planner.ended(order.id, isComplete: false, isOnLink: true, at: now)
        }
        #expect(scan(&planner, [channel], share: 5, at: now) != nil)
    }

    @Test func hiddenNamesTakeTurns() throws {
        var planner = ScanPlanner()
        let names = try ["a", "b", "c"].map { try SSID($0) }
        let orders = [1, 2, 3].map { _ in scan(&planner, hidden: names, at: start) }
        #expect(Set(orders.map { $0?.ssids.first }) == Set(names))
        #expect(orders.allSatisfy { $0?.ssids.count == 3 })
    }

    @Test func onlyACompleteScanEndsARunOfRefusedOnes() throws {
        for isComplete in [false, true] {
            var planner = ScanPlanner()
            planner.refused.refused(joinsUnseen: true, at: start)
            planner.refused.endPause()
            let order = try #require(scan(&planner, at: start))
            _ = planner.ended(order.id, isComplete: isComplete, isOnLink: true, at: start + .seconds(3))
            #expect(planner.refused.count == (isComplete ? 0 : 1))
            #expect(planner.surveyedAt == (isComplete ? start + .seconds(3) : nil))
        }
    }

    @Test func aNewListStartsOver() throws {
        var planner = ScanPlanner()
        let order = try #require(scan(&planner, for: .unseen, at: start))
        _ = planner.ended(order.id, isComplete: true, isOnLink: true, at: start)
        planner.startOver(at: start, unseen: start + .seconds(2))
        #expect(planner[.escape].due == nil, "a fine link is not scanned for")
        #expect(planner[.unseen] == ScanPlanner.Entry(due: start + .seconds(2)) && planner.surveyedAt == nil)
        planner[.escape] = ScanPlanner.Entry(due: start + .seconds(9), count: 4, lastFull: start)
        planner.startOver(at: start, unseen: start)
        #expect(planner[.escape] == ScanPlanner.Entry(due: start))
    }
}
