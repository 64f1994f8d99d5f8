import AppProtocol
import FailoverPolicy
import KeyFile
import Logging

/// Everything about the agent that can be set, read from environment variables: on a board systemd fills them from a
/// commented file, and a person at the bench sets them in the shell.
public struct AgentSettings: Sendable {
    public var interface: String
    /// The folder of wpa_supplicant's control sockets; the socket is named after the interface.
    public var supplicantDirectory: String
    /// Where the device's identity is kept, and the key file and its root key unless they have places of their own.
    public var stateDirectory: String
    /// A file, or a partition of a flash chip or a block device.
    public var keyFilePath: String
    /// The file with the key file's root key, where it is set.
    public var rootKeyPath: String?
    /// Where the key file's anchor is kept, if there is to be one.
    public var keyFileAnchorPath: String?
    /// Where systemd keeps the credentials that it hands over (systemd.exec(5)).
    public var credentialsDirectory: String?
    /// The socket on which the app protocol is served.
    public var socketPath: String
    /// Who may use that socket: its permissions, the group that may do everything, and the group that may only ask.
    public var socketMode: UInt32
    public var socketGroup: UInt32?
    public var socketReaders: UInt32?
    /// The TCP port on which apps in the network are answered; nil if they are not.
    public var lanPort: Int?
    /// How many apps in the network may be connected at a time.
    public var lanConnections: Int
    public var maximumBackups: Int
    public var logLevel: Logger.Level
    public var policy: PolicySettings
    public var connectivity: ConnectivitySettings
    /// The file in which what the policy hears and decides is recorded, if it is to be.
    public var recordPath: String?
    /// The size in bytes that the record may grow to.
    public var recordLimit: Int

    public var controlSocket: String { supplicantDirectory + "/" + interface }
    /// The folder of `socketPath`, which is the agent's own.
    public var socketFolder: String {
        let folder = socketPath.prefix(upTo: socketPath.lastIndex(of: "/") ?? socketPath.startIndex)
        return folder.isEmpty ? "/" : String(folder)
    }

    /// - Parameter environment: variables by name; of those that do not begin with `ALTNET_` only `CREDENTIALS_DIRECTORY`
    ///   is looked at.
    /// - Throws: for the first variable, in alphabetical order, that is unknown or has a value that is not allowed.
    public init(environment: [String: String]) throws(InvalidSetting) {
        var reader = SettingsReader(environment)
        interface = try reader.text("ALTNET_INTERFACE", default: "wlan0") { !$0.contains("/") && $0.utf8.count < 16 }
        supplicantDirectory = try reader.path("ALTNET_SUPPLICANT_DIR", default: "/run/wpa_supplicant")
        stateDirectory = try reader.path("ALTNET_STATE_DIR", default: "/var/lib/altnet")
        keyFilePath = try reader.path("ALTNET_KEYFILE", default: stateDirectory + "/keyfile")
        rootKeyPath = try reader.path("ALTNET_ROOT_KEY", example: "/etc/altnet/root-key")
        keyFileAnchorPath = try reader.path("ALTNET_KEYFILE_ANCHOR", example: "/mnt/anchor/keyfile-anchor")
        credentialsDirectory = environment["CREDENTIALS_DIRECTORY"]
        socketPath = try reader.path("ALTNET_SOCKET", default: "/run/altnet/altnet.sock")
        socketMode = try reader.permissions("ALTNET_SOCKET_MODE", default: 0o660)
        socketGroup = try reader.group("ALTNET_SOCKET_GROUP")
        socketReaders = try reader.group("ALTNET_SOCKET_READERS")
        let port = try reader.number("ALTNET_LAN_PORT", default: ProtocolLimits.port, in: 0...65_535)
        lanPort = port == 0 ? nil : port
        lanConnections = try reader.number("ALTNET_LAN_CONNECTIONS", default: 32, in: 1...1024)
        maximumBackups = try reader.number("ALTNET_MAX_BACKUPS", default: 3, in: KeyFile.allowedMaximum)
        logLevel = try reader.level("ALTNET_LOG_LEVEL", default: .notice)
        recordPath = try reader.path("ALTNET_RECORD", example: "/var/lib/altnet/record")
        recordLimit = try reader.number("ALTNET_RECORD_MB", default: 16, in: 1...1024) << 20
        let returnConfirmation = try reader.number("ALTNET_RETURN_CONFIRM_S", default: 30, in: 0...86_400)
        connectivity = try ConnectivitySettings(from: &reader)
        policy = try Self.policy(from: &reader)
        try policy.readValidation(required: connectivity.required, from: &reader)
        policy.returnsToPreferred = returnConfirmation > 0
        if policy.returnsToPreferred { policy.preferredConfirmation.begin(with: .seconds(returnConfirmation)) }
        try reader.finish()
    }

    private static func policy(from reader: inout SettingsReader) throws(InvalidSetting) -> PolicySettings {
        var policy = PolicySettings()
        try readThresholds(of: "2G", into: &policy.twoPointFour, from: &reader)
        try readThresholds(of: "5G", into: &policy.five, from: &reader)
        policy.margin = try reader.number("ALTNET_MARGIN_DB", default: policy.margin, in: 1...40)
        try reader.read("ALTNET_CRITICAL_CONFIRM_S", into: &policy.criticalConfirmation, in: 1...600)
        try reader.read("ALTNET_WEAK_CONFIRM_S", into: &policy.weakConfirmation, in: 1...3600)
        try reader.read("ALTNET_STAY_AFTER_COMMAND_S", into: &policy.stayAfterCommand, in: 0...86_400)
        try reader.read("ALTNET_JOIN_LIMIT_S", into: &policy.joinLimit, in: 2...120)
        try reader.read("ALTNET_ADDRESS_LIMIT_S", into: &policy.addressLimit, in: 2...120)
        var wrongKeyBlock = policy.wrongKeyBlock.first
        try reader.read("ALTNET_WRONG_KEY_BLOCK_S", into: &wrongKeyBlock, in: 1...86_400)
        policy.wrongKeyBlock.begin(with: wrongKeyBlock)
        try reader.read("ALTNET_FADING_HORIZON_S", into: &policy.fadingHorizon, in: 0...300)
        policy.scanShare = try reader.number("ALTNET_SCAN_SHARE", default: policy.scanShare, in: 1...50)
        if let contradiction = policy.contradiction { throw InvalidSetting(contradiction) }
        return policy
    }

    private static func readThresholds(
        of band: String, into thresholds: inout PolicySettings.Thresholds, from reader: inout SettingsReader
    ) throws(InvalidSetting) {
        let dBm = -110 ... -20
        thresholds.weak = try reader.number("ALTNET_WEAK_\(band)_DBM", default: thresholds.weak, in: dBm)
        thresholds.critical = try reader.number("ALTNET_CRITICAL_\(band)_DBM", default: thresholds.critical, in: dBm)
        thresholds.floor = try reader.number("ALTNET_FLOOR_\(band)_DBM", default: thresholds.floor, in: dBm)
    }
}

/// A setting that cannot be: its name, what was found, and what is allowed.
public struct InvalidSetting: Error, Equatable, CustomStringConvertible {
    public let name: String
    public let problem: String
    public let allowed: String

    public var description: String { "\(name) \(problem); allowed: \(allowed)" }
}

extension InvalidSetting {
    /// Two settings that do not go together. Each of them could be the one that is wrong; the policy names one.
    fileprivate init(_ contradiction: PolicySettings.Contradiction) {
        let (name, allowed) =
            switch contradiction.setting {
            case "twoPointFour.weak": ("ALTNET_WEAK_2G_DBM", "above ALTNET_CRITICAL_2G_DBM and ALTNET_FLOOR_2G_DBM")
            case "five.weak": ("ALTNET_WEAK_5G_DBM", "above ALTNET_CRITICAL_5G_DBM and ALTNET_FLOOR_5G_DBM")
            case "criticalConfirmation": ("ALTNET_CRITICAL_CONFIRM_S", "at most as long as ALTNET_WEAK_CONFIRM_S")
            case let other: (other, "see Docs/failover.md")
            }
        self.init(name: name, problem: contradiction.problem, allowed: allowed)
    }
}

extension BackOff {
    /// Replaces the first wait; none is shorter.
    mutating func begin(with first: Duration) {
        self.first = first
        last = max(first, last)
    }
}
