import AgentModel
import Testing

@testable import Failover

/// Each failure has its own back-off, which new evidence ends early.
@Suite struct EvidenceTests {
    /// The first block after as many failures of a kind as it takes.
    // covers: rule/no-internet-block, rule/block-wrong-key, rule/block-full, rule/block-refused, rule/block-timeout
    // covers: rule/block-no-address, rule/block-renewed
    @Test(arguments: [
        (JoinFailure.wrongKey, 2, 300), (.noAddress, 2, 10), (.accessPointFull, 1, 30), (.rejected, 1, 10),
        (.notFound, 1, 10), (.certificateRefused, 1, 300), (.timeout, 3, 10), (.linkLost, 3, 10), (.noInternet, 1, 300),
        (.captive, 1, 600),
    ])
    func eachFailureHasItsOwnBackOff(failure: JoinFailure, strikes: Int, wait: Int) {
        let now = Instant(milliseconds: 0)
        var block = Penalty(failure)
        for strike in 1...strikes {
            #expect(block.strike(failure, signal: -60, at: now, settings: PolicySettings()) == (strike == strikes))
        }
        #expect(block.until == now + .seconds(wait))
        let isRenewed = block.strike(failure, signal: -60, at: now, settings: PolicySettings())
        #expect(isRenewed, "one more is enough")
        #expect(block.until == now + .seconds(2 * wait), "twice as long the next time")
    }

    // covers: rule/block-own-fault
    @Test(arguments: [JoinFailure.supplicantUnavailable, .interfaceDown, .unconfirmed, .interrupted])
    func whatIsNotTheNetworksFaultIsNotHeldAgainstIt(failure: JoinFailure) {
        var bench = Bench([Bench.home])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50)])
        bench.joinFails(failure)
        #expect(bench.policy.lastFailure(of: Bench.home.id) == nil)
    }

    /// A router that was away and is back was restarted, perhaps with another password.
    // covers: rule/unblock-reappears, rule/unblock-suspect
    @Test func aNetworkThatReappearsGetsAnotherChance() {
        var bench = Bench([Bench.home])
        bench.start()
        for _ in 1...2 {
            while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
            bench.joinFails(.wrongKey)
        }
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == nil, "blocked")
        let gone = bench.now
        while bench.now - gone < .seconds(25) {
            if bench.policy.scan != nil { bench.finishScan() } else { bench.advance(by: .milliseconds(500)) }
        }
        #expect(bench.target == nil)
        while bench.policy.scan == nil { bench.advance(by: .milliseconds(500)) }
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == Bench.home)
        _ = bench.take()
        bench.joinFails(.wrongKey)
        #expect(bench.take().decisions.contains { $0.kind == .blocked }, "one more failure, and a longer block")
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == nil)
    }

    /// The network failed once, at an access point that can hardly be heard: that one has no turn before a good one.
    // covers: rule/bssid-rounds
    @Test func anAccessPointThatCanHardlyBeHeardComesLast() {
        var bench = Bench([Bench.home])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -88, radio: 1)])
        for _ in 0..<2 {
            // At once the first time, and then after another scan.
            bench.joinFails(.rejected)
            while bench.policy.attempt == nil {
                if bench.policy.scan != nil {
                    bench.finishScan([
                        bench.observation(Bench.home, -88, radio: 1), bench.observation(Bench.home, -50, radio: 2),
                    ])
                }
                bench.advance(by: .milliseconds(500))
            }
        }
        #expect(bench.targetBSSID == bench.observation(Bench.home, 0, radio: 2).bssid)
        bench.joinFails(.noAddress)
        let start = bench.now
        while bench.policy.attempt == nil, bench.now - start < .seconds(120) {
            if bench.policy.scan != nil {
                bench.finishScan([
                    bench.observation(Bench.home, -88, radio: 1), bench.observation(Bench.home, -50, radio: 2),
                ])
            }
            bench.advance(by: .milliseconds(500))
        }
        #expect(bench.targetBSSID == bench.observation(Bench.home, 0, radio: 2).bssid, "although it was tried later")
    }

    /// One access point answers with another key: a neighbour with the same name, or an attacker.
    @Test func anAccessPointWithAnotherKeyDoesNotStrandTheDevice() {
        var bench = Bench([Bench.home])
        bench.start()
        let wrong = Bench.accessPoint(of: Bench.home.id).bssid
        let start = bench.now
        while !bench.isOnline, bench.now - start < .seconds(60) {
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -40), bench.observation(Bench.home, -60, radio: 1)])
            }
            if let attempt = bench.policy.attempt {
                if attempt.bssid == wrong { bench.joinFails(.wrongKey) } else { bench.joinSucceeds() }
            }
            bench.advance(by: .milliseconds(500))
        }
        #expect(bench.isOnline)
    }

    /// Twenty access points of home's name, all with another key, and an honest backup.
    @Test func aCrowdThatTakesANameDoesNotKeepTheDeviceFromTheOthers() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        let start = bench.now
        while !bench.isOnline, bench.now - start < .seconds(1200) {
            if bench.policy.scan != nil {
                bench.finishScan(
                    (1...20).map { bench.observation(Bench.home, -40 - $0, radio: UInt8($0)) } + [
                        bench.observation(Bench.backup, -70)
                    ])
            }
            if let attempt = bench.policy.attempt {
                bench.advance(by: .seconds(4))
                if attempt.network == Bench.home.id { bench.joinFails(.wrongKey) } else { bench.joinSucceeds() }
            }
            bench.advance(by: .milliseconds(500))
        }
        #expect(bench.target == Bench.backup && bench.isOnline)
        #expect(bench.now - start < .seconds(120))
    }

    /// The access point that came first gives no address; the one that comes later would.
    // covers: rule/unblock-new-bssid
    @Test func anAccessPointThatIsNewGetsItsTurn() {
        var bench = Bench([Bench.home])
        bench.start()
        let bad = Bench.accessPoint(of: Bench.home.id).bssid
        let start = bench.now
        while !bench.isOnline, bench.now - start < .seconds(1000) {
            if bench.policy.scan != nil {
                let good = bench.now - start > .seconds(600) ? [bench.observation(Bench.home, -60, radio: 1)] : []
                bench.finishScan([bench.observation(Bench.home, -40)] + good)
            }
            if let attempt = bench.policy.attempt {
                if attempt.bssid == bad { bench.joinFails(.noAddress) } else { bench.joinSucceeds() }
            }
            bench.advance(by: .milliseconds(500))
        }
        #expect(bench.isOnline)
        #expect(bench.now - start < .seconds(640), "it is tried when it is seen")
    }

    /// An access point that lets every station in and throws it out half a minute later.
    // covers: rule/rank-unstable
    @Test func aNetworkThatThrowsTheDeviceOutIsNotRejoinedForEver() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        var joins = 0
        let start = bench.now
        while bench.now - start < .seconds(1800), bench.policy.current != Bench.backup.id {
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -40), bench.observation(Bench.backup, -60)])
            }
            if bench.policy.attempt != nil {
                joins += 1
                bench.joinSucceeds()
            }
            if bench.policy.current == Bench.home.id {
                bench.advance(by: .seconds(30))
                bench.send(.linkLost())
            }
            bench.advance(by: .milliseconds(500))
        }
        #expect(bench.policy.current == Bench.backup.id)
        #expect(joins <= 5, "\(joins) joins")
    }

    /// Home loses its address and then goes; the backup's password, which was wrong, is right again.
    @Test func theLastResortHasItsTurnAfterALinkThatWasUp() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        bench.finishScan([bench.observation(Bench.backup, -50)])
        bench.joinFails(.wrongKey)
        while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
        bench.joinFails(.wrongKey)
        while bench.policy.attempt == nil {
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -50)])
            } else {
                bench.advance(by: .milliseconds(500))
            }
        }
        bench.joinSucceeds()
        bench.send(.address(isReady: false))
        bench.advance(by: .seconds(16))
        let gone = bench.now
        while !bench.isOnline, bench.now - gone < .seconds(200) {
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
            if let attempt = bench.policy.attempt {
                if attempt.network == Bench.backup.id { bench.joinSucceeds() } else { bench.joinFails(.notFound) }
            }
            bench.advance(by: .milliseconds(500))
        }
        #expect(bench.target == Bench.backup && bench.isOnline)
    }

    /// One network times out again and again; the other's password, which was wrong, is right again.
    @Test func aNetworkThatFailsForEverDoesNotKeepTheLastResortFromTheOthers() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        let start = bench.now
        while !bench.isOnline, bench.now - start < .seconds(3600) {
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -50), bench.observation(Bench.backup, -50)])
            }
            if let attempt = bench.policy.attempt {
                if attempt.network == Bench.backup.id {
                    bench.advance(by: .seconds(5))
                    bench.joinFails(.timeout)
                } else if bench.now - start < .seconds(1400) {
                    bench.joinFails(.wrongKey)
                } else {
                    bench.joinSucceeds()
                }
            }
            bench.advance(by: .milliseconds(500))
        }
        #expect(bench.target == Bench.home && bench.isOnline)
        #expect(bench.now - start < .seconds(2400))
    }

    // covers: rule/unblock-reappears
    @Test func oneScanThatMissesABlockedNetworkIsNoReappearance() {
        var bench = Bench([Bench.home])
        bench.start()
        for _ in 1...2 {
            while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
            bench.joinFails(.wrongKey)
        }
        let start = bench.now
        var misses = 0
        while bench.now - start < .seconds(28) {
            if bench.policy.scan != nil {
                misses += 1
                bench.finishScan(misses.isMultiple(of: 2) ? [] : [bench.observation(Bench.home, -50)])
            } else {
                bench.advance(by: .milliseconds(500))
            }
        }
        #expect(misses > 4 && bench.target == nil)
    }

    /// The whole street is dark, and comes back slowly in any order.
    @Test(arguments: 0..<6)
    func afterAPowerCutOfTheStreetTheDeviceEndsAtHome(order: Int) {
        let all = [Bench.home, Bench.backup, Bench.spare]
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
        var bench = Bench.online(all)
        bench.send(.linkLost())
        let dark = bench.now
        var firstOnline: Duration?
        while bench.now - dark < .seconds(3600) {
            // One router every five minutes, from the tenth on; the first addresses come a minute after the signal.
            let back = orders[order].enumerated().filter { bench.now - dark >= .seconds(600 + 300 * $0.offset) }
            if bench.policy.scan != nil {
                bench.advance(by: .milliseconds(300))
                bench.finishScan(back.map { bench.observation(all[$0.element], -55) })
            }
            if let attempt = bench.policy.attempt {
                let position = orders[order].firstIndex { all[$0].id == attempt.network } ?? 0
                bench.associates()
                if bench.now - dark >= .seconds(660 + 300 * position) { bench.send(.address(isReady: true)) }
            }
            if bench.isOnline, firstOnline == nil { firstOnline = bench.now - dark }
            bench.advance(by: .milliseconds(500))
        }
        #expect(bench.target == Bench.home && bench.isOnline)
        #expect(firstOnline.map { $0 <= .seconds(720) } == true, "\(firstOnline as Any)")
    }

    @Test func everythingBlockedIsTriedAllTheSame() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        var tries = 0
        let start = bench.now
        while bench.now - start < .seconds(1800) {
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -50), bench.observation(Bench.backup, -50)])
            }
            if bench.policy.attempt != nil {
                tries += 1
                bench.joinFails(.wrongKey)
            }
            bench.advance(by: .milliseconds(500))
        }
        #expect((8...60).contains(tries), "\(tries) in half an hour")
    }

    /// A third failure of whatever kind blocks, but for the handshake that shows that the key is right.
    // covers: rule/unblock-handshake
    @Test(arguments: [true, false]) func aHandshakeEndsWhatWasHeldAgainstTheKey(isDone: Bool) {
        var bench = Bench([Bench.home])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50)])
        bench.joinFails(.wrongKey)
        #expect(bench.target == Bench.home, "a second try")
        if isDone {
            bench.associates()
            bench.advance(by: .seconds(15))
        } else {
            bench.joinFails(.timeout)
        }
        while bench.policy.attempt == nil {
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
            bench.advance(by: .milliseconds(100))
        }
        bench.joinFails(.wrongKey)
        #expect(bench.take().decisions.contains { $0.kind == .blocked } != isDone)
    }

    // covers: rule/unblock-stronger, seed/user-house
    @Test(arguments: [
        (JoinFailure.accessPointFull, -56, false), (.accessPointFull, -55, true), (.wrongKey, -20, false),
        (.certificateRefused, -20, false),
    ])
    func aStrongerSignalEndsAllButAWrongKey(failure: JoinFailure, signal: Int, ends: Bool) {
        let bench = Bench()
        var block = Penalty(failure)
        for _ in 1...2 { _ = block.strike(failure, signal: -60, at: bench.now, settings: PolicySettings()) }
        #expect(block.isActive(at: bench.now))
        #expect(block.isOutdated(by: bench.observation(Bench.home, signal), settings: PolicySettings()) == ends)
    }
}
