import AgentModel
import FoundationEssentials

/// A real access point: hostapd and a DHCP server on a simulated radio in a network namespace of its own.
///
/// It is off until `powerOn`. Its network is 10.N.0.0/24 and its gateway 10.N.0.1, N being its number. It answers also
/// at `Lab.everywhere`, and on TCP port 7 with its SSID, so that a scenario can tell which network its data took.
public actor AccessPoint {
    public nonisolated let ssid: SSID
    public nonisolated let bssid: BSSID
    public nonisolated let gateway: IPv4Address
    /// The strongest signal that can be set: 0 dBm is the kernel's word for "unknown".
    public static let signalRange = -100...(-1)

    let number: Int
    /// The number of the access point to whose network it belongs: its own, unless it extends another.
    private let network: Int
    let radio: Radio
    let namespace: NetworkNamespace
    private let interface: NetworkInterface
    let directory: String
    private(set) var settings: AccessPointSettings
    private var hostapd: Program?
    /// When it began to send beacons; nil while it is off.
    public private(set) var onSince: ContinuousClock.Instant?
    private var dnsmasq: Program?
    private var givesAddresses = true
    private var guests: [Program] = []
    /// The network behind it; none at first.
    var internet: Internet?
    /// Whether its network has IPv6 and nothing else.
    private var hasOnlyIPv6 = false
    /// The bridge between its radio and the wires to other access points of its network, where there are any.
    private var bridge: String?
    /// The interface that has its addresses.
    private var inside: String { bridge ?? radio.interface }

    init(
        number: Int, extending network: Int? = nil, radio: Radio, namespace: NetworkNamespace, directory: String,
        settings: AccessPointSettings,
        signal: Int
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
            try NetworkInterface("lo").setUp(true)
            return try NetworkInterface(radio.interface)
        }
        try interface.add(gateway, prefix: 24)
        try interface.add(Lab.everywhere, prefix: 32, label: "all")
        try radio.setReceivedSignal(signal)
    }

    /// The number of its IP network.
    nonisolated var networkNumber: Int { network }

    // MARK: Power

    /// Starts sending beacons; returns once it does.
    /// - Parameter limit: how long that may take; on a channel with radar it listens for a minute before.
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

    /// A power cut: nothing is sent any more, and no station is told.
    public func powerOff() throws {
        hostapd?.kill()
        hostapd = nil
        onSince = nil
        try interface.setUp(false)
    }

    /// The end of its network in order: stations are told (deauthentication).
    public func shutDown() async {
        await hostapd?.terminate()
        hostapd = nil
        onSince = nil
    }

    /// An orderly restart, as after its settings were saved: it shuts down, then it comes back.
    public func restart() async throws {
        await shutDown()
        try await powerOn()
    }

    /// The log of hostapd: it names each station that tries to authenticate.
    public var hostapdLog: String { (try? String(contentsOfFile: log("hostapd"), encoding: .utf8)) ?? "" }

    /// It hears radar on its channel, and has to leave it (IEEE 802.11-2020, 11.8).
    public func hearRadar() throws { try radio.hearRadar() }

    // MARK: Settings

    /// The signal at the station: exactly this, in dBm (`signalRange`), from the next frame on.
    public func setSignal(_ signal: Int) throws {
        try radio.setReceivedSignal(signal)
    }

    /// A new password, at once if it is on.
    public func changePassword(_ password: String) async throws {
        try await change(security: settings.security.replacing(password: password), settings: settings.more)
    }

    /// Another security under the same name, and other further lines of hostapd.conf, at once if it is on.
    public func change(security: NetworkSecurity, settings lines: [String] = []) async throws {
        settings.security = security
        settings.more = lines
        try await restartIfOn()
    }

    /// How many stations may be associated; with 0 it turns all away as a full one does (IEEE 802.11 status 17).
    public func limitStations(to count: Int) async throws {
        settings.maximumStations = count
        try await restartIfOn()
    }

    /// Whether stations get an address.
    public func dhcp(_ on: Bool) throws {
        givesAddresses = on
        if on { try startDHCP() } else { endDHCP() }
    }

    /// Its network has IPv6 alone from now on: addresses by SLAAC, name servers by RDNSS (RFC 8106), no DHCP. Before
    /// `powerOn`.
    public func haveOnlyIPv6() { hasOnlyIPv6 = true }

    /// A bridge joins its radio and a wire, and has its addresses from now on. Before `powerOn`.
    /// - Parameter isGateway: whether the network's gateway and DHCP server are here; else they are at the other end.
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

    /// Pings an address from its network, from now on. The scenario ends it.
    public func pinger(to address: IPv4Address, every interval: Duration) throws -> Pinger {
        try namespace.enter { () throws(LabError) in try Pinger(target: address, identifier: 0xa16, every: interval) }
    }

    /// hostapd's own control interface, for what has no word here (hostapd_cli's commands).
    public func ask(_ command: String) throws -> String { try control.ask(command) }

    /// Starts a program in its network, as on a machine that is connected to it by cable; it is ended with the lab at
    /// the latest. Its output goes to `<log>.log` among the lab's records.
    ///
    /// - Parameter input: a file that it may read as its input.
    public func start(
        _ path: String, _ arguments: [String], environment: [String: String] = [:], input: String = "/dev/null",
        log: String
    ) throws -> Program {
        let guest = try namespace.enter { () throws(LabError) in
            try Program(
                path, arguments, environment: environment, input: input, log: "\(directory)/\(log).log")
        }
        guests.append(guest)
        return guest
    }

    // MARK: Inside

    /// Ends everything that runs for it.
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

    /// Whether there was something to end.
    @discardableResult
    func endDHCP() -> Bool {
        defer { dnsmasq = nil }
        dnsmasq?.kill()
        return dnsmasq != nil
    }

    func startDHCP() throws(LabError) {
        guard givesAddresses, dnsmasq?.isRunning != true else { return }
        if hasOnlyIPv6 {
            // The kernel takes them away whenever the interface goes down.
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
    }

    private var routerAdvertisements: [String] {
        [
            "--enable-ra", "--dhcp-range=2001:db8:\(network)::,ra-only,64", "--ra-param=\(inside),5,600",
        ] + (internet == nil ? [] : ["--dhcp-option=option6:dns-server,[\(Upstream.nameServer6)]"])
    }
}

/// The settings of an access point.
struct AccessPointSettings {
    let ssid: SSID
    var security: NetworkSecurity
    var channel: Int
    var hidden: Bool
    /// How many stations may be associated at once.
    var maximumStations = 2007
    /// More lines of hostapd.conf, after all others.
    var more: [String]
    /// The bridge that its radio is in, where it is in one.
    var bridge: String?

    /// The configuration that hostapd reads (hostapd.conf).
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

/// How a network in the lab authenticates its stations. The passwords are made up and guard nothing.
public enum NetworkSecurity: Hashable, Sendable {
    case open
    /// WPA2 with a pre-shared key.
    case wpa2(String)
    /// WPA3: SAE only, management frames protected.
    case wpa3(String)
    /// WPA2 and WPA3 side by side.
    case transition(String)

    /// The password that a user types in; nil for an open network.
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
