import FoundationEssentials
import Glibc

public enum LoginPage: Hashable, Sendable {
    case terms
    /// The page asks users to accept the terms and to enter the guest's room, `rightRoom`.
    case room

    public static let rightRoom = "214"
}

/// Captive portal of an access point. nginx answers all requests with a form, like nodogsplash. A CGI program accepts
/// clients that submit the form. Machines can query the state over TLS (RFC 8908).
actor CaptivePortal {
    private let namespace: NetworkNamespace
    private let directory: String
    private let name: String
    private let gateway: IPv4Address
    private let page: LoginPage
    private let host: String
    private let lie: String?
    private var programs: [Program] = []

    static func name(ofNetwork number: Int) -> String { "portal\(number).lab.example" }

    /// URL of the portal's API (RFC 8910).
    static func api(ofNetwork number: Int) -> String { "https://\(name(ofNetwork: number))/api" }

    init(
        _ page: LoginPage, apiSays lie: String?, ofNetwork number: Int, at gateway: IPv4Address,
        in namespace: NetworkNamespace, directory: String
    ) {
        self.page = page
        self.lie = lie
        host = Self.name(ofNetwork: number)
        self.namespace = namespace
        self.directory = directory
        self.gateway = gateway
        name = "portal-\(namespace.name)"
    }

    /// Starts the portal's programs and returns when the page is available.
    func start() async throws {
        let scripts = "\(directory)/\(name)/cgi-bin"
        for folder in ["\(directory)/\(name)", scripts] { mkdir(folder, 0o755) }
        for (script, text) in [("accept", acceptance), ("api", state)] {
            try Lab.write(text, to: "\(scripts)/\(script)")
            guard chmod("\(scripts)/\(script)", 0o755) == 0 else { throw LabError.lastCall("chmod \(scripts)") }
        }
        unlink(lies)
        if let lie { try Lab.write(lie, to: lies) }
        if access(certificate, F_OK) != 0 {
            try TrustStore.makeCertificate(certificate, key: key, for: host, directory: directory)
            try TrustStore.add(certificate, directory: directory)
        }
        let path = "\(directory)/\(name).nginx.conf"
        try Lab.write(WebServer.configuration(of: sites, directory: directory, name: name), to: path)
        programs = [
            try start("busybox", ["httpd", "-f", "-p", "127.0.0.1:8000", "-h", "\(directory)/\(name)"]),
            try start("nginx", ["-c", path, "-p", directory, "-e", "stderr"]),
        ]
        let (namespace, gateway) = (namespace, gateway)
        try await eventually(within: .seconds(20), "the portal to listen") {
            try namespace.isListening(gateway, port: 80)
        }
    }

    func end() {
        for program in programs { program.kill() }
        programs = []
    }

    /// Number of API requests since the lab's start.
    nonisolated var timesAsked: Int {
        (try? String(contentsOfFile: asked, encoding: .utf8))?.split(separator: "\n").count ?? 0
    }

    private var lies: String { "\(directory)/\(name).lie" }
    private nonisolated var asked: String { "\(directory)/\(name).asked" }
    private var certificate: String { "\(directory)/\(name).crt" }
    private var key: String { "\(directory)/\(name).key" }

    private func start(_ program: String, _ arguments: [String]) throws(LabError) -> Program {
        let log = "\(directory)/\(name).\(program).log"
        return try namespace.enter { () throws(LabError) in try Program(program, arguments, log: log) }
    }

    private var sites: String {
        """
        server {
            listen 80 default_server;
            location / { return 302 http://\(gateway)/splash; }
        }
        server {
            listen 80;
            listen 443 ssl;
            server_name \(gateway) \(host);
            ssl_certificate \(certificate);
            ssl_certificate_key \(key);
            default_type text/html;
            location = /splash { return 200 '\(form)'; }
            location = /accept { proxy_pass http://127.0.0.1:8000/cgi-bin/accept?$remote_addr; }
            location = /api { proxy_pass http://127.0.0.1:8000/cgi-bin/api?$remote_addr; }
        }
        """
    }

    private var form: String {
        """
        <!DOCTYPE html><html><head><title>Welcome</title></head><body><h1>Welcome</h1>
        <form method="post" action="/accept">\(page == .room ? "\n<input type=\"text\" name=\"room\" required>" : "")
        <input type="hidden" name="tok" value="31f20a">
        <input type="checkbox" name="terms" value="yes"> I accept the terms of use.
        <input type="submit" value="Continue">
        </form></body></html>
        """
    }

    /// CGI script for the API: reports whether the address in the query is accepted.
    private var state: String {
        """
        #!/bin/sh
        echo "$QUERY_STRING" >>'\(asked)'
        printf 'Content-Type: application/captive+json\\r\\nCache-Control: private\\r\\n\\r\\n'
        if [ -e '\(lies)' ]; then
            cat '\(lies)'
        elif nft get element \(FirewallRules.routers) \(FirewallRules.signedIn) "{ $QUERY_STRING }" >/dev/null 2>&1; then
            echo '{"captive": false, "seconds-remaining": 600, "can-extend-session": false}'
        else
            echo '{"captive": true, "user-portal-url": "https://\(host)/splash"}'
        fi

        """
    }

    /// CGI script that accepts the address in the query if the form is complete.
    private var acceptance: String {
        """
        #!/bin/sh
        read -r form
        case "&$form&" in
            *"&tok=31f20a&"*) ;;
            *) printf 'Status: 403 Forbidden\\r\\nContent-Type: text/plain\\r\\n\\r\\nNot this form.\\n'; exit ;;
        esac
        case "&$form&" in
            *"&terms=yes&"*) ;;
            *) printf 'Status: 403 Forbidden\\r\\nContent-Type: text/plain\\r\\n\\r\\nThe terms are not accepted.\\n'; exit ;;
        esac
        case "&$form&" in
            *"&\(page == .room ? "room=\(LoginPage.rightRoom)&" : "")"*) ;;
            *) printf 'Status: 403 Forbidden\\r\\nContent-Type: text/plain\\r\\n\\r\\nNobody lives there.\\n'; exit ;;
        esac
        nft add element \(FirewallRules.routers) \(FirewallRules.signedIn) "{ $QUERY_STRING }" >&2
        printf 'Content-Type: text/html\\r\\n\\r\\n<html><body>You are online.</body></html>\\n'

        """
    }
}
