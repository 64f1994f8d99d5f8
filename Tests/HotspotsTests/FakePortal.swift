import Foundation
import Linux

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
            # Whoever has read enough hangs up.
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
