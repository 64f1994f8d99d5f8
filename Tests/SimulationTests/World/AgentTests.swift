import AgentModel
import Failover
import Testing

@testable import Simulation

/// The agent's core on a simulated device.
@Suite struct AgentTests {
    private func run(_ scenario: Scenario, seed: UInt64 = 1) -> RunResult {
        Simulation.run(scenario, seed: seed, recordsTimeline: true)
    }

    private func house(
        stations: Int = 1, isBusy: Bool = false, seconds: Int = 300, _ happenings: [(Double, Scenario.Change)]
    ) -> Scenario {
        var scenario = Sketch.house(seconds: seconds, happenings)
        scenario.radio.stations = stations
        scenario.isBusy = isBusy
        return scenario
    }

    private static func command(_ name: String, confirmWithin: Duration? = nil, after: Duration? = nil)
        -> Scenario.Change
    {
        .command(network: Sketch.ssid(name), confirmWithin: confirmWithin, confirmAfter: after)
    }

    /// Outages that begin after the device is online for the first time.
    private func laterOutages(_ result: RunResult) throws -> [Range<Duration>] {
        let timeline = try #require(result.timeline)
        return timeline.outages.filter { $0.lowerBound > .seconds(20) }
    }

    /// The access points that the device was online on, in order.
    private func stays(_ result: RunResult) throws -> [Int] {
        try #require(result.timeline).stays.map(\.accessPoint)
    }

    // MARK: Two stations

    @Test func aSecondStationMakesBeforeItBreaks() throws {
        let change = (60.0, Self.command("Backup"))
        let one = run(house([change]))
        let two = run(house(stations: 2, [change]))
        #expect(one.committed == 1 && two.committed == 1)
        #expect(try stays(one) == [0, 1])
        #expect(try stays(two) == [0, 1])
        // With one the network is left before: association, handshake, address.
        let gaps = try laterOutages(one).map { $0.upperBound - $0.lowerBound }
        #expect(gaps.count == 1 && gaps[0] > .milliseconds(400) && gaps[0] < .seconds(2))
        #expect(try laterOutages(two).isEmpty)
    }

    @Test func aWeakLinkIsLeftWithoutAGap() throws {
        // A quarter of the frames is lost by then.
        let change = (60.0, Scenario.Change.signal(ap: "home", -81, over: .zero))
        let one = run(house([change]))
        let two = run(house(stations: 2, [change]))
        #expect(try stays(two) == [0, 1])
        #expect(try laterOutages(one).count == 1)
        #expect(try laterOutages(two).isEmpty)
    }

    @Test func aFailureBesideTheLinkCostsNothing() throws {
        let result = run(
            house(stations: 2, [(0, .password(ap: "backup", "other")), (60, Self.command("Backup"))]))
        #expect(result.rolledBack == 1 && result.committed == 0)
        #expect(try stays(result) == [0])
        #expect(try laterOutages(result).isEmpty)
    }

    /// The link of before still stands when the next move begins.
    @Test func backAgainWhileTheOldLinkIsKept() throws {
        let result = run(house(stations: 2, [(60, Self.command("Backup")), (70, Self.command("Home"))]))
        #expect(result.committed == 2)
        #expect(try stays(result) == [0, 1, 0])
        #expect(try laterOutages(result).isEmpty)
    }

    /// It is looked for, and joined by the station that was in use last.
    @Test func aLostLinkIsReplacedWithTwoStationsAsWithOne() throws {
        let change = (60.0, Scenario.Change.power(ap: "home", isOn: false))
        for stations in 1...2 {
            let result = run(house(stations: stations, [change]))
            #expect(try stays(result) == [0, 1])
            let gaps = try laterOutages(result)
            #expect(gaps.count == 1 && gaps.allSatisfy { $0.upperBound < .seconds(64) }, "\(stations)")
        }
    }

    // MARK: Commands

    @Test func aCommandIsConfirmedAndOneThatIsNotIsTakenBack() throws {
        let confirmed = run(
            house([(60, Self.command("Backup", confirmWithin: .seconds(30), after: .seconds(5)))]))
        #expect(confirmed.committed == 1 && confirmed.rolledBack == 0)
        #expect(try stays(confirmed) == [0, 1])
        let unconfirmed = run(house([(60, Self.command("Backup", confirmWithin: .seconds(30)))]))
        #expect(unconfirmed.committed == 0 && unconfirmed.rolledBack == 1)
        #expect(try stays(unconfirmed) == [0, 1, 0])
    }

    /// The agent refuses these before its policy hears of them.
    @Test func whatTheAgentRefuses() {
        let there = run(house([(60, Self.command("Home"))]))
        #expect(there.refused == 1 && there.committed == 0)
        let cable = run(house([(50, .otherUplink(.wired)), (60, Self.command("Backup"))]))
        #expect(cable.refused == 1 && cable.committed == 0)
        let running = run(
            house([
                (60, Self.command("Backup", confirmWithin: .seconds(30), after: .seconds(20))),
                (70, Self.command("Home")),
            ]))
        #expect(running.refused == 1 && running.committed == 1)
    }

    /// What was committed is what the next agent begins from.
    @Test func aRestartKeepsWhatWasCommittedAndTakesBackWhatWasNot() throws {
        // Long enough to go home, if that were still the preferred network.
        let kept = run(house(seconds: 3600, [(60, Self.command("Backup")), (90, .restart)]))
        #expect(kept.committed == 1 && kept.rolledBack == 0)
        #expect(try stays(kept) == [0, 1])
        let cut = run(
            house([(60, Self.command("Backup", confirmWithin: .seconds(60))), (80, .restart)]))
        #expect(cut.committed == 0 && cut.rolledBack == 1)
        #expect(try stays(cut) == [0, 1, 0])
    }

    @Test func aPasswordIsToldAndTheNetworkIsStillThePreferredOne() throws {
        let home = Sketch.ssid("Home")
        let result = run(
            house(
                seconds: 7200,
                [(60, .password(ap: "home", "new")), (120, .newPassword(network: home, "new"))]))
        // Once the old password is not accepted, and then the new one is.
        #expect(try stays(result) == [0, 1, 0])
        #expect(result.returns == 1)
    }

    /// A provider signs in, and the device stays; the next session ends with a login page, and is begun anew.
    @Test func aProviderSignsIn() throws {
        func hotel(signInTime: Duration?) -> Scenario {
            var scenario = house(
                seconds: 600, [(300, .internet(ap: "home", .online)), (400, .internet(ap: "home", .captive))])
            scenario.accessPoints[0].internet = .captive
            scenario.signInTime = signInTime
            scenario.settings.validation = PolicySettings.Validation()
            return scenario
        }
        let alone = run(hotel(signInTime: nil))
        #expect(try stays(alone).contains(1))
        let result = run(hotel(signInTime: .seconds(4)))
        #expect(try stays(result) == [0])
        #expect(result.outage > .seconds(8) && result.outage < .seconds(30))
        let outages = try #require(result.timeline).outages
        #expect(outages.count == 2)
        // At home from the beginning, and signed in after four seconds.
        #expect(outages[0].lowerBound == .zero && outages[0].upperBound < .seconds(8))
        #expect(outages[1].lowerBound == .seconds(400))
    }

    private func closedHotel(
        signInTime: Duration, limit: Duration = .seconds(60), _ happenings: [(Double, Scenario.Change)] = []
    ) -> Scenario {
        var scenario = house(seconds: 120, happenings)
        scenario.accessPoints[0].internet = .captive
        scenario.signInTime = signInTime
        var validation = PolicySettings.Validation()
        validation.signInLimit = limit
        scenario.settings.validation = validation
        return scenario
    }

    /// The network leads somewhere from the sign-in on, and not from when it was found to be closed.
    @Test func theDeviceIsOnlineAfterTheSignIn() throws {
        let (quick, slow) = (
            run(closedHotel(signInTime: .seconds(4))), run(closedHotel(signInTime: .seconds(20)))
        )
        let ends = try [quick, slow].map { result in
            #expect(try stays(result) == [0])
            let outages = try #require(result.timeline).outages
            #expect(outages.count == 1)
            return try #require(outages.first).upperBound
        }
        #expect(ends[1] - ends[0] == .seconds(16))
    }

    /// What the provider could not open is left, and so is what it takes too long for.
    @Test(arguments: [
        (closing: 10.0, limit: Duration.seconds(60)), (closing: nil, limit: Duration.seconds(8)),
    ]) func aSignInThatFailsLeavesTheNetwork(_ sample: (closing: Double?, limit: Duration)) throws {
        let happenings = sample.closing.map { [($0, Scenario.Change.internet(ap: "home", .dead))] } ?? []
        let scenario = closedHotel(signInTime: .seconds(20), limit: sample.limit, happenings)
        let result = run(scenario)
        #expect(try stays(result).first == 0)
        #expect(try stays(result).contains(1))
        let left = try #require(result.timeline?.stays.first).time.upperBound
        let end = Duration.seconds(sample.closing == nil ? 8 : 20)
        #expect(left > end && left < end + .seconds(10))
    }

    /// A check that has no answer ends at nine tenths of the policy's limit without the 0.2 s that the policy keeps.
    @Test func aDeadNetworkIsFoundWhenItsChecksHaveNoAnswer() throws {
        var scenario = house(seconds: 120, [(60, .internet(ap: "home", .dead))])
        var validation = PolicySettings.Validation()
        validation.interval = .seconds(20)
        validation.limit = .seconds(4)
        validation.strikes = 1
        scenario.settings.validation = validation
        let decisions = try #require(run(scenario).timeline?.decisions)
        let found = try #require(decisions.first { $0.kind == .unusable }).at
        // The check begins half a second after the end, and the target and the source are silent for 3.42 s.
        #expect(found >= Instant(milliseconds: 63_920) && found < Instant(milliseconds: 64_400))
    }

    // MARK: Silence

    /// From a power cut until the link is gone.
    private func losses(isBusy: Bool) throws -> [Duration] {
        let cut = Duration.seconds(200)
        let scenario = house(isBusy: isBusy, [(200, .power(ap: "home", isOn: false))])
        return try (0..<40 as Range<UInt64>).compactMap { seed in
            let stays = try #require(run(scenario, seed: seed).timeline?.stays)
            // One scan in 33 does not show the home network.
            guard stays.map(\.accessPoint) == [0, 1] else { return nil }
            return stays[0].time.upperBound - cut
        }
    }

    /// Docs/contributor/loss-and-radios.md: 0.36 s in the mean in use, 0.5 s where it sends little, instead of the
    /// kernel's 0.76 s.
    @Test func silenceIsNoticedSoonerThanByTheKernel() throws {
        let (idle, busy) = (try losses(isBusy: false), try losses(isBusy: true))
        func mean(_ times: [Duration]) -> Double { times.map(\.inSeconds).reduce(0, +) / Double(max(times.count, 1)) }
        #expect(idle.count > 30 && busy.count > 30)
        #expect(idle.allSatisfy { $0 >= .milliseconds(205) && $0 <= .milliseconds(750) })
        #expect(busy.allSatisfy { $0 >= .milliseconds(205) && $0 <= .milliseconds(460) })
        #expect(abs(mean(idle) - 0.5) < 0.1)
        #expect(abs(mean(busy) - 0.34) < 0.05)
    }

    /// Where the kernel's own watch rests, the agent's does not.
    @Test func silenceInAScanEndsTheScan() throws {
        // A network that was never seen is looked for on all channels.
        func result(_ happenings: [(Double, Scenario.Change)]) -> RunResult {
            var scenario = house(seconds: 1200, happenings)
            scenario.networks.append(Sketch.network("Elsewhere"))
            return run(scenario)
        }
        let timeline = try #require(result([]).timeline)
        // A full scan of a living link takes 6 s.
        let scan = try #require(
            timeline.scans.first { $0.lowerBound > .seconds(10) && $0.upperBound - $0.lowerBound > .seconds(6) })
        let cut = scan.lowerBound + .seconds(1)
        let after = try #require(result([(cut.inSeconds, .power(ap: "home", isOn: false))]).timeline)
        let lost = try #require(after.stays.first).time.upperBound - cut
        #expect(lost >= .milliseconds(610) && lost <= .milliseconds(1200))
        #expect(lost < scan.upperBound - cut)
        #expect(after.scans.contains { $0.lowerBound == scan.lowerBound && $0.upperBound < scan.upperBound })
    }

    @Test func theKernelNoticesNothingWhileItScans() throws {
        let (log, _) = Scripted.run(
            Sketch.house(seconds: 60, [(21, .power(ap: "home", isOn: false))]),
            [(0, .join(1)), (20_000, .scan())])
        let end: Int64 = 20_000 + 26 * 80 + 50 * 80 + 40
        let lost = try #require(log.moments { $0 == .linkLost(.silence) }.first)
        #expect((end + 205...end + 1310).contains(lost))
    }

    @Test func beaconsAreNotMeasuredWhileTheRadioScans() {
        let watch = SignalWatch(threshold: -70, interval: .seconds(20), unsupervisedInterval: .seconds(10))
        let (log, _) = Scripted.run(
            Sketch.house(seconds: 60, [(21, .signal(ap: "home", -75, over: .zero))]),
            [(0, .join(1)), (2500, .watchSignal(watch)), (20_000, .scan())])
        let end: Int64 = 20_000 + 26 * 80 + 50 * 80 + 40
        let readings = log.heard.compactMap { at, event in
            if case .signal(let level) = event { (at, level) } else { nil as (Int64, Int)? }
        }
        // As it was before the scan, and the crossing when it is over.
        #expect(readings.map(\.0) == [3500, 23_500, end, 43_500])
        #expect(readings.map(\.1) == [-50, -50, -75, -75])
    }
}
