import AgentModel
import AppProtocol
import Failover
import Testing

@testable import AgentCore

/// The state asks what a network reaches, and decides by the answers: events in, effects out.
@Suite struct ConnectivityStateTests {
    // MARK: Probes

    @Test func aProbeAsksWhateverCouldDecide() {
        var bench = ReachBench(.target, targets: ["broker"])
        #expect(
            bench.handle(.probe(epoch: 1, within: .seconds(3))) == [
                "ask target broker", "ask source", "ask portal address", "ask gateway",
            ])
        #expect(bench.limits == [2520, 2520, 1000, 1800], "a little less than the policy's own limit")
        #expect(bench.answer(.target(nil)) == [])
        #expect(bench.answer(.gateway(true)) == [])
        #expect(bench.answer(.portalAddress(nil)) == [])
        let effects = bench.answer(.source(.online, cost: 1000))
        #expect(effects == ["changed", "probed 1 online"])
        #expect(bench.connectivity.level == .target && bench.connectivity.internet == .yes)
    }

    /// The rest is not waited for, and not wanted any more.
    @Test func theFirstProofIsEnough() {
        var bench = ReachBench(.internet)
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        #expect(
            bench.answer(.source(.online, cost: 1000))
                == ["cancel 1", "changed", "probed 1 online"])
    }

    @Test func silenceIsTheAnswerWhenTheTimeIsOver() {
        var bench = ReachBench(.internet)
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        bench.answer(.portalAddress(nil))
        bench.now = bench.now + .milliseconds(2799)
        #expect(bench.handle(.timer) == ["ask portal address"], "the DHCP client may have noted it by now")
        bench.now = bench.now + .milliseconds(1)
        #expect(bench.handle(.timer).last == "probed 1 failed")
        #expect(bench.connectivity.problem == .gatewaySilent && bench.connectivity.checked != nil)
    }

    @Test func aProbeOfAnotherLinkAsksNothing() {
        var bench = ReachBench(.internet)
        #expect(bench.handle(.probe(epoch: 2, within: .seconds(3))) == [])
    }

    /// A check that begins before the last one has ended takes its place. Its answer counts once, or the next probe
    /// would be answered by the last.
    @Test func whatWaitsForACheckIsToldOnce() {
        var bench = ReachBench(.internet)
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        #expect(bench.handle(.probe(epoch: 1, within: .seconds(3))).first == "cancel 2", "not the network's own word")
        #expect(bench.answer(.source(.online, cost: 1000)).suffix(2) == ["changed", "probed 1 online"])
    }

    @Test func whatComesTooLateIsDroppedAndCostsAllTheSame() {
        var bench = ReachBench(.internet, budget: QuestionBudget.Limits(questionsPerHour: 40, bytesPerHour: 5000))
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        let late = bench.asked(.source)
        #expect(bench.handle(.follow(.wifi(epoch: 2))).first == "cancel 3")
        #expect(bench.handle(.answer(late, .source(.captive(portal: nil), cost: 6000))) == [])
        #expect(bench.connectivity.internet == .unknown)
        // The budget for bytes is used up with it.
        #expect(!bench.handle(.probe(epoch: 2, within: .seconds(3))).contains("ask source"))
        bench.answer(.gateway(true))
        guard case .postponed(epoch: 2, _)? = bench.lastTold(after: .portalAddress(nil)) else {
            return #expect(Bool(false), "\(String(describing: bench.policyEvents))")
        }
    }

    // MARK: Targets

    /// A network behind which every server has another certificate keeps the clock from being set, too.
    @Test func aClockThatIsNotSetExcusesANetworkForAWhile() {
        var bench = ReachBench(.target, hasSource: false, targets: ["broker"])
        func probe() -> String? {
            bench.handle(.probe(epoch: 1, within: .seconds(3)))
            bench.answer(.portalAddress(nil))
            bench.answer(.gateway(true))
            return bench.answer(.target(.clockNotSet)).last
        }
        #expect(probe() == "probed 1 online")
        #expect(bench.connectivity.problem == .clockNotSet)
        bench.now = bench.now + ConnectivityState.clockLimit - .seconds(1)
        #expect(probe() == "probed 1 online")
        bench.now = bench.now + .seconds(1)
        #expect(probe() == "probed 1 failed")
        bench.handle(.follow(.wifi(epoch: 2)))
        bench.handle(.probe(epoch: 2, within: .seconds(3)))
        bench.answer(.portalAddress(nil))
        bench.answer(.gateway(true))
        #expect(bench.answer(.target(.clockNotSet)).last == "probed 2 online", "another network has its own time")
    }

    @Test func aTargetThatIsReadyIsAskedAloneFirst() {
        var bench = ReachBench(.target, targets: ["broker", "app"])
        bench.become(.ready, "broker", isFar: true)
        bench.handle(.targetChanged(.inUse, "broker"))
        #expect(bench.handle(.probe(epoch: 1, within: .seconds(3))) == ["ask target broker"])
        bench.now = bench.now + .milliseconds(500)
        #expect(
            bench.handle(.timer) == ["ask target app", "ask source", "ask portal address", "ask gateway"],
            "it has had its head start")
    }

    @Test func aConnectionThatBrokeIsADoubtUnlessAnotherIsEnough() {
        var bench = ReachBench(.internet, targets: ["broker", "house"])
        bench.become(.ready, "house", isFar: false)
        #expect(bench.handle(.targetDoubted("broker")) == ["doubted 1"])
        bench.become(.ready, "house", isFar: true)
        #expect(bench.handle(.targetDoubted("broker")) == [])
    }

    /// On a metered link the next routine probe may be ten intervals away.
    @Test func otherTargetsThatFailAreADoubtAtOnce() {
        var bench = ReachBench(.target, hasSource: false, targets: ["broker"])
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        bench.answer(.portalAddress(nil))
        bench.answer(.gateway(true))
        #expect(bench.answer(.target(nil)).last == "probed 1 online")
        func retargeted() -> String? {
            #expect(bench.handle(.retargeted(required: .target, kept: [])).contains("ask target broker"))
            bench.answer(.gateway(true))
            return bench.answer(.target(.timedOut)).last
        }
        #expect(retargeted() == "doubted 1")
        bench.handle(.retargeted(required: .target, kept: []))
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        bench.answer(.gateway(true))
        let effects = bench.answer(.target(.timedOut))
        #expect(effects.last == "probed 1 failed" && !effects.contains("doubted 1"), "one result of one check")
        bench.handle(.retargeted(required: .target, kept: []))
        #expect(bench.answer(.target(nil)).last == "probed 1 online")
    }

    // MARK: The link beside

    @Test func aLinkBesideIsAskedOverItself() {
        var bench = ReachBench(.internet)
        let effects = bench.handle(.probeSuccessor(epoch: 2, "wlan1", within: .seconds(3)))
        #expect(effects == ["follow beside wlan1", "ask source", "ask portal address", "ask gateway"])
        #expect(bench.sides == [.beside])
        #expect(
            bench.answer(.source(.online, cost: 1000)) == [
                "cancel 1", "probed 2 online",
            ])
        #expect(bench.connectivity.internet == .unknown, "nothing is known of the link in use by that")
        #expect(bench.handle(.leaveSuccessor) == ["cancel 1", "follow beside none"])
        #expect(bench.handle(.leaveSuccessor) == [])
    }

    // MARK: What the network says of itself

    /// A network that tells of no portal is looked at again every minute: a wait then would wake the processor for
    /// nothing.
    @Test func onlyTheFirstLookWaitsForTheDHCPClient() {
        var bench = ReachBench(.lan, hasSource: false)
        #expect(bench.handle(.timer) == ["ask portal address"])
        #expect(bench.limits == [1000])
        bench.answer(.portalAddress(nil))
        bench.now = bench.now + .seconds(60)
        #expect(bench.handle(.timer) == ["ask portal address"] && bench.limits == [0])
        bench.answer(.portalAddress(nil))
        bench.handle(.askPortalAnew)
        #expect(
            bench.handle(.timer) == ["ask portal address"] && bench.limits == [1000], "what is in doubt is waited for")
    }

    @Test func aNetworkThatClosesIsADoubt() {
        var bench = ReachBench(.internet)
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        bench.answer(.portalAddress("https://portal.example/api"))
        bench.answer(.source(.online, cost: 1000))
        bench.answer(.portal(CaptiveState(isCaptive: false, secondsRemaining: 60), cost: 500))
        bench.now = bench.now + .seconds(60)
        #expect(bench.handle(.timer) == ["ask portal address"])
        #expect(bench.answer(.portalAddress("https://portal.example/api")) == ["ask portal"])
        #expect(
            bench.answer(.portal(CaptiveState(isCaptive: true), cost: 500))
                == ["forget names", "changed", "doubted 1"])
    }

    // MARK: Signing in

    @Test func aLoginPageIsForTheProviders() {
        var bench = ReachBench(.internet, hasProviders: true)
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        bench.answer(.portalAddress(nil))
        bench.answer(.gateway(true))
        let effects = bench.answer(.source(.captive(portal: "http://10.0.0.1/"), cost: 1000))
        #expect(effects.dropLast() == ["changed", "forget names", "captive found"])
        #expect(bench.policyEvents == .signingIn(epoch: 1, until: bench.now + .seconds(6)))
        // No provider can.
        #expect(bench.handle(.signIn(SignInStatus())) == ["probed 1 captive"])
    }

    /// Providers evaluate every network. The verdict does not wait for them.
    // covers: seed/provider-evaluate, seed/provider-unclaimed
    @Test func aNetworkThatIsNotCaptiveIsEvaluatedToo() {
        var bench = ReachBench(.internet, hasProviders: true)
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        bench.answer(.portalAddress(nil))
        #expect(bench.answer(.source(.online, cost: 1000)).suffix(2) == ["online found", "probed 1 online"])
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        #expect(bench.handle(.timeIsOver).suffix(2) == ["offline found", "probed 1 failed"])
        var status = SignInStatus()
        status.portal.state = .authenticated
        #expect(bench.handle(.signIn(status)) == ["changed"], "an unclaimed network needs no check")
    }

    @Test func withoutARequiredServerTheLinkIsEvaluated() {
        var bench = ReachBench(.link, hasProviders: true)
        #expect(bench.handle(.follow(.wifi(epoch: 2))).contains("online found"))
    }

    @Test func theProviderThatSignedInLogsOffOnceBeforeTheLinkGoes() {
        var bench = ReachBench(.internet, hasProviders: true)
        #expect(bench.handle(.logOff) == [], "none has signed in")
        var status = SignInStatus()
        status.portal.state = .authenticated
        bench.handle(.signIn(status))
        #expect(bench.handle(.logOff) == [], "no provider claims the network")
        status.portal.provider = "cafe"
        bench.handle(.signIn(status))
        #expect(bench.handle(.logOff) == ["log off"])
        #expect(bench.handle(.logOff) == [])
        #expect(!bench.handle(.follow(.none)).contains("network left"), "at the end of it")
        #expect(bench.handle(.loggedOff) == ["network left"])
        #expect(bench.handle(.logOff) == [], "the link is gone already")
    }

    // MARK: Paths

    @Test func nothingIsKnownOfAnotherPath() {
        var bench = ReachBench(.internet)
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        bench.answer(.source(.online, cost: 1000))
        #expect(bench.connectivity.internet == .yes)
        #expect(
            bench.handle(.follow(.none)) == ["cancel 1", "network left", "forget names", "follow none", "changed"])
        #expect(bench.connectivity.internet == .unknown && bench.connectivity.level == nil)
        #expect(bench.state.nextWake == nil, "and nothing is asked")
    }

    @Test func theWayOfAnotherUplinkIsCheckedEveryMinute() {
        var bench = ReachBench(.internet)
        #expect(bench.handle(.follow(.other(.wired))).contains("ask source"))
        bench.answer(.source(.online, cost: 1000))
        #expect(bench.policyEvents == nil, "nothing is decided by it")
        bench.now = bench.now + .seconds(60)
        #expect(bench.handle(.timer).contains("ask source"))
        bench.answer(.source(.online, cost: 1000))
        #expect(bench.handle(.uplinksJudged).contains("ask source"), "it is checked when it fails, too")
    }

    @Test func aMeteredUplinkIsCheckedEveryTenMinutes() {
        var bench = ReachBench(.internet)
        #expect(bench.handle(.follow(.other(.cellular), isMetered: true)).contains("ask source"))
        bench.answer(.source(.online, cost: 1000))
        bench.now = bench.now + .seconds(60)
        #expect(!bench.handle(.timer).contains("ask source"))
        bench.now = bench.now + .seconds(540)
        #expect(bench.handle(.timer).contains("ask source"))
    }

    @Test func connectionsOpenAnewWhenTheLinkBecomesMetered() {
        var bench = ReachBench(.internet)
        #expect(bench.handle(.follow(.wifi(epoch: 1), isMetered: true)) == ["follow"])
        #expect(bench.handle(.follow(.wifi(epoch: 1), isMetered: true)) == [])
        #expect(bench.handle(.follow(.wifi(epoch: 1))) == ["follow"])
    }

    @Test func noAnswerIsHeardTwice() {
        var bench = ReachBench(.internet)
        bench.handle(.probe(epoch: 1, within: .seconds(3)))
        let source = bench.asked(.source)
        #expect(bench.handle(.answer(source, .source(.online, cost: 1000))).count == 3)
        #expect(bench.handle(.answer(source, .source(.failed(.timedOut), cost: 1000))) == [])
        #expect(bench.connectivity.internet == .yes)
    }
}

/// On the Wi-Fi link with the epoch 1. Time goes on where the test says so.
private struct ReachBench {
    var state: ConnectivityState
    var now = Instant(milliseconds: 1_000_000)
    private var targets: [ReachTarget]
    /// What was asked last, in order, and not answered yet.
    private var questions: [(id: ReachQuestionID, question: ReachQuestion, side: LinkSide)] = []
    /// The limits of the last questions, in milliseconds, and the links that they were asked over.
    private(set) var limits: [Int64] = []
    private(set) var sides: Set<LinkSide> = []
    /// What the policy was told last.
    private(set) var policyEvents: PolicyEvent?

    init(
        _ required: ReachLevel, hasSource: Bool = true, hasProviders: Bool = false, targets: [String] = [],
        budget: QuestionBudget.Limits = QuestionBudget.Limits()
    ) {
        state = ConnectivityState(
            ConnectivityState.Settings(required: required, hasSource: hasSource, hasProviders: hasProviders),
            budget: budget, at: ClockReading(instant: now, time: Timestamp(millisecondsSince1970: 0)))
        self.targets = targets.map { name in
            ReachTarget(
                name: name, host: "\(name).example", port: 8883, isTLS: true,
                status: ConnectionStatus(state: .setup, since: Instant(milliseconds: 1_000_000)))
        }
        handle(.follow(.wifi(epoch: 1)))
    }

    private var clock: ClockReading { ClockReading(instant: now, time: Timestamp(millisecondsSince1970: 0)) }

    /// - Returns: the names of the effects, in order.
    @discardableResult
    mutating func handle(_ event: ConnectivityEvent) -> [String] {
        _ = state.handle(.targets(inUse: targets, beside: targets), at: clock)
        let effects = state.handle(event, at: clock)
        (limits, sides) = ([], [])
        for effect in effects {
            switch effect {
            case .ask(let id, let question, let side, let limit):
                questions.append((id, question, side))
                limits.append(limit.milliseconds)
                sides.insert(side)
            case .cancel(let ids): questions.removeAll { ids.contains($0.id) }
            case .sendToPolicy(let event): policyEvents = event
            default: break
            }
        }
        return effects.map(\.name)
    }

    /// Answers the oldest question of this kind.
    @discardableResult
    mutating func answer(_ answer: ReachAnswer) -> [String] {
        guard let index = questions.firstIndex(where: { answer.fits($0.question) }) else { return ["not asked"] }
        return handle(.answer(questions.remove(at: index).id, answer))
    }

    mutating func lastTold(after answer: ReachAnswer) -> PolicyEvent? {
        self.answer(answer)
        return policyEvents
    }

    func asked(_ question: ReachQuestion) -> ReachQuestionID {
        questions.first { $0.question == question }?.id ?? ReachQuestionID(rawValue: 0)
    }

    mutating func become(_ new: ConnectionState, _ name: String, isFar: Bool) {
        for index in targets.indices where targets[index].name == name {
            targets[index].status = ConnectionStatus(state: new, isFar: isFar, since: now)
        }
    }

    var connectivity: Connectivity { state.connectivity(at: clock) }
}

extension ReachAnswer {
    fileprivate func fits(_ question: ReachQuestion) -> Bool {
        switch (self, question) {
        case (.target, .target), (.source, .source), (.gateway, .gateway), (.portalAddress, .portalAddress),
            (.portal, .portal):
            true
        default: false
        }
    }
}

extension ConnectivityEffect {
    fileprivate var name: String {
        switch self {
        case .ask(_, .target(let name), _, _): "ask target \(name)"
        case .ask(_, .source, _, _): "ask source"
        case .ask(_, .gateway, _, _): "ask gateway"
        case .ask(_, .portalAddress, _, _): "ask portal address"
        case .ask(_, .portal, _, _): "ask portal"
        case .cancel(let ids): "cancel \(ids.count)"
        case .follow(.none): "follow none"
        case .follow: "follow"
        case .followBeside(let station): "follow beside \(station?.interface ?? "none")"
        case .forgetNames: "forget names"
        case .sendToPolicy(.probed(let epoch, let result)): "probed \(epoch) \(result)"
        case .sendToPolicy(.doubted(let epoch)): "doubted \(epoch)"
        case .sendToPolicy(.signingIn(let epoch, _)): "signing in \(epoch)"
        case .sendToPolicy(let event): "tell \(event)"
        case .publish(let event): "publish \(event.name)"
        case .changed: "changed"
        case .problem: "problem"
        case .captiveFound: "captive found"
        case .onlineFound: "online found"
        case .offlineFound: "offline found"
        case .sessionEnds: "session ends"
        case .logOff: "log off"
        case .networkLeft: "network left"
        }
    }
}
