import AgentModel
import AppProtocol
import JSONValues
import Testing

@testable import MQTTBridge

/// Events in, effects out: the two connections and what is told.
// covers: seed/user-fleet
@Suite struct BridgeTests {
    private static func topics(_ effects: [Bridge.Effect]) -> [String] {
        effects.published.map { $0.topic.replacing(Talk.base + "/", with: "") }
    }

    @Test func aDeviceAppears() {
        var talk = Talk()
        #expect(talk.bridge.start(at: talk.at(0)) == [.connectAgent])
        let asked = talk(0, .agentConnected).lines.compactMap { $0["type"]?.text }
        #expect(asked == ["capabilities.get", "events.subscribe", "network.get", "backups.get"])
        #expect(talk.bridge.deadline == Instant(milliseconds: 30_000))

        let named = talk.agent(
            0,
            .capabilities(Capabilities(maxBackupNetworks: 3, deviceId: "bench-01", firmware: "0.1.0", features: [])))
        let hello = named.hello
        #expect(hello?.clientID == "altnet-bench-01")
        #expect(
            hello?.will
                == OutgoingMessage(
                    topic: "altnet/bench-01/availability", payload: Array("offline".utf8), isRetained: true))
        // A planned move is over sooner, and the session lasts as long as the will waits.
        #expect(hello?.willDelay == .seconds(60) && hello?.sessionExpiry == .seconds(3600))
        _ = talk.agent(0, .subscribed(Subscribed(seq: 41, stream: "run-1")))
        _ = talk.agent(0, .network(.online()))
        #expect(talk.agent(0, .backups(.two)) == [])

        let told = talk.settled(1, .brokerAccepted(BrokerSession(isPresent: false)))
        #expect(
            told.contains(
                .subscribe([
                    Subscription(topic: "altnet/bench-01/request", wantsRetained: false),
                    Subscription(topic: "altnet/bench-01/tunnel/+/up", wantsRetained: false),
                    Subscription(topic: "altnet/bench-01/home-assistant", wantsRetained: false),
                    Subscription(topic: "homeassistant/status", wantsRetained: false),
                    Subscription(topic: "altnet/firmware", wantsRetained: true),
                ])))
        #expect(
            Self.topics(told) == [
                "homeassistant/device/altnet_bench-01/config", "availability", "backups", "status", "signal",
            ])
        #expect(told.published.allSatisfy { $0.isRetained })
        let status = told.told("status").first ?? nil
        #expect(status?["name"]?.text == "HomeNet" && status?["selected"]?.text == "HomeNet")
        #expect(status?["network"]?["state"]?.text == "online")
        #expect(told.told("signal").first??["signal"]?.integer == -52)
        #expect(talk.bridge.isConnected)
    }

    /// The will is sent at the earlier of both (MQTT 5, 3.1.3.2.2).
    @Test func theSessionLastsAsLongAsTheWillWaits() {
        var settings = BridgeSettings()
        (settings.willDelay, settings.sessionExpiry) = (.seconds(300), .seconds(10))
        var talk = Talk(settings)
        #expect(talk.meetAgent().hello?.sessionExpiry == .seconds(300))
    }

    @Test func whatTheBrokerHasKeptIsNotToldAgain() {
        var (talk, _) = Talk.connected()
        _ = talk(10, .brokerFailed(BrokerFailure(.unreachable, "gone")))
        #expect(talk.run(until: 60).hello != nil)
        let again = talk.settled(60, .brokerAccepted(BrokerSession(isPresent: true)))
        #expect(Self.topics(again) == ["availability"])
        _ = talk(70, .brokerFailed(BrokerFailure(.unreachable, "gone")))
        _ = talk.run(until: 130)
        let anew = talk.settled(130, .brokerAccepted(BrokerSession(isPresent: false)))
        #expect(Self.topics(anew).count == 5)
    }

    @Test func aChangeIsToldAtOnce() {
        var (talk, _) = Talk.connected()
        let told = talk.event(2, .networkChanged(.online("BackupNet")))
        #expect(Self.topics(told) == ["status"])
        #expect(told.told("status").first??["selected"]?.text == "BackupNet")
        #expect(talk.event(3, .networkChanged(.online("BackupNet"))).published.isEmpty)
        // A network that is not stored is no choice.
        #expect(talk.event(4, .networkChanged(.online("Cafe"))).told("status").first??["selected"]?.text == "None")
    }

    @Test func theSignalIsToldNowAndThen() {
        var (talk, _) = Talk.connected()
        func reading(_ signal: Int) -> AppProtocol.Event.Body { .signal(SignalReading(signal: signal)) }
        #expect(talk.event(5, reading(-60)).published.isEmpty)
        #expect(talk.event(10, reading(-61)).published.isEmpty)
        // The newest, when the time has come.
        #expect(talk.bridge.deadline == Instant(milliseconds: 30_000))
        let told = talk.run(until: 32)
        #expect(told.told("signal").compactMap { $0?["signal"]?.integer } == [-61])
        #expect(told.published.allSatisfy { !$0.isAcknowledged })
        // What has not changed is not told.
        #expect(talk.event(70, reading(-61)).published.isEmpty)
        #expect(talk.event(71, reading(-70)).told("signal").count == 1)
    }

    // MARK: Moves and outages

    /// A move between two networks, the next one joined before the present one is left.
    @Test func aMoveNeverReadsAsOffline() {
        var (talk, _) = Talk.connected()
        let moved = talk.event(10, .networkChanged(.online("BackupNet", address: "10.0.0.7")))
        #expect(moved.contains(.disconnectBroker(isGoodbye: false)))
        #expect(moved.hello != nil, "it is connected anew at once")
        let back = talk.settled(10.2, .brokerAccepted(BrokerSession(isPresent: true, localAddress: "10.0.0.7")))
        #expect(back.published.allSatisfy { $0.payload != Bridge.offline })
        #expect(back.told("status").first??["name"]?.text == "BackupNet")
        #expect(back.told("outage").isEmpty && back.told("status").first??["outages"]?["today"]?.integer == 0)
    }

    @Test func aMoveWithAGapIsNoOutage() {
        var (talk, _) = Talk.connected()
        _ = talk.event(10, .networkChanged(.offline))
        _ = talk(10.5, .brokerFailed(BrokerFailure(.unreachable, "gone")))
        let back = talk.event(13, .networkChanged(.online("BackupNet", address: "10.0.0.7")))
        #expect(back.hello != nil, "no wait")
        let told = talk.settled(13.1, .brokerAccepted(BrokerSession(isPresent: true)))
        #expect(told.told("status").last??["outages"]?["today"]?.integer == 0)
        #expect(told.told("outage").isEmpty)
    }

    /// TCP notices a lost address after half a minute only.
    @Test func aMoveWithAGapMakesANewConnection() {
        var (talk, _) = Talk.connected()
        _ = talk.event(10, .networkChanged(.offline))
        let moved = talk.event(13, .networkChanged(.online("BackupNet", address: "10.0.0.7")))
        #expect(moved.contains(.disconnectBroker(isGoodbye: false)) && moved.hello != nil)
    }

    /// Where the broker is reached over a cable, Wi-Fi's moves are none of the connection's.
    @Test func aConnectionOverACableStays() {
        var talk = Talk()
        _ = talk.meetAgent()
        _ = talk.settled(1, .brokerAccepted(BrokerSession(isPresent: false, localAddress: "172.16.0.9")))
        let moved = talk.event(10, .networkChanged(.online("BackupNet", address: "10.0.0.7")))
        #expect(moved.hello == nil && talk.bridge.isConnected)
    }

    @Test func anOutageIsAGapAndToldAfterwards() {
        var (talk, _) = Talk.connected()
        let lost = Decision(
            seq: 1, time: Timestamp.moment, monotonicMs: 0, kind: .init(rawValue: "lost"), from: nil, to: nil,
            reason: ReasonCode(rawValue: "linkLost"), text: "the link was lost")
        _ = talk.event(10, .decision(lost))
        _ = talk.event(10, .networkChanged(.offline))
        _ = talk(11, .brokerFailed(BrokerFailure(.unreachable, "gone")))
        _ = talk.run(until: 130)
        let back = talk.event(130, .networkChanged(.online()))
        // All the neighbours are back at this moment, perhaps.
        #expect(back.hello == nil)
        let attempt = talk.run(until: 156)
        #expect(attempt.hello != nil)
        let told = talk.settled(156, .brokerAccepted(BrokerSession(isPresent: false)))
        let outage = told.told("outage").first ?? nil
        #expect(outage?["seconds"]?.integer == 120 && outage?["reason"]?.text == "linkLost")
        #expect(outage?["began"]?.text == "2026-02-03T04:05:16.000Z")
        let status = told.told("status").last ?? nil
        #expect(status?["outages"]?["today"]?.integer == 1 && status?["outages"]?["secondsToday"]?.integer == 120)
    }

    @Test func aNetworkThatLeadsNowhereIsAnOutage() {
        var (talk, _) = Talk.connected()
        let dead = Connectivity(
            level: .lan, required: .internet, internet: .no, problem: .nameServerSilent, checked: .moment)
        _ = talk.event(10, .networkChanged(.online(connectivity: dead)))
        let alive = Connectivity(level: .internet, required: .internet, internet: .yes, checked: .moment)
        let told = talk.event(40, .networkChanged(.online(connectivity: alive)))
        #expect(told.told("outage").first??["reason"]?.text == "nameServerSilent")
        #expect(told.told("outage").first??["seconds"]?.integer == 30)
    }

    /// Who reads what a broker has kept of a device that is gone knows how old it is.
    @Test func theStatusIsToldAgainWithItsTime() {
        var (talk, first) = Talk.connected()
        #expect(first.told("status").last??["told"]?.text == "2026-02-03T04:05:06.000Z")
        #expect(talk.run(until: 899).told("status").isEmpty)
        let told = talk.run(until: 1800).told("status")
        #expect(told.count == 2 && told.first??["told"]?.text == "2026-02-03T04:20:06.000Z")
        talk.isClockKnown = false
        #expect(talk.run(until: 2700).told("status").last??["told"] == nil)
    }

    @Test func theCountBeginsAnewWithTheDay() {
        var (talk, _) = Talk.connected()
        _ = talk.event(10, .networkChanged(.offline))
        _ = talk.event(100, .networkChanged(.online()))
        let midnight = Double(86_400_000 - Talk.start % 86_400_000) / 1000
        let told = talk.run(until: midnight + 1)
        #expect(told.told("status").last??["outages"]?["today"]?.integer == 0)
    }

    /// A board without a battery: no time is told that is none.
    @Test func aClockAt1970() {
        var (talk, _) = Talk.connected()
        talk.isClockKnown = false
        _ = talk.event(10, .networkChanged(.offline))
        let told = talk.event(100, .networkChanged(.online()))
        #expect(told.told("outage").first??["began"] == nil && told.told("outage").first??["seconds"]?.integer == 90)
    }

    // MARK: The agent goes

    @Test func aDeviceWhoseAgentIsAwayIsOffline() {
        var (talk, _) = Talk.connected()
        let lost = talk(10, .agentLost("it was ended"))
        #expect(lost.said.count == 1 && lost.published.isEmpty)
        // A restart is over sooner.
        let away = talk.run(until: 41)
        #expect(away.published(Talk.base + "/availability").map(\.payload) == [Bridge.offline])
        #expect(away.contains(.connectAgent))
        #expect(away.said.isEmpty, "it is said once")
        let back = talk.meetAgent(50)
        _ = back
        #expect(talk.settled(50, .tick).published.isEmpty || talk.unacknowledged.isEmpty)
        #expect(back.published(Talk.base + "/availability").map(\.payload) == [Bridge.online])
    }

    @Test func eventsGoOnWhereTheyWere() {
        var (talk, _) = Talk.connected()
        _ = talk.event(5, .scanFinished(ScanFinished(scanId: 1, outcome: .finished, networks: 3)), seq: 57)
        _ = talk(10, .agentLost("gone"))
        _ = talk.run(until: 12)
        let asked = talk(12, .agentConnected).lines
        let subscription = asked.first { $0["type"]?.text == "events.subscribe" }
        #expect(subscription?["body"]?["since"]?.integer == 57 && subscription?["body"]?["stream"]?.text == "run-1")
    }

    @Test func afterAGapTheStateIsReadAnew() {
        var (talk, _) = Talk.connected()
        let asked = talk.event(5, .gap(Gap(reason: .expired, missed: 3))).lines.compactMap { $0["type"]?.text }
        #expect(asked == ["network.get", "backups.get"])
    }

    @Test func anAgentThatIsNotUnderstoodIsLeft() {
        var (talk, _) = Talk.connected()
        let effects = talk(5, .agentSaid(Array("hello".utf8)))
        #expect(effects.contains(.disconnectAgent) && effects.said.count == 2)
        #expect(talk.run(until: 10).contains(.connectAgent))
        // An answer to no question, too.
        _ = talk.meetAgent(11)
        #expect(talk.agent(12, .backups(.two)).contains(.disconnectAgent))
    }

    @Test func anotherIdIsAnotherDevice() {
        var (talk, _) = Talk.connected()
        _ = talk(10, .agentLost("reset"))
        _ = talk.run(until: 12)
        _ = talk(12, .agentConnected)
        let effects = talk.agent(
            12, .capabilities(Capabilities(maxBackupNetworks: 3, deviceId: "other", firmware: "0.1.0", features: [])))
        #expect(effects.contains(.disconnectBroker(isGoodbye: false)))
        #expect(effects.hello?.clientID == "altnet-other")
    }

    // MARK: The broker goes

    /// From seeds: no two devices come at one moment, and all within the spread.
    @Test func devicesComeBackOneByOne() {
        let waits = (0..<200).map { seed -> Double in
            var talk = Talk(seed: UInt64(seed))
            _ = talk.meetAgent()
            _ = talk.settled(1, .brokerAccepted(BrokerSession(isPresent: false)))
            _ = talk(10, .brokerFailed(BrokerFailure(.unreachable, "gone")))
            return Double(talk.bridge.deadline?.milliseconds ?? 0) / 1000 - 10
        }
        #expect(waits.allSatisfy { (0...25).contains($0) })
        let counts = (0..<5).map { part in waits.count { Int($0 / 5) == part } }
        #expect(counts.allSatisfy { (20...60).contains($0) }, "\(counts)")
    }

    /// A provider that is back: the devices know it from their agents, and do not wait for their longest pause.
    @Test func afterAnOutageOfTheSameNetworkTheSpreadCounts() {
        let dead = Connectivity(
            level: .lan, required: .internet, internet: .no, problem: .nameServerSilent, checked: .moment)
        let alive = Connectivity(level: .internet, required: .internet, internet: .yes, checked: .moment)
        let waits = (0..<50).map { seed -> Double in
            var talk = Talk(seed: UInt64(seed))
            _ = talk.meetAgent()
            _ = talk.event(1, .networkChanged(.online(connectivity: dead)))
            var now = 1.0
            while now < 200 {
                _ = talk(now, .brokerFailed(BrokerFailure(.unreachable, "gone")))
                now = Double(talk.bridge.deadline?.milliseconds ?? 0) / 1000
                if now < 200 { _ = talk(now, .tick) }
            }
            if talk.event(199, .networkChanged(.online(connectivity: alive))).hello != nil { return 0 }
            return Double(talk.bridge.deadline?.milliseconds ?? 0) / 1000 - 199
        }
        #expect(waits.allSatisfy { (0...25).contains($0) }, "\(waits)")
        #expect((waits.max() ?? 0) > 10)
    }

    @Test func theWaitGrowsToItsEnd() {
        var talk = Talk()
        _ = talk.meetAgent()
        var now = 0.0
        var longest = 0.0
        for _ in 0..<100 {
            _ = talk(now, .brokerFailed(BrokerFailure(.unreachable, "connection refused")))
            let due = Double(talk.bridge.deadline?.milliseconds ?? 0) / 1000
            longest = max(longest, due - now)
            now = due
            #expect(talk(now, .tick).hello != nil)
        }
        #expect((40...50).contains(longest), "\(longest)")
    }

    @Test func whatKeepsFailingIsSaidOnce() {
        var talk = Talk()
        _ = talk.meetAgent()
        #expect(talk(1, .brokerFailed(BrokerFailure(.unreachable, "connection refused"))).said.count == 1)
        _ = talk.run(until: 100)
        #expect(talk(100, .brokerFailed(BrokerFailure(.unreachable, "connection refused"))).said.isEmpty)
        let due = Double(talk.bridge.deadline?.milliseconds ?? 0) / 1000
        #expect(talk(due, .tick).hello != nil)
        _ = talk.settled(due, .brokerAccepted(BrokerSession(isPresent: true)))
        #expect(talk(300, .brokerFailed(BrokerFailure(.unreachable, "gone"))).said.count == 1)
    }

    /// A broker that lets the device in and drops it, again and again: the wait grows as if it had never let it in.
    @Test func aConnectionThatDoesNotLastIsNone() {
        var talk = Talk()
        _ = talk.meetAgent()
        var now = 0.0
        var longest = 0.0
        for _ in 0..<30 {
            _ = talk.settled(now, .brokerAccepted(BrokerSession(isPresent: true)))
            _ = talk(now + 1, .brokerFailed(BrokerFailure(.unreachable, "gone")))
            let due = Double(talk.bridge.deadline?.milliseconds ?? 0) / 1000
            longest = max(longest, due - now - 1)
            now = due
            _ = talk(now, .tick)
        }
        #expect((40...50).contains(longest), "\(longest)")
    }

    /// Two bridges with one client id: each would drive the other out for ever.
    @Test func aBridgeThatIsTakenOverStandsBack() {
        var (talk, _) = Talk.connected()
        let taken = talk(10, .brokerFailed(BrokerFailure(.takenOver, "another client has the same client ID")))
        #expect(taken.said.count == 1)
        let wait = Double(talk.bridge.deadline?.milliseconds ?? 0) / 1000 - 10
        #expect((150...300).contains(wait))
        // Not even a network that comes back brings it sooner.
        _ = talk.event(20, .networkChanged(.offline))
        #expect(talk.event(25, .networkChanged(.online())).hello == nil)
        _ = talk.run(until: 10 + wait)
        _ = talk.settled(11 + wait, .brokerAccepted(BrokerSession(isPresent: true)))
        _ = talk(12 + wait, .brokerFailed(BrokerFailure(.takenOver, "another client has the same client ID")))
        let next = Double(talk.bridge.deadline?.milliseconds ?? 0) / 1000 - 12 - wait
        #expect((300...600).contains(next), "and longer each time")
    }

    @Test func aBrokerThatRefusesIsNotPressed() {
        var talk = Talk()
        _ = talk.meetAgent()
        _ = talk(1, .brokerFailed(BrokerFailure(.refused, "bad user name or password")))
        #expect((30...60).contains(Double(talk.bridge.deadline?.milliseconds ?? 0) / 1000 - 1))
    }

    @Test func aBrokerThatNeverAnswersIsLeft() {
        var talk = Talk()
        _ = talk.meetAgent()
        #expect(talk.bridge.deadline == Instant(milliseconds: 60_000))
        #expect(talk(60, .tick).contains(.disconnectBroker(isGoodbye: false)))
    }

    @Test func aBrokerThatAcknowledgesNothingIsLeft() {
        var talk = Talk()
        _ = talk.meetAgent()
        _ = talk(1, .brokerAccepted(BrokerSession(isPresent: false)))
        #expect(talk.bridge.deadline == Instant(milliseconds: 121_000))
        #expect(talk(121, .tick).contains(.disconnectBroker(isGoodbye: false)))
        _ = talk.run(until: 121)
    }

    @Test func aBrokerWithLessThanItShould() {
        var talk = Talk()
        _ = talk.meetAgent()
        let effects = talk(
            1,
            .brokerAccepted(
                BrokerSession(
                    isPresent: false, maximumPacket: 1500, receiveMaximum: 1, keepsMessages: false,
                    acknowledges: false)))
        #expect(effects.published.allSatisfy { !$0.isRetained && !$0.isAcknowledged })
        #expect(
            !effects.published.contains { $0.topic.hasPrefix("homeassistant/") }, "it is larger than the broker takes")
        #expect(effects.said.count == 3)
        #expect(talk.bridge.lostMessages == 1)
    }

    // MARK: The queue

    @Test func eventsWaitForTheBroker() {
        var talk = Talk()
        _ = talk.meetAgent()
        for scan in 0..<300 {
            _ = talk.event(
                Double(scan), .scanFinished(ScanFinished(scanId: scan, outcome: .finished, networks: 3)), seq: 50 + scan
            )
        }
        #expect(talk.bridge.waitingMessages == BridgeLimits.queuedMessages && talk.bridge.lostMessages == 100)
        let told = talk.settled(301, .brokerAccepted(BrokerSession(isPresent: false)))
        // In their order, the newest of them; and that some are missing.
        #expect(told.told("scan").compactMap { $0?["scanId"]?.integer } == Array(100..<300))
        #expect(told.told("status").last??["lost"]?.integer == 100)
    }

    @Test func whatWasNotAcknowledgedIsToldAgain() {
        var (talk, _) = Talk.connected()
        let scan = AppProtocol.Event.Body.scanFinished(ScanFinished(scanId: 1, outcome: .finished, networks: 3))
        let line = AppProtocol.Event(seq: 50, time: Timestamp.moment, body: scan).line()
        #expect(talk(5, .agentSaid(line)).told("scan").count == 1)
        talk.unacknowledged = []
        _ = talk(6, .brokerFailed(BrokerFailure(.unreachable, "gone")))
        _ = talk.run(until: 40)
        let again = talk.settled(40, .brokerAccepted(BrokerSession(isPresent: true)))
        #expect(again.told("scan").count == 1)
        _ = talk(50, .brokerFailed(BrokerFailure(.unreachable, "gone")))
        _ = talk.run(until: 100)
        #expect(talk.settled(100, .brokerAccepted(BrokerSession(isPresent: true))).told("scan").isEmpty)
    }

    @Test func notMoreIsOnItsWayThanTheBrokerTakes() {
        var talk = Talk()
        _ = talk.meetAgent()
        for scan in 0..<50 {
            _ = talk.event(
                0.5, .scanFinished(ScanFinished(scanId: scan, outcome: .finished, networks: 3)), seq: 50 + scan)
        }
        let first = talk(1, .brokerAccepted(BrokerSession(isPresent: false, receiveMaximum: 3)))
        #expect(first.published.count == 3)
        let next = talk(1, .acknowledged(talk.unacknowledged[0]))
        #expect(next.published.count { $0.isAcknowledged } == 1)
        // One that the broker acknowledges twice, or that it was never sent, is nothing.
        #expect(talk(1, .acknowledged(60_000)).published.isEmpty)
    }

    // MARK: The end

    @Test func anOrderlyEndIsTold() {
        var (talk, _) = Talk.connected()
        let last = talk(10, .stop)
        #expect(last.published.map(\.payload) == [Bridge.offline] && !last.contains(.over))
        let over = talk(10.1, .acknowledged(talk.unacknowledged[0]))
        #expect(over == [.disconnectBroker(isGoodbye: true), .disconnectAgent, .over])
        #expect(talk(11, .agentConnected) == [])
    }

    @Test func theEndDoesNotWaitForLong() {
        var (talk, _) = Talk.connected()
        _ = talk(10, .stop)
        #expect(talk.bridge.deadline == Instant(milliseconds: 12_000))
        #expect(talk(12, .tick).contains(.over))
        var early = Talk()
        _ = early.meetAgent()
        #expect(early(1, .stop).contains(.over))
    }

    @Test func aDeviceIsTakenBack() {
        var talk = Talk(purpose: .remove)
        _ = talk.meetAgent()
        let effects = talk.settled(1, .brokerAccepted(BrokerSession(isPresent: true)))
        #expect(
            Set(effects.published.map(\.topic))
                == Set(
                    ["homeassistant/device/altnet_bench-01/config"]
                        + ["status", "signal", "backups", "availability"].map { Talk.base + "/" + $0 }))
        #expect(effects.published.allSatisfy { $0.payload.isEmpty && $0.isRetained })
        #expect(effects.contains(.disconnectBroker(isGoodbye: true)) && effects.contains(.over))
    }
}
