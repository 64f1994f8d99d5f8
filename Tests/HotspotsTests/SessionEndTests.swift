import AgentModel
import AppProtocol
import Testing

@testable import Hotspots

/// What the network says of a session's end, and whether anybody would sign in.
@Suite struct SessionEndTests {
    private var bench = SignInBench()

    private mutating func signIn() {
        bench.captive()
        bench.list("a")
        bench.answer("a", .evaluated(.high))
        bench.answer("a", .signIn(.success(maintainIn: 600, session: nil)))
        bench.receive(.online)
    }

    /// The provider is told how long is left.
    @Test mutating func whoeverSignedInMaintainsBeforeTheEnd() {
        signIn()
        bench.now = bench.now + .seconds(100)
        var facts = SignInBench.cafe
        facts.api = CaptiveNetwork.API(canExtendSession: true, secondsRemaining: 120)
        bench.receive(.ending(facts, SignInBench.name))
        #expect(bench.state == .maintaining)
        guard case .open(_, "a", .maintain(let told, _))? = bench.actions.first else {
            Issue.record("\(bench.actions)")
            return
        }
        #expect(told.api?.secondsRemaining == 120)
        bench.receive(.ending(facts, SignInBench.name))
        #expect(bench.actions.isEmpty, "it is at it")
        bench.answer("a", .maintained(.success(next: 50)))
        #expect(bench.state == .authenticated && bench.signIn.deadline == bench.now + .seconds(50))
    }

    @Test mutating func anotherNetworksEndIsNone() {
        bench.receive(.ending(SignInBench.cafe, SignInBench.name))
        #expect(bench.actions.isEmpty && bench.state == .inactive)
        signIn()
        bench.receive(.ending(SignInBench.network("Hotel"), SignInBench.name))
        #expect(bench.actions.isEmpty && bench.state == .authenticated)
    }

    /// Nobody waits for somebody who does not try.
    @Test mutating func whetherAnybodyTriesIsSaid() {
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
