import AgentModel
import AppProtocol
import Connectivity
import Foundation
import NIOPosix
import Testing

@testable import Hotspots

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

    private func provider() -> ClickThrough { ClickThrough(on: MultiThreadedEventLoopGroup.singleton, pause: .zero) }

    @Test(arguments: [
        ("/form", Confidence.high), ("/get", .high), ("/nds", .high), ("/greeting", .high), ("/cookie", .high),
        ("/hop5", .high), ("/hop6", .none), ("/loop", .none), ("/login", .low), ("/strange", .none),
        ("/refresh", .high),
        ("/reload", .high), ("/again", .high), ("/tariffs", .low), ("/list", .low), ("/shop", .low), ("/logout", .none),
        ("/news", .high), ("/elsewhere", .none),
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

    @Test(arguments: [
        "/form", "/get", "/nds", "/greeting", "/cookie", "/hop5", "/refresh", "/reload", "/again", "/news",
    ])
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

    @Test func aChoiceIsAPersons() async {
        var provider = provider()
        let answer = await provider.answer(.authenticate(network("/tariffs")))
        guard case .signIn(.uiRequired(let dialogue)) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(dialogue.fields.isEmpty)
        #expect(dialogue.url == portal.url("/tariffs"))
        #expect(
            await provider.answer(.answer([:])) == .signIn(.failure(reason: "the network stays closed")))
    }

    @Test func aPageThatIsNotUnderstoodIsLeftAlone() async {
        var provider = provider()
        let answer = await provider.answer(.authenticate(network("/strange")))
        #expect(answer == .signIn(.failure(reason: "the portal has a page that is not understood")))
    }

    /// What a person fills in is in no address that others get to see, even where the form, or the portal, puts it into one.
    @Test(arguments: ["/ask-by-get", "/ask-and-echo"])
    func noAddressHasThePassword(page: String) async {
        var provider = provider()
        _ = await provider.answer(.authenticate(network(page)))
        let answer = await provider.answer(.answer(["pass": Secret(text: "sesam")]))
        guard case .signIn(.uiRequired(let dialogue)) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(dialogue.url == portal.url(page))
    }

    /// By the form's action: not even asked for. By a redirection that repeats the form: not sent on.
    @Test func aPasswordGoesNowhereElse() async throws {
        let elsewhere = ProviderAnswer.signIn(
            .failure(reason: "the portal wants what was filled in to be sent elsewhere"))
        var provider = provider()
        #expect(await provider.answer(.authenticate(network("/elsewhere"))) == elsewhere)
        _ = await provider.answer(.authenticate(network("/moving")))
        #expect(await provider.answer(.answer(["pass": Secret(text: "sesam")])) == elsewhere)
        #expect(try await asked().hasSuffix(" 0"))
    }

    /// How often the portal was asked for anything, and how often another origin of its was.
    private func asked() async throws -> String {
        let network = InterfaceNetwork(interface: "lo", on: MultiThreadedEventLoopGroup.singleton)
        return try await PortalVisit(portal.url("/asked"), through: network).page.title
    }

    /// Only a network that is the loopback interface itself leads to this machine.
    @Test func aNetworkDoesNotLeadToThisMachine() async throws {
        var network = network("/form")
        network.interface = "wlan-none"
        var provider = provider()
        #expect(await provider.answer(.evaluate(network)) == .evaluated(.none))
        #expect(await provider.answer(.authenticate(network)) == .signIn(.temporaryFailure(retryAfter: 60)))
        #expect(try await asked() == "0 0")
    }

    /// However many bytes the letters of a label have, the answer is one.
    @Test func longLabelsFit() async throws {
        var provider = provider()
        let answer = await provider.answer(.authenticate(network("/long")))
        #expect(try ProviderAnswer(line: answer.line(to: "1"), to: "1", of: .authenticate) == answer)
        guard case .signIn(.uiRequired(let dialogue)) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(dialogue.fields.map(\.label.utf8.count) == [200, 193])
    }

    @Test func aLoopOfRedirectionsEnds() async {
        var provider = provider()
        #expect(
            await provider.answer(.authenticate(network("/loop"))) == .signIn(.temporaryFailure(retryAfter: 60)))
    }

    @Test func aPortalThatDoesNotOpenIsNoSuccess() async {
        var provider = provider()
        let answer = await provider.answer(.authenticate(network("/liar")))
        #expect(answer == .signIn(.failure(reason: "the portal has a page that is not understood")))
    }

    /// Starts a program, asks it to evaluate one page after the other, and tells how much memory it has had after each.
    private static let measuring = """
        import json, subprocess, sys
        program = subprocess.Popen(
            [sys.argv[1], 'provider', 'click-through'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for page in sys.argv[2:]:
            network = {'ssid': 'Cafe', 'security': 'open', 'interface': 'lo', 'portal': page}
            request = {'v': 1, 'id': '1', 'type': 'evaluate', 'body': {'network': network}}
            print(json.dumps(request), file=program.stdin, flush=True)
            assert '"confidence"' in program.stdout.readline()
            status = open('/proc/%d/status' % program.pid).read()
            print(status.split('VmHWM:')[1].split()[0])
        program.kill()
        """

    /// What Docs/providers.md states: whatever a portal's page is, reading it takes no more than 4 MiB.
    @Test(.enabled(if: geteuid() == 0)) func aPageTakesLittleMemory() async throws {
        let bench = try await HostBench([:])
        let kinds = [
            "forms", "fields", "links", "attributes", "text", "less", "comments", "entities", "scripts", "invalid",
        ]
        // Twice, so that what is kept of a page would be seen.
        let pages = ["/form"] + kinds.map { "/big/" + $0 } + kinds.map { "/big/" + $0 }
        let (_, text) = try await bench.run(
            "python3", ["-c", Self.measuring, HostBench.program] + pages.map(portal.url))
        let peaks = text.split(separator: "\n").compactMap { Int($0) }
        try #require(peaks.count == pages.count, "\(text)")
        #expect(peaks[pages.count - 1] - peaks[0] < 4 * 1024)
        try await bench.end()
    }

    /// The program as it ships, behind the host, for the agent.
    @Test(.enabled(if: geteuid() == 0)) func signsInAsAProgram() async throws {
        let bench = try await HostBench(
            ["click-through": "exec \(HostBench.program) provider click-through"])
        bench.hotspots.captiveFound(network("/form"), name: SignInBench.name)
        let status = await bench.status { $0.portal.state == .authenticated || $0.retryAt != nil }
        #expect(status?.portal.provider == "click-through")
        #expect(status?.problem == nil)
        try await bench.end()
    }
}
