import ChildProcess
import Foundation

/// A captive portal on the loopback interface: it opens once its terms are accepted.
final class FakePortal: Sendable {
    let port: Int
    private let process: pid_t

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    private static let program = """
        import http.server, urllib.parse
        opened = [False]
        def form(inner, method='post', action='/accept'):
            return '<html><title>Guest &amp; WiFi</title><!-- <form action=/no> --><script>"<form action=/no>"</script>' \\
                '<form method=%s action="%s">%s</form>' % (method, action, inner)
        PAGES = {
            '/form': form('<input type=hidden name=tok value="a&amp;b"><input type=checkbox name=terms value=yes>'
                '<button name=go value=1>OK</button>'),
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
        }
        class Portal(http.server.BaseHTTPRequestHandler):
            def log_message(self, *a): pass
            def page(self, text, status=200, *headers):
                self.send_response(status)
                for k, v in headers: self.send_header(k, v)
                self.send_header('Content-Type', 'text/html'); self.send_header('Content-Length', str(len(text)))
                self.end_headers(); self.wfile.write(text.encode())
            def do_GET(self): self.answer(self.path, {})
            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length'])).decode()
                self.answer(self.path, dict(urllib.parse.parse_qsl(body)))
            def answer(self, path, values):
                path, _, query = path.partition('?')
                values = values or dict(urllib.parse.parse_qsl(query))
                if path == '/probe':
                    if opened[0]: self.page('', 204)
                    else: self.page('', 302, ('Location', '/form'))
                elif path == '/close': opened[0] = False; self.page('')
                elif path == '/accept' and values.get('tok') == 'a&b' and values.get('terms') == 'yes' and values.get('go') == '1':
                    opened[0] = True; self.page('', 302, ('Location', '/thanks'))
                elif path == '/nodogsplash_auth/' and values.get('tok') == '77':
                    opened[0] = True; self.page('', 302, ('Location', values['redir']))
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
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Portal)
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
        waitpid(process, nil, 0)
    }
}
