import AgentModel

/// ConnMan with its own DHCP client, and the wpa_supplicant and the D-Bus that it needs. Both networks are in one
/// provisioning file (connman-service.config(5)). It knows no priorities: it goes by what was used, then by signal.
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

    /// Its name for a network, made of the radio's address and the SSID.
    static func service(_ ssid: SSID, at address: BSSID) -> String {
        "wifi_\(Hex.string(address.bytes))_\(ssid.hex)_managed_psk"
    }

    static func provisioningFile(_ networks: [KnownNetwork]) -> String {
        networks.enumerated().map { index, network in
            """
            [service_\(index + 1)]
            Type=wifi
            Name=\(network.ssid)
            Passphrase=\(network.security.password ?? "")


            """
        }.joined()
    }

    /// Wi-Fi is off until somebody switches it on.
    static let settingsFile = """
        [global]
        OfflineMode=false

        [WiFi]
        Enable=true
        Tethering=false

        """
}
