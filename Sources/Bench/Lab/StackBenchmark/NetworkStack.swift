import AgentModel
import FoundationEssentials
import Glibc

/// Software that keeps a device on Wi-Fi, controlled by the benchmark. Each stack is the unmodified Debian package,
/// configured for two known networks according to its documentation.
protocol NetworkStack: Sendable {
    /// Configures two running networks, and prefers the first if the stack supports priorities. Returns when the stack
    /// is online on the first network or joins it.
    func setUp(_ house: House) async throws

    /// Starts all programs of the stack at once, as after boot. Does not wait for them.
    func start() async throws

    func stop() async

    /// Switches to a known network as a user at the device does.
    func change(to network: AccessPoint) async throws

    /// All programs of the stack, including helper processes.
    var programs: [Program] { get async }

    /// Folders whose state must survive a reboot.
    var stateFolders: [String] { get async }
}

public enum StackName: String, Codable, CaseIterable, Sendable {
    case altnet
    case iwd
    case supplicant = "wpa_supplicant"
    case networkd = "systemd-networkd"
    case networkManager = "NetworkManager"
    case connMan = "ConnMan"
    /// altnet with a second station interface on the same radio, for make-before-break
    /// (Docs/contributor/loss-and-radios.md).
    case altnetSpare = "altnet-spare"

    public var title: String {
        switch self {
        case .supplicant: "wpa_supplicant + dhcpcd"
        case .networkd: "wpa_supplicant + systemd-networkd"
        case .altnetSpare: "altnet, two stations"
        default: rawValue
        }
    }

    public var isAltnet: Bool { self == .altnet || self == .altnetSpare }

    var spare: SpareStation? { self == .altnetSpare ? .sameRadio : nil }

    func stack(in lab: Lab) -> any NetworkStack {
        switch self {
        case .altnet, .altnetSpare: AltnetStack(in: lab)
        case .iwd: IwdStack(in: lab)
        case .supplicant: SupplicantStack(in: lab, with: .dhcpcd)
        case .networkd: SupplicantStack(in: lab, with: .networkd)
        case .networkManager: NetworkManagerStack(in: lab)
        case .connMan: ConnManStack(in: lab)
        }
    }
}

/// A configuration file of a stack. Only root can read it by default, because it contains passwords.
struct ConfigurationFile {
    let path: String
    let text: String

    init(_ path: String, _ text: String) {
        self.path = path
        self.text = text
    }

    /// - Parameter age: time since the file's last change, for stacks that use its date.
    func write(age: Duration = .zero, mode: mode_t = 0o600) throws {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: path))
        let moment = timeval(tv_sec: time(nil) - Int(age.components.seconds), tv_usec: 0)
        guard chmod(path, mode) == 0, utimes(path, [moment, moment]) == 0 else {
            throw LabError.system(SystemError("set the date of \(path)"))
        }
    }

    static func clear(_ folder: String) throws {
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}

/// System D-Bus for stacks that need it. Every program may use everything, and the bus starts no services.
actor SystemBus {
    private let lab: Lab
    private(set) var program: Program?

    private static let socket = "/run/dbus/system_bus_socket"

    init(in lab: Lab) { self.lab = lab }

    func start() async throws {
        let file = ConfigurationFile("\(lab.directory)/dbus.conf", Self.configuration)
        try file.write()
        try ConfigurationFile.clear("/run/dbus")
        let arguments = ["--config-file=\(file.path)", "--nofork", "--nopidfile", "--nosyslog"]
        let program = try await lab.start("dbus-daemon", arguments)
        self.program = program
        try await eventually(within: .seconds(20), "the system's D-Bus to listen") {
            ConfigurationFile.exists(Self.socket)
        }
    }

    /// Starts wpa_supplicant with the options of Debian's wpa_supplicant.service, so that it is controlled over D-Bus.
    static func supplicant(in lab: Lab) async throws -> Program {
        try await lab.start("wpa_supplicant", ["-u", "-s", "-O", "DIR=/run/wpa_supplicant"])
    }

    static let configuration = """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
          "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>system</type>
          <listen>unix:path=\(socket)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
          </policy>
        </busconfig>

        """
}

/// altnet with its wpa_supplicant and default settings, started by the lab. The app's command adds the first network,
/// and the second network is stored as a backup.
actor AltnetStack: NetworkStack {
    private let lab: Lab
    private var device: Device?

    init(in lab: Lab) { self.lab = lab }

    func setUp(_ house: House) async throws {
        let device = Device(in: lab, settings: Self.settings(withInternet: house.hasInternet), isRecording: false)
        self.device = device
        try await lab.station.startSupplicant()
        try await device.start()
        try await device.provision(house.home)
        try await device.store([await house.backup.asStored(password: house.backupPassword)])
        // Do not listen for events, which would add to the measured work.
        await device.leaveAlone()
    }

    func start() async throws {
        async let supplicant: Void = lab.station.startSupplicant()
        try await device?.launch()
        try await supplicant
    }

    func stop() async {
        await device?.stop()
        await lab.station.killSupplicant()
    }

    func change(to network: AccessPoint) async throws {
        // Switch with the password: the list of backups with hashes does not contain the home network.
        _ = try await device?.switchNetwork(to: network)
    }

    var programs: [Program] {
        get async { await [device?.program].compactMap(\.self) + lab.station.programs }
    }

    var stateFolders: [String] { ["\(lab.directory)/altnet"] }

    /// Returns settings that differ from the defaults: servers to validate internet access.
    static func settings(withInternet: Bool) -> [String: String] {
        guard withInternet else { return [:] }
        return [
            "ALTNET_TARGETS": "broker=mqtt://\(Upstream.brokerName):1883",
            "ALTNET_VALIDATION_URL": Upstream.validationURL,
        ]
    }
}
