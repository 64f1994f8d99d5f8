/// The lab's internet: a network namespace with a name server, a web server and a broker at documentation addresses
/// (RFC 5737, RFC 3849). Connected access points reach it.
///
/// Access points route without address translation. The client address that a server sees therefore shows which network
/// was used.
public actor Upstream {
    public static let brokerName = "broker.lab.example"
    /// Name of the app's server, which supports only HTTPS (`appServer`).
    public static let appName = "app.lab.example"
    /// URL that answers with status 204 on port 80, for devices that validate internet access.
    public static let validationURL = "http://check.lab.example/generate_204"
    /// IPv4 address of the web server. Its page `/address` returns the client's address.
    public static let mirror = IPv4Address(203, 0, 113, 80)
    public static let mirror6 = "2001:db8:ffff::80"

    /// mosquitto on port 1883, without passwords.
    public nonisolated let broker: InternetServer
    nonisolated let namespace: NetworkNamespace
    private let directory: String
    private var nameServer: Program?
    private var webServer: Program?

    public static let nameServer = IPv4Address(203, 0, 113, 53)
    public static let nameServer6 = "2001:db8:ffff::53"
    private static let brokerAddress = IPv4Address(203, 0, 113, 10)
    private static let appAddress = IPv4Address(203, 0, 113, 20)
    private static let brokerAddress6 = "2001:db8:ffff::10"

    init(namespace: NetworkNamespace, directory: String) throws {
        self.namespace = namespace
        self.directory = directory
        let settings = "\(directory)/mosquitto.conf"
        try Lab.write("listener 1883\nallow_anonymous true\nlog_dest stdout\nuser root\n", to: settings)
        broker = InternetServer(
            "mosquitto", ["-c", settings], at: Self.brokerAddress, port: 1883, in: namespace, directory: directory)
        let addresses = [Self.nameServer, Self.brokerAddress, Self.appAddress, Self.mirror].map { "\($0)/32 dev lo" }
        let addresses6 = [Self.nameServer6, Self.brokerAddress6, Self.mirror6].map { "\($0)/128 dev lo nodad" }
        try Lab.batch(
            ["link set lo up"] + (addresses + addresses6).map { "address add \($0)" }, in: namespace,
            directory: directory)
    }

    func start() async throws {
        nameServer = try start("dnsmasq", nameServerArguments)
        let path = "\(directory)/internet.nginx.conf"
        try Lab.write(WebServer.configuration(of: Self.site, directory: directory, name: "internet"), to: path)
        webServer = try start("nginx", ["-c", path, "-p", directory, "-e", "stderr"])
        try await broker.start()
        let (namespace, mirror, nameServer) = (namespace, Self.mirror, Self.nameServer)
        try await eventually(within: .seconds(20), "the internet's servers to listen") {
            let isServing = try namespace.isListening(mirror, port: 80)
            let isNaming = try namespace.isListening(nameServer, port: 53)
            return isServing && isNaming
        }
    }

    /// Returns an nginx with TLS on port 443 of `appName`. The first call starts it. Clients must trust `authority`.
    public func appServer() async throws -> (server: InternetServer, authority: String) {
        let (certificate, key) = ("\(directory)/app.crt", "\(directory)/app.key")
        if let app { return (app, certificate) }
        try TrustStore.makeCertificate(certificate, key: key, for: Self.appName, directory: directory)
        let site = """
            server {
                listen \(Self.appAddress):443 ssl;
                ssl_certificate \(certificate);
                ssl_certificate_key \(key);
                location / { return 204; }
            }
            """
        let path = "\(directory)/app.nginx.conf"
        try Lab.write(WebServer.configuration(of: site, directory: directory, name: "app"), to: path)
        let server = InternetServer(
            "nginx", ["-c", path, "-p", directory, "-e", "stderr"], at: Self.appAddress, port: 443, in: namespace,
            directory: directory)
        app = server
        try await server.start()
        return (server, certificate)
    }
    private var app: InternetServer?

    /// Starts a program in this internet. The internet's end also ends the program.
    public func run(_ program: String, _ arguments: [String]) throws -> Program {
        let started = try start(program, arguments)
        programs.append(started)
        return started
    }
    private var programs: [Program] = []

    func end() async {
        for program in programs { program.kill() }
        await broker.kill()
        await app?.kill()
        webServer?.kill()
        nameServer?.kill()
    }

    private func start(_ program: String, _ arguments: [String]) throws(LabError) -> Program {
        let log = "\(directory)/internet.\(program.split(separator: "/").last ?? "program").log"
        return try namespace.enter { () throws(LabError) in try Program(program, arguments, log: log) }
    }

    private static let site = """
        server {
            listen 80;
            listen [::]:80;
            location = /generate_204 { return 204; }
            location = /address { default_type text/plain; return 200 "$remote_addr\\n"; }
        }
        """

    private var nameServerArguments: [String] {
        [
            "--keep-in-foreground", "--conf-file=/dev/null", "--user=root", "--pid-file=", "--no-resolv", "--no-hosts",
            "--bind-interfaces", "--listen-address=\(Self.nameServer),\(Self.nameServer6)", "--local=/example/",
            "--host-record=\(Self.brokerName),\(Self.brokerAddress),\(Self.brokerAddress6)",
            "--host-record=\(Self.appName),\(Self.appAddress)",
            "--host-record=check.lab.example,\(Self.mirror),\(Self.mirror6)", "--log-queries", "--log-facility=-",
        ] + (1...9).map { "--host-record=\(CaptivePortal.name(ofNetwork: $0)),10.\($0).0.1" }
    }
}

extension Upstream {
    /// Names and addresses of the wire between the internet and an access point.
    struct Wire {
        let number: Int

        var outside: String { "ap\(number)" }
        static let inside = "internet"
        var outsideAddress: String { "172.16.\(number).1" }
        var insideAddress: String { "172.16.\(number).2" }
        var outsideAddress6: String { "2001:db8:\(number):ff::1" }
        var insideAddress6: String { "2001:db8:\(number):ff::2" }
    }

    nonisolated func connect(to accessPoint: NetworkNamespace, over wire: Wire, network: Int) throws(LabError) {
        try Lab.batch(
            [
                "link add \(wire.outside) type veth peer name \(Wire.inside) netns \(accessPoint.name)",
                "address add \(wire.outsideAddress)/30 dev \(wire.outside)",
                "address add \(wire.outsideAddress6)/64 dev \(wire.outside) nodad",
                "link set dev \(wire.outside) up",
            ], in: namespace, directory: directory)
        try Lab.batch(
            [
                "address add \(wire.insideAddress)/30 dev \(Wire.inside)",
                "address add \(wire.insideAddress6)/64 dev \(Wire.inside) nodad",
                "link set dev \(Wire.inside) up",
                "route add default via \(wire.outsideAddress)",
                "route add default via \(wire.outsideAddress6)",
            ], in: accessPoint, directory: directory)
        try Lab.batch(
            [
                "route add 10.\(network).0.0/24 via \(wire.insideAddress)",
                "route add 2001:db8:\(network)::/64 via \(wire.insideAddress6)",
            ], in: namespace, directory: directory)
    }
}
