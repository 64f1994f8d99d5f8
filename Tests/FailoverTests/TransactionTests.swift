import AgentModel
import Testing

@testable import Failover

/// A switch is a transaction: intent, join, address, validation, confirmation, commit; anything else ends where it
/// began.
@Suite struct TransactionTests {
    static let networks = [Bench.home, Bench.backup]

    private static func switching(
        confirmWithin: Duration? = nil, settings: PolicySettings = PolicySettings()
    ) -> Bench {
        var bench = Bench.online(networks, settings: settings)
        if settings.validation != nil { bench.probeEnds(.online) }
        _ = bench.take()
        bench.send(.switchTo(Bench.backup.id, id: 5, confirmWithin: confirmWithin))
        bench.finishScan([bench.observation(Bench.backup, -60)])
        bench.associates()
        return bench
    }

    @Test func commitsWhenTheNetworkIsValidated() {
        var bench = Self.switching(settings: UsefulnessTests.settings)
        bench.send(.address(isReady: true))
        let begun = bench.take()
        #expect(begun.progress == [.accepted, .joining, .waitingForAddress, .validating])
        #expect(begun.probes == 1 && begun.writes.isEmpty)
        bench.probeEnds(.online)
        let ended = bench.take()
        #expect(ended.progress == [.committed])
        #expect(ended.writes == [.switchEnded(id: 5, isCommitted: true)])
        #expect(bench.isOnline && bench.target == Bench.backup)
    }

    @Test func theOutcomeIsStoredBeforeItIsTold() throws {
        var bench = Self.switching()
        bench.send(.address(isReady: true))
        let actions = bench.take()
        let stored = try #require(actions.firstIndex { if case .store = $0 { true } else { false } })
        let told = try #require(
            actions.firstIndex { if case .switchProgress(_, let progress) = $0 { progress.isFinal } else { false } })
        #expect(stored < told)
    }

    // covers: seed/switch-rolls-back
    @Test(arguments: [(ProbeResult.captive, JoinFailure.captive), (.failed, .noInternet)])
    func goesBackWhereTheNetworkLeadsNowhere(result: ProbeResult, failure: JoinFailure) {
        var bench = Self.switching(settings: UsefulnessTests.settings)
        bench.send(.address(isReady: true))
        for _ in 1...3 where bench.target == Bench.backup {
            bench.probeEnds(result)
            bench.advance(by: .seconds(5))
        }
        #expect(bench.target == Bench.home)
        bench.joinSucceeds()
        let actions = bench.take()
        #expect(actions.outcomes == [.rolledBack(failure)])
        #expect(actions.writes == [.switchEnded(id: 5, isCommitted: false)])
    }

    // covers: rule/command-kept
    @Test(arguments: [ProbeResult.captive, .failed])
    func staysWhereThereIsNothingToGoBackTo(result: ProbeResult) {
        var bench = Bench([Bench.home], settings: UsefulnessTests.settings)
        bench.start()
        bench.send(.switchTo(Bench.home.id, id: 5))
        while bench.policy.attempt == nil, bench.policy.scan != nil {
            bench.finishScan([bench.observation(Bench.home, -60)])
        }
        bench.associates()
        bench.send(.address(isReady: true))
        for _ in 1...3 where !bench.isOnline {
            bench.probeEnds(result)
            bench.advance(by: .seconds(5))
        }
        #expect(bench.isOnline && bench.take().outcomes == [.committed])
    }

    // covers: rule/command-validation
    @Test func whereNoProbeIsAnsweredItGoesBackWithinTwelveSeconds() {
        var bench = Self.switching(settings: UsefulnessTests.settings)
        bench.send(.address(isReady: true))
        let start = bench.now
        while bench.target == Bench.backup, bench.now - start < .seconds(60) { bench.advance(by: .milliseconds(100)) }
        #expect(bench.target == Bench.home && bench.now - start <= .seconds(12))
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.noInternet)])
    }

    // covers: rule/command-confirmation
    @Test func theAppConfirmsOverTheNewNetwork() {
        var bench = Self.switching(confirmWithin: .seconds(30))
        bench.send(.address(isReady: true))
        #expect(bench.take().progress.last == .waitingForConfirmation)
        #expect(!bench.isOnline)
        bench.advance(by: .seconds(29))
        bench.send(.confirmed(id: 4))
        #expect(bench.take().outcomes.isEmpty, "that was another switch")
        bench.send(.confirmed(id: 5))
        #expect(bench.take().outcomes == [.committed])
    }

    // covers: seed/roll-back
    @Test func withoutTheAppsWordTheDeviceGoesBack() {
        var bench = Self.switching(confirmWithin: .seconds(30))
        bench.send(.address(isReady: true))
        bench.advance(by: .seconds(30))
        #expect(bench.target == Bench.home)
        bench.send(.confirmed(id: 5))
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.unconfirmed)])
        bench.advance(by: .milliseconds(1))
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.backup, -60)]) }
        #expect(bench.target == Bench.backup, "nothing is held against a network that was not confirmed")
    }

    // covers: rule/command-confirmation
    @Test func aWordThatComesBeforeItIsAskedForCounts() {
        var bench = Self.switching(confirmWithin: .seconds(30), settings: UsefulnessTests.settings)
        bench.send(.address(isReady: true))
        bench.send(.confirmed(id: 5))
        #expect(bench.take().outcomes.isEmpty, "the internet is not there yet")
        bench.probeEnds(.online)
        #expect(bench.take().progress == [.committed])
    }

    @Test func aLinkLostWhileTheAppThinksEndsTheSwitch() {
        var bench = Self.switching(confirmWithin: .seconds(30))
        bench.send(.address(isReady: true))
        bench.send(.linkLost())
        #expect(bench.target == Bench.home)
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.linkLost)])
    }

    /// The address comes and goes, and each time there is a little more time: not for ever.
    // covers: rule/command-address
    @Test func aFlappingAddressDoesNotKeepASwitchOpen() {
        var bench = Self.switching(confirmWithin: .seconds(60))
        let start = bench.now
        while bench.now - start < .seconds(600), bench.target == Bench.backup {
            bench.send(.address(isReady: true))
            bench.advance(by: .seconds(20))
            bench.send(.address(isReady: false))
            bench.advance(by: .seconds(1))
        }
        #expect(bench.target == Bench.home)
        #expect(bench.now - start < .seconds(90))
    }

    @Test func aWordThatComesWhileTheAddressIsAwayCounts() {
        var bench = Self.switching(confirmWithin: .seconds(60))
        bench.send(.address(isReady: true))
        bench.send(.address(isReady: false))
        bench.send(.confirmed(id: 5))
        #expect(bench.take().outcomes.isEmpty, "nothing is committed without an address")
        bench.send(.address(isReady: true))
        #expect(bench.take().outcomes == [.committed])
    }

    // covers: rule/command-join
    @Test func anotherAccessPointOfTheCommandedNetworkMayTakeTheDevice() {
        var bench = Bench.online(Self.networks)
        bench.send(.switchTo(Bench.backup.id, id: 5))
        bench.finishScan([
            bench.observation(Bench.backup, -50, radio: 1), bench.observation(Bench.backup, -60, radio: 2),
        ])
        bench.joinFails(.accessPointFull)
        #expect(bench.targetBSSID == bench.observation(Bench.backup, 0, radio: 2).bssid)
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.committed])
    }

    @Test func nothingIsCommittedWithoutAnAddress() {
        var bench = Self.switching(confirmWithin: .seconds(30))
        bench.send(.address(isReady: true))
        bench.send(.address(isReady: false))
        bench.advance(by: .seconds(15))
        #expect(bench.target == Bench.home)
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.noAddress)])
    }

    @Test func whereTheWayBackIsClosedTheSwitchHasFailed() {
        var bench = Self.switching()
        bench.joinFails(.rejected)
        #expect(bench.target == Bench.home)
        bench.joinFails(.timeout)
        #expect(bench.take().outcomes == [.failed(.rejected)])
        bench.advance(by: .seconds(20))
        while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.home, -60)]) }
        #expect(bench.target == Bench.home, "and the search goes on")
    }

    // MARK: A restart in the middle

    // covers: rule/command-rollback
    @Test func aRestartInTheMiddleEndsWhereItBegan() {
        var bench = Bench(Self.networks)
        bench.send(.interrupted(id: 9, target: Bench.backup.id, cameFrom: Bench.home.id))
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -75), bench.observation(Bench.backup, -40)])
        #expect(bench.target == Bench.home, "weaker, and still where it belongs")
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.interrupted)])
    }

    @Test func aRestartOnTheNewNetworkGoesBackFromIt() {
        var bench = Bench(Self.networks)
        bench.send(.interrupted(id: 9, target: Bench.backup.id, cameFrom: Bench.home.id))
        bench.send(.interface(isUp: true))
        bench.send(.linkFound(Bench.backup.id, Bench.accessPoint(of: Bench.backup.id)))
        bench.send(.supplicant(isAvailable: true))
        bench.send(.address(isReady: true))
        bench.finishScan([bench.observation(Bench.home, -60)])
        #expect(bench.target == Bench.home)
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.interrupted)])
    }

    @Test func aRestartOnTheOldNetworkIsBackAlready() {
        var bench = Bench(Self.networks)
        bench.send(.interrupted(id: 9, target: Bench.backup.id, cameFrom: Bench.home.id))
        bench.send(.interface(isUp: true))
        bench.send(.linkFound(Bench.home.id, Bench.accessPoint(of: Bench.home.id)))
        bench.send(.supplicant(isAvailable: true))
        bench.send(.address(isReady: true))
        let actions = bench.take()
        #expect(actions.outcomes == [.rolledBack(.interrupted)])
        #expect(actions.joins.isEmpty)
    }

    @Test func aRestartFarFromTheOldNetworkDoesNotStrandTheDevice() {
        var bench = Bench(Self.networks)
        bench.send(.interrupted(id: 9, target: Bench.backup.id, cameFrom: Bench.home.id))
        bench.start()
        while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
        #expect(bench.target == Bench.backup)
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.failed(.interrupted)])
        #expect(bench.isOnline)
    }

    @Test func aFreshDeviceHasNowhereToGoBackTo() {
        var bench = Bench([Bench.home])
        bench.send(.interrupted(id: 9, target: Bench.home.id, cameFrom: nil))
        #expect(bench.take().outcomes == [.failed(.interrupted)])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == Bench.home)
    }
}
