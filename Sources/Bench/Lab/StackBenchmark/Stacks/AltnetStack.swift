import AgentModel
import AppClient

/// altnet with the wpa_supplicant and the dhcpcd that it drives, as the lab starts them. The first network is told to it by
/// the app's command, the second one as a backup. Its settings are the defaults.
actor AltnetStack: NetworkStack {
    private let lab: Lab
    private var device: Device?

    init(in lab: Lab) { self.lab = lab }

    func setUp(_ house: House) async throws {
        let device = Device(in: lab, settings: Self.settings(withInternet: house.hasInternet), isRecording: false)
        self.device = device
        try await lab.station.startDHCPClient()
        try await lab.station.startSupplicant()
        try await device.start()
        try await device.provision(house.home)
        try await device.store([await house.backup.asStored(password: house.backupPassword)])
        // Nobody else has to talk to a program that watches while it is measured.
        await device.leaveAlone()
    }

    func start() async throws {
        try await lab.station.startDHCPClient()
        async let supplicant: Void = lab.station.startSupplicant()
        try await device?.launch()
        try await supplicant
    }

    func stop() async {
        await device?.stop()
        await lab.station.killSupplicant()
        await lab.station.killDHCPClient()
    }

    func change(to network: AccessPoint) async throws {
        _ = try await device?.switchNetwork(toStored: network.ssid)
    }

    var programs: [Program] {
        get async { await [device?.program].compactMap(\.self) + lab.station.programs }
    }

    var stateFolders: [String] { ["\(lab.directory)/altnet", "/var/lib/dhcpcd"] }

    /// The defaults; but whoever wants to know whether the internet is there has to say where to ask.
    static func settings(withInternet: Bool) -> [String: String] {
        guard withInternet else { return [:] }
        return [
            "ALTNET_TARGETS": "broker=mqtt://\(Upstream.brokerName):1883",
            "ALTNET_VALIDATION_URL": Upstream.validationURL,
        ]
    }
}
