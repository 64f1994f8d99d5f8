import AgentModel
import AppProtocol
import Connectivity
import Foundation
import Linux
import NIOPosix
import TestTime
import Testing

@testable import Hotspots

/// One after the other: each has a portal of its own, in Python, and other suites measure time meanwhile.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ClickThroughTests {
    private let portal: FakePortal

    init() async throws { portal = try await FakePortal() }

    private func network(_ page: String?, api: Bool = false) -> JoinedNetwork {
        var network = HostBench.cafe
        network.interface = "lo"
        network.portal = api ? portal.url("/strange") : page.map(portal.url)
        network.api = api ? JoinedNetwork.API(userPortal: page.map(portal.url)) : nil
        network.probe = JoinedNetwork.Probe(url: portal.url("/probe"), expected: .status(204))
        return network
    }

    private func provider() -> ClickThrough {
        ClickThrough(on: MultiThreadedEventLoopGroup.singleton, clock: SkippingClock())
    }

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

    // covers: seed/provider-authenticate
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

    private func reason(_ answer: ProviderAnswer) -> String? {
        if case .signIn(.failure(let reason)) = answer { reason } else { nil }
    }

    /// The dialogue that follows this request.
    private func dialogue(
        after request: ProviderRequest.Content, of provider: inout ClickThrough
    ) async throws -> Dialogue {
        let answer = await provider.answer(request)
        guard answer == .signIn(.uiRequired(nil)) else { throw ProviderFault.garbage("\(answer)") }
        let presented = await provider.answer(.presentUI(network("/login")))
        guard case .presents(let dialogue) = presented else { throw ProviderFault.garbage("\(presented)") }
        return dialogue
    }

    // covers: seed/provider-ui
    @Test func aPersonIsAskedForAPassword() async throws {
        var provider = provider()
        let dialogue = try await dialogue(after: .authenticate(network("/login")), of: &provider)
        #expect(dialogue.title == "Guest & WiFi")
        #expect(dialogue.url == portal.url("/login"))
        #expect(
            dialogue.fields == [
                PortalRequest.Field(name: "user", label: "Your name", kind: .text, isRequired: true),
                PortalRequest.Field(name: "pass", label: "pass", kind: .password, isRequired: false),
            ])
        // Mistyped: the portal asks again, and so does the provider.
        let wrong = ProviderRequest.Content.answer(["user": Secret(text: "me"), "pass": Secret(text: "sesam")])
        let again = try await self.dialogue(after: wrong, of: &provider)
        #expect(again.fields == dialogue.fields)
        let answer = await provider.answer(.answer(["user": Secret(text: "me"), "pass": Secret(text: "sesame")]))
        #expect(answer == .signIn(.success(maintainIn: nil, session: nil)))
    }

    @Test func aChoiceIsAPersons() async throws {
        var provider = provider()
        let dialogue = try await dialogue(after: .authenticate(network("/tariffs")), of: &provider)
        #expect(dialogue.fields.isEmpty)
        #expect(dialogue.url == portal.url("/tariffs"))
        let closed = await provider.answer(.answer([:]))
        #expect(reason(closed)?.contains("stays closed") == true)
    }

    @Test func aPageThatIsNotUnderstoodIsLeftAlone() async {
        var provider = provider()
        let answer = await provider.answer(.authenticate(network("/strange")))
        #expect(reason(answer)?.contains("not understood") == true)
    }

    /// The user's values are in no address that others get to see, even if the form, or the portal, puts them into one.
    @Test(arguments: ["/ask-by-get", "/ask-and-echo"])
    func noAddressHasThePassword(page: String) async throws {
        var provider = provider()
        _ = await provider.answer(.authenticate(network(page)))
        let dialogue = try await dialogue(after: .answer(["pass": Secret(text: "sesam")]), of: &provider)
        #expect(dialogue.url == portal.url(page))
    }

    /// By the form's action: not even asked for. By a redirection that repeats the form: not sent on.
    @Test func aPasswordGoesNowhereElse() async throws {
        var provider = provider()
        let elsewhere = await provider.answer(.authenticate(network("/elsewhere")))
        #expect(reason(elsewhere)?.contains("another site") == true)
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
        let dialogue = try await dialogue(after: .authenticate(network("/long")), of: &provider)
        let answer = ProviderAnswer.presents(dialogue)
        #expect(try ProviderAnswer(line: answer.line(to: "1"), to: "1", of: .presentUI) == answer)
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
        #expect(reason(answer)?.contains("not understood") == true)
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

    /// Docs/reference/providers.md states: for any page of a portal, reading it takes no more than 4 MiB.
    @Test(.enabled(if: geteuid() == 0, "needs root")) func aPageTakesLittleMemory() async throws {
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
    @Test(.enabled(if: geteuid() == 0, "needs root")) func signsInAsAProgram() async throws {
        let bench = try await HostBench(
            ["click-through": "exec \(HostBench.program) provider click-through"])
        bench.hotspots.captiveFound(network("/form"), name: HostBench.name)
        let status = await bench.status { $0.portal.state == .authenticated || $0.retryAt != nil }
        #expect(status?.portal.provider == "click-through")
        #expect(status?.problem == nil)
        try await bench.end()
    }
}

/// A captive portal on the loopback interface: it opens once its terms are accepted.
final class FakePortal: Sendable {
    private let port: Int
    private let process: pid_t

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    private static let program = """
        import http.server, threading, urllib.parse
        opened = [False]
        # How often each port was asked for anything.
        asked = {}
        def form(inner, method='post', action='/accept'):
            return '<html><title>Guest &amp; WiFi</title><!-- <form action=/no> --><script>"<form action=/no>"</script>' \\
                '<form method=%s action="%s">%s</form>' % (method, action, inner)
        CONSENT = form('<input type=hidden name=tok value="a&amp;b"><input type=checkbox name=terms value=yes>'
            '<button name=go value=1>OK</button>')
        PAGES = {
            '/form': CONSENT,
            '/get': form('<input type=hidden name=tok value="a&amp;b"><input type=checkbox name=terms value=yes>'
                '<input type=submit name=go value=1>', 'get', '/accept?x=1'),
            '/login': form('<input name=user placeholder="Your name" required><input type=password name=pass>'
                '<input type=submit name=go value=1>', action='/check'),
            '/greeting': '<a href="#top">Top</a><a href="/form">Continue to terms</a>',
            '/nds': '<a href="javascript:accept()">x</a><a href="/nodogsplash_auth/?tok=77&amp;redir=http%3a%2f%2f127.0.0.1%2f">'
                '<img src=/splash.jpg></a>',
            '/strange': '<html><canvas></canvas>',
            '/liar': form('<input type=checkbox name=terms>', action='/strange'),
            '/refresh': '<meta http-equiv="Refresh" content="0; URL=\\'/form\\'">',
            '/reload': '<meta http-equiv=refresh content="60;url=/splash">' + CONSENT,
            '/again': '<meta http-equiv=refresh content="0;url=/again">' + CONSENT,
            '/tariffs': form('<input type=radio name=t value=1>Free<input type=radio name=t value=2>24 h<button>Accept</button>'),
            '/list': form('<select name=t><option>1</select><button>Accept</button>'),
            '/shop': form('24 h for 5 &#8364; <button>Accept and continue</button>'),
            '/logout': form('<input type=checkbox name=terms><button>Log out</button>', action='/logout'),
            '/news': form('<input type=hidden name=tok value="a&amp;b"><input type=checkbox name=terms value=yes>'
                '<label>I agree to the terms</label><input type=checkbox name=news checked> Send me your newsletter'
                '<button name=no value=1>Cancel</button><button name=go value=1>Continue</button>'),
            '/ask-by-get': form('<input type=password name=pass>', 'get', '/check'),
            '/ask-and-echo': form('<input type=password name=pass>', action='/echo'),
            '/moving': form('<input type=password name=pass>', action='/move'),
            '/long': form('<input name=x placeholder="%s"><input name=y placeholder="%s">' % (
                '\\u044f' * 150, 'e' + '\\u0301' * 300)),
        }
        BIG = {
            'forms': '<form><input name=a value=b placeholder=c>', 'fields': '<input name=a%00>', 'links': '<a href=/x>accept</a>',
            'attributes': ' a=b', 'text': 'accept ', 'less': '<', 'comments': '<!-', 'entities': '&#x', 'scripts': '<script></',
            'invalid': '<input name=\\udcff placeholder=\\udcff><a href=\\udcff>\\udcff</a>',
        }
        class Portal(http.server.BaseHTTPRequestHandler):
            def log_message(self, *a): pass
            def page(self, text, status=200, *headers):
                self.send_response(status)
                for k, v in headers: self.send_header(k, v)
                body = text.encode(errors='surrogateescape')
                self.send_header('Content-Type', 'text/html'); self.send_header('Content-Length', str(len(body)))
                self.end_headers(); self.wfile.write(body)
            def do_GET(self): self.answer(self.path, {})
            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length'])).decode()
                self.answer(self.path, dict(urllib.parse.parse_qsl(body)))
            def answer(self, path, values):
                port = self.server.server_port
                asked[port] = asked.get(port, 0) + 1
                path, _, query = path.partition('?')
                values = values or dict(urllib.parse.parse_qsl(query))
                if 'no' in values or 'news' in values: self.page('nothing')
                elif path == '/probe':
                    if opened[0]: self.page('', 204)
                    else: self.page('', 302, ('Location', '/form'))
                elif path == '/close': opened[0] = False; self.page('')
                elif path == '/accept' and values.get('tok') == 'a&b' and values.get('terms') == 'yes' and values.get('go') == '1':
                    opened[0] = True; self.page('', 302, ('Location', '/thanks'))
                elif path == '/nodogsplash_auth/' and values.get('tok') == '77':
                    opened[0] = True; self.page('', 302, ('Location', values['redir']))
                elif path == '/elsewhere': self.page(form(
                    '<input type=password name=pass>', action='http://127.0.0.1:%d/check' % other.server_port))
                elif path == '/move':
                    self.page('', 307, ('Location', 'http://127.0.0.1:%d/check' % other.server_port))
                elif path == '/echo': self.page('', 302, ('Location', '/ask-and-echo?pass=' + values['pass']))
                elif path == '/asked': self.page('<title>%d %d</title>' % (
                    asked.get(server.server_port, 0) - 1, asked.get(other.server_port, 0)))
                elif path.startswith('/big/'): self.page(('<a ' if 'attr' in path else '') + BIG[path[5:]] * 200000)
                elif path == '/check':
                    if values == {'user': 'me', 'pass': 'sesame', 'go': '1'}: opened[0] = True; self.page('welcome')
                    else: self.page(PAGES['/login'])
                elif path == '/cookie': self.page('', 302, ('Location', '/eat'), ('Set-Cookie', 's=1; Path=/'))
                elif path == '/eat' and self.headers.get('Cookie') == 's=1': self.page(PAGES['/form'])
                elif path.startswith('/hop'):
                    n = int(path[4:])
                    self.page('', 302, ('Location', '/form' if n == 1 else '/hop%d' % (n - 1)))
                elif path == '/loop': self.page('', 302, ('Location', '/loop'))
                else: self.page(PAGES.get(path, 'nothing'))
        class Server(http.server.ThreadingHTTPServer):
            # A client that has read enough hangs up.
            def handle_error(self, *a): pass
        server = Server(('127.0.0.1', 0), Portal)
        # Another origin.
        other = Server(('127.0.0.1', 0), Portal)
        threading.Thread(target=other.serve_forever, daemon=True).start()
        print(server.server_port, flush=True)
        server.serve_forever()
        """

    init() async throws {
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        process = try ChildProcess.start(
            "python3", ["-c", Self.program], environment: ChildProcess.ownEnvironment, output: .descriptor(ends[1]),
            errors: .descriptor(2))
        close(ends[1])
        let output = ends[0]
        // On a thread of its own: the few that tasks share are not to wait for Python.
        port = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                defer { close(output) }
                var text: [UInt8] = []
                var byte: UInt8 = 0
                while read(output, &byte, 1) == 1, byte != 10 { text.append(byte) }
                continuation.resume(returning: Int(String(decoding: text, as: UTF8.self)) ?? 0)
            }
        }
    }

    deinit {
        kill(process, SIGKILL)
        ChildProcess.wait(for: process)
    }
}
