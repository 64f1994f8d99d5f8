import AgentModel
import Failover
import Testing

@testable import Simulation

/// The reports to a policy about its device.
@Suite struct HappeningTests {
    private func heard(_ log: Scripted.Log, after moment: Int64) -> [PolicyEvent] {
        log.heard.filter { $0.at >= moment }.map(\.event)
    }

    @Test func aNewPolicyIsToldWhatThereIs() {
        var scenario = Sketch.house(seconds: 10)
        scenario.networks.append(Sketch.network("Elsewhere"))
        let (log, _) = Scripted.run(scenario, [])
        let networks = [
            KnownNetwork(id: NetworkID(1), ssid: Sketch.ssid("Home"), usesPassphrase: true, isPreferred: true),
            KnownNetwork(id: NetworkID(2), ssid: Sketch.ssid("Backup"), usesPassphrase: true),
            KnownNetwork(id: NetworkID(3), ssid: Sketch.ssid("Elsewhere"), usesPassphrase: true),
        ]
        let world = World(scenario, seed: 1)
        // It was in these networks before, but in none that is not here.
        #expect(
            log.heard.map(\.event) == [
                .networks(networks), .remembered(NetworkID(1), Frequency(megahertz: 2412)),
                .remembered(NetworkID(2), Frequency(megahertz: 2437)),
                .verified(NetworkID(1), world.bssid(of: 0)), .verified(NetworkID(2), world.bssid(of: 1)),
                .interface(isUp: true),
                .supplicant(isAvailable: true),
            ])
        #expect(log.heard.allSatisfy { $0.at == 0 })
    }

    @Test func theChannelOfTheLastSightOrLinkIsRemembered() {
        var scenario = Sketch.house(seconds: 60, [(20, .restart)])
        scenario.accessPoints.append(Sketch.accessPoint("Home", called: "repeater", megahertz: 2462, signal: -60))
        func remembered(_ orders: [(Int64, PolicyAction)]) -> [Int] {
            Scripted.run(scenario, orders).log.heard.compactMap { at, event in
                guard at > 20_000, case .remembered(NetworkID(1), let frequency) = event else { return nil }
                return frequency.megahertz
            }
        }
        #expect(remembered([]) == [2412])
        #expect(remembered([(0, .scan([2462]))]) == [2462])
        #expect(remembered([(0, .scan([2412, 2462])), (1000, .join(1, on: [2412]))]) == [2412])
        #expect(remembered([(0, .scan([2412, 2462])), (1000, .join(1, on: [2462]))]) == [2462])
    }

    @Test func theLinkSurvivesTheAgent() throws {
        let (log, result) = Scripted.run(Sketch.house(seconds: 60, [(20, .restart)]), [(0, .join(1))])
        let events = heard(log, after: 20_000)
        #expect(log.policies == 2)
        #expect(log.heard.allSatisfy { $0.at < 20_000 || $0.at == 20_500 })
        let bssid = World(Sketch.house(seconds: 60), seed: 1).bssid(of: 0)
        #expect(
            events.contains(
                .linkFound(NetworkID(1), AccessPoint(bssid: bssid, frequency: Frequency(megahertz: 2412)))))
        #expect(events.contains(.address(isReady: true)))
        #expect(events.last == .supplicant(isAvailable: true))
        let online = try #require(log.moments { $0 == .address(isReady: true) }.first)
        #expect(result.outage == .milliseconds(online))
    }

    @Test func aSwitchThatARestartCutsShortIsTold() {
        let (log, _) = Scripted.run(
            Sketch.house(
                seconds: 60,
                [
                    (20, .command(network: Sketch.ssid("Backup"), confirmWithin: nil, confirmAfter: nil)),
                    (25, .restart),
                ]),
            [(0, .join(1))])
        #expect(heard(log, after: 20_000).first == .switchTo(NetworkID(2), id: 1))
        #expect(
            heard(log, after: 25_000).contains(
                .interrupted(id: 1, target: NetworkID(2), cameFrom: NetworkID(1))))
    }

    @Test func aCommittedSwitchMakesItsTargetThePreferredNetwork() {
        let change = Scenario.Change.command(
            network: Sketch.ssid("Backup"), confirmWithin: .seconds(30), confirmAfter: .seconds(7))
        let (log, result) = Scripted.run(Sketch.house(seconds: 60, [(20, change)]), [(0, .join(1))]) { event in
            switch event {
            case .switchTo(_, let id, _, _): [.switchProgress(id: id, .waitingForConfirmation)]
            case .confirmed(let id):
                [.store(.switchEnded(id: id, isCommitted: true)), .switchProgress(id: id, .committed)]
            default: []
            }
        }
        let events = heard(log, after: 20_000)
        #expect(events[0] == .switchTo(NetworkID(2), id: 1, confirmWithin: .seconds(30)))
        #expect(log.moments { $0 == .confirmed(id: 1) } == [27_000])
        guard case .networks(let networks) = events.last else {
            Issue.record("no new list")
            return
        }
        #expect(networks.map(\.isPreferred) == [true, false])
        #expect(networks.map(\.id) == [NetworkID(2), NetworkID(1)])
        #expect(result.committed == 1 && result.rolledBack == 0 && result.failed == 0)
    }

    @Test func aNewPasswordMakesItAnotherNetwork() {
        let home = Sketch.ssid("Home")
        let (log, _) = Scripted.run(
            Sketch.house(
                seconds: 60,
                [
                    (20, .password(ap: "home", "new")), (30, .newPassword(network: home, "new")),
                    (40, .newPassword(network: home, "new")),
                ]), [(0, .join(1)), (25_000, .join(1, on: [2412], epoch: 2)), (31_000, .join(3, on: [2412], epoch: 3))])
        #expect(log.moments { $0 == .linkLost() } == [20_000], "the access point throws all devices out")
        #expect(log.moments { $0 == .joinFailed(epoch: 2, .wrongKey) }.count == 1)
        let lists = log.moments { if case .networks = $0 { true } else { false } }
        #expect(lists == [0, 30_000], "told twice, it is no news")
        #expect(
            log.heard.contains {
                if case .associated(epoch: 3, _) = $0.event { true } else { false }
            })
    }

    @Test func whoSleepsHearsNothing() {
        let (log, result) = Scripted.run(
            Sketch.house(
                seconds: 100,
                [
                    (20, .suspend(for: .seconds(40))), (30, .otherUplink(.cellular)),
                    (35, .command(network: Sketch.ssid("Backup"), confirmWithin: nil, confirmAfter: nil)),
                    (70, .otherUplink(nil)),
                ]), [(0, .join(1)), (19_990, .scan(id: 7))])
        #expect(
            heard(log, after: 19_991) == [
                .resumed, .scanFailed(id: 7), .linkLost(.ownDoing), .otherUplink(.cellular),
                .otherUplink(nil),
            ])
        #expect(log.moments { $0 == .resumed } == [60_000])
        // Lost: the time until it was online, and the last 30 s, in which nothing else carried the traffic.
        let online = log.moments { $0 == .address(isReady: true) }
        #expect(result.outage == .milliseconds(online[0] + 30_000))
    }

    @Test func wpaSupplicantTakesItsLinkAlong() {
        let (log, _) = Scripted.run(
            Sketch.house(seconds: 60, [(20, .supplicantDies(backAfter: .seconds(3)))]),
            [(0, .join(1)), (21_000, .join(2, epoch: 2))])
        #expect(
            log.heard.filter { $0.at >= 20_000 }.map(\.at) == [20_050, 20_050, 21_000, 23_050])
        #expect(
            heard(log, after: 20_000) == [
                .supplicant(isAvailable: false), .linkLost(.ownDoing),
                .joinFailed(epoch: 2, .supplicantUnavailable), .supplicant(isAvailable: true),
            ])
    }

    @Test func aPassBeginsAsTheFirstOne() {
        let home = Sketch.ssid("Home")
        let scenario = Sketch.house(
            seconds: 100,
            [
                (10, .newPassword(network: home, "other")), (50, .otherUplink(.wired)),
                (90, .suspend(for: .seconds(50))),
            ])
        let log = Scripted.Log()
        let result = Simulation.run(scenario, seed: 1, duration: .seconds(250)) { _ in
            Scripted(log, [], reaction: { _ in [] })
        }
        let uplinks = log.heard.filter { if case .otherUplink = $0.event { true } else { false } }
        #expect(uplinks.map(\.at) == [50_000, 100_000, 150_000, 200_000])
        #expect(log.moments { $0 == .resumed } == [100_000, 200_000])
        #expect(
            log.moments { if case .networks = $0 { true } else { false } }
                == [0, 10_000, 100_000, 110_000, 200_000, 210_000])
        #expect(result.outage == .seconds(50 + 50 + 50))
        #expect(result.duration == .seconds(250))
    }
}
