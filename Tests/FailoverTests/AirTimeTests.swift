import AgentModel
import Testing

@testable import Failover

/// The cost of scans, and its limits.
@Suite struct AirTimeTests {
    /// - Parameter time: how long a scan takes. An answer at once is another program's scan, and makes none cheaper.
    // covers: rule/scan-budget
    @Test(arguments: [Duration.seconds(6), .zero])
    func scansOnALivingLinkStayInTheirBudget(each time: Duration) {
        var settings = PolicySettings()
        settings.weakScan = BackOff(first: .seconds(1), last: .seconds(1))
        var bench = Bench.online([Bench.home, Bench.backup], settings: settings)
        var spent = Duration.zero
        let start = bench.now
        while bench.now - start < .seconds(3600) {
            bench.advance(by: .milliseconds(500))
            bench.send(.signal(-74))
            for order in bench.take().scans {
                spent += order.frequencies.isEmpty ? .seconds(6) : .milliseconds(100) * order.frequencies.count
            }
            if bench.policy.scan != nil {
                bench.advance(by: time)
                bench.finishScan()
            }
        }
        let allowed = settings.scanReserve + .seconds(3600) * settings.weakScanShare / 1000
        #expect(spent <= allowed)
        #expect(spent >= allowed / 2, "and it is used: \(spent)")
    }

    /// Where frames are lost the known channels are scanned every few seconds: that leaves enough for all channels, where an access point
    /// may be that was never seen.
    // covers: rule/scan-channels
    @Test func scansOfKnownChannelsKeepNoScanOfAllFromBeingPaidFor() {
        var bench = Bench.online([Bench.home])
        for channel in [2437, 5180, 5200, 5220] {
            bench.send(.remembered(Bench.home.id, Frequency(megahertz: channel)))
        }
        var full: [Instant] = []
        let start = bench.now
        while bench.now - start < .seconds(290) {
            bench.advance(by: .milliseconds(500))
            bench.send(.signal(-83))
            let orders = bench.take().scans
            if orders.contains(where: \.frequencies.isEmpty) { full.append(bench.now) }
            if let order = orders.last {
                bench.advance(by: order.frequencies.isEmpty ? .seconds(6) : .milliseconds(500))
                bench.finishScan()
            }
        }
        let gaps = zip(full, full.dropFirst()).map { $1 - $0 }
        #expect(full.count > 1 && gaps.allSatisfy { $0 <= .seconds(180) }, "\(gaps)")
    }

    // covers: rule/scan-budget
    @Test func whileNothingIsJoinedNothingIsSaved() {
        var settings = PolicySettings()
        settings.scanReserve = .milliseconds(1)
        var bench = Bench([Bench.home], settings: settings)
        bench.start()
        #expect(bench.take().scans.count == 1)
    }

    // covers: rule/scan-budget
    @Test func aCommandIsNotMadeToWait() {
        var settings = PolicySettings()
        settings.scanReserve = .milliseconds(1)
        var bench = Bench.online([Bench.home, Bench.backup], settings: settings)
        bench.send(.switchTo(Bench.backup.id, id: 1))
        #expect(bench.take().scans.map(\.reason) == [.commanded])
    }

    @Test func whereANetworkWasBeforeTheStartIsLookedFirst() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.send(.remembered(Bench.home.id, Frequency(megahertz: 2437)))
        bench.send(.remembered(Bench.backup.id, Frequency(megahertz: 5180)))
        bench.send(.remembered(NetworkID(99), Frequency(megahertz: 5200)))
        bench.start()
        bench.finishScan()
        bench.finishScan()
        #expect(
            bench.take().scans.map(\.frequencies)
                == [[2437], [5180], [2437, 5180]].map { $0.map { Frequency(megahertz: $0) } })
    }

    @Test func aFrequencyThatChangedIsNotForgottenForAnOldOne() {
        var bench = Bench.online([Bench.home])
        bench.send(.remembered(Bench.home.id, Frequency(megahertz: 2462)))
        bench.send(.linkLost())
        #expect(bench.take().scans.first?.frequencies.contains(Frequency(megahertz: 2412)) == true)
    }
}
