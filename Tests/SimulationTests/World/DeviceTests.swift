import AgentModel
import Failover
import Testing

@testable import Simulation

/// The answers to a policy's orders, and their time.
@Suite struct DeviceTests {
    private func ends(_ log: Scripted.Log) -> [Int64] {
        log.moments { if case .scanned = $0 { true } else { false } }
    }

    @Test func aScanTakesItsTimeByChannels() {
        let (log, result) = Scripted.run(
            Sketch.house(seconds: 60), [(1000, .scan()), (10_000, .scan([2412, 2437])), (20_000, .scan([2412]))])
        #expect(ends(log) == [3080, 10_200, 20_120])
        #expect(result.scans == 3)
        #expect(result.scanTime == .milliseconds(2080 + 200 + 120))
        #expect(result.scanTimeOnLink == .zero)
    }

    @Test func aScanOnALivingLinkTakesThreeTimesAsLong() {
        let (log, result) = Scripted.run(
            Sketch.house(seconds: 60), [(0, .join(1)), (10_000, .scan()), (20_000, .scan([2412, 2437]))])
        // The first is wpa_supplicant's own, before it joined.
        let full: Int64 = 26 * 80 + 50 * 80 + 40
        let targeted: Int64 = 2 * 80 + 2 * 80 + 40
        #expect(ends(log) == [2080, 10_000 + full, 20_000 + targeted])
        #expect(result.scanTimeOnLink == .milliseconds(6120 + 360))
    }

    @Test func scansWaitForEachOtherAndCanBeCancelled() {
        let (log, _) = Scripted.run(
            Sketch.house(seconds: 60),
            [(0, .scan(id: 1)), (500, .scan([2412], id: 2)), (10_000, .scan(id: 3)), (10_100, .cancelScan)])
        #expect(ends(log) == [2080, 2200])
        #expect(log.moments { $0 == .scanFailed(id: 3) } == [10_120])
        let ids = log.heard.compactMap { if case .scanned(let id, _) = $0.event { id } else { nil } }
        #expect(ids == [1, 2])
    }

    @Test func nearlyEveryScanShowsANetwork() {
        let orders = (0..<2000).map { (Int64($0) * 200, PolicyAction.scan([2412], id: UInt64($0))) }
        func share(at signal: Int) -> Double {
            let (log, _) = Scripted.run(Sketch.house(seconds: 400, home: signal), orders)
            var seen = 0
            for case (let at, .scanned(_, let results)) in log.heard.map({ ($0.at, $0.event) })
            where results.contains(where: { $0.lastSeen.milliseconds == at }) { seen += 1 }
            return Double(seen) / 2000
        }
        #expect(abs(share(at: -50) - 0.97) < 0.02)
        #expect(abs(share(at: -84) - 0.485) < 0.04)
        #expect(share(at: -91) == 0)
    }

    @Test func theKernelRemembersForHalfAMinute() {
        let (log, _) = Scripted.run(
            Sketch.house(seconds: 60, [(5, .power(ap: "backup", isOn: false))]),
            [(0, .scan()), (20_000, .scan([2412])), (40_000, .scan([2412]))])
        let results = log.heard.compactMap { if case .scanned(_, let results) = $0.event { results } else { nil } }
        #expect(results.count == 3)
        #expect(results[0].map(\.ssid) == [Sketch.ssid("Home"), Sketch.ssid("Backup")])
        #expect(results[1].map(\.lastSeen.milliseconds) == [20_120, 2080])
        #expect(results[2].map(\.ssid) == [Sketch.ssid("Home")])
    }

    @Test func aHiddenNetworkIsNamedOnlyWhereItIsCalled() {
        var scenario = Sketch.house(seconds: 60)
        scenario.networks[1].isHidden = true
        let (log, _) = Scripted.run(
            scenario, [(0, .scan([2437])), (40_000, .scan([2437], calling: [Sketch.ssid("Backup")]))])
        let results = log.heard.compactMap { if case .scanned(_, let results) = $0.event { results } else { nil } }
        #expect(results.map { $0.map(\.ssid) } == [[nil], [Sketch.ssid("Backup")]])
    }

    private func failure(_ happening: Scenario.Change, seconds: Double = 0) -> [(Int64, JoinFailure)] {
        let (log, _) = Scripted.run(
            Sketch.house(seconds: 60, [(seconds, happening)]),
            [(10_000, .scan([2412])), (10_120, .join(1, on: [2412]))])
        return log.heard.compactMap { if case .joinFailed(_, let failure) = $0.event { ($0.at, failure) } else { nil } }
    }

    @Test func everyRefusalHasItsTime() throws {
        let wrong = try #require(failure(.password(ap: "home", "other")).first)
        #expect(wrong.1 == .wrongKey)
        #expect((14_250...14_400).contains(wrong.0))
        let full = try #require(failure(.full(ap: "home", true)).first)
        #expect(full.1 == .accessPointFull)
        #expect((10_220...10_270).contains(full.0))
        // Not there: the radio looks once more where it was to be.
        let off = try #require(failure(.power(ap: "home", isOn: false)).first)
        #expect(off.1 == .notFound)
        #expect(off.0 == 10_240)
        // Gone after it was seen: there is no answer.
        let gone = try #require(failure(.power(ap: "home", isOn: false), seconds: 10.15).first)
        #expect(gone.1 == .timeout)
        #expect((11_220...11_270).contains(gone.0))
    }

    @Test func aJoinTakesWhatItTakes() throws {
        let (log, _) = Scripted.run(
            Sketch.house(seconds: 60), [(10_000, .scan([2412])), (10_120, .join(1, on: [2412]))])
        let linked = try #require(log.moments { if case .associated = $0 { true } else { false } }.first)
        #expect((10_220...10_270).contains(linked))
        #expect(log.moments { $0 == .address(isReady: true) } == [linked + 300])
    }

    @Test func noAddressComesWhereNoneIsGivenOut() {
        let (log, result) = Scripted.run(
            Sketch.house(seconds: 100, [(0, .address(ap: "home", nil)), (50, .address(ap: "home", .seconds(2)))]),
            [(0, .join(1))])
        #expect(log.moments { $0 == .address(isReady: true) } == [52_000])
        #expect(result.outage == .seconds(52))
    }

    @Test func anAddressCountsInTheWholeNetwork() {
        var scenario = Sketch.house(seconds: 60)
        scenario.accessPoints.append(Sketch.accessPoint("Home", called: "repeater", megahertz: 2462, signal: -60))
        let (log, result) = Scripted.run(
            scenario,
            [
                (0, .join(1, on: [2412])), (10_000, .join(1, on: [2462], epoch: 2)),
                (20_000, .join(2, on: [2437], epoch: 3)),
            ])
        let linked = log.moments { if case .associated = $0 { true } else { false } }
        let ready = log.moments { $0 == .address(isReady: true) }
        #expect(linked.count == 3 && ready.count == 3)
        #expect(ready[0] == linked[0] + 300 && ready[1] == linked[1] && ready[2] == linked[2] + 300)
        #expect(result.roams == 1 && result.switches == 1 && result.returns == 0)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func thePowerCutIsNoticed(seed: UInt64) throws {
        let (log, _) = Scripted.run(
            Sketch.house(seconds: 60, [(20, .power(ap: "home", isOn: false))]), seed: seed,
            [(0, .join(1)), (3000, .join(1, epoch: 2)), (6000, .join(1, epoch: 3))])
        let lost = try #require(log.moments { $0 == .linkLost(.silence) }.first)
        #expect((20_205...21_310).contains(lost))
    }

    @Test func aShortSilenceIsBorneAndALongOneIsNot() {
        let (log, _) = Scripted.run(
            Sketch.house(
                seconds: 60,
                [
                    (20, .interference(2400...2483, loss: 1, for: .milliseconds(200))),
                    (30, .signal(ap: "home", -95, over: .zero)),
                ]), [(0, .join(1))])
        let lost = log.moments { $0 == .linkLost(.silence) }
        #expect(lost.count == 1)
        #expect(lost.allSatisfy { (30_205...31_310).contains($0) })
    }

    private func signals(_ changes: [(Double, Scenario.Change)], _ orders: [(Int64, PolicyAction)]) -> [Reading] {
        let (log, _) = Scripted.run(Sketch.house(seconds: 100, changes), [(0, .join(1))] + orders)
        return log.heard.compactMap { if case .signal(let level) = $0.event { Reading(at: $0.at, level) } else { nil } }
    }

    private struct Reading: Equatable {
        let at: Int64
        let level: Int

        init(at: Int64, _ level: Int) {
            self.at = at
            self.level = level
        }

        /// Reports of the kernel come between the full seconds here.
        var isSample: Bool { at % 1000 == 0 }
    }

    private static let watch = SignalWatch(threshold: -70, interval: .seconds(20), unsupervisedInterval: .seconds(10))

    @Test func theFirstSampleComesSoonAndTheOthersAtTheInterval() {
        let readings = signals(
            [(30, .signal(ap: "home", -60, over: .zero))],
            [(10_000, .watchSignal(Self.watch)), (60_000, .watchSignal(nil))])
        #expect(readings == [Reading(at: 11_000, -50), Reading(at: 31_000, -60), Reading(at: 51_000, -60)])
    }

    @Test func anIntervalThatIsShorterThanTheFirstWaitCounts() {
        let quick = SignalWatch(
            threshold: -70, interval: .milliseconds(400), unsupervisedInterval: .milliseconds(400))
        let readings = signals([], [(10_000, .watchSignal(quick)), (11_000, .watchSignal(nil))])
        #expect(readings == [Reading(at: 10_400, -50), Reading(at: 10_800, -50)])
    }

    @Test func theKernelTellsWhereTheSignalCrossesTheThreshold() throws {
        let reports = signals(
            [
                (30, .signal(ap: "home", -70, over: .zero)),  // not below the threshold
                (35, .signal(ap: "home", -75, over: .seconds(5))),  // below it at once
                (50, .signal(ap: "home", -67, over: .zero)),  // above it, but within the hysteresis
                (60, .signal(ap: "home", -60, over: .seconds(7))),  // past the hysteresis at once
                (80, .signal(ap: "home", -90, over: .zero)),
            ], [(10_000, .watchSignal(Self.watch)), (79_000, .watchSignal(nil))]
        ).filter { !$0.isSample }
        // The next whole dBm in the direction of the crossing.
        #expect(reports.map(\.level) == [-71, -66])
        let moments = try #require(reports.count == 2 ? (reports[0].at, reports[1].at) : nil)
        #expect((35_100...35_201).contains(moments.0) && (60_100...60_201).contains(moments.1))
    }

    @Test func aWatchThatBeginsBelowTheThresholdTellsOfTheWayUpOnly() throws {
        let reports = signals(
            [(5, .signal(ap: "home", -75, over: .zero)), (30, .signal(ap: "home", -66, over: .zero))],
            [(10_000, .watchSignal(Self.watch))]
        ).filter { !$0.isSample }
        #expect(reports.map(\.level) == [-66])
        #expect(reports.allSatisfy { (30_100...30_200).contains($0.at) })
    }

    private func probe(_ changes: [(Double, Scenario.Change)]) -> [(Int64, ProbeResult)] {
        var scenario = Sketch.house(seconds: 60, changes)
        var validation = PolicySettings.Validation()
        validation.limit = .seconds(20)
        scenario.settings.validation = validation
        let (log, _) = Scripted.run(scenario, [(0, .join(1)), (10_000, .probe(epoch: 1, within: .seconds(20)))])
        return log.heard.compactMap { if case .probed(1, let result) = $0.event { ($0.at, result) } else { nil } }
    }

    @Test func aProbeTellsWhatTheNetworkLeadsTo() {
        #expect(probe([]).map(\.0) == [10_060])
        #expect(probe([]).map(\.1) == [.online])
        #expect(probe([(5, .internet(ap: "home", .captive))]).map(\.0) == [10_100])
        #expect(probe([(5, .internet(ap: "home", .captive))]).map(\.1) == [.captive])
        #expect(probe([(5, .internet(ap: "home", .dead))]).map(\.0) == [30_000])
        #expect(probe([(5, .internet(ap: "home", .dead))]).map(\.1) == [.failed])
        #expect(probe([(0, .address(ap: "home", nil))]).map(\.0) == [10_000])
    }
}
