import AgentModel

/// NetworkManager with its own DHCP client, and the wpa_supplicant and the D-Bus that it needs. Both networks are key files
/// (nm-settings-keyfile(5)), the first one with the higher `autoconnect-priority`.
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
        // It waits for udev to present interfaces, unless /sys is read-only, as in a container: there is no udev here.
        let script = "mount -o remount,bind,ro /sys && exec NetworkManager --no-daemon"
        own = [supplicant, try await lab.start("unshare", ["-m", "sh", "-c", script], log: "NetworkManager")]
    }

    func stop() async { for program in own.reversed() { await program.terminate() } }

    func change(to network: AccessPoint) async throws {
        _ = try await lab.start("nmcli", ["connection", "up", "\(network.ssid)"])
    }

    var programs: [Program] { get async { await own + [bus.program].compactMap(\.self) } }

    var stateFolders: [String] { ["/var/lib/NetworkManager", "/etc/NetworkManager/system-connections"] }

    static func connectionFile(_ network: KnownNetwork, number: Int) -> String {
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

    /// Where it may ask whether the internet is there (NetworkManager.conf(5), `connectivity`), twice a minute.
    static let connectivityFile = """
        [connectivity]
        enabled=true
        uri=\(Upstream.validationURL)
        response=
        interval=30

        """
}
