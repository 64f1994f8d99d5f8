import AgentModel
import Testing

@testable import Failover

/// A link that is fine, beside another access point of its network that carries more.
@Suite struct StrongerAccessPointTests {
    /// Seconds until the link went over; nil where it did not.
    private static func timeToRoam(own: Int, other: Int, isProven: Bool = true, for limit: Duration) -> Int64? {
        var bench = Bench([Bench.home, Bench.backup])
        if isProven {
            bench.send(.proven(Bench.home.id, bench.observation(Bench.home, 0, radio: 1).bssid))
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

    @Test func isGoneToWhereStayingHasCostTwiceTheMove() throws {
        let time = try #require(Self.timeToRoam(own: -69, other: -50, for: .seconds(3600)))
        #expect((150...400).contains(time), "\(time) s: 0.4 s at 0.02 s by the second times 0.12")
    }

    @Test(arguments: [(-60, -40), (-69, -63), (-66, -60)]) func isNoReasonToMove(own: Int, other: Int) {
        #expect(Self.timeToRoam(own: own, other: other, for: .seconds(7200)) == nil)
    }

    /// Names are free to take.
    @Test func anUnprovenOneIsNot() {
        #expect(Self.timeToRoam(own: -69, other: -40, isProven: false, for: .seconds(7200)) == nil)
    }

    /// With one access point on one channel there is nothing to look for.
    @Test func aNetworkOfOneIsNotScannedFor() {
        var bench = Bench.online([Bench.home], signal: -69)
        var scans = 0
        for _ in 1...360 {
            bench.send(.signal(-69))
            bench.advance(by: .seconds(10))
            scans += bench.policy.scan == nil ? 0 : 1
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -69)]) }
        }
        #expect(scans == 0)
    }
}
