/// How a network authenticates its stations, read from the RSN and WPA elements of its beacons.
public enum Security: String, Sendable, CaseIterable, Codable {
    /// No authentication and no encryption.
    case open
    /// Opportunistic wireless encryption: encrypted, without authentication (RFC 8110).
    case owe
    /// A pre-shared key with the 4-way handshake only (AKM PSK, PSK-SHA256, FT-PSK).
    case wpa2 = "wpa2-psk"
    /// Simultaneous authentication of equals only.
    case wpa3 = "wpa3-sae"
    /// Both PSK and SAE are offered.
    case wpa2wpa3 = "wpa2-wpa3"
    /// IEEE 802.1X.
    case enterprise
    /// Wired equivalent privacy: broken, and never joined.
    case wep
    /// WPA of the first generation, or TKIP for single stations or for the group: broken, and never joined.
    case legacy = "wpa-tkip"
    /// Only ciphers or key management that altnet does not know.
    case unknown

    /// Whether a network with a passphrase joins this.
    public var usesPassphrase: Bool { self == .wpa2 || self == .wpa3 || self == .wpa2wpa3 }

    /// Whether a network stored without a passphrase joins this.
    public var isOpenToAll: Bool { self == .open || self == .owe }
}

/// The protection of a link beyond a pre-shared key: offered by an access point, negotiated by a join, or the least
/// that the device accepts in a network (its security floor).
public struct LinkProtection: OptionSet, Hashable, Sendable, Codable {
    /// Stands for it on disk and in records, so the bits stay.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Simultaneous authentication of equals (IEEE 802.11-2020, 12.4): a recorded handshake is of no use to a
    /// dictionary attack.
    public static let sae = LinkProtection(rawValue: 1)
    /// Protected management frames (IEEE 802.11-2020, 4.5.4.9): no other station can end the link.
    public static let pmf = LinkProtection(rawValue: 2)
    /// Opportunistic wireless encryption (RFC 8110).
    public static let owe = LinkProtection(rawValue: 4)

    /// The protection that a network has by the word of its owner. WPA3-Personal includes protected management frames
    /// (Wi-Fi Alliance, WPA3 Specification); what may be WPA2 as well includes nothing.
    public init(promisedBy security: Security?) {
        switch security {
        case .wpa3: self = [.sae, .pmf]
        case .owe: self = .owe
        case .open, .wpa2, .wpa2wpa3, .enterprise, .wep, .legacy, .unknown, nil: self = []
        }
    }

    /// The offer of an access point of which only its security is known.
    public init(usualOf security: Security) {
        switch security {
        case .wpa3, .wpa2wpa3: self = [.sae, .pmf]
        case .owe: self = [.owe, .pmf]
        case .open, .wpa2, .enterprise, .wep, .legacy, .unknown: self = []
        }
    }
}

extension LinkProtection: CustomStringConvertible {
    /// As in `SAE and PMF`.
    public var description: String {
        let names = [(Self.sae, "SAE"), (.owe, "OWE"), (.pmf, "PMF")].filter { contains($0.0) }.map(\.1)
        return names.isEmpty ? "nothing" : names.joined(separator: " and ")
    }
}

/// The rules for the password of a network.
public enum Passphrase {
    /// Printable ASCII characters of what WPA2 takes (IEEE 802.11-2020, annex J.4).
    public static let allowedLength = 8...63
    /// Bytes of what WPA3 takes. The standard has no bound above (IEEE 802.11-2020, 12.4.3).
    public static let saeLength = 1...128
    /// Hexadecimal digits of the key that WPA2 otherwise derives from a passphrase.
    public static let keyDigits = 64

    /// - Parameter security: the network's by the word of its owner. With `wpa3` the password is for SAE alone, which
    ///   takes any text. Everything else must work with WPA2 as well: a passphrase, or the key in its place.
    /// - Throws: `InvalidPassphrase`, which names the rule that is broken and nothing of the passphrase.
    public static func validate(
        _ passphrase: Secret, for security: Security? = nil
    ) throws(InvalidPassphrase) {
        if security == .wpa3 {
            guard saeLength.contains(passphrase.count) else { throw .saeLength(passphrase.count) }
            // A zero byte would end it in wpa_supplicant, and JSON carries only UTF-8.
            guard passphrase.withBytes({ isText($0) }) else { throw .notText }
            return
        }
        guard !isKey(passphrase) else { return }
        guard allowedLength.contains(passphrase.count) else { throw .length(passphrase.count) }
        guard passphrase.withBytes({ $0.allSatisfy { (0x20...0x7e).contains($0) } }) else { throw .notPrintableASCII }
    }

    /// Whether it is the key itself, in hexadecimal digits: no passphrase of WPA2 is so long.
    public static func isKey(_ passphrase: Secret) -> Bool {
        passphrase.count == keyDigits && passphrase.withBytes { $0.allSatisfy { Hex.value(of: $0) != nil } }
    }

    /// The 32 bytes of a key in hexadecimal digits, or nil where it is none.
    public static func key(in passphrase: Secret) -> Secret? {
        guard isKey(passphrase) else { return nil }
        return passphrase.withBytes { digits in
            var key = [UInt8](repeating: 0, count: keyDigits / 2)
            defer { key.withUnsafeMutableBytes { wipe($0) } }
            for (index, byte) in digits.enumerated() {
                key[index / 2] = key[index / 2] << 4 | (Hex.value(of: byte) ?? 0)
            }
            return Secret(key)
        }
    }

    /// Whether it is UTF-8 without control characters. Nothing of it is copied.
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

/// A password that no access point could accept.
public enum InvalidPassphrase: Error, Equatable, CustomStringConvertible {
    case length(Int)
    case notPrintableASCII
    /// Of a network that is WPA3 alone, in bytes.
    case saeLength(Int)
    /// Of a network that is WPA3 alone.
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

/// Weaker ways into a network that its access point has disabled for this network (Wi-Fi Alliance, WPA3 Specification:
/// transition disable indication; bits as in hostap, wpa_common.h).
public struct TransitionDisable: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// WPA2 with a password.
    public static let personal = TransitionDisable(rawValue: 1)
    /// SAE without a public key of the access point's.
    public static let saePK = TransitionDisable(rawValue: 2)
    /// WPA2 with IEEE 802.1X.
    public static let enterprise = TransitionDisable(rawValue: 4)
    /// Open without encryption.
    public static let open = TransitionDisable(rawValue: 8)
}

extension LinkProtection {
    /// The least protection from now on of a network in which a link with this protection was made.
    ///
    /// As hostap does, it is believed only of the way in that the link itself took (wpas_glue.c): an access point that
    /// says "no more WPA2" to a station which can do nothing else would lock it out. That a link by OWE has come about
    /// says already what the bit for open networks says.
    public func raised(by disabled: TransitionDisable) -> LinkProtection {
        contains(.sae) && !disabled.isDisjoint(with: [.personal, .saePK]) ? union([.sae, .pmf]) : self
    }
}
