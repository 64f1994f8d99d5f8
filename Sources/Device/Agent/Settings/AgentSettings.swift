import AgentCore
import AgentModel
import AppProtocol
import DHCP
import Failover
import KeyFile
import Logging

/// Everything about the agent that can be set: on a board in a commented file, at the bench by environment variables of
/// the same names.
public struct AgentSettings: Sendable {
    public var interface: String
    /// A second interface, by which the next network is joined before the present one is left.
    public var spareInterface: String?
    /// After so many missing beacons a silent access point is asked whether it is there, while the device is in use; 0:
    /// never.
    public var silentBeacons: Int
    /// How often a device that sends little looks whether its access point is there; nil for not at all.
    public var idlePace: Duration?
    /// The folder of wpa_supplicant's control sockets; the socket is named after the interface.
    public var supplicantDirectory: String
    /// The country's code, of two capital letters, or 00; nil where that is left to others.
    public var country: String?
    /// Whether the radio may sleep between beacons.
    public var powerSave: PowerSaveChoice
    /// How far the agent goes to heal a radio that does not work.
    package var recovery: RecoveryLadder.Reach
    /// When the device listens for a configurator of Wi-Fi Easy Connect.
    public var easyConnect: EasyConnectChoice
    /// The program that gets the interface's addresses.
    public var addressClient: AddressClient
    /// Where the network's name servers go. Root's helper reads the setting itself; with `none` it needs not be asked.
    public var resolver: ResolverChoice
    /// The metric of the default route, 1 to 1,000,000.
    public var routeMetric: UInt32
    /// The same of the spare interface.
    public var spareRouteMetric: UInt32 { routeMetric + 10 }
    public var dhcpIdentity: DHCPIdentity
    public var dhcpHostName: HostName?
    public var isDHCPAnonymous: Bool
    /// The folder of the device's identity, and of the key file and its root key unless they have places of their own.
    public var stateDirectory: String
    /// A file, or a partition of a flash chip or a block device.
    public var keyFilePath: String
    /// The file with the key file's root key, where it is set.
    public var rootKeyPath: String?
    /// The path of the key file's anchor, if there is to be one.
    public var keyFileAnchorPath: String?
    /// The folder of the credentials that systemd hands over (systemd.exec(5)).
    public var credentialsDirectory: String?
    /// The socket on which the app protocol is served.
    public var socketPath: String
    /// The access to that socket: its permissions, the group that may do everything, and the group that may only ask.
    public var socketMode: UInt32
    public var socketGroup: UInt32?
    public var socketReaders: UInt32?
    /// The most that `altnet-mqtt` may have done for those who publish at the broker.
    public var brokerRole = Role.see
    /// The TCP port on which apps in the network are answered; nil if they are not.
    public var lanPort: Int?
    /// How many apps in the network may be connected at a time.
    public var lanConnections: Int
    /// Whether the owner's key opens by TLS with a pre-shared key as well.
    var takesPreSharedKey: Bool
    /// Whether browsers in the network get the device's page.
    var hasWebInterface: Bool
    /// What a user is shown who pairs an app, and for how many seconds that is good where it is an invitation.
    public var pairingCode: PairingCodeChoice
    public var pairingCodeLife: Duration
    public var maximumBackups: Int
    public var logLevel: Logger.Level
    public var policy: PolicySettings
    public var connectivity: ConnectivitySettings
    /// The file in which what the policy hears and decides is recorded, if it is to be.
    public var recordPath: String?
    /// The size in bytes that the record may grow to.
    public var recordLimit: Int
    /// The device's own access point; nil where it is switched off for good.
    public var rescue: RescueSettings?
    /// The device's button, if it has one. The agent has nothing to do with it: `altnet button` has.
    public var button: ButtonSettings?
    /// How the device takes a network by Improv.
    public var improv: ImprovOptions
    public var metrics: MetricsSettings

    public var controlSocket: String { controlSocket(of: interface) }
    func controlSocket(of interface: String) -> String { supplicantDirectory + "/" + interface }
    /// The folder of `socketPath`, which is the agent's own.
    public var socketFolder: String {
        let folder = socketPath.prefix(upTo: socketPath.lastIndex(of: "/") ?? socketPath.startIndex)
        return folder.isEmpty ? "/" : String(folder)
    }

    /// The settings as given, by name: a reload compares them to tell the changes.
    let given: [String: SettingsReader.Given]
    /// Hints about the settings that are no errors.
    public let notes: [String]

    /// - Parameter environment: variables by name; of those that do not begin with `ALTNET_` only
    ///   `CREDENTIALS_DIRECTORY` is looked at.
    public init(environment: [String: String]) throws(InvalidSettings) {
        try self.init(SettingsSource(environment: environment).collect(), environment: environment)
    }

    init(_ collected: SettingsSource.Collected, environment: [String: String]) throws(InvalidSettings) {
        given = collected.given
        notes = collected.notes
        var reader = SettingsReader(given)
        interface = reader.interface(.interface)
        spareInterface = reader.optionalInterface(.spareInterface, besides: interface)
        let standby: StandbyChoice = reader.choice(.standby) ?? .whenWeak
        if standby == .off { spareInterface = nil }
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
        takesPreSharedKey = reader.isYes(.preSharedKey)
        hasWebInterface = reader.isYes(.webInterface)
        pairingCode = reader.choice(.pairingCode) ?? .owner
        pairingCodeLife = reader.seconds(.pairingCodeLife)
        maximumBackups = reader.number(.maximumBackups)
        logLevel = reader.level(.logLevel)
        recordPath = reader.optionalPath(.record)
        recordLimit = reader.number(.recordLimit) << 20
        rescue = RescueSettings(from: &reader, besides: [interface, spareInterface].compactMap(\.self))
        button = reader.button()
        improv = reader.improv()
        metrics = MetricsSettings(from: &reader)
        brokerRole = reader.brokerRole()
        connectivity = ConnectivitySettings(from: &reader)
        policy = PolicySettings(from: &reader, required: connectivity.required)
        let problems = collected.problems + reader.problems
        guard problems.isEmpty else { throw InvalidSettings(problems: problems.inOrderOfLines) }
    }
}

extension [InvalidSetting] {
    /// In the order of the file; a setting that is not in a file comes last.
    fileprivate var inOrderOfLines: [InvalidSetting] {
        let line = { (problem: InvalidSetting) in
            if case .file(_, let line)? = problem.origin { line } else { Int.max }
        }
        return enumerated().sorted { (line($0.element), $0.offset) < (line($1.element), $1.offset) }.map(\.element)
    }
}
