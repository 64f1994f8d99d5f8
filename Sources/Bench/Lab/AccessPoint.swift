import AgentModel
import FoundationEssentials

/// A real access point: hostapd and a DHCP server on a simulated radio, in its own network namespace.
///
/// It is off until `powerOn`. The network with number N is 10.N.0.0/24, its gateway 10.N.0.1. The access point also
/// answers at `Lab.everywhere`. Its TCP port 7 sends the SSID, so that a scenario can tell which network carries the
/// data.
public actor AccessPoint {
    public nonisolated let ssid: SSID
    public nonisolated let bssid: BSSID
    public nonisolated let gateway: IPv4Address

    let number: Int
    /// Number of the network: that of the extended access point, or this one's.
    private let network: Int
    let radio: Radio
    let namespace: NetworkNamespace
    private let interface: NamespaceInterface
    let directory: String
    private(set) var settings: AccessPointSettings
    private var hostapd: Program?
    /// Start of the beacons; nil while the access point is off.
    public private(set) var onSince: ContinuousClock.Instant?
    private var dnsmasq: Program?
    private var givesAddresses = true
    private var isMetered = false
    private var guests: [Program] = []
    /// State of the network's internet access; nil unless connected.
    var internet: Internet?
    private var hasOnlyIPv6 = false
    /// Bridge between the radio and wires to other access points of the network; nil without wires.
    private var bridge: String?
    private var inside: String { bridge ?? radio.interface }

    init(
        number: Int, extending network: Int?, radio: Radio, namespace: NetworkNamespace, directory: String,
        settings: AccessPointSettings, signal: Int
    ) throws(LabError) {
        self.number = number
        self.network = network ?? number
        self.radio = radio
        self.namespace = namespace
        self.directory = directory
        self.settings = settings
        ssid = settings.ssid
        bssid = radio.address
        gateway = IPv4Address(10, UInt8(self.network), 0, 1)
        interface = try namespace.enter { () throws(LabError) in
            try NamespaceInterface("lo").setUp(true)
            return try NamespaceInterface(radio.interface)
        }
        try interface.add(gateway, prefix: 24)
        try interface.add(Lab.everywhere, prefix: 32, label: "all")
        try radio.setReceivedSignal(signal)
    }

    nonisolated var networkNumber: Int { network }

    // MARK: Power

    /// Starts the access point and returns when it sends beacons.
    /// - Parameter limit: time limit. On a channel with radar detection, hostapd first listens for a minute.
    public func powerOn(within limit: Duration = .seconds(10)) async throws {
        guard hostapd?.isRunning != true else { return }
        let path = "\(directory)/hostapd\(number).conf"
        try Lab.write(settings.hostapdConfiguration(interface: radio.interface, controlDirectory: directory), to: path)
        let hostapd = try start("hostapd", ["-t", "-f", log("hostapd"), path])
        self.hostapd = hostapd
        try await eventually(within: limit, "\(ssid) to send beacons") {
            guard hostapd.isRunning else { throw LabError.ended(program: "hostapd", said: hostapd.lastLines) }
            return (try? control.value(of: "state", in: "STATUS")) == "ENABLED"
        }
        onSince = .now
        try startDHCP()
    }

    /// Simulates a power cut: the access point stops sending, without deauthentication.
    public func powerOff() throws {
        hostapd?.kill()
        hostapd = nil
        onSince = nil
        try interface.setUp(false)
    }

    /// Stops the access point with deauthentication of its stations.
    public func shutDown() async {
        await hostapd?.terminate()
        hostapd = nil
        onSince = nil
    }

    public func restart() async throws {
        await shutDown()
        try await powerOn()
    }

    public var hostapdLog: String { (try? String(contentsOfFile: log("hostapd"), encoding: .utf8)) ?? "" }

    /// Simulates radar on the access point's channel, so that it must leave the channel (IEEE 802.11-2020, 11.8).
    public func hearRadar() throws { try radio.hearRadar() }

    // MARK: Settings

    /// Sets the signal at the station in dBm, -100 to -1, from the next frame on. The kernel treats 0 as unknown.
    public func setSignal(_ signal: Int) throws {
        try radio.setReceivedSignal(signal)
    }

    /// Changes the password. Restarts the access point if it is on.
    public func changePassword(_ password: String) async throws {
        try await change(security: settings.security.replacing(password: password), settings: settings.more)
    }

    /// Changes the security and further lines of hostapd.conf. Restarts the access point if it is on.
    public func change(security: NetworkSecurity, settings lines: [String] = []) async throws {
        settings.security = security
        settings.more = lines
        try await restartIfOn()
    }

    /// Sets the maximum number of stations. With 0, the access point refuses all stations as full (IEEE 802.11 status
    /// 17).
    public func limitStations(to count: Int) async throws {
        settings.maximumStations = count
        try await restartIfOn()
    }

    public func dhcp(_ on: Bool) throws {
        givesAddresses = on
        if on { try startDHCP() } else { endDHCP() }
    }

    /// Announces by DHCP that the network is metered, like a phone that shares its connection (option 43).
    public func announceMetered() throws {
        isMetered = true
        if endDHCP() { try startDHCP() }
    }

    /// Makes the network IPv6-only: SLAAC for addresses, RDNSS (RFC 8106) for name servers, no DHCP. Call this before
    /// `powerOn`.
    public func haveOnlyIPv6() { hasOnlyIPv6 = true }

    /// Bridges the radio with a wire. Call this before `powerOn`.
    /// - Parameter isGateway: whether the network's gateway and DHCP server are at this access point or at the other
    ///   end.
    func bridge(with wire: String, isGateway: Bool) throws(LabError) {
        let name = "bridge"
        try Lab.batch(
            ["link add \(name) type bridge", "link set \(name) up", "address flush dev \(radio.interface)"]
                + (isGateway
                    ? ["address add \(gateway)/24 dev \(name)", "address add \(Lab.everywhere)/32 dev \(name)"] : [])
                + ["link set \(wire) master \(name)", "link set \(wire) up"], in: namespace, directory: directory)
        bridge = name
        givesAddresses = isGateway
        settings.bridge = name
    }

    /// Pings an address from the access point's network. The scenario must end the pinger.
    public func pinger(to address: IPv4Address, every interval: Duration) throws -> Pinger {
        try namespace.enter { () throws(LabError) in try Pinger(target: address, identifier: 0xa16, every: interval) }
    }

    /// Sends a command to hostapd's control interface (see hostapd_cli).
    public func ask(_ command: String) throws -> String { try control.ask(command) }

    /// Starts a program in the access point's network, like a machine that is connected by cable. The lab's end also
    /// ends the program. The output goes to `<log>.log` in the lab's records.
    /// - Parameter input: file for standard input.
    public func start(
        _ path: String, _ arguments: [String], input: String = "/dev/null", log: String
    ) throws -> Program {
        let guest = try namespace.enter { () throws(LabError) in
            try Program(path, arguments, input: input, log: "\(directory)/\(log).log")
        }
        guests.append(guest)
        return guest
    }

    // MARK: Internals

    func end() async {
        await internet?.portal?.end()
        internet?.liar?.end()
        hostapd?.kill()
        dnsmasq?.kill()
        for guest in guests { guest.kill() }
    }

    private var control: ControlSocket { ControlSocket(path: "\(directory)/\(radio.interface)", directory: directory) }

    private func log(_ program: String) -> String { "\(directory)/\(program)\(number).log" }

    private func start(_ program: String, _ arguments: [String]) throws(LabError) -> Program {
        try namespace.enter { () throws(LabError) in try Program(program, arguments, log: log(program)) }
    }

    private func restartIfOn() async throws {
        if hostapd != nil { try await restart() }
    }

    /// - Returns: true if the DHCP server was running.
    @discardableResult
    func endDHCP() -> Bool {
        defer { dnsmasq = nil }
        dnsmasq?.kill()
        return dnsmasq != nil
    }

    func startDHCP() throws(LabError) {
        guard givesAddresses, dnsmasq?.isRunning != true else { return }
        if hasOnlyIPv6 {
            // Add the address at each start, because the kernel removes IPv6 addresses when the interface goes down.
            try Lab.batch(
                ["address replace 2001:db8:\(network)::1/64 dev \(inside) nodad"], in: namespace,
                directory: directory)
        }
        let common = [
            "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--user=root", "--pid-file=",
            "--interface=\(inside)", "--dhcp-leasefile=\(directory)/dnsmasq\(number).leases", "--log-dhcp",
            "--log-facility=-",
        ]
        dnsmasq = try start("dnsmasq", common + (hasOnlyIPv6 ? routerAdvertisements : leases))
    }

    private var leases: [String] {
        [
            "--no-ping", "--dhcp-authoritative", "--dhcp-rapid-commit",
            "--dhcp-range=10.\(network).0.10,10.\(network).0.200,1h", "--dhcp-option=option:router,\(gateway)",
        ] + (internet == nil ? [] : ["--dhcp-option=option:dns-server,\(Upstream.nameServer)"])
            + (internet?.portal == nil ? [] : ["--dhcp-option=114,\(CaptivePortal.api(ofNetwork: network))"])
            + (isMetered ? ["--dhcp-option=43,ANDROID_METERED"] : [])
    }

    private var routerAdvertisements: [String] {
        [
            "--enable-ra", "--dhcp-range=2001:db8:\(network)::,ra-only,64", "--ra-param=\(inside),5,600",
        ] + (internet == nil ? [] : ["--dhcp-option=option6:dns-server,[\(Upstream.nameServer6)]"])
    }
}

struct AccessPointSettings {
    let ssid: SSID
    var security: NetworkSecurity
    var channel: Int
    var hidden: Bool
    var maximumStations = 2007
    /// Further lines at the end of hostapd.conf.
    var more: [String]
    var bridge: String?

    func hostapdConfiguration(interface: String, controlDirectory: String) -> String {
        let common = """
            interface=\(interface)
            driver=nl80211
            ctrl_interface=\(controlDirectory)
            ssid2=\(ssid.hex)
            hw_mode=\(channel > 14 ? "a" : "g")
            channel=\(channel)
            ignore_broadcast_ssid=\(hidden ? 1 : 0)
            max_num_sta=\(maximumStations)

            """
        let place = bridge.map { ["bridge=\($0)"] } ?? []
        return common + (place + securityLines + more).map { $0 + "\n" }.joined()
    }

    private var securityLines: [String] {
        switch security {
        case .open:
            []
        case .wpa2(let password):
            ["wpa=2", "rsn_pairwise=CCMP", "wpa_key_mgmt=WPA-PSK", "wpa_passphrase=\(password)"]
        case .wpa3(let password):
            ["wpa=2", "rsn_pairwise=CCMP", "wpa_key_mgmt=SAE", "ieee80211w=2", "sae_pwe=2", "sae_password=\(password)"]
        case .transition(let password):
            [
                "wpa=2", "rsn_pairwise=CCMP", "wpa_key_mgmt=WPA-PSK SAE", "ieee80211w=1", "sae_require_mfp=1",
                "sae_pwe=2", "wpa_passphrase=\(password)",
            ]
        }
    }
}

/// Security of a network in the lab. The passwords are public test data.
public enum NetworkSecurity: Hashable, Sendable {
    case open
    case wpa2(String)
    /// SAE only. Protected management frames are required.
    case wpa3(String)
    case transition(String)

    /// Password in the form that users type; nil for an open network.
    public var password: String? {
        switch self {
        case .open: nil
        case .wpa2(let password), .wpa3(let password), .transition(let password): password
        }
    }

    func replacing(password: String) -> NetworkSecurity {
        switch self {
        case .open: .open
        case .wpa2: .wpa2(password)
        case .wpa3: .wpa3(password)
        case .transition: .transition(password)
        }
    }
}
