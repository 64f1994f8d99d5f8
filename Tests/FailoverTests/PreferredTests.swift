import AgentModel
import Testing

@testable import Failover

/// The way back to the network that the device belongs in.
@Suite struct PreferredTests {
    /// A device that lost its home and is online on the backup.
    static func away() -> Bench {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        bench.finishScan()
        bench.finishScan([bench.observation(Bench.backup, -50)])
        bench.joinSucceeds()
        _ = bench.take()
        return bench
    }

    /// Lets time pass in which home is seen like this by every scan that looks for it.
    static func look(_ bench: inout Bench, home signal: Int?, for duration: Duration) -> [ScanOrder] {
        var scans: [ScanOrder] = []
        let end = bench.now + duration
        while bench.now < end, bench.isOnline {
            bench.advance(by: .seconds(1))
            scans += bench.policy.scan.map { [$0.order] } ?? []
            if bench.policy.scan != nil {
                bench.finishScan(signal.map { [bench.observation(Bench.home, $0)] } ?? [])
            }
        }
        return scans
    }

    /// The confirmation and 5 s more, of which the join needs half a second, after an outage of up to some minutes.
    // covers: rule/return-scan
    @Test(arguments: [0, 1, 2, 3, 17, 60, 200], [5, 30])
    func theWayHomeTakesNoLongerThanItHasTo(outage: Int, confirmation: Int) {
        var bench = Self.away()
        var settings = PolicySettings()
        settings.preferredConfirmation = .seconds(confirmation)
        bench.send(.settings(settings))
        if bench.policy.scan != nil { bench.finishScan() }
        _ = Self.look(&bench, home: nil, for: .seconds(outage))
        let back = bench.now
        while bench.isOnline, bench.now - back < .seconds(60) {
            bench.advance(by: .milliseconds(100))
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
        }
        #expect(bench.target == Bench.home)
        // No link is left that is younger than 10 s.
        let soonest = Duration.seconds(max(confirmation, 10 - outage))
        #expect(bench.now - back >= soonest && bench.now - back <= soonest + .milliseconds(4500))
    }

    /// Every third scan misses it, as scans do.
    // covers: rule/return-confirmed
    @Test func aScanThatMissesIsRepeatedAtOnce() {
        var bench = Self.away()
        let back = bench.now
        var looks = 0
        while bench.isOnline, bench.now - back < .seconds(60) {
            bench.advance(by: .milliseconds(100))
            guard bench.policy.scan != nil else { continue }
            looks += 1
            bench.finishScan(looks.isMultiple(of: 3) ? [] : [bench.observation(Bench.home, -50)])
        }
        #expect(bench.target == Bench.home)
        #expect(bench.now - back <= .seconds(30) + .milliseconds(5500))
    }

    // covers: rule/return-confirmed, seed/return-preferred
    @Test func returnsWhenHomeIsBackForGood() throws {
        var bench = Self.away()
        let start = bench.now
        let scans = Self.look(&bench, home: -50, for: .seconds(120))
        #expect(bench.target == Bench.home)
        #expect(scans.allSatisfy { $0.reason == .preferred && $0.frequencies == [Frequency(megahertz: 2412)] })
        #expect((30...70).contains((bench.now - start).components.seconds))
        let join = try #require(bench.take().decisions.last { $0.kind == .join })
        #expect(join.cause == .preferred && join.from == Bench.backup.ssid)
        bench.joinSucceeds()
        #expect(Self.look(&bench, home: -50, for: .seconds(3600)).isEmpty, "home again, nothing is looked for")
    }

    // covers: rule/return-confirmed
    @Test func aHomeThatComesAndGoesIsNotReturnedTo() {
        var bench = Self.away()
        for _ in 1...20 {
            _ = Self.look(&bench, home: -50, for: .seconds(16))
            _ = Self.look(&bench, home: nil, for: .seconds(150))
        }
        #expect(bench.target == Bench.backup && bench.isOnline)
    }

    /// At the threshold it would be left again at once.
    // covers: rule/return-headroom
    @Test(arguments: [(-65, false), (-64, true)])
    func homeHasToBeGoodWithSomethingToSpare(signal: Int, returns: Bool) {
        var bench = Self.away()
        _ = Self.look(&bench, home: signal, for: .seconds(300))
        #expect((bench.target == Bench.home) == returns)
    }

    // covers: rule/return-failed
    @Test func returnsThatDoNotLastAreMadeLessOften() {
        var bench = Self.away()
        var waits: [Int64] = []
        for _ in 1...4 {
            let start = bench.now
            _ = Self.look(&bench, home: -50, for: .seconds(4000))
            waits.append((bench.now - start).components.seconds)
            #expect(bench.target == Bench.home)
            bench.joinSucceeds()
            bench.advance(by: .seconds(20))
            bench.send(.linkLost())
            bench.advance(by: .milliseconds(10))
            while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
            bench.joinSucceeds()
        }
        #expect(waits[1] > waits[0] && waits[2] > waits[1] && waits[3] >= 16 * waits[0], "\(waits)")
    }

    // covers: rule/return-failed
    @Test func aReturnThatLastedIsForgiven() {
        var bench = Self.away()
        for _ in 1...3 {
            let start = bench.now
            _ = Self.look(&bench, home: -50, for: .seconds(2000))
            #expect((bench.now - start) < .seconds(70))
            bench.joinSucceeds()
            bench.advance(by: .seconds(4 * 3600))
            bench.send(.linkLost())
            bench.advance(by: .milliseconds(10))
            while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
            bench.joinSucceeds()
        }
    }

    @Test func oneScanThatMissesHomeIsNoAbsence() {
        var bench = Self.away()
        _ = Self.look(&bench, home: -50, for: .seconds(26))
        #expect(bench.isOnline)
        _ = Self.look(&bench, home: nil, for: .seconds(10))
        let scans = Self.look(&bench, home: -50, for: .seconds(21))
        #expect(bench.target == Bench.home, "\(scans.count)")
    }

    // covers: rule/command-commit, seed/choice-sticks
    @Test func theCommandedChoiceIsWhereTheDeviceBelongs() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.switchTo(Bench.backup.id, id: 1))
        bench.finishScan([bench.observation(Bench.backup, -60)])
        bench.joinSucceeds()
        _ = bench.take()
        // A day in which home is stronger, and always seen.
        for _ in 1...144 {
            bench.advance(by: .seconds(600))
            bench.send(.scanned(id: nil, [bench.observation(Bench.home, -40), bench.observation(Bench.backup, -60)]))
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -40)]) }
        }
        #expect(bench.target == Bench.backup && bench.take().joins.isEmpty)

        // Lost, it is returned to, from home.
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.home, -40)]) }
        bench.joinSucceeds()
        #expect(bench.target == Bench.home)
        for _ in 1...100 where bench.isOnline {
            bench.advance(by: .seconds(1))
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -40), bench.observation(Bench.backup, -60)])
            }
        }
        #expect(bench.target == Bench.backup)
    }

    /// A router that restarts may choose another channel.
    // covers: rule/return-scan
    @Test func homeOnAnotherChannelIsFound() {
        var bench = Self.away()
        let start = bench.now
        while bench.now - start < .seconds(3 * 3600), bench.isOnline {
            bench.advance(by: .seconds(1))
            guard let order = bench.policy.scan?.order else { continue }
            bench.advance(by: .seconds(order.frequencies.isEmpty ? 6 : 0))
            let isSeen = order.frequencies.isEmpty || order.frequencies.contains(Frequency(megahertz: 2462))
            bench.finishScan(isSeen ? [bench.observation(Bench.home, -40, channel: 2462)] : [])
        }
        #expect(bench.target == Bench.home)
        #expect(bench.now - start < .seconds(3600))
    }

    // covers: rule/return-blocked
    @Test func whoIsNotToReturnDoesNot() {
        var settings = PolicySettings()
        settings.returnsToPreferred = false
        var bench = Bench.online([Bench.home, Bench.backup], settings: settings)
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
        bench.joinSucceeds()
        #expect(Self.look(&bench, home: -40, for: .seconds(3600)).isEmpty)
        #expect(bench.target == Bench.backup)
    }

    /// Without wpa_supplicant there is no way home, and the link that lives is all there is.
    // covers: rule/part-wpa-supplicant
    @Test func aLivingLinkIsNotLeftWhileNothingCanBeJoined() {
        var bench = Self.away()
        bench.send(.supplicant(isAvailable: false))
        for _ in 1...60 {
            bench.measure(-88, for: .seconds(5))
            bench.send(.scanned(id: nil, [bench.observation(Bench.home, -40), bench.observation(Bench.backup, -88)]))
        }
        #expect(bench.isOnline && bench.target == Bench.backup)
        #expect(!bench.take().joins.contains { $0.network == Bench.home.id })
    }

    /// The app stores tomorrow's password today: the router still has the old one, and the link lives.
    // covers: rule/bssid-other-password
    @Test func theNetworkInUseUnderANewPasswordIsNotTriedWhileTheLinkLives() throws {
        var bench = Bench.online([Bench.home, Bench.backup])
        let renewed = KnownNetwork(
            id: NetworkID(9), ssid: Bench.home.ssid, usesPassphrase: true, isPreferred: true)
        bench.send(.networks([renewed, Bench.backup]))
        for _ in 1...20 {
            bench.measure(-85, for: .seconds(30))
            bench.send(.scanned(id: nil, [bench.observation(Bench.home, -40, radio: 1)]))
        }
        #expect(bench.isOnline && bench.policy.phase.network == Bench.home.id)
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.home, -40)]) }
        #expect(bench.policy.attempt?.network == NetworkID(9))
    }

    // covers: rule/return-blocked
    @Test func aBlockedHomeIsNotReturnedTo() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        bench.finishScan([bench.observation(Bench.home, -50)])
        bench.joinFails(.wrongKey)
        while bench.policy.attempt == nil {
            if bench.policy.scan == nil { bench.advance(by: .milliseconds(100)) }
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
        }
        bench.joinFails(.wrongKey)
        while bench.policy.attempt == nil {
            if bench.policy.scan == nil { bench.advance(by: .seconds(1)) }
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -50), bench.observation(Bench.backup, -60)])
            }
        }
        #expect(bench.target == Bench.backup)
        bench.joinSucceeds()
        _ = Self.look(&bench, home: -50, for: .seconds(270))
        #expect(bench.target == Bench.backup, "its password is still wrong")
        _ = Self.look(&bench, home: -50, for: .seconds(100))
        #expect(bench.target == Bench.backup, "the block is over, and a return would cost more than to be away so long")
        _ = Self.look(&bench, home: -50, for: .seconds(400))
        #expect(bench.target == Bench.home)
    }
}
