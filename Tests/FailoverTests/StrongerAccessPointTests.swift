import AgentModel
import Testing

@testable import Failover

/// A link that is fine, beside another access point of its network that carries more.
@Suite struct StrongerAccessPointTests {
    /// Seconds until the link went over; nil where it did not.
    private static func timeToRoam(own: Int, other: Int, isVerified: Bool = true, for limit: Duration) -> Int64? {
        var bench = Bench([Bench.home, Bench.backup])
        if isVerified {
            bench.send(.verified(Bench.home.id, bench.observation(Bench.home, 0, radio: 1).bssid))
        }
        bench.start()
        let start = bench.now
        bench.finishScan([bench.observation(Bench.home, own)])
        bench.joinSucceeds()
        let joined = bench.targetBSSID
        while bench.now - start < limit, bench.targetBSSID == joined {
            bench.send(.signal(own))
            bench.advance(by: .seconds(10))
            if bench.policy.scan != nil {
                bench.finishScan([
                    bench.observation(Bench.home, own), bench.observation(Bench.home, other, channel: 2462, radio: 1),
                ])
            }
        }
        return bench.targetBSSID == joined ? nil : (bench.now - start).components.seconds
    }

    // covers: rule/price-roam, rule/roam-background
    // covers: rule/roam-scan
    @Test func isGoneToWhereStayingHasCostTwiceTheMove() throws {
        let time = try #require(Self.timeToRoam(own: -69, other: -50, for: .seconds(3600)))
        #expect((150...400).contains(time), "\(time) s: 0.4 s at 0.02 s by the second times 0.12")
    }

    // covers: rule/roam-background
    @Test(arguments: [(-60, -40), (-69, -63), (-66, -60)]) func isNoReasonToMove(own: Int, other: Int) {
        #expect(Self.timeToRoam(own: own, other: other, for: .seconds(7200)) == nil)
    }

    /// Names are free to take: a try may fail.
    // covers: rule/price-roam
    @Test func anUnverifiedOneHasToSaveMore() throws {
        let time = try #require(Self.timeToRoam(own: -69, other: -40, isVerified: false, for: .seconds(7200)))
        #expect((700...1200).contains(time), "\(time) s: 2 s at 0.02 s by the second times 0.1")
    }

    /// A rogue that bears the name costs some tries a day.
    @Test func oneThatRefusesTheKeyIsSeldomTried() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -69)])
        bench.joinSucceeds()
        let home = bench.targetBSSID
        let start = bench.now
        var tries = 0
        while bench.now - start < .seconds(86_400) {
            bench.send(.signal(-69))
            bench.advance(by: .seconds(10))
            if bench.policy.scan != nil {
                bench.finishScan([
                    bench.observation(Bench.home, -69), bench.observation(Bench.home, -40, channel: 2462, radio: 1),
                ])
            }
            guard bench.policy.attempt != nil else { continue }
            if bench.targetBSSID != home {
                tries += 1
                bench.joinFails(.wrongKey)
            }
            #expect(bench.targetBSSID == home)
            bench.joinSucceeds()
        }
        #expect((1...10).contains(tries), "\(tries) in a day")
    }

    /// Other access points may be on channels where none was ever seen.
    // covers: rule/scan-survey
    @Test(arguments: [(-69, 30, 6), (-50, 300, 24)])
    func allChannelsAreScannedNowAndThen(signal: Int, first: Int, hours: Int) throws {
        var bench = Bench([Bench.home])
        bench.send(.remembered(Bench.home.id, Frequency(megahertz: 2412)))
        bench.start()
        bench.finishScan([bench.observation(Bench.home, signal)])
        bench.joinSucceeds()
        _ = bench.take()
        let start = bench.now
        var scans: [Duration] = []
        while bench.now - start < .seconds(2 * 86_400) {
            bench.send(.signal(signal))
            bench.advance(by: .seconds(10))
            guard let order = bench.policy.scan?.order else { continue }
            #expect(order.frequencies.isEmpty && order.reason == .unseen)
            scans.append(bench.now - start)
            bench.finishScan([bench.observation(Bench.home, signal)])
        }
        let intervals = zip(scans, scans.dropFirst()).map { $1 - $0 }
        #expect(try #require(scans.first) - .seconds(first) < .seconds(11))
        #expect(scans.count == 48 / hours)
        #expect(intervals.allSatisfy { (.seconds(hours * 3600)...(.seconds(hours * 3600 + 60))).contains($0) })
        #expect(bench.take().joins.isEmpty && bench.isOnline)
    }
}
