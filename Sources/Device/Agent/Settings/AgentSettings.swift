import AgentCore
import AgentModel
import AppProtocol
import DHCP
import Failover
import Logging

/// All settings of the agent. A board reads them from a commented file, and a development machine from environment
/// variables with the same names.
public struct AgentSettings: Sendable {
    public let interfaceChoice: InterfaceChoice
    /// Name of the interface, or the text of its choice if the radio was missing when the settings were read.
    public var interface: String
    public let spareChoice: InterfaceChoice?
    /// Second interface, which joins the next network before the agent leaves the current one; nil for none, and if
    /// its radio was missing or is the first interface's.
    public var spareInterface: String?
    /// Number of missed beacons after which the agent probes the access point, while the device is in use; 0 for never.
    public var silentBeacons: Int
    /// Time between checks of the access point while the device sends little; nil for no checks.
    public var idlePace: Duration?
    /// Folder of wpa_supplicant's control sockets, which have the interfaces' names.
    public var supplicantDirectory: String
    /// Country code of two capital letters, or 00; nil to leave the country to wpa_supplicant and the kernel.
    public var country: String?
    public var powerSave: PowerSaveChoice
    /// Strongest allowed step to recover the radio.
    package var recovery: RecoverySteps.Reach
    public var easyConnect: EasyConnectChoice
    public var addressClient: AddressClient
    /// Program that gets the name servers. Root's helper reads this setting too. The agent does not call it for `none`.
    public var resolver: ResolverChoice
    /// Metric of the default route, 1 to 1,000,000.
    public var routeMetric: UInt32
    public var spareRouteMetric: UInt32 { routeMetric + 10 }
    public var dhcpIdentity: DHCPIdentity
    public var dhcpHostName: HostName?
    public var isDHCPAnonymous: Bool
    /// Folder of the identity. The key file and the root key are also there, unless they have their own settings.
    public var stateDirectory: String
    /// Path of the key file: a file, or a partition of a flash chip or block device.
    public var keyFilePath: String
    public var rootKeyPath: String?
    /// Path of the key file's anchor; nil for none.
    public var keyFileAnchorPath: String?
    /// Folder of systemd's credentials (systemd.exec(5)).
    public var credentialsDirectory: String?
    public var socketPath: String
    /// The socket's permissions, its group with full access, and its group with read access.
    public var socketMode: UInt32
    public var socketGroup: UInt32?
    public var socketReaders: UInt32?
    /// Highest role of the broker's clients.
    public var brokerRole: Role
    /// TCP port for apps in the network; nil for none.
    public var lanPort: Int?
    public var lanConnections: Int
    /// True to accept the owner's key also as a pre-shared key of TLS.
    var acceptsPreSharedKey: Bool
    var hasWebInterface: Bool
    /// Code that `altnet pair --show` shows, and the lifetime of its invitation.
    public var pairingCode: PairingCodeChoice
    public var pairingCodeLife: Duration
    public var maximumBackups: Int
    public var logLevel: Logger.Level
    public var policy: PolicySettings
    public var connectivity: ConnectivitySettings
    /// File for the recording of the policy; nil for none.
    public var recordPath: String?
    /// Maximum size of the recording in bytes.
    public var recordLimit: Int
    /// Setup access point; nil if it is disabled.
    public var setupAccessPoint: SetupAccessPointSettings?
    /// Button of the device, used by `altnet button` only; nil for none.
    public var button: ButtonSettings?
    public var improv: ImprovOptions
    public var metrics: MetricsSettings

    public var controlSocket: String { controlSocket(of: interface) }
    func controlSocket(of interface: String) -> String { supplicantDirectory + "/" + interface }
    public var socketFolder: String {
        let folder = socketPath.prefix(upTo: socketPath.lastIndex(of: "/") ?? socketPath.startIndex)
        return folder.isEmpty ? "/" : String(folder)
    }

    /// Settings as given, by name. A reload compares them.
    let given: [String: SettingsReader.Given]
    public let remarks: [String]
    public let warnings: [String]

    /// - Parameter environment: variables by name. Only `ALTNET_` variables and `CREDENTIALS_DIRECTORY` are used.
    /// - Throws: all invalid settings.
    public init(environment: [String: String]) throws(InvalidSettings) {
        try self.init(SettingsSource(environment: environment).collect(), environment: environment)
    }

    init(_ collected: SettingsSource.Collected, environment: [String: String]) throws(InvalidSettings) {
        given = collected.given
        remarks = collected.remarks
        var reader = SettingsReader(given)
        interfaceChoice = reader.interfaceChoice(.interface)
        interface = interfaceChoice.find() ?? interfaceChoice.description
        let spare = reader.interfaceChoice(.spareInterface, besides: interfaceChoice)
        let standby: StandbyChoice = reader.choice(.standby) ?? .whenWeak
        spareChoice = standby == .off ? nil : spare
        let spareName = spareChoice?.find()
        spareInterface = spareName == interface ? nil : spareName
        warnings =
            collected.warnings
            + (spareName == interface
                ? ["ALTNET_SPARE_INTERFACE is not used: it names \(interface), as ALTNET_INTERFACE does"] : [])
        silentBeacons = reader.number(.silentBeacons)
        let idleLooks = reader.number(.idleLooks)
        idlePace = idleLooks > 0 ? .seconds(60) / idleLooks : nil
        supplicantDirectory = reader.path(.supplicantDirectory)
        country = reader.country(.country)
        powerSave = PowerSaveChoice(
            others: reader.choice(.powerSave) ?? .off,
            networks: reader.other(.powerSaveNetworks, read: { [SSID: PowerSave](powerSave: $0) }) ?? [:])
        recovery = reader.choice(.recovery) ?? .driver
        easyConnect = reader.choice(.easyConnect) ?? .off
        addressClient = reader.choice(.addressClient) ?? .altnet
        resolver = reader.choice(.resolver) ?? .auto
        routeMetric = UInt32(clamping: reader.number(.routeMetric))
        dhcpIdentity = reader.dhcpIdentity(.dhcpClientIdentifier)
        dhcpHostName = reader.hostName(.dhcpHostName)
        isDHCPAnonymous = reader.isYes(.dhcpAnonymous)
        stateDirectory = reader.path(.stateDirectory)
        keyFilePath = reader.path(.keyFile, default: stateDirectory + "/keyfile")
        rootKeyPath = reader.optionalPath(.rootKey)
        keyFileAnchorPath = reader.optionalPath(.keyFileAnchor)
        credentialsDirectory = environment["CREDENTIALS_DIRECTORY"]
        socketPath = reader.path(.socket)
        socketMode = reader.permissions(.socketMode)
        socketGroup = reader.group(.socketGroup)
        socketReaders = reader.group(.socketReaders)
        let port = reader.number(.lanPort)
        lanPort = port == 0 ? nil : port
        lanConnections = reader.number(.lanConnections)
        acceptsPreSharedKey = reader.isYes(.preSharedKey)
        hasWebInterface = reader.isYes(.webInterface)
        pairingCode = reader.choice(.pairingCode) ?? .owner
        pairingCodeLife = reader.seconds(.pairingCodeLife)
        maximumBackups = reader.number(.maximumBackups)
        logLevel = reader.level(.logLevel)
        recordPath = reader.optionalPath(.record)
        recordLimit = reader.number(.recordLimit) << 20
        setupAccessPoint = SetupAccessPointSettings(
            from: &reader, besides: [interface, spareInterface].compactMap(\.self))
        button = reader.button()
        improv = reader.improv()
        metrics = MetricsSettings(from: &reader)
        brokerRole = reader.other(.brokerRole) { $0 == "none" ? Role.see : Role(rawValue: $0) } ?? .switch
        connectivity = ConnectivitySettings(from: &reader)
        policy = PolicySettings(from: &reader, required: connectivity.required)
        let problems = collected.problems + reader.problems
        guard problems.isEmpty else { throw InvalidSettings(problems: problems.inOrderOfLines) }
    }
}

extension [InvalidSetting] {
    /// The problems in the order of the file's lines. Problems of other sources are at the end.
    fileprivate var inOrderOfLines: [InvalidSetting] {
        let line = { (problem: InvalidSetting) in
            if case .file(_, let line)? = problem.origin { line } else { Int.max }
        }
        return enumerated().sorted { (line($0.element), $0.offset) < (line($1.element), $1.offset) }.map(\.element)
    }
}
