import AgentModel

/// wpa_supplicant that knows both networks, with priorities (wpa_supplicant.conf(5)), and dhcpcd with Debian's own
/// /etc/dhcpcd.conf.
actor SupplicantStack: NetworkStack {
    private let lab: Lab
    private var networks: [KnownNetwork] = []
    private var dhcpcd: Program?

    init(in lab: Lab) { self.lab = lab }

    func setUp(_ house: House) async throws {
        networks = house.knownNetworks
        try await start()
    }

    func start() async throws {
        dhcpcd = try await lab.start("dhcpcd", ["-B", lab.station.interface])
        try await lab.station.startSupplicant(knowing: networks)
    }

    func stop() async {
        await lab.station.killSupplicant()
        await dhcpcd?.terminate()
    }

    func change(to network: AccessPoint) async throws {
        guard let number = networks.firstIndex(where: { $0.ssid == network.ssid }) else { return }
        try await lab.station.ask("SELECT_NETWORK \(number)")
    }

    var programs: [Program] { get async { await [dhcpcd].compactMap(\.self) + lab.station.programs } }

    var stateFolders: [String] { ["/var/lib/dhcpcd"] }
}
