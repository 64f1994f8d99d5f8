import AgentModel
import Glibc

/// A network that another program of the board has stored.
public struct FoundNetwork: Sendable, Equatable {
    public var ssid: SSID
    public var credential: Credential
    /// Configured security; nil if the configuration allows several.
    public var security: Security?
    public var isHidden = false
    public var address: StaticAddress?
    /// Whether the source also configures addresses: no address means DHCP.
    public var decidesAddress = false
    /// Whether the source configures the address for the interface. At most one network of the interface gets the
    /// address.
    public var addressIsOfInterface = false
    /// Name of the only interface that may join the network; nil for any interface.
    public var interface: String?
    /// Priority. Higher values are preferred.
    public var priority = 0
    /// Time of the last connection in seconds since 1970.
    public var lastConnected: UInt64?
    /// Whether the other program joins the network automatically.
    public var isAutomatic = true
    public var place: ImportLocation

    public enum Credential: Sendable, Equatable {
        /// The network is open or uses OWE.
        case none
        case passphrase(Secret)
        /// The 32-byte key that WPA2 derives from passphrase and SSID. `candidates` are passphrases beside the key in
        /// the source, which are not checked yet.
        case derivedKey(Secret, candidates: [Secret])
        /// Enterprise credential whose files are not read yet.
        case unresolved(EnterpriseDraft)
        case enterprise(EnterpriseCredential)
    }
}

public struct ImportLocation: Sendable, Hashable, CustomStringConvertible {
    public let source: String
    /// Number of the line from 1; nil for the whole source.
    public let line: Int?

    public init(_ source: String, line: Int? = nil) { (self.source, self.line) = (source, line) }

    public var description: String { source.printable + (line.map { ", line \($0)" } ?? "") }
}

/// A source, network or address that is not imported, with the reason.
public struct ImportFinding: Sendable, Equatable {
    public let place: ImportLocation
    /// SSID; nil if the finding concerns the whole source, or a network without a name.
    public let ssid: SSID?
    public let reason: Reason

    public init(_ place: ImportLocation, _ ssid: SSID?, _ reason: Reason) {
        (self.place, self.ssid, self.reason) = (place, ssid, reason)
    }

    public init(_ place: ImportLocation, _ reason: Reason) { self.init(place, nil, reason) }

    public enum Reason: Sendable, Equatable {
        // These reasons concern the whole source.
        case tooLong
        case notAFile
        /// The target of the link does not exist.
        case brokenLink
        /// altnet does not read the networks of this program.
        case notRead(program: String)
        case unreadable(SystemError)
        case malformed(String)
        case tooMany(String)
        /// The program's documentation does not contain such a line. It may be a misspelled or misplaced credential.
        case notUnderstood

        // Reasons to skip one network.
        case enterprise
        case enterpriseMethod(String)
        case serverUnchecked
        case certificateUnreadable(String)
        case impossibleEnterprise(InvalidEnterprise)
        case wep
        case adHoc
        case accessPoint
        case mesh
        case unknownSecurity(String)
        case noPassword
        /// A part of the credential is not written as the format demands. The value is the problem.
        case malformedCredential(String)
        /// WPA2 and WPA3 have different passwords.
        case severalPasswords
        /// The source has a credential for a network that it configures as open.
        case openWithCredential
        /// An unsupported setting may restrict the server's certificate. The value is its name.
        case unknownSetting(String)
        case requiresManagementFrames
        /// Another place in the files has a credential for the network.
        case credentialElsewhere(ImportLocation)
        /// An unknown line at this place may contain the network's credential or the name of its server.
        case besideUnknown(ImportLocation, option: String)
        /// The password is in a user's keyring, or encrypted.
        case passwordElsewhere
        /// The source has only a hash of the password.
        case passwordHashed
        /// The other program asks for the password at each connection.
        case passwordAsked
        case derivedKeyOnly
        case noName
        case credentialWithoutName
        case impossibleName(InvalidSSID)
        case impossiblePassword(InvalidPassphrase)
        case notAutomatic

        // Reasons to import the network without its address.
        case impossibleAddress(StaticAddressError)
        case unreadableAddress(String)
        case addressOfOther(SSID)
    }

    /// Part of the import that a finding concerns.
    public enum Extent: String, Sendable, Encodable {
        case source
        case network
        case address
    }

    /// Whether the source has, or may have, a credential for the network.
    var isAboutCredential: Bool {
        switch reason {
        case .accessPoint, .adHoc, .mesh, .notAutomatic: false
        default: extent == .network
        }
    }

    /// Whether the finding may concern a credential whose network is unknown.
    var mayHideCredential: Bool {
        switch reason {
        case .notRead, .noName: false
        default: extent == .source || isAboutCredential && ssid == nil
        }
    }

    public var extent: Extent {
        switch reason {
        case .tooLong, .notAFile, .brokenLink, .notRead, .unreadable, .malformed, .tooMany, .notUnderstood: .source
        case .impossibleAddress, .unreadableAddress, .addressOfOther: .address
        default: .network
        }
    }
}

extension ImportFinding.Reason: CustomStringConvertible {
    /// Description for use in a sentence, without secrets.
    public var description: String {
        switch self {
        case .tooLong: "skipped: longer than \(ImportLimits.sourceLength / 1024) KiB"
        case .notAFile: "skipped: not a regular file"
        case .brokenLink: "skipped: the link leads to no file"
        case .notRead(let program):
            "altnet does not read the networks of \(program); store them with 'altnet backups add'"
        case .unreadable(let error): error.reason
        case .malformed(let problem): problem
        case .tooMany(let what): "more than \(ImportLimits.networks) \(what); the rest was skipped"
        case .notUnderstood: "unknown line, which may be a password, a key or a server's name"
        case .enterprise: "enterprise network (802.1X) without a method"
        case .enterpriseMethod(let name): "unsupported method of an enterprise network: \(name.firstWord)"
        case .serverUnchecked:
            "it accepts any server; store it with its CA certificate: 'altnet backups add --eap'"
        case .certificateUnreadable(let path): "its certificate or key cannot be read: \(path.printable)"
        case .impossibleEnterprise(let error): "\(error)"
        case .wep: "WEP is insecure and never joined"
        case .adHoc: "ad-hoc networks are not supported"
        case .accessPoint: "it is the board's own access point"
        case .mesh: "mesh networks are not supported"
        case .unknownSecurity(let name): "unsupported key management: \(name.firstWord)"
        case .noPassword: "no password is stored with it"
        case .malformedCredential(let problem): problem
        case .severalPasswords: "it has different passwords for WPA2 and WPA3"
        case .openWithCredential: "it is configured as open, but has a password or a key"
        case .unknownSetting(let name):
            "unsupported setting, which may restrict the server: \(name.firstWord)"
        case .requiresManagementFrames: "it requires protected management frames, which altnet supports for WPA3 only"
        case .credentialElsewhere(let place): "it is open here, but has a password or a key in \(place)"
        case .besideUnknown(let place, let option):
            "\(place) is unknown and may concern this network; store it with 'altnet backups add \(option)'"
        case .passwordElsewhere: "its password is in a user's keyring or a sealed store"
        case .passwordHashed: "only a hash of its password is stored; altnet needs the password"
        case .passwordAsked: "its password is not stored, but asked for at each connection"
        case .derivedKeyOnly:
            "only the key derived from its password is stored; altnet needs the password itself"
        case .noName: "it has no SSID"
        case .credentialWithoutName: "it has a password or a key, but no SSID"
        case .impossibleName(let error): "\(error)"
        case .impossiblePassword(let error): "\(error)"
        case .notAutomatic: "the board does not join it automatically; store it with 'altnet backups add'"
        case .impossibleAddress(let error): "its address is not imported: \(error)"
        case .unreadableAddress(let text): "its address is not imported, it is invalid: \(text.printable)"
        case .addressOfOther(let ssid): "the interface's address is imported only for \(ssid)"
        }
    }
}

extension String {
    /// Leading letters, digits, `-`, `_` and `.` of the text. The rest is left out, as it may be a password in a
    /// malformed line.
    fileprivate var firstWord: String {
        let word = String(prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
        return word.count == count ? word : word + "..."
    }
}

extension ImportFinding: CustomStringConvertible {
    /// Description in one line, safe to print on a terminal.
    public var description: String { "\(place): " + (ssid.map { "\($0): " } ?? "") + "\(reason)" }
}

public enum ImportLimits {
    /// Maximum size of a file or of an answer of `nmcli`, in bytes.
    public static let sourceLength = 1024 * 1024
    /// Maximum number of networks in one source.
    public static let networks = 1024
    /// Maximum number of files in one folder.
    public static let files = 1024
    /// Maximum number of addresses of one source that are separate from its networks.
    public static let addresses = 256
    /// Maximum number of patterns for one interface.
    public static let patterns = 16
    /// Maximum number of passphrases to check against one key. A check takes milliseconds.
    public static let candidates = 4
}

public struct SourceContents: Sendable, Equatable {
    public internal(set) var networks: [FoundNetwork] = []
    public internal(set) var findings: [ImportFinding] = []
    /// Static addresses that the source configures separately from the networks.
    public internal(set) var addresses: [SeparateAddress] = []
    /// Networks that the source restricts to WPA3, including skipped networks.
    public internal(set) var onlyWPA3: Set<SSID> = []
    /// The first unknown setting. It may be a misspelled credential, so no open network is imported beside it.
    public internal(set) var doubts: [ImportLocation] = []
    /// Paths of other files with networks in wpa_supplicant's format.
    public internal(set) var references: [String] = []

    public init() {}

    /// Records a line that altnet cannot assign to a network, but only the first one of a source.
    mutating func report(unknown place: ImportLocation) {
        guard !findings.contains(where: { $0.reason == .notUnderstood }) else { return }
        findings.append(ImportFinding(place, .notUnderstood))
    }

    /// Records an unknown setting, but only the first one of a source.
    mutating func doubt(_ place: ImportLocation) { if doubts.isEmpty { doubts = [place] } }

    /// Replaces derived keys by their passphrases.
    /// - Parameters:
    ///   - others: passphrases by SSID, from all sources.
    ///   - passphrase: returns the passphrase of a derived key, which may be a candidate; nil if unknown.
    public mutating func resolveKeys(
        others: [SSID: [Secret]] = [:],
        _ passphrase: (_ network: FoundNetwork, _ key: Secret, _ candidates: [Secret]) -> Secret?
    ) {
        for index in networks.indices {
            guard case .derivedKey(let key, let own) = networks[index].credential else { continue }
            let candidates = (own + (others[networks[index].ssid] ?? [])).prefix(ImportLimits.candidates)
            guard let found = passphrase(networks[index], key, Array(candidates)) else { continue }
            networks[index].credential = .passphrase(found)
        }
    }

    /// Passphrases by SSID.
    public var passphrases: [SSID: [Secret]] {
        networks.reduce(into: [:]) { found, network in
            if case .passphrase(let passphrase) = network.credential {
                found[network.ssid, default: []] += [passphrase]
            }
        }
    }

    public init(_ finding: ImportFinding) { findings = [finding] }
}

/// Configured addresses of an interface, independent of the program that joins the network.
public struct SeparateAddress: Sendable, Equatable {
    /// The interface's name has to match all of them.
    var interfaces: [InterfacePattern] = []
    /// SSID in which the address is used; nil for any network.
    var ssid: SSID?
    /// Static address; nil with DHCP.
    let address: StaticAddress?
    let place: ImportLocation

    /// - Parameter names: names of interfaces that may join the network; empty if unknown.
    func applies(to names: [String]) -> Bool {
        let names = names.isEmpty ? InterfacePattern.wireless(interfaces) : names
        return names.contains { name in interfaces.allSatisfy { $0.matches(name) } }
    }
}

/// Patterns of interface names (fnmatch(3)).
struct InterfacePattern: Sendable, Equatable {
    var names: [String]
    /// Whether no pattern may match.
    var isNegated = false

    func matches(_ name: String) -> Bool {
        names.prefix(ImportLimits.patterns).contains { $0.utf8.count <= 64 && fnmatch($0, name, 0) == 0 } != isNegated
    }

    /// Returns likely names of Wi-Fi interfaces.
    static func wireless(_ patterns: [InterfacePattern]) -> [String] {
        ["wlan0"] + patterns.filter { !$0.isNegated }.flatMap(\.names).filter { $0.hasPrefix("wl") }
    }
}
