import AgentModel

/// wpa_supplicant with both networks and their priorities (wpa_supplicant.conf(5)), and a DHCP client.
actor SupplicantStack: NetworkStack {
    enum Client {
        /// dhcpcd with Debian's /etc/dhcpcd.conf.
        case dhcpcd
        /// systemd-networkd with a file for the interface (systemd.network(5)).
        case networkd
    }

    private let lab: Lab
    private let client: Client
    private var networks: [ConfiguredNetwork] = []
    private var addresses: Program?

    init(in lab: Lab, with client: Client) { (self.lab, self.client) = (lab, client) }

    func setUp(_ house: House) async throws {
        networks = house.knownNetworks
        if client == .networkd {
            let path = "/etc/systemd/network/20-wlan.network"
            try ConfigurationFile(path, Self.networkFile(of: lab.station.interface)).write(mode: 0o644)
        }
        try await start()
    }

    func start() async throws {
        switch client {
        case .dhcpcd: addresses = try await lab.start("dhcpcd", ["-B", lab.station.interface])
        case .networkd:
            addresses = try await lab.start(
                "unshare", ["-m", "sh", "-c", Self.networkdScript], log: "systemd-networkd")
        }
        try await lab.station.startSupplicant(knowing: networks)
    }

    func stop() async {
        await lab.station.killSupplicant()
        await addresses?.terminate()
    }

    func change(to network: AccessPoint) async throws {
        guard let number = networks.firstIndex(where: { $0.ssid == network.ssid }) else { return }
        try await lab.station.ask("SELECT_NETWORK \(number)")
    }

    var programs: [Program] { get async { await [addresses].compactMap(\.self) + lab.station.programs } }

    /// Folders with the client's state; empty for networkd, which keeps its state only in /run.
    var stateFolders: [String] { client == .dhcpcd ? ["/var/lib/dhcpcd"] : [] }

    static func networkFile(of interface: String) -> String {
        """
        [Match]
        Name=\(interface)

        [Network]
        DHCP=yes

        """
    }

    /// Script that starts networkd. networkd waits for udev unless /sys is read-only. The script also creates
    /// networkd's user and the machine ID, as an installation of systemd does.
    private static let networkdScript = """
        grep -q ^systemd-network: /etc/passwd \
            || echo systemd-network:x:998:998::/:/usr/sbin/nologin >>/etc/passwd
        [ -s /etc/machine-id ] || tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id
        mkdir -p /run/systemd
        mount -o remount,bind,ro /sys && exec /usr/lib/systemd/systemd-networkd
        """
}

/// iwd with its DHCP client (`EnableNetworkConfiguration`, iwd.config(5)) and D-Bus. iwd has no priorities and prefers
/// the last used network (iwd.network(5)). The date of the first network's file makes it that network.
actor IwdStack: NetworkStack {
    private let lab: Lab
    private let bus: SystemBus
    private var iwd: Program?

    init(in lab: Lab) {
        self.lab = lab
        bus = SystemBus(in: lab)
    }

    func setUp(_ house: House) async throws {
        try ConfigurationFile("/etc/iwd/main.conf", Self.mainFile).write()
        try ConfigurationFile.clear("/var/lib/iwd")
        for (age, network) in house.knownNetworks.enumerated() {
            let file = ConfigurationFile("/var/lib/iwd/\(network.ssid).psk", Self.networkFile(network))
            try file.write(age: .seconds(3600 * age))
        }
        try await bus.start()
        try await start()
    }

    func start() async throws { iwd = try await lab.start("/usr/libexec/iwd") }

    func stop() async { await iwd?.terminate() }

    func change(to network: AccessPoint) async throws {
        // iwd replaces the radio's interface and chooses its name freely.
        guard let interface = lab.station.currentInterface else { throw LabError.unexpected("iwd has no interface") }
        _ = try await lab.start("iwctl", ["station", interface, "connect", "\(network.ssid)"])
    }

    var programs: [Program] { get async { await [iwd, bus.program].compactMap(\.self) } }

    var stateFolders: [String] { ["/var/lib/iwd"] }

    /// Debian's settings without a resolver, which the lab does not have. iwd replaces the driver's interface with a
    /// new one, which disappears when iwd ends.
    static let mainFile = """
        [General]
        EnableNetworkConfiguration=true

        [Network]
        NameResolvingService=none

        """

    static func networkFile(_ network: ConfiguredNetwork) -> String {
        "[Security]\nPassphrase=\(network.security.password ?? "")\n"
    }
}

/// ConnMan with its DHCP client, wpa_supplicant and D-Bus. One provisioning file has both networks
/// (connman-service.config(5)). ConnMan has no priorities and prefers used networks, then stronger signals.
actor ConnManStack: NetworkStack {
    private let lab: Lab
    private let bus: SystemBus
    private var own: [Program] = []

    init(in lab: Lab) {
        self.lab = lab
        bus = SystemBus(in: lab)
    }

    func setUp(_ house: House) async throws {
        try ConfigurationFile.clear("/var/lib/connman")
        let networks = house.knownNetworks
        try ConfigurationFile("/var/lib/connman/lab.config", Self.provisioningFile(networks)).write()
        try ConfigurationFile("/var/lib/connman/settings", Self.settingsFile).write()
        try await bus.start()
        try await start()
    }

    func start() async throws {
        own = [try await SystemBus.supplicant(in: lab), try await lab.start("connmand", ["-n"])]
    }

    func stop() async { for program in own.reversed() { await program.terminate() } }

    func change(to network: AccessPoint) async throws {
        _ = try await lab.start("connmanctl", ["connect", Self.service(network.ssid, at: lab.station.radioAddress)])
    }

    var programs: [Program] { get async { await own + [bus.program].compactMap(\.self) } }

    var stateFolders: [String] { ["/var/lib/connman"] }

    /// Returns ConnMan's name for a network, from the radio's address and the SSID.
    static func service(_ ssid: SSID, at address: BSSID) -> String {
        "wifi_\(Hex.string(address.bytes))_\(ssid.hex)_managed_psk"
    }

    static func provisioningFile(_ networks: [ConfiguredNetwork]) -> String {
        networks.enumerated().map { index, network in
            """
            [service_\(index + 1)]
            Type=wifi
            Name=\(network.ssid)
            Passphrase=\(network.security.password ?? "")


            """
        }.joined()
    }

    /// Settings that switch Wi-Fi on. It is off by default.
    static let settingsFile = """
        [global]
        OfflineMode=false

        [WiFi]
        Enable=true
        Tethering=false

        """
}

/// NetworkManager with its DHCP client, wpa_supplicant and D-Bus. Both networks are key files (nm-settings-keyfile(5)).
/// The first network has the higher `autoconnect-priority`.
actor NetworkManagerStack: NetworkStack {
    private let lab: Lab
    private let bus: SystemBus
    private var own: [Program] = []

    init(in lab: Lab) {
        self.lab = lab
        bus = SystemBus(in: lab)
    }

    func setUp(_ house: House) async throws {
        let folder = "/etc/NetworkManager/system-connections"
        try ConfigurationFile.clear(folder)
        try ConfigurationFile.clear("/var/lib/NetworkManager")
        for (index, network) in house.knownNetworks.enumerated() {
            let text = Self.connectionFile(network, number: index + 1)
            try ConfigurationFile("\(folder)/\(network.ssid).nmconnection", text).write()
        }
        try ConfigurationFile(
            "/etc/NetworkManager/conf.d/lab.conf", house.hasInternet ? Self.connectivityFile : ""
        ).write()
        try await bus.start()
        try await start()
    }

    func start() async throws {
        let supplicant = try await SystemBus.supplicant(in: lab)
        // Make /sys read-only, as in a container: otherwise NetworkManager waits for udev, which the lab does not have.
        let script = "mount -o remount,bind,ro /sys && exec NetworkManager --no-daemon"
        own = [supplicant, try await lab.start("unshare", ["-m", "sh", "-c", script], log: "NetworkManager")]
    }

    func stop() async { for program in own.reversed() { await program.terminate() } }

    func change(to network: AccessPoint) async throws {
        _ = try await lab.start("nmcli", ["connection", "up", "\(network.ssid)"])
    }

    var programs: [Program] { get async { await own + [bus.program].compactMap(\.self) } }

    var stateFolders: [String] { ["/var/lib/NetworkManager", "/etc/NetworkManager/system-connections"] }

    static func connectionFile(_ network: ConfiguredNetwork, number: Int) -> String {
        """
        [connection]
        id=\(network.ssid)
        uuid=00000000-0000-4000-8000-00000000000\(number)
        type=wifi
        autoconnect-priority=\(network.priority)

        [wifi]
        ssid=\(network.ssid)

        [wifi-security]
        key-mgmt=wpa-psk
        psk=\(network.security.password ?? "")

        [ipv4]
        method=auto

        [ipv6]
        method=auto

        """
    }

    /// Settings for a check of internet access twice a minute (NetworkManager.conf(5), `connectivity`).
    static let connectivityFile = """
        [connectivity]
        enabled=true
        uri=\(Upstream.validationURL)
        response=
        interval=30

        """
}
