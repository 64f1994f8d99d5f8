import AgentModel
import AppProtocol
import Foundation
import NIOPosix
import Testing

@testable import HotspotProviders

/// One after the other: each has a portal of its own, in Python, and other suites measure time meanwhile.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ClickThroughTests {
    private let portal: FakePortal

    init() async throws { portal = try await FakePortal() }

    private func network(_ page: String?, api: Bool = false) -> CaptiveNetwork {
        var network = SignInBench.cafe
        network.interface = "lo"
        network.portal = api ? portal.url("/strange") : page.map(portal.url)
        network.api = api ? CaptiveNetwork.API(userPortal: page.map(portal.url)) : nil
        network.probe = CaptiveNetwork.Probe(url: portal.url("/probe"), expected: .status(204))
        return network
    }

    private func provider() -> ClickThrough { ClickThrough(on: MultiThreadedEventLoopGroup.singleton) }

    @Test(arguments: [
        ("/form", Confidence.high), ("/get", .high), ("/nds", .high), ("/greeting", .high), ("/cookie", .high),
        ("/hop5", .high), ("/hop6", .none), ("/loop", .none), ("/login", .low), ("/strange", .low), ("/refresh", .high),
    ])
    func evaluates(page: String, confidence: Confidence) async {
        var provider = provider()
        #expect(await provider.answer(.evaluate(network(page))) == .evaluated(confidence))
    }

    @Test func withoutAPageItClaimsNothing() async {
        var provider = provider()
        #expect(await provider.answer(.evaluate(network(nil))) == .evaluated(.none))
        guard case .signIn(.failure) = await provider.answer(.authenticate(network(nil))) else {
            Issue.record("it signed in nowhere")
            return
        }
    }

    @Test(arguments: ["/form", "/get", "/nds", "/greeting", "/cookie", "/hop5", "/refresh"])
    func signsIn(page: String) async {
        var provider = provider()
        #expect(await provider.answer(.maintain(network(page), session: nil)) == .maintained(.authenticationRequired))
        let answer = await provider.answer(.authenticate(network(page)))
        #expect(answer == .signIn(.success(maintainIn: nil, session: nil)))
        #expect(await provider.answer(.maintain(network(page), session: nil)) == .maintained(.success(next: nil)))
    }

    @Test func whatTheNetworkSaysItselfComesFirst() async {
        var provider = provider()
        let answer = await provider.answer(.authenticate(network("/form", api: true)))
        #expect(answer == .signIn(.success(maintainIn: nil, session: nil)))
    }

    @Test func aPersonIsAskedForAPassword() async throws {
        var provider = provider()
        func ask(_ request: ProviderRequest.Content) async throws -> Dialogue {
            let answer = await provider.answer(request)
            guard case .signIn(.uiRequired(let dialogue)) = answer else { throw ProviderFault.garbage("\(answer)") }
            return dialogue
        }
        let dialogue = try await ask(.authenticate(network("/login")))
        #expect(dialogue.title == "Guest & WiFi")
        #expect(dialogue.url == portal.url("/login"))
        #expect(
            dialogue.fields == [
                PortalRequest.Field(name: "user", label: "Your name", kind: .text, isRequired: true),
                PortalRequest.Field(name: "pass", label: "pass", kind: .password, isRequired: false),
            ])
        // Mistyped: the portal asks again, and so does the provider.
        let again = try await ask(.answer(["user": Secret(text: "me"), "pass": Secret(text: "sesam")]))
        #expect(again.fields == dialogue.fields)
        let answer = await provider.answer(.answer(["user": Secret(text: "me"), "pass": Secret(text: "sesame")]))
        #expect(answer == .signIn(.success(maintainIn: nil, session: nil)))
    }

    @Test func aPageThatIsNotUnderstoodIsShown() async {
        var provider = provider()
        guard case .signIn(.uiRequired(let dialogue)) = await provider.answer(.authenticate(network("/strange"))) else {
            Issue.record("nobody is shown the page")
            return
        }
        #expect(dialogue.fields.isEmpty)
        #expect(dialogue.url == portal.url("/strange"))
        #expect(
            await provider.answer(.answer([:])) == .signIn(.failure(reason: "the network stays closed")))
    }

    @Test func aLoopOfRedirectionsEnds() async {
        var provider = provider()
        #expect(
            await provider.answer(.authenticate(network("/loop"))) == .signIn(.temporaryFailure(retryAfter: 60)))
    }

    @Test func aPortalThatDoesNotOpenIsNoSuccess() async {
        var provider = provider()
        let answer = await provider.answer(.authenticate(network("/liar")))
        guard case .signIn(.uiRequired) = answer else {
            Issue.record("\(answer)")
            return
        }
    }

    /// The program as it ships, behind the host, for the agent.
    @Test(.enabled(if: geteuid() == 0)) func signsInAsAProgram() async throws {
        var settings = HotspotSettings()
        settings.evaluateLimit = .seconds(30)
        let bench = try await HostBench(
            ["click-through": "exec \(HostBench.program) provider click-through"], settings: settings)
        bench.hotspots.captiveFound(network("/form"), name: SignInBench.name)
        let status = await bench.status { $0.portal.state == .authenticated || $0.retryAt != nil }
        #expect(status?.portal.provider == "click-through")
        #expect(status?.problem == nil)
        try await bench.end()
    }
}
