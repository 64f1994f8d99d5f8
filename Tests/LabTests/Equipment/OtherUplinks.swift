import Glibc

@testable import Lab

/// A cable for the device's traffic: an Ethernet link with an address and the default route.
struct Cable: Sendable {
    static let address = IPv4Address(10, 200, 0, 2)

    static let interface = "cable0"
    private static let farInterface = "cable1"
    private static let gateway = IPv4Address(10, 200, 0, 1)
    /// Port of the sign-in page.
    private static let page = 8090
    private let upstream: NetworkNamespace?
    private let directory: String
    private var log: String { "\(directory)/commands.log" }

    /// - Parameter upstream: network at the other end; nil for none.
    init(to upstream: NetworkNamespace?, directory: String) throws(LabError) {
        (self.upstream, self.directory) = (upstream, directory)
        let (near, far, gateway) = (Self.interface, Self.farInterface, Self.gateway)
        try Lab.batch(
            ["link add \(near) type veth peer name \(far)\(upstream.map { " netns \($0.name)" } ?? "")"],
            directory: directory)
        let farEnd = ["link set dev \(far) up"] + (upstream == nil ? [] : ["address add \(gateway)/24 dev \(far)"])
        try Lab.batch(farEnd, in: upstream, directory: directory)
        try Lab.batch(
            [
                "link set dev \(near) up", "address add \(Self.address)/24 dev \(near)",
                "route add default via \(gateway) dev \(near) metric 10",
            ], directory: directory)
    }

    func pull() throws { try Program.run("ip", ["link", "delete", Self.interface], log: log) }

    /// The router loses its own upstream: it still answers, and drops everything else.
    func loseUpstream() throws {
        try filter(
            """
            chain input {
              type filter hook input priority filter;
              iifname "\(Self.farInterface)" ip daddr != \(Self.gateway) drop
            }
            """)
    }

    /// The router answers every connection with a redirect to its sign-in page.
    func requireSignIn(_ upstream: Upstream) async throws {
        let path = "\(directory)/cable.nginx.conf"
        let site = "server { listen \(Self.page); location / { return 302 http://\(Self.gateway)/splash; } }"
        try Lab.write(WebServer.configuration(of: site, directory: directory, name: "cable"), to: path)
        _ = try await upstream.run("nginx", ["-c", path, "-p", directory, "-e", "stderr"])
        try filter(
            """
            chain prerouting {
              type nat hook prerouting priority dstnat;
              iifname "\(Self.farInterface)" tcp dport != \(Self.page) redirect to :\(Self.page)
            }
            """)
    }

    /// The router has its upstream again, and requires no sign-in.
    func recover() throws { try filter("") }

    private func filter(_ chains: String) throws {
        let file = "\(directory)/cable.nft"
        try Lab.write("table inet cable\ndelete table inet cable\ntable inet cable {\n\(chains)\n}\n", to: file)
        try upstream?.enter { () throws(LabError) in try Program.run("nft", ["-f", file], log: log) }
    }
}

/// A modem for the device's traffic: an interface with a modem's name, an address and the default route, without a
/// network behind it.
struct Modem: Sendable {
    private static let interface = "wwan0"
    private let log: String

    /// - Parameter metric: metric of its default route.
    init(metric: Int, log: String) throws(LabError) {
        self.log = log
        let name = Self.interface
        try Program.run("ip", ["link", "add", name, "type", "dummy"], log: log)
        try Program.run("ip", ["address", "add", "10.201.0.2/24", "dev", name], log: log)
        try Program.run("ip", ["link", "set", name, "up"], log: log)
        try Program.run("ip", ["route", "add", "default", "dev", name, "metric", "\(metric)"], log: log)
    }

    func remove() throws { try Program.run("ip", ["link", "delete", Self.interface], log: log) }
}

/// A simulated ModemManager with the modem ``Modem`` on a private bus, and root's helper that queries it for the agent.
struct ModemManager: Sendable {
    private static let socket = "/run/altnet-modem.sock"
    private static let name = "org.freedesktop.ModemManager1"
    private let programs: [Program]
    private let address: String
    private let log: String

    /// - Parameters:
    ///   - program: simulated ModemManager (Tests/Servers/modem-manager).
    ///   - helper: board/systemd/altnet-modem.
    init(program: String, helper: String, directory: String) async throws {
        log = "\(directory)/commands.log"
        address = "unix:path=\(directory)/bus"
        let settings = "\(directory)/bus.conf"
        try Lab.write(
            """
            <busconfig>
              <type>system</type> <listen>\(address)</listen> <auth>EXTERNAL</auth>
              <policy context="default">
                <allow send_destination="*"/> <allow receive_sender="*"/> <allow own="*"/>
              </policy>
            </busconfig>
            """, to: settings)
        let output = "\(directory)/modem-manager.log"
        let bus = try Program("dbus-daemon", ["--config-file=" + settings, "--nofork", "--nopidfile"], log: log)
        try await eventually(within: .seconds(30), "the bus to be there") { access("\(directory)/bus", F_OK) == 0 }
        let manager = try Program(
            "python3", [program], environment: ["DBUS_SYSTEM_BUS_ADDRESS": address], log: output)
        try await eventually(within: .seconds(60), "ModemManager to be there") { manager.lastLines.contains("ready") }
        let activator = try Program(
            "systemd-socket-activate",
            [
                "--listen=" + Self.socket, "--accept", "--inetd", "-E", "DBUS_SYSTEM_BUS_ADDRESS=" + address, "sh",
                helper,
            ],
            log: log)
        programs = [activator, manager, bus]
    }

    /// Changes the modem's reported connection. Its interface stays unchanged.
    func set(connected: Bool) throws {
        try set("/Bearer/3", "Bearer", "Connected", "b", "\(connected)")
        try set("/Modem/0", "Modem", "State", "i", connected ? "11" : "8")
    }

    private func set(_ object: String, _ interface: String, _ property: String, _ type: String, _ value: String) throws
    {
        try Program.run(
            "busctl",
            [
                "--address=" + address, "set-property", Self.name, "/org/freedesktop/ModemManager1" + object,
                "\(Self.name).\(interface)", property, type, value,
            ], log: log)
    }

    func end() {
        programs.forEach { $0.kill() }
        unlink(Self.socket)
    }
}

/// A VPN for the device's traffic: WireGuard from the device to a machine in the lab's internet.
struct Tunnel: Sendable {
    /// Client address that servers see for traffic through the VPN.
    static let address = IPv4Address(10, 202, 0, 2)

    private static let interface = "wg0"
    private static let server = IPv4Address(203, 0, 113, 51)
    private let lab: String
    private let log: String

    // Test keys that protect nothing.
    private static let deviceKeys = (
        secret: "iGWNOx/O74BOfcy2WhIV7TDd+10TsXRVyBi3jSM2o3Y=", open: "ScsWM830PYR3tgRB8ZUI0a888+33qzuC7QAjptgoFW4="
    )
    private static let serverKeys = (
        secret: "OLhxtT+ZczDxc2ZauUclFxviMMYoCoUn1AMEmq5SN0Q=", open: "TXRfQ4XALB2dTkht5ysdeONv5O//Ut3gpagqui/cR3M="
    )

    /// Connects over the Wi-Fi interface `carrier` and its gateway.
    init(to upstream: NetworkNamespace, over carrier: String, gateway: IPv4Address, directory: String) throws(LabError)
    {
        lab = directory
        log = "\(directory)/commands.log"
        let name = Self.interface
        try Lab.batch(
            [
                "link add \(name) type wireguard", "address add 10.202.0.1/24 dev \(name)",
                "address add \(Self.server)/32 dev lo", "link set dev \(name) up",
            ], in: upstream, directory: directory)
        try upstream.enter { () throws(LabError) in
            try configure(
                Self.serverKeys.secret, ["listen-port", "51820"], peer: Self.deviceKeys.open,
                ["allowed-ips", "\(Self.address)/32"])
        }
        try Lab.batch(
            [
                "link add \(name) type wireguard", "address add \(Self.address)/24 dev \(name)",
                "route add \(Self.server)/32 via \(gateway) dev \(carrier)",
            ], directory: directory)
        try configure(
            Self.deviceKeys.secret, [], peer: Self.serverKeys.open,
            ["endpoint", "\(Self.server):51820", "allowed-ips", "0.0.0.0/0"])
        try Lab.batch(
            ["link set dev \(name) up", "route add default dev \(name) metric 5"], directory: directory)
    }

    private func configure(
        _ secret: String, _ own: [String], peer: String, _ peerSettings: [String]
    ) throws(LabError) {
        let file = "\(lab)/wireguard.key"
        try Lab.write(secret + "\n", to: file)
        try Program.run(
            "wg", ["set", Self.interface, "private-key", file] + own + ["peer", peer] + peerSettings, log: log)
    }

    func disconnect() throws { try Program.run("ip", ["link", "delete", Self.interface], log: log) }
}

extension Lab {
    /// Plugs a cable into the device, which then carries its traffic. The scenario must pull it out.
    /// - Parameter upstream: network behind it; nil for none.
    func cable(to upstream: Upstream? = nil) throws -> Cable {
        try Cable(to: upstream?.namespace, directory: directory)
    }

    /// Connects a VPN through this access point, which then carries the device's traffic.
    func tunnel(to upstream: Upstream, through accessPoint: AccessPoint) throws -> Tunnel {
        try Tunnel(
            to: upstream.namespace, over: station.interface, gateway: accessPoint.gateway, directory: directory)
    }

    /// Connects a modem to the device, which then carries its traffic. The scenario must remove it.
    /// - Parameter metric: metric of its default route.
    func modem(metric: Int = 10) throws -> Modem {
        try Modem(metric: metric, log: "\(directory)/commands.log")
    }

    /// Starts a simulated ModemManager, and root's helper. The scenario must end them.
    /// - Parameters:
    ///   - program: the simulated ModemManager.
    ///   - helper: the package's helper.
    func modemManager(_ program: String, helper: String) async throws -> ModemManager {
        try await ModemManager(program: program, helper: helper, directory: directory)
    }
}
