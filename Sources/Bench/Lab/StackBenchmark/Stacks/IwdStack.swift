import AgentModel

/// iwd with its own DHCP client (`EnableNetworkConfiguration`, iwd.config(5)) and the D-Bus that it needs. It knows no
/// priorities: among known networks it prefers the one used last (iwd.network(5)), which the first one's file is by its date.
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
        // iwd has made its own, under whatever name was free.
        guard let interface = lab.station.currentInterface else { throw LabError.unexpected("iwd has no interface") }
        _ = try await lab.start("iwctl", ["station", interface, "connect", "\(network.ssid)"])
    }

    var programs: [Program] { get async { await [iwd, bus.program].compactMap(\.self) } }

    var stateFolders: [String] { ["/var/lib/iwd"] }

    /// There is no resolver here to tell name servers to. All else is as Debian has it: also that iwd takes the driver's
    /// interface away and makes one of its own, which goes when it ends.
    static let mainFile = """
        [General]
        EnableNetworkConfiguration=true

        [Network]
        NameResolvingService=none

        """

    static func networkFile(_ network: KnownNetwork) -> String {
        "[Security]\nPassphrase=\(network.security.password ?? "")\n"
    }
}
