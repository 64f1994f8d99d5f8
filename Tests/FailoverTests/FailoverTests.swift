import AgentModel
import Testing

@testable import Failover

@Suite struct FailoverTests {
    // covers: seed/network-lost
    @Test func lostLinkLeadsToTheBackup() {
        var bench = Bench.online()
        bench.advance(by: .seconds(3))
        bench.finishScan()
        bench.advance(by: .seconds(100))
        _ = bench.take()
        bench.send(.linkLost())
        let scan = bench.take()
        #expect(scan.decisions.map(\.kind) == [.lost])
        #expect(scan.scans.map(\.frequencies) == [[Frequency(megahertz: 2412)]], "first where networks were seen")
        bench.finishScan()
        #expect(bench.take().scans.map(\.frequencies) == [[]], "then everywhere")
        bench.finishScan([bench.observation(Bench.backup, -60)])
        bench.joinSucceeds()
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/lost-join-seen
    @Test func aBackupJustSeenIsJoinedWithoutAnotherScan() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -50), bench.observation(Bench.backup, -60)]))
        bench.advance(by: .seconds(5))
        bench.send(.linkLost())
        let actions = bench.take()
        #expect(actions.scans.isEmpty)
        #expect(actions.joins.map(\.network) == [Bench.backup.id])
    }

    /// The kernel remembers an access point for half a minute after its power is cut.
    @Test func theDeadNetworkIsNotTriedAgainUnlessItIsSeenAgain() {
        var bench = Bench.online()
        bench.advance(by: .seconds(100))
        bench.send(.linkLost())
        bench.finishScan([bench.observation(Bench.home, -50, age: .seconds(1))])
        #expect(bench.target == nil)
        bench.advance(by: .milliseconds(300))
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == Bench.home)
    }

    @Test func aLostLinkWhileJoiningIsTheOldOne() {
        var bench = Bench.online()
        bench.send(.switchTo(Bench.backup.id, id: 1))
        bench.finishScan([bench.observation(Bench.backup, -60)])
        bench.send(.linkLost())
        bench.joinSucceeds()
        #expect(bench.target == Bench.backup)
    }

    @Test func answersToAnOldOrderAreDropped() {
        var bench = Bench()
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50), bench.observation(Bench.backup, -55)])
        let old = bench.policy.epoch
        bench.joinFails(.rejected)
        #expect(bench.target == Bench.backup)
        bench.send(.associated(epoch: old, Bench.accessPoint(of: Bench.home.id)))
        bench.send(.joinFailed(epoch: old, .wrongKey))
        #expect(bench.policy.attempt?.network == Bench.backup.id)
        bench.joinSucceeds()
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/block-wrong-key, seed/user-house, seed/one-failed-handshake
    @Test func wrongPasswordNeedsTwoFailuresAndThenBlocks() throws {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        bench.finishScan([bench.observation(Bench.backup, -50)])
        bench.joinFails(.wrongKey)
        #expect(bench.target == Bench.backup, "one failure can be lost frames")
        bench.joinFails(.wrongKey)
        #expect(bench.target == nil)
        let blocked = try #require(bench.take().decisions.last { $0.kind == .blocked })
        #expect(blocked.cause == .failure(.wrongKey))

        // Home returns, and is found although the backup is blocked.
        while bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -30)]) }
        _ = bench.take()
        #expect(bench.advance(upTo: .seconds(3)) { if case .scan = $0 { true } else { false } })
        bench.finishScan([bench.observation(Bench.backup, -30), bench.observation(Bench.home, -60)])
        bench.joinSucceeds()
        #expect(bench.target == Bench.home)
    }

    // covers: rule/rank-reputation, seed/network-lost
    @Test func aFailedNetworkIsTriedAfterTheOthers() {
        var bench = Bench()
        bench.start()
        bench.finishScan([
            bench.observation(Bench.home, -50), bench.observation(Bench.backup, -60),
            bench.observation(Bench.spare, -70),
        ])
        bench.joinFails(.wrongKey)
        #expect(bench.target == Bench.backup)
        bench.joinFails(.timeout)
        #expect(bench.target == Bench.spare)
        bench.joinSucceeds()
        #expect(bench.target == Bench.spare)
    }

    /// Everything in range is blocked: the best one is tried all the same, ever more seldom, for ever.
    @Test func nothingButAWrongPasswordNeverStrandsTheDevice() {
        var bench = Bench([Bench.backup])
        bench.start()
        var tries: [Instant] = []
        let start = bench.now
        while bench.now - start < .seconds(24 * 3600) {
            if bench.policy.attempt != nil {
                tries.append(bench.now)
                bench.joinFails(.wrongKey)
            } else if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.backup, -50)])
            } else {
                bench.advance(by: .seconds(1))
            }
        }
        let gaps = zip(tries.dropFirst(), tries).map { $0.0 - $0.1 }
        #expect(gaps.allSatisfy { $0 <= .seconds(311) }, "never stranded")
        #expect(tries.count < 24 * 30, "and not hammering the access point")
    }

    /// The block is as old as the last outage, and this outage has nothing but the blocked network to offer.
    // covers: rule/last-resort, seed/recovery-forever
    @Test func theLastResortIsThereInEveryOutage() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        bench.finishScan([bench.observation(Bench.backup, -50)])
        bench.joinFails(.wrongKey)
        bench.joinFails(.wrongKey)
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -50)]))
        bench.joinSucceeds()
        bench.send(.linkLost())
        let start = bench.now
        while bench.policy.attempt == nil, bench.now - start < .seconds(120) {
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.backup, -50)])
            } else {
                bench.advance(by: .milliseconds(500))
            }
        }
        #expect(bench.target == Bench.backup)
        #expect(bench.now - start <= .seconds(42))
    }

    // covers: rule/last-resort
    @Test func theLastResortIsNotAlwaysTheSameNetwork() {
        var bench = Bench([Bench.backup, Bench.spare])
        bench.start()
        var tried: [KnownNetwork] = []
        while tried.count < 8 {
            if bench.policy.attempt != nil {
                tried += [bench.target].compactMap(\.self)
                bench.joinFails(.wrongKey)
            } else if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.backup, -40), bench.observation(Bench.spare, -80)])
            } else {
                bench.advance(by: .seconds(1))
            }
        }
        #expect(Set(tried.suffix(4)) == [Bench.backup, Bench.spare])
    }

    // covers: rule/block-timeout
    @Test func failuresOfChangingKindsBlockAsWell() {
        var block = Penalty(.wrongKey)
        let now = Instant(milliseconds: 5)
        let isBlocked = [JoinFailure.wrongKey, .noAddress, .wrongKey].map {
            block.strike($0, signal: -50, at: now, settings: PolicySettings())
        }
        #expect(isBlocked == [false, false, true])
        #expect(block.isActive(at: now))
    }

    /// The supplicant still says that the interface is disabled when the kernel says that it is up.
    // covers: rule/block-own-fault
    @Test func aDeviceThatIsNotReadyIsNotAskedAllTheTime() {
        var bench = Bench([Bench.home])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50)])
        bench.joinFails(.interfaceDown)
        #expect(bench.policy.attempt == nil)
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -50)]))
        #expect(bench.policy.attempt == nil)
        bench.advance(by: .seconds(2))
        #expect(bench.target == Bench.home)
    }

    // covers: rule/search-list
    @Test func aNetworkThatLeftTheListIsUsedUntilItIsLost() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.networks([Bench.backup]))
        #expect(bench.isOnline)
        _ = bench.take()
        bench.send(.linkLost())
        #expect(bench.take().decisions.first?.from == Bench.home.ssid)
        bench.advance(by: .milliseconds(300))
        bench.finishScan([bench.observation(Bench.home, -30), bench.observation(Bench.backup, -70)])
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/unblock-address
    @Test func aBlockIsForgottenAfterSuccess() {
        var bench = Bench([Bench.home])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50)])
        bench.joinFails(.wrongKey)
        bench.joinSucceeds()
        bench.advance(by: .seconds(61))
        if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(1))
        bench.finishScan([bench.observation(Bench.home, -50)])
        bench.joinFails(.wrongKey)
        #expect(bench.target == Bench.home, "the first failure again, not the second")
    }

    // covers: rule/block-full
    @Test func aFullAccessPointIsLeftAloneUntilItIsCloser() {
        var bench = Bench([Bench.backup, Bench.spare])
        bench.start()
        bench.finishScan([bench.observation(Bench.backup, -70), bench.observation(Bench.spare, -75)])
        bench.joinFails(.accessPointFull)
        #expect(bench.target == Bench.spare)
        bench.joinSucceeds()
        bench.send(.scanned(id: nil, [bench.observation(Bench.backup, -66)]))
        #expect(bench.policy.isBlocked(Bench.backup.id, at: bench.now))
        bench.send(.scanned(id: nil, [bench.observation(Bench.backup, -65)]))
        #expect(!bench.policy.isBlocked(Bench.backup.id, at: bench.now))
    }

    // covers: rule/block-no-address, rule/join-limit
    @Test func noAddressCountsAsAFailure() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50), bench.observation(Bench.backup, -60)])
        bench.associates()
        #expect(!bench.isOnline)
        bench.advance(by: .seconds(16))
        #expect(bench.target != Bench.home)
        bench.finishScan([bench.observation(Bench.home, -50), bench.observation(Bench.backup, -60)])
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/block-timeout, rule/join-limit, seed/one-bad-access-point
    @Test func aJoinThatNeverEndsIsGivenUp() {
        var bench = Bench([Bench.home])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50)])
        bench.advance(by: .seconds(21))
        let failed = bench.take().decisions.last { $0.kind == .failed }
        #expect(failed?.cause == .failure(.timeout))
        #expect(bench.policy.attempt == nil)
    }

    @Test func anAddressThatIsLostAndDoesNotComeBackEndsTheLink() {
        var bench = Bench.online()
        bench.send(.address(isReady: false))
        bench.advance(by: .seconds(14))
        bench.send(.address(isReady: true))
        bench.advance(by: .seconds(60))
        #expect(bench.isOnline)
        bench.send(.address(isReady: false))
        bench.advance(by: .seconds(16))
        #expect(!bench.isOnline)
        #expect(bench.take().isLeaving)
    }

    // covers: rule/part-interface
    @Test func interfaceDownAndUp() {
        var bench = Bench.online()
        bench.send(.interface(isUp: false))
        #expect(bench.take().decisions.map(\.cause) == [.interfaceDown])
        bench.advance(by: .seconds(29))
        #expect(!bench.take().contains(.bringInterfaceUp))
        bench.advance(by: .seconds(2))
        #expect(bench.take().contains(.bringInterfaceUp))
        bench.send(.interface(isUp: true))
        bench.finishScan([bench.observation(Bench.home, -50)])
        bench.joinSucceeds()
        #expect(bench.target == Bench.home)
    }

    @Test func theLinkOutlivesTheSupplicant() {
        var bench = Bench.online()
        bench.send(.supplicant(isAvailable: false))
        #expect(bench.isOnline)
        bench.send(.linkLost())
        bench.advance(by: .seconds(30))
        #expect(bench.take().joins.isEmpty)
        bench.send(.supplicant(isAvailable: true))
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == Bench.home)
    }

    /// wpa_supplicant takes its link with it when it dies, and the access point is where it was.
    @Test func aLinkThatEndedForTheDevicesOwnReasonIsMadeAgain() {
        var bench = Bench.online()
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -50), bench.observation(Bench.backup, -40)]))
        bench.send(.supplicant(isAvailable: false))
        bench.send(.linkLost(.ownDoing))
        bench.advance(by: .seconds(2))
        bench.send(.supplicant(isAvailable: true))
        #expect(bench.target == Bench.home)

        bench.joinSucceeds()
        bench.send(.interface(isUp: false))
        bench.send(.interface(isUp: true))
        #expect(bench.target == Bench.home)
    }

    @Test func theSupplicantDyingWhileJoiningIsNotTheNetworksFault() {
        var bench = Bench([Bench.home])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50)])
        for _ in 1...5 {
            bench.send(.supplicant(isAvailable: false))
            #expect(bench.policy.attempt == nil)
            bench.send(.supplicant(isAvailable: true))
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
            #expect(bench.target == Bench.home)
        }
        #expect(!bench.take().decisions.contains { $0.kind == .blocked })
    }
}
