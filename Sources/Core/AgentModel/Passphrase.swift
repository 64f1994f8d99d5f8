/// The rules for a WPA passphrase: 8 to 63 printable ASCII characters (IEEE 802.11-2020, annex J.4).
///
/// SAE alone would allow more, but a stored network must work on whichever of the two its access points offer.
public enum Passphrase {
    public static let allowedLength = 8...63

    /// - Throws: `InvalidPassphrase`, which names the rule that is broken and nothing of the passphrase.
    public static func validate(_ passphrase: Secret) throws(InvalidPassphrase) {
        guard allowedLength.contains(passphrase.count) else { throw .length(passphrase.count) }
        guard passphrase.withBytes({ $0.allSatisfy { (0x20...0x7e).contains($0) } }) else { throw .notPrintableASCII }
    }
}

/// A password that no access point could accept.
public enum InvalidPassphrase: Error, Equatable, CustomStringConvertible {
    case length(Int)
    case notPrintableASCII

    public var description: String {
        switch self {
        case .length(let length): "a Wi-Fi password has 8 to 63 characters, this one has \(length)"
        case .notPrintableASCII: "a Wi-Fi password has printable ASCII characters only"
        }
    }
}
