import AgentModel
import Testing

@testable import Failover

/// Joins that drag on, and what comes meanwhile.
@Suite struct ReplacementTests {
    private static let homeChannel = Frequency(megahertz: 2412)

    /// Home is away, and the backup's password is wrong. Its last resort begins.
    private func lastResort() -> Bench {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.linkLost())
        let start = bench.now
        while bench.now - start < .seconds(20) {
            if bench.policy.attempt != nil { bench.joinFails(.wrongKey) }
            if bench.policy.scan != nil { bench.finishScan([observationOfBackup(in: bench)]) }
            bench.advance(by: .milliseconds(500))
        }
        while bench.policy.attempt == nil, bench.now - start < .seconds(60) {
            if bench.policy.scan != nil { bench.finishScan([observationOfBackup(in: bench)]) }
            bench.advance(by: .milliseconds(100))
        }
        #expect(bench.target == Bench.backup)
        _ = bench.take()
        return bench
    }

    /// Home was on a known channel, and only the backup is in range.
    private func joiningTheBackup() -> Bench {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        bench.send(.remembered(Bench.home.id, Self.homeChannel))
        bench.finishScan([observationOfBackup(in: bench)])
        return bench
    }

    private func waitingForAnAddress() -> Bench {
        var bench = joiningTheBackup()
        bench.associates(frequency: 2437)
        _ = bench.take()
        return bench
    }

    private func observationOfBackup(in bench: Bench) -> BSS { bench.observation(Bench.backup, -50, channel: 2437) }

    // covers: rule/join-suspect
    @Test func homeIsFoundDuringTheLastResort() throws {
        var bench = lastResort()
        let backup = try #require(bench.policy.attempt)
        bench.advance(by: .milliseconds(1100))
        #expect(bench.take().scans.map(\.frequencies) == [[Self.homeChannel]], "not the backup's own")
        bench.finishScan([observationOfBackup(in: bench)])
        #expect(bench.target == Bench.backup)
        bench.advance(by: .milliseconds(1100))
        #expect(bench.take().scans.map(\.frequencies) == [[Self.homeChannel]])
        bench.finishScan([observationOfBackup(in: bench), bench.observation(Bench.home, -75)])
        #expect(bench.target == Bench.home, "weak, and it broke off, but it has come back")

        // The result of the old attempt is ignored, and nothing was held against the backup for it.
        bench.send(.joinFailed(epoch: backup.epoch, .wrongKey))
        #expect(bench.target == Bench.home)
        bench.joinSucceeds()
        #expect(bench.isOnline)
        #expect(bench.policy.lastFailure(of: Bench.backup.id) == .wrongKey)
        #expect(!bench.take().decisions.contains { $0.kind == .failed })
    }

    /// Both failed before. Each of them gets its time, however long the other one is in range.
    // covers: rule/join-suspect
    @Test func theLastResortIsNotReplacedByWhatWasThere() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        func observations() -> [BSS] { [bench.observation(Bench.home, -50), observationOfBackup(in: bench)] }
        var longest = Duration.zero
        let start = bench.now
        var begin: (target: KnownNetwork, at: Instant)?
        while bench.now - start < .seconds(300) {
            if let attempt = bench.policy.attempt {
                if begin?.target != bench.target { begin = bench.target.map { ($0, bench.now) } }
                if let begin, begin.target == Bench.backup { longest = max(longest, bench.now - begin.at) }
                if let at = begin?.at, bench.now - at >= .seconds(4) || attempt.network == Bench.home.id {
                    bench.joinFails(.wrongKey)
                    begin = nil
                }
            }
            if bench.policy.scan != nil { bench.finishScan(observations()) }
            bench.advance(by: .milliseconds(100))
        }
        #expect(longest >= .seconds(4))
    }

    @Test func whatIsNotFoundLeavesTheLastResortAlone() {
        var bench = lastResort()
        for _ in 1...3 {
            bench.advance(by: .milliseconds(1100))
            bench.finishScan([observationOfBackup(in: bench)])
        }
        #expect(bench.take().joins.isEmpty)
        bench.joinSucceeds(frequency: 2437)
        #expect(bench.isOnline)
        #expect(bench.target == Bench.backup)
    }

    /// A good join takes a tenth of a second, and gets twenty times that before the device looks elsewhere.
    // covers: rule/join-slow
    @Test func aJoinThatDragsOnGivesWayToAGoodNetworkOnly() {
        var bench = joiningTheBackup()
        bench.advance(by: .milliseconds(1900))
        #expect(bench.take().scans.dropFirst().isEmpty)
        bench.advance(by: .milliseconds(200))
        #expect(bench.take().scans.map(\.frequencies) == [[Self.homeChannel]])
        bench.finishScan([bench.observation(Bench.home, -75)])
        #expect(bench.target == Bench.backup, "home is weak")
        bench.advance(by: .milliseconds(1100))
        bench.finishScan([bench.observation(Bench.home, -60)])
        #expect(bench.target == Bench.home)
        #expect(bench.policy.lastFailure(of: Bench.backup.id) == .timeout)
    }

    /// The backup has no DHCP server, and home is on a channel where it was never seen.
    // covers: rule/join-slow
    @Test func whileAnAddressIsLateAllChannelsAreScannedOnce() {
        var bench = waitingForAnAddress()
        bench.advance(by: .seconds(7))
        #expect(bench.take().isEmpty, "a DHCP client may ask twice")
        bench.advance(by: .seconds(1))
        #expect(bench.take().scans.map(\.frequencies) == [Frequency.withUsual([Self.homeChannel])])
        bench.finishScan([observationOfBackup(in: bench)])
        #expect(bench.take().scans.map(\.frequencies) == [[]])
        bench.finishScan([observationOfBackup(in: bench)])
        bench.advance(by: .seconds(5))
        #expect(bench.take().scans.allSatisfy { !$0.frequencies.isEmpty }, "that takes seconds, of which it has few")
        bench.finishScan([observationOfBackup(in: bench), bench.observation(Bench.home, -60, channel: 2462)])
        #expect(bench.target == Bench.home)
    }

    /// Home, which is preferred, has no DHCP server.
    // covers: rule/join-slow
    @Test func whatIsInRangeIsJoinedWhenAnAddressIsLate() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -40), observationOfBackup(in: bench)])
        bench.associates()
        bench.advance(by: .seconds(7))
        #expect(bench.target == Bench.home)
        bench.advance(by: .seconds(1))
        #expect(bench.target == Bench.backup)
        #expect(bench.policy.lastFailure(of: Bench.home.id) == .noAddress)
    }

    /// The agent was restarted while it waited for an address.
    // covers: rule/join-slow
    @Test func aLateAddressOfALinkThatWasFoundIsLeft() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        bench.send(.linkFound(Bench.home.id, Bench.accessPoint(of: Bench.home.id)))
        bench.finishScan([bench.observation(Bench.home, -40), observationOfBackup(in: bench)])
        bench.advance(by: .seconds(7))
        #expect(bench.target == Bench.home)
        bench.advance(by: .seconds(1))
        if bench.policy.scan != nil { bench.finishScan([observationOfBackup(in: bench)]) }
        #expect(bench.target == Bench.backup)
    }

    /// Home failed before, and the backup is in range all the time.
    // covers: rule/join-suspect
    @Test func aLinkThatWasFoundIsNotReplacedByWhatWasThere() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -40), observationOfBackup(in: bench)])
        bench.joinFails(.wrongKey)
        bench.send(.supplicant(isAvailable: false))
        bench.send(.linkFound(Bench.home.id, Bench.accessPoint(of: Bench.home.id)))
        bench.send(.supplicant(isAvailable: true))
        _ = bench.take()
        bench.advance(by: .seconds(5))
        if bench.policy.scan != nil { bench.finishScan([observationOfBackup(in: bench)]) }
        #expect(bench.target == Bench.home)
    }

    /// While another uplink carries the traffic, or after sleep, a late address is no reason for a long scan.
    @Test func aLateAddressWaitsWhereThereIsTime() {
        var bench = waitingForAnAddress()
        bench.jump(by: .seconds(600))
        bench.send(.resumed)
        bench.advance(by: .seconds(7))
        #expect(bench.take().scans.isEmpty)
        bench.send(.otherUplink(.wired))
        for _ in 1...7 {
            bench.advance(by: .seconds(1))
            if bench.policy.scan != nil { bench.finishScan([observationOfBackup(in: bench)]) }
        }
        #expect(bench.take().scans.map(\.frequencies) == [Frequency.withUsual([Self.homeChannel])])
    }

    /// A network that gives addresses slowly gets its time once.
    @Test func waitingForAnAddressEndsEarlyOnlyWhereItDidNotHelpBefore() {
        var bench = waitingForAnAddress()
        bench.advance(by: .seconds(7))
        #expect(bench.take().isEmpty)
        let epoch = bench.policy.epoch
        while bench.policy.epoch == epoch {
            bench.advance(by: .milliseconds(100))
            if bench.policy.scan != nil { bench.finishScan([observationOfBackup(in: bench)]) }
        }
        #expect(bench.target == Bench.backup, "one failure is none")
        bench.associates(frequency: 2437)
        _ = bench.take()
        bench.advance(by: .milliseconds(1100))
        #expect(bench.take().scans.map(\.frequencies) == [[Self.homeChannel]])
        bench.finishScan([bench.observation(Bench.home, -60)])
        #expect(bench.target == Bench.home)
    }

    /// Home's address does not come, and each try waits longer. The backup that comes into range replaces it.
    @Test func aLongWaitForAnAddressGivesWayToWhatComes() {
        var bench = Bench.online([Bench.backup, Bench.home])
        bench.send(.remembered(Bench.home.id, Self.homeChannel))
        bench.send(.linkLost())
        let start = bench.now
        while bench.now - start < .seconds(120) {
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
            if case .joining = bench.policy.phase { bench.associates() }
            bench.advance(by: .milliseconds(100))
        }
        #expect(bench.target == Bench.home)
        while bench.policy.scan == nil { bench.advance(by: .milliseconds(100)) }
        bench.finishScan([observationOfBackup(in: bench)])
        #expect(bench.target == Bench.backup)
    }

    @Test func twoThatAreSlowGetTheirTime() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        func observations() -> [BSS] { [bench.observation(Bench.home, -50), observationOfBackup(in: bench)] }
        bench.finishScan(observations())
        var joins = bench.take().joins.count
        let start = bench.now
        while bench.now - start < .seconds(40) {
            bench.advance(by: .milliseconds(100))
            if bench.policy.scan != nil { bench.finishScan(observations()) }
            joins += bench.take().joins.count
        }
        #expect(joins <= 4)
    }

    /// The way home is gone although home failed before: being in range is no reason to go back at once.
    @Test func thePreferredNetworkGetsItsTime() {
        var bench = Bench([Bench.home, Bench.backup])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50), observationOfBackup(in: bench)])
        bench.joinFails(.wrongKey)
        #expect(bench.target == Bench.backup)
        bench.joinSucceeds(frequency: 2437)
        let start = bench.now
        while bench.target == Bench.backup, bench.now - start < .seconds(600) {
            bench.advance(by: .milliseconds(500))
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -50), observationOfBackup(in: bench)])
            }
        }
        #expect(bench.target == Bench.home)
        bench.associates()
        _ = bench.take()
        bench.advance(by: .milliseconds(1100))
        bench.finishScan([bench.observation(Bench.home, -50), observationOfBackup(in: bench)])
        #expect(bench.target == Bench.home)
        bench.send(.address(isReady: true))
        #expect(bench.isOnline)
    }

    // covers: rule/join-kept
    @Test func whatWasCommandedIsNotReplaced() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.scanned(id: nil, [observationOfBackup(in: bench), bench.observation(Bench.home, -50)]))
        bench.send(.switchTo(Bench.backup.id, id: 1, confirmWithin: nil, joinOnce: false))
        #expect(bench.target == Bench.backup)
        _ = bench.take()
        bench.advance(by: .seconds(10))
        #expect(bench.take().isEmpty)
        #expect(bench.target == Bench.backup)
    }

    @Test func aSingleNetworkHasNothingToLookFor() {
        var bench = Bench([Bench.backup])
        bench.start()
        bench.finishScan([observationOfBackup(in: bench)])
        _ = bench.take()
        bench.advance(by: .seconds(19))
        #expect(bench.take().isEmpty)
        #expect(bench.target == Bench.backup)
    }
}
