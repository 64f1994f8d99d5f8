import AgentModel

/// Software that keeps a device on Wi-Fi, as the benchmark starts, commands and ends it. One file each.
///
/// Each is the Debian package as it is, in the configuration that its own documentation gives for two known networks.
protocol NetworkStack: Sendable {
    /// Tells it two networks, the first of which it is to prefer as far as it has words for that. Both are on. It is online
    /// on the first one when this returns, or on its way there.
    func setUp(_ house: House) async throws

    /// Starts all its programs at once, as after a boot, and waits for none of them.
    func start() async throws

    /// Ends all its programs.
    func stop() async

    /// Has it change to a network that it knows, as a person would who sits at the device.
    func change(to network: AccessPoint) async throws

    /// All programs that it needs and that would not run without it; each with its helper processes.
    var programs: [Program] { get async }

    /// The folders in which it keeps what has to survive a reboot.
    var stateFolders: [String] { get async }
}

/// The stacks that are compared.
public enum StackName: String, Codable, CaseIterable, Sendable {
    case altnet
    case iwd
    case supplicant = "wpa_supplicant"
    case networkManager = "NetworkManager"
    case connMan = "ConnMan"
    /// altnet with a second station interface on the same radio, which makes before it breaks (Docs/handover.md).
    case altnetSpare = "altnet-spare"

    /// As a heading.
    public var title: String {
        switch self {
        case .supplicant: "wpa_supplicant + dhcpcd"
        case .altnetSpare: "altnet, two stations"
        default: rawValue
        }
    }

    /// Whether it is altnet, with one station or two.
    public var isAltnet: Bool { self == .altnet || self == .altnetSpare }

    var spare: SpareStation? { self == .altnetSpare ? .sameRadio : nil }

    func stack(in lab: Lab) -> any NetworkStack {
        switch self {
        case .altnet, .altnetSpare: AltnetStack(in: lab)
        case .iwd: IwdStack(in: lab)
        case .supplicant: SupplicantStack(in: lab)
        case .networkManager: NetworkManagerStack(in: lab)
        case .connMan: ConnManStack(in: lab)
        }
    }
}
