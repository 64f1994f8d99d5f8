/// Authentication of a network, from the RSN and WPA elements of its beacons.
public enum Security: String, Sendable, CaseIterable, Codable {
    /// No authentication and no encryption.
    case open
    /// Encryption without authentication (RFC 8110).
    case owe
    /// PSK with the 4-way handshake only (AKM PSK, PSK-SHA256, FT-PSK).
    case wpa2 = "wpa2-psk"
    /// SAE only.
    case wpa3 = "wpa3-sae"
    /// PSK and SAE.
    case wpa2wpa3 = "wpa2-wpa3"
    /// IEEE 802.1X, with a server that authenticates the user.
    case enterprise
    /// WEP. It is broken, so the agent never joins such a network.
    case wep
    /// First-generation WPA, or TKIP as pairwise or group cipher. It is broken, so the agent joins such a network only
    /// with the owner's permission.
    case legacy = "wpa-tkip"
    /// The network offers only unknown ciphers or key management.
    case unknown

    /// Whether a network stored with a passphrase can use this security.
    public var usesPassphrase: Bool { self == .wpa2 || self == .wpa3 || self == .wpa2wpa3 }

    /// Whether a network stored without a passphrase can use this security.
    public var isOpenToAll: Bool { self == .open || self == .owe }
}

/// Protection of a link beyond a pre-shared key: offered by an access point, negotiated, or the minimum that the device
/// accepts.
public struct LinkProtection: OptionSet, Hashable, Sendable, Codable {
    /// Bit mask. The bits must not change, because the key file and recordings contain them.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Simultaneous authentication of equals (IEEE 802.11-2020, 12.4). Prevents dictionary attacks on a recorded
    /// handshake.
    public static let sae = LinkProtection(rawValue: 1)
    /// Protected management frames (IEEE 802.11-2020, 4.5.4.9). Prevents other stations from ending the link.
    public static let pmf = LinkProtection(rawValue: 2)
    /// Opportunistic wireless encryption (RFC 8110).
    public static let owe = LinkProtection(rawValue: 4)

    /// Protection implied by the security that the user declared. WPA3-Personal requires protected management frames
    /// (Wi-Fi Alliance, WPA3 Specification). Security that permits WPA2 implies no protection.
    public init(promisedBy security: Security?) {
        switch security {
        case .wpa3: self = [.sae, .pmf]
        case .owe: self = .owe
        case .open, .wpa2, .wpa2wpa3, .enterprise, .wep, .legacy, .unknown, nil: self = []
        }
    }

    /// Usual protection of an access point with this security.
    public init(usualOf security: Security) {
        switch security {
        case .wpa3, .wpa2wpa3: self = [.sae, .pmf]
        case .owe: self = [.owe, .pmf]
        case .open, .wpa2, .enterprise, .wep, .legacy, .unknown: self = []
        }
    }
}

extension LinkProtection: CustomStringConvertible {
    /// Names joined by "and": `SAE and PMF`.
    public var description: String {
        let names = [(Self.sae, "SAE"), (.owe, "OWE"), (.pmf, "PMF")].filter { contains($0.0) }.map(\.1)
        return names.isEmpty ? "nothing" : names.joined(separator: " and ")
    }
}

public enum Passphrase {
    /// Length of a WPA2 passphrase in printable ASCII characters (IEEE 802.11-2020, annex J.4).
    public static let allowedLength = 8...63
    /// Length of a WPA3 password in bytes. The standard has no upper limit (IEEE 802.11-2020, 12.4.3).
    public static let saeLength = 1...128
    /// Length of a WPA2 key in hexadecimal digits.
    public static let keyDigits = 64

    /// Checks a password. Security `wpa3` allows any SAE password. Other values require a WPA2 passphrase or key.
    /// - Parameter security: The network's security as declared by the user.
    /// - Throws: `InvalidPassphrase` with the violated rule, without any part of the password.
    public static func validate(
        _ passphrase: Secret, for security: Security? = nil
    ) throws(InvalidPassphrase) {
        if security == .wpa3 {
            guard saeLength.contains(passphrase.count) else { throw .saeLength(passphrase.count) }
            // A zero byte would end the text in wpa_supplicant, and JSON carries only UTF-8.
            guard passphrase.withBytes({ isText($0) }) else { throw .notText }
            return
        }
        guard !isKey(passphrase) else { return }
        guard allowedLength.contains(passphrase.count) else { throw .length(passphrase.count) }
        guard passphrase.withBytes({ $0.allSatisfy { (0x20...0x7e).contains($0) } }) else { throw .notPrintableASCII }
    }

    /// Whether the password is a WPA2 key in hexadecimal digits. A WPA2 passphrase is always shorter.
    public static func isKey(_ passphrase: Secret) -> Bool {
        passphrase.count == keyDigits && passphrase.withBytes { $0.allSatisfy { Hex.value(of: $0) != nil } }
    }

    /// Decodes a key to 32 bytes. Returns nil for a passphrase.
    public static func key(in passphrase: Secret) -> Secret? {
        guard isKey(passphrase) else { return nil }
        return passphrase.withBytes { Secret(hexDigits: $0) }
    }

    /// Whether `bytes` is UTF-8 without control characters. Copies nothing.
    static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var decoder = UTF8()
        var rest = bytes.makeIterator()
        while true {
            switch decoder.decode(&rest) {
            case .scalarValue(let scalar):
                guard scalar.properties.generalCategory != .control else { return false }
            case .emptyInput: return true
            case .error: return false
            }
        }
    }
}

public enum InvalidPassphrase: Error, Equatable, CustomStringConvertible {
    case length(Int)
    case notPrintableASCII
    /// WPA3 only: length in bytes.
    case saeLength(Int)
    /// WPA3 only: the password is not UTF-8, or has control characters.
    case notText

    public var description: String {
        switch self {
        case .length(let length): "a Wi-Fi password has 8 to 63 characters, this one has \(length)"
        case .notPrintableASCII: "a Wi-Fi password has printable ASCII characters only"
        case .saeLength(let length): "a WPA3 password has 1 to 128 bytes, this one has \(length)"
        case .notText: "a WPA3 password is UTF-8 text without control characters"
        }
    }
}

/// Transition modes that an access point has disabled for its network (Wi-Fi Alliance, WPA3 Specification: transition
/// disable indication; bits as in hostap, wpa_common.h).
public struct TransitionDisable: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// WPA2 with a password.
    public static let personal = TransitionDisable(rawValue: 1)
    /// SAE without a public key of the access point.
    public static let saePK = TransitionDisable(rawValue: 2)
    /// WPA2 with IEEE 802.1X.
    public static let enterprise = TransitionDisable(rawValue: 4)
    public static let open = TransitionDisable(rawValue: 8)
}

extension LinkProtection {
    /// Returns the new minimum protection after a link with this protection.
    ///
    /// Applies an indication only if the link used SAE, as hostap does (wpas_glue.c). Otherwise "no more WPA2" could
    /// lock out a station limited to WPA2. An OWE link already has the protection that the bit for open networks
    /// demands.
    public func raised(by disabled: TransitionDisable) -> LinkProtection {
        contains(.sae) && !disabled.isDisjoint(with: [.personal, .saePK]) ? union([.sae, .pmf]) : self
    }
}
