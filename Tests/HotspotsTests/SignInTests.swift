import AgentModel
import AppProtocol
import Testing

@testable import Hotspots

@Suite struct SignInTests {
    private static let success = ProviderAnswer.signIn(.success(maintainIn: nil, session: Secret(text: "s")))
    private static let dialogue = Dialogue(
        title: "t", message: "m",
        fields: [PortalRequest.Field(name: "code", label: "Code", kind: .text, isRequired: true)])

    // covers: seed/provider-evaluate
    @Test func theHighestConfidenceWins() {
        var bench = SignInBench()
        bench.captive()
        #expect(bench.state == .evaluating)
        bench.list("a", "b", "c", "d")
        #expect(bench.open.count == 4)
        bench.answer("a", .evaluated(.low))
        bench.answer("d", .evaluated(.high))
        bench.answer("b", .evaluated(.none))
        #expect(bench.state == .evaluating)
        bench.answer("c", .evaluated(.high))
        #expect(bench.state == .authenticating)
        // Among equals the name decides.
        #expect(bench.provider == "c")
        bench.fail("c")
        #expect(bench.provider == "d")
        bench.fail("d")
        #expect(bench.provider == "a")
        bench.fail("a")
        // A provider that claimed nothing is not tried.
        #expect(bench.state == .inactive)
        #expect(bench.signIn.status.retryAt == bench.now + .seconds(30))
        #expect(bench.signIn.status.problem?.hasPrefix("a: ") == true)
        #expect(bench.open.isEmpty)
    }

    /// If one is silent to the end of its time, the device stays until the next one is known.
    @Test func theAgentWaitsUntilTheNextOneHasBegun() throws {
        var bench = SignInBench()
        bench.captive()
        func waitsBeyondTheDeadline() throws {
            let deadline = try #require(bench.signIn.deadline)
            #expect(try #require(bench.signIn.status.signingInUntil) > deadline)
        }
        try waitsBeyondTheDeadline()
        bench.list("good", "silent")
        bench.answer("good", .evaluated(.high))
        try waitsBeyondTheDeadline()
        bench.wait()
        #expect(bench.provider == "good")
        try waitsBeyondTheDeadline()
        bench.answer("good", .signIn(.uiRequired(Self.dialogue)))
        try waitsBeyondTheDeadline()
    }

    @Test func onlySoManyAreAskedAtATime() {
        var bench = SignInBench()
        bench.captive()
        bench.list("a", "b", "c", "d", "e", "f")
        #expect(bench.open.count == 4)
        bench.fail("b")
        #expect(bench.number("e") != nil)
        #expect(bench.open.count == 4)
        // The rest is silent: two time limits, for two batches.
        bench.wait()
        bench.wait()
        #expect(bench.state == .inactive, "no provider has answered")
        #expect(bench.open.isEmpty)
    }

    // covers: seed/provider-states, seed/provider-maintain
    @Test func signsInAndMaintains() throws {
        var bench = SignInBench()
        bench.chosen("a")
        bench.answer("a", Self.success)
        #expect(bench.state == .authenticated)
        #expect(bench.signIn.status.signingInUntil == bench.now + .seconds(15))
        bench.online()
        #expect(bench.state == .maintaining)
        #expect(bench.signIn.status.signingInUntil == nil)
        #expect(bench.open.isEmpty)
        bench.wait()
        #expect(bench.state == .maintaining)
        guard case .open(_, "a", .maintain(SignInBench.cafe, let session))? = bench.effects.first else {
            Issue.record("no maintenance")
            return
        }
        #expect(session == Secret(text: "s"))
        bench.answer("a", .maintained(.success(next: 40)))
        #expect(bench.state == .maintaining)
        #expect(bench.signIn.deadline == bench.now + .seconds(40))
        bench.wait()
        bench.answer("a", .maintained(.authenticationRequired))
        #expect(bench.state == .authenticating)
        #expect(bench.provider == "a")
    }

    @Test func aMaintenanceThatCrashesIsTriedAgainLater() {
        var bench = SignInBench()
        bench.chosen("a")
        bench.answer("a", Self.success)
        bench.online()
        bench.wait()
        bench.fail("a", .garbage("x"))
        #expect(bench.state == .maintaining)
        #expect(bench.signIn.deadline == bench.now + .seconds(30))
        bench.wait()
        bench.fail("a")
        #expect(bench.signIn.deadline == bench.now + .seconds(60))
    }

    // covers: seed/provider-authenticate
    @Test func aFalseSuccessIsFollowedByTheNext() {
        var bench = SignInBench()
        bench.chosen("liar", others: "other")
        bench.answer("liar", Self.success)
        bench.captive()
        #expect(bench.provider == "other")
        bench.answer("other", Self.success)
        bench.captive()
        // Both have lied: neither is tried again before the wait.
        #expect(bench.state == .inactive)
        #expect(bench.signIn.status.retryAt == bench.now + .seconds(30))
    }

    @Test func theWaitsGrowUpToAnHour() {
        var bench = SignInBench()
        bench.captive()
        var waits: [Int64] = []
        for _ in 0..<10 {
            bench.list("a")
            bench.answer("a", .evaluated(.high))
            bench.fail("a")
            waits.append((bench.signIn.status.retryAt.map { $0 - bench.now } ?? .zero).milliseconds / 1000)
            bench.wait()
        }
        #expect(waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
    }

    @Test func aProviderMayAskForMoreTime() {
        var bench = SignInBench()
        bench.chosen("a", others: "b")
        bench.answer("a", .signIn(.temporaryFailure(retryAfter: 300)))
        bench.answer("b", .signIn(.temporaryFailure(retryAfter: 200)))
        #expect(bench.signIn.status.retryAt == bench.now + .seconds(200))
        bench.wait()
        #expect(bench.state == .evaluating)
    }

    @Test func aProviderThatCannotIsTriedInAnHour() {
        var bench = SignInBench()
        bench.chosen("a")
        bench.answer("a", .signIn(.failure(reason: "no\u{1b}[2J")))
        #expect(bench.signIn.status.retryAt == bench.now + .seconds(3600))
        #expect(bench.signIn.status.problem == "a: no\\x1b[2J")
    }

    @Test func theOneThatSignedInIsTriedFirstNextTime() {
        var bench = SignInBench()
        bench.chosen("b", others: "a")
        bench.answer("b", Self.success)
        bench.online()
        bench.receive(.left)
        #expect(bench.open.isEmpty)
        bench.captive()
        #expect(bench.state == .authenticating)
        #expect(bench.provider == "b")
        // It cannot any more: the others are asked, and not it again.
        bench.fail("b")
        #expect(bench.state == .evaluating)
        bench.list("a", "b")
        #expect(bench.number("b") == nil)
        bench.answer("a", .evaluated(.low))
        #expect(bench.provider == "a")
    }

    /// After a restart, too.
    // covers: seed/session-kept
    @Test func whatIsRememberedSurvivesARestart() {
        var bench = SignInBench()
        bench.chosen("b", others: "a")
        bench.answer("b", Self.success)
        bench.online()
        let entries = bench.signIn.remembered.entries
        #expect(entries == [RememberedProvider(ssid: SignInBench.cafe.ssid, security: .open, provider: "b")])
        bench = SignInBench()
        bench.signIn = SignIn(remembering: entries)
        bench.captive()
        #expect(bench.state == .authenticating && bench.provider == "b")
    }

    @Test func onlySoManyNetworksAreRemembered() throws {
        var memory = RememberedProviders(limit: 16)
        for number in 0..<40 { memory.remember("p\(number)", for: SignInBench.network("n\(number)")) }
        #expect(memory.count == 16)
        #expect(memory.provider(of: SignInBench.network("n39")) == "p39")
        #expect(memory.provider(of: SignInBench.network("n23")) == nil)
    }

    // covers: seed/provider-ui
    @Test func aPersonAnswers() throws {
        var bench = SignInBench()
        bench.chosen("a")
        bench.answer("a", .signIn(.uiRequired(Self.dialogue)))
        #expect(bench.state == .presentingUI)
        let request = try #require(bench.signIn.status.request)
        #expect(request.provider == "a")
        bench.receive(.person(PortalAnswer(id: request.id + 1, values: [:])))
        #expect(bench.state == .presentingUI)
        bench.receive(.person(PortalAnswer(id: request.id, values: ["code": Secret(text: "4711")])))
        #expect(bench.state == .authenticating)
        #expect(bench.signIn.status.request == nil)
        #expect(bench.effects == [.ask(try #require(bench.number("a")), .answer(["code": Secret(text: "4711")]))])
    }

    @Test func aPersonWhoDoesNotWantToIsLeftAlone() throws {
        var bench = SignInBench()
        bench.chosen("a", others: "b")
        bench.answer("a", .signIn(.uiRequired(Self.dialogue)))
        bench.receive(.person(PortalAnswer(id: try #require(bench.signIn.status.request).id, values: nil)))
        #expect(bench.open.isEmpty)
        bench.captive()
        #expect(bench.state == .inactive)
        #expect(bench.signIn.deadline == nil)
        bench.receive(.left)
        bench.captive()
        #expect(bench.state == .evaluating)
    }

    @Test func aProviderThatAsksAndAsksHasFailed() throws {
        var bench = SignInBench()
        bench.chosen("a")
        for _ in 0..<5 {
            bench.answer("a", .signIn(.uiRequired(Self.dialogue)))
            let request = try #require(bench.signIn.status.request)
            bench.receive(.person(PortalAnswer(id: request.id, values: [:])))
        }
        bench.answer("a", .signIn(.uiRequired(Self.dialogue)))
        #expect(bench.state == .inactive)
        #expect(bench.open.isEmpty)
    }

    @Test func answersAreHeldAgainstTheQuestion() throws {
        let fields = [
            PortalRequest.Field(name: "code", label: "", kind: .text, isRequired: true),
            PortalRequest.Field(name: "ok", label: "", kind: .checkbox, isRequired: false),
        ]
        let request = PortalRequest(
            id: 1, provider: "a", network: SignInBench.name, title: "", message: "", fields: fields)
        func refusal(_ values: [String: String]) -> PortalAnswerRefusal? {
            do {
                try request.check(PortalAnswer(id: 1, values: values.mapValues { Secret(text: $0) }))
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal(["code": "1", "ok": "true"]) == nil)
        #expect(refusal(["ok": "true"]) == .missingField("code"))
        #expect(refusal(["code": ""]) == .missingField("code"))
        #expect(refusal(["code": "1", "more": "x"]) == .unknownField("more"))
        #expect(refusal(["code": "1", "ok": "yes"]) == .invalidValue("ok"))
        #expect(refusal(["code": String(repeating: "x", count: 1025)]) == .invalidValue("code"))
    }

    @Test func aShortSignInIsNone() {
        var bench = SignInBench()
        bench.chosen("a")
        bench.answer("a", Self.success)
        bench.online()
        bench.pass(.seconds(29))
        bench.captive()
        #expect(bench.state == .evaluating || bench.state == .inactive)
        bench = SignInBench()
        bench.chosen("a")
        bench.answer("a", Self.success)
        bench.online()
        bench.pass(.seconds(31))
        bench.captive()
        #expect(bench.state == .authenticating)
        #expect(bench.provider == "a")
    }

    // covers: seed/provider-log-off
    @Test func logsOffBeforeLeaving() {
        var bench = SignInBench()
        bench.chosen("a")
        bench.answer("a", Self.success)
        bench.receive(.logOff)
        #expect(bench.signIn.isLoggingOff)
        guard case .open(_, "a", .logoff)? = bench.effects.first else {
            Issue.record("no log-off")
            return
        }
        bench.wait()
        #expect(!bench.signIn.isLoggingOff)
        #expect(bench.open.isEmpty)
        bench.captive()
        #expect(bench.state == .inactive)
    }

    @Test func theNetworkIsOpenedByOtherMeans() {
        var bench = SignInBench()
        bench.chosen("a")
        bench.answer("a", .signIn(.uiRequired(Self.dialogue)))
        bench.online()
        #expect(bench.state == .evaluating, "a provider may look after it")
        #expect(bench.signIn.status.request == nil)
        #expect(bench.number("a") == nil)
        bench.list("a")
        bench.answer("a", .evaluated(.none))
        #expect(bench.state == .authenticated && bench.provider == nil)
    }
}

/// The provider shows the user a web address or fields on request.
@Suite struct PresentUITests {
    private static let page = Dialogue(title: "t", message: "m", url: "https://portal.example/")
    private var bench = SignInBench()

    private mutating func present() throws -> PortalRequest {
        bench.chosen("a")
        bench.answer("a", .signIn(.uiRequired(nil)))
        #expect(bench.effects == [.ask(try #require(bench.number("a")), .presentUI(SignInBench.cafe))])
        #expect(bench.state == .authenticating && bench.signIn.status.request == nil)
        bench.answer("a", .presents(Self.page))
        #expect(bench.state == .presentingUI)
        return try #require(bench.signIn.status.request)
    }

    // covers: seed/provider-ui
    @Test mutating func theUserFinishesOnThePage() throws {
        let request = try present()
        #expect(request.url == Self.page.url && request.fields.isEmpty)
        bench.receive(.person(PortalAnswer(id: request.id, values: [:])))
        #expect(bench.effects == [.ask(try #require(bench.number("a")), .answer([:]))])
        bench.answer("a", .signIn(.success(maintainIn: nil, session: nil)))
        #expect(bench.state == .authenticated && bench.provider == "a")
    }

    /// The check sees that the page has opened the network, before the user says so.
    // covers: seed/provider-ui
    @Test mutating func anOpenNetworkFinishesThePage() throws {
        _ = try present()
        bench.online()
        #expect(bench.effects == [.ask(try #require(bench.number("a")), .answer([:]))])
        #expect(bench.signIn.status.request == nil)
        bench.answer("a", .signIn(.success(maintainIn: nil, session: Secret(text: "s"))))
        bench.online()
        #expect(bench.state == .maintaining && bench.provider == "a")
    }

    @Test mutating func thePageMayFail() throws {
        let request = try present()
        bench.receive(.person(PortalAnswer(id: request.id, values: [:])))
        bench.answer("a", .signIn(.temporaryFailure(retryAfter: 60)))
        #expect(bench.open[1] == nil && bench.signIn.status.problem?.hasPrefix("a: ") == true)
    }

    @Test mutating func aProviderThatPresentsNothingHasFailed() {
        bench.chosen("a")
        bench.answer("a", .signIn(.uiRequired(nil)))
        bench.fail("a", .refused(ProtocolError(.unknownType, "no")))
        #expect(bench.state == .inactive && bench.open.isEmpty)
    }

    @Test mutating func aProviderPresentsOnlySoOften() throws {
        bench.chosen("a")
        for _ in 0..<5 {
            bench.answer("a", .signIn(.uiRequired(nil)))
            bench.answer("a", .presents(Self.page))
            let request = try #require(bench.signIn.status.request)
            bench.receive(.person(PortalAnswer(id: request.id, values: [:])))
        }
        bench.answer("a", .signIn(.uiRequired(nil)))
        bench.answer("a", .presents(Self.page))
        #expect(bench.state == .inactive && bench.open.isEmpty)
    }
}

/// Providers evaluate every network that the device joins.
@Suite struct EvaluationOnJoinTests {
    private var bench = SignInBench()

    // covers: seed/provider-evaluate, seed/provider-unclaimed
    @Test mutating func anUnclaimedNetworkIsUsedAsItIs() {
        bench.online()
        #expect(bench.state == .evaluating && bench.signIn.status.signingInUntil == nil, "nothing waits for it")
        bench.list("a", "b")
        bench.answer("a", .evaluated(.none))
        bench.answer("b", .evaluated(.none))
        #expect(bench.state == .authenticated && bench.provider == nil)
        #expect(bench.signIn.deadline == nil && bench.open.isEmpty)
        bench.online()
        #expect(bench.effects.isEmpty, "one evaluation for each join")
        bench.receive(.left)
        bench.online()
        #expect(bench.state == .evaluating)
    }

    // covers: seed/provider-unclaimed
    @Test mutating func anUnclaimedCaptiveNetworkIsAskedAboutInAnHour() {
        bench.captive()
        bench.list("a")
        bench.answer("a", .evaluated(.none))
        #expect(bench.state == .authenticated && bench.provider == nil && !bench.signIn.status.isTryingWhereCaptive)
        #expect(bench.signIn.status.retryAt == bench.now + .seconds(3600))
    }

    @Test mutating func anUnclaimedNetworkThatClosesIsEvaluatedAgain() {
        bench.online()
        bench.list("a")
        bench.answer("a", .evaluated(.none))
        #expect(bench.signIn.status.isTryingWhereCaptive)
        bench.captive()
        #expect(bench.state == .evaluating && bench.signIn.status.signingInUntil != nil)
        bench.list("a")
        bench.answer("a", .evaluated(.high))
        #expect(bench.state == .authenticating && bench.provider == "a")
    }

    /// The page to sign in to is missing in the facts of the first evaluation.
    @Test mutating func anEvaluationStartsAgainWhenTheNetworkProvesCaptive() {
        bench.online()
        bench.list("a")
        bench.captive()
        #expect(bench.number("a") == nil)
        bench.list("a")
        #expect(bench.number("a") != nil)
    }

    // covers: seed/provider-evaluate, seed/provider-maintain
    @Test mutating func aClaimedNetworkThatIsOnlineIsMaintained() {
        bench.online()
        bench.list("a", "b")
        bench.answer("a", .evaluated(.low))
        bench.answer("b", .evaluated(.high))
        guard case .open(_, "b", .maintain(_, session: nil))? = bench.effects.last else {
            Issue.record("\(bench.effects)")
            return
        }
        #expect(bench.state == .authenticating && bench.signIn.status.signingInUntil == nil)
        bench.answer("b", .maintained(.success(next: 60)))
        #expect(bench.state == .maintaining && bench.provider == "b")
        #expect(bench.signIn.deadline == bench.now + .seconds(60))
    }

    @Test mutating func aClaimedNetworkThatIsOnlineMayWantASignIn() {
        bench.online()
        bench.list("a")
        bench.answer("a", .evaluated(.high))
        bench.answer("a", .maintained(.authenticationRequired))
        guard case .open(_, "a", .authenticate)? = bench.effects.last else {
            Issue.record("\(bench.effects)")
            return
        }
        bench.answer("a", .signIn(.failure(reason: "no")))
        // The others are asked, and then the network is used as it is.
        bench.list("a")
        #expect(bench.state == .authenticated && bench.provider == nil && bench.signIn.deadline == nil)
    }

    /// The device does not wait for providers there: its checks judge the network.
    // covers: seed/provider-evaluate
    @Test mutating func aNetworkWithoutInternetIsEvaluatedToo() {
        bench.offline()
        #expect(bench.state == .evaluating && bench.signIn.status.signingInUntil == nil)
        bench.list("a")
        bench.answer("a", .evaluated(.high))
        #expect(bench.state == .authenticating && bench.signIn.status.signingInUntil == nil)
        bench.answer("a", .signIn(.success(maintainIn: nil, session: nil)))
        #expect(bench.signIn.status.signingInUntil != nil, "the check is worth a wait")
        bench.online()
        #expect(bench.state == .maintaining)
        bench.offline()
        #expect(bench.state == .maintaining, "it lasts")
    }

    /// A host that is not up yet at the boot.
    @Test mutating func aHostThatIsMissingIsAskedAgain() {
        bench.online()
        bench.receive(.failed(bench.open.keys.first ?? 0, .noHost(errno: 2)))
        #expect(bench.state == .authenticated)
        #expect(bench.signIn.status.retryAt == bench.now + .seconds(30))
        bench.wait()
        #expect(bench.state == .evaluating)
    }

    /// The agent knows the provider from before, but not the session.
    // covers: seed/session-kept, seed/provider-maintain
    @Test(arguments: [true, false]) mutating func afterARestartTheProviderMaintains(isSignedIn: Bool) {
        bench.signIn = SignIn(
            remembering: [RememberedProvider(ssid: SignInBench.cafe.ssid, security: .open, provider: "a")])
        bench.online()
        guard case .open(_, "a", .maintain(_, session: nil))? = bench.effects.first else {
            Issue.record("\(bench.effects)")
            return
        }
        bench.answer("a", .maintained(isSignedIn ? .success(next: nil) : .authenticationRequired))
        #expect(bench.state == (isSignedIn ? .maintaining : .authenticating) && bench.provider == "a")
    }

    @Test mutating func afterARestartTheOthersFollowAProviderThatHasGone() {
        bench.signIn = SignIn(
            remembering: [RememberedProvider(ssid: SignInBench.cafe.ssid, security: .open, provider: "a")])
        bench.online()
        bench.fail("a", .refused(ProtocolError(.unsupported, "no provider has this name")))
        bench.list("b")
        bench.answer("b", .evaluated(.low))
        bench.answer("b", .maintained(.success(next: nil)))
        #expect(bench.state == .maintaining && bench.provider == "b")
    }
}

/// The device loses a network that it is signed in to, and comes back: a rejoin, or a roam to another access point of it.
@Suite struct KeptSessionTests {
    private var bench = SignInBench()

    private mutating func signIn(maintainIn seconds: Int = 600) {
        bench.chosen("a")
        bench.answer("a", .signIn(.success(maintainIn: seconds, session: Secret(text: "s"))))
        bench.online()
    }

    private func maintained(_ effect: SignIn.Effect?) -> Secret? {
        if case .open(_, "a", .maintain(_, let session))? = effect { session } else { nil }
    }

    // covers: seed/session-kept
    @Test mutating func theMaintenanceGoesOnWithItsSession() throws {
        signIn()
        let due = try #require(bench.signIn.deadline)
        bench.pass(.seconds(100))
        bench.receive(.left)
        #expect(bench.state == .inactive && bench.signIn.deadline == nil)
        bench.pass(.seconds(5))
        var other = SignInBench.cafe
        other.bssid = BSSID("02:00:00:00:01:02")
        bench.online(other)
        #expect(bench.state == .maintaining && bench.provider == "a")
        #expect(bench.signIn.deadline == due)
        #expect(bench.effects.isEmpty, "nothing is asked before its time")
        bench.wait()
        #expect(maintained(bench.effects.first) == Secret(text: "s"))
    }

    // covers: seed/provider-log-off
    @Test mutating func theProviderLogsOffInTheEnd() {
        signIn()
        bench.receive(.left)
        bench.online()
        bench.receive(.logOff)
        guard case .open(_, "a", .logoff(_, let session))? = bench.effects.first else {
            Issue.record("no log-off")
            return
        }
        #expect(session == Secret(text: "s"))
        bench.answer("a", .loggedOff)
        bench.receive(.left)
        bench.online()
        guard case .open(_, "a", .maintain(_, session: nil))? = bench.effects.first else {
            Issue.record("the session is not over")
            return
        }
    }

    @Test mutating func whatWasDueMeanwhileIsDoneAtOnce() {
        signIn(maintainIn: 60)
        bench.receive(.left)
        bench.now = bench.now + .seconds(300)
        bench.online()
        bench.wait()
        #expect(maintained(bench.effects.first) != nil)
    }

    @Test mutating func aMaintenanceThatWasCutShortIsDoneAgain() {
        signIn()
        bench.wait()
        #expect(bench.state == .maintaining)
        bench.receive(.left)
        #expect(bench.open.isEmpty)
        bench.online()
        bench.wait()
        #expect(maintained(bench.effects.first) != nil)
    }

    @Test mutating func anotherNetworkHasNoPartInIt() {
        signIn()
        bench.receive(.left)
        bench.online(SignInBench.network("Home"))
        #expect(bench.state == .evaluating)
        bench.receive(.left)
        bench.online()
        #expect(bench.state == .maintaining)
    }

    /// Its session has ended meanwhile: it signs in as if for the first time.
    @Test mutating func aNetworkThatHasClosedMeanwhileIsSignedInToAnew() {
        signIn()
        bench.receive(.left)
        bench.captive()
        #expect(bench.state == .authenticating && bench.provider == "a")
        #expect(bench.signIn.held.isEmpty)
    }

    @Test mutating func notForEverAndNotOfEveryNetwork() {
        signIn()
        bench.receive(.left)
        bench.now = bench.now + bench.signIn.settings.heldFor + .seconds(1)
        bench.online()
        #expect(bench.state == .authenticating, "whether it still holds is asked")
        for number in 1...9 {
            let network = SignInBench.network("n\(number)")
            bench.captive(network)
            bench.list("a")
            bench.answer("a", .evaluated(.high))
            bench.answer("a", .signIn(.success(maintainIn: nil, session: nil)))
            bench.online(network)
            bench.receive(.left)
        }
        #expect(bench.signIn.held.count == bench.signIn.settings.heldSessions)
    }

    @Test mutating func aSignInThatWasNotSeenToWorkIsNotKept() {
        bench.chosen("a")
        bench.answer("a", .signIn(.success(maintainIn: nil, session: nil)))
        bench.receive(.left)
        bench.online()
        #expect(bench.state == .evaluating)
    }
}

/// Providers are switched off and on while the device runs.
@Suite struct SwitchedOffTests {
    private var bench = SignInBench()

    // covers: seed/providers-switched
    @Test mutating func oneThatIsOffIsAskedNothing() {
        bench.receive(.switchedOff(["a"]))
        bench.captive()
        bench.list("a", "b")
        #expect(bench.number("a") == nil && bench.number("b") != nil)
        bench.answer("b", .evaluated(.none))
        #expect(bench.state == .authenticated && bench.signIn.status.retryAt != nil)
        // It is on again, and may be the one that can.
        bench.receive(.switchedOff([]))
        #expect(bench.state == .evaluating)
        bench.list("a", "b")
        #expect(bench.number("a") != nil)
    }

    @Test mutating func allOff() {
        bench.receive(.switchedOff(["a", "b"]))
        bench.captive()
        bench.list("a", "b")
        #expect(bench.open.isEmpty)
        #expect(bench.signIn.status.problem?.contains("switched off") == true)
    }

    @Test mutating func whatItIsAtEnds() {
        bench.captive()
        bench.list("a", "b", "c")
        bench.receive(.switchedOff(["a"]))
        #expect(bench.number("a") == nil && bench.open.count == 2)
        bench.answer("b", .evaluated(.high))
        bench.answer("c", .evaluated(.low))
        #expect(bench.provider == "b")
        bench.receive(.switchedOff(["a", "b"]))
        #expect(bench.provider == "c")
        #expect(bench.signIn.status.problem?.hasPrefix("b: ") == true)
        #expect(bench.signIn.status.problem?.hasSuffix("switched off") == true)
    }

    @Test mutating func itsSessionIsNotMaintained() {
        bench.chosen("a")
        bench.answer("a", .signIn(.success(maintainIn: 60, session: nil)))
        bench.online()
        bench.receive(.switchedOff(["a"]))
        #expect(bench.state == .inactive && bench.signIn.deadline == nil && bench.open.isEmpty)
        // Nor is one that is kept for later, and the memory of it is not followed.
        bench = SignInBench()
        bench.chosen("a")
        bench.answer("a", .signIn(.success(maintainIn: 60, session: nil)))
        bench.online()
        bench.receive(.left)
        bench.receive(.switchedOff(["a"]))
        bench.online()
        #expect(bench.state == .evaluating)
        bench.captive()
        #expect(bench.state == .evaluating, "the others are asked")
    }
}

/// The network's word of a session's end, and whether a provider would sign in.
@Suite struct SessionEndTests {
    private var bench = SignInBench()

    private mutating func signIn() {
        bench.captive()
        bench.list("a")
        bench.answer("a", .evaluated(.high))
        bench.answer("a", .signIn(.success(maintainIn: 600, session: nil)))
        bench.online()
    }

    /// The provider is told how long is left.
    @Test mutating func theProviderMaintainsBeforeTheEnd() {
        signIn()
        bench.now = bench.now + .seconds(100)
        var facts = SignInBench.cafe
        facts.api = JoinedNetwork.API(canExtendSession: true, secondsRemaining: 120)
        bench.receive(.ending(facts, SignInBench.name))
        #expect(bench.state == .maintaining)
        guard case .open(_, "a", .maintain(let told, _))? = bench.effects.first else {
            Issue.record("\(bench.effects)")
            return
        }
        #expect(told.api?.secondsRemaining == 120)
        bench.receive(.ending(facts, SignInBench.name))
        #expect(bench.effects.isEmpty, "it is at it")
        bench.answer("a", .maintained(.success(next: 50)))
        #expect(bench.state == .maintaining && bench.signIn.deadline == bench.now + .seconds(50))
    }

    @Test mutating func anotherNetworksEndIsNone() {
        bench.receive(.ending(SignInBench.cafe, SignInBench.name))
        #expect(bench.effects.isEmpty && bench.state == .inactive)
        signIn()
        bench.receive(.ending(SignInBench.network("Hotel"), SignInBench.name))
        #expect(bench.effects.isEmpty && bench.state == .maintaining)
    }

    /// The device does not wait for a provider that does not try.
    @Test mutating func itIsSaidWhetherAProviderTries() {
        #expect(bench.signIn.status.isTryingWhereCaptive)
        bench.captive()
        bench.list("a")
        bench.answer("a", .evaluated(.high))
        #expect(bench.signIn.status.isTryingWhereCaptive && bench.state == .authenticating)
        bench.answer("a", .signIn(.uiRequired(Dialogue(title: "Who?", message: ""))))
        #expect(!bench.signIn.status.isTryingWhereCaptive, "a person does")
        let id = bench.signIn.status.request?.id ?? 0
        bench.receive(.person(PortalAnswer(id: id, values: nil)))
        #expect(!bench.signIn.status.isTryingWhereCaptive && bench.state == .inactive)
        bench.receive(.left)
        #expect(bench.signIn.status.isTryingWhereCaptive)
        bench.captive()
        bench.list()
        #expect(!bench.signIn.status.isTryingWhereCaptive && bench.signIn.status.retryAt != nil)
    }
}
