/// The protection of a link beyond a pre-shared key: offered by an access point, negotiated by a join, or the least that the
/// device accepts in a network (its security floor).
public struct LinkProtection: OptionSet, Hashable, Sendable {
    /// Stands for it on disk, so the bits stay.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Simultaneous authentication of equals (IEEE 802.11-2020, 12.4): what is sent is of no use to a dictionary.
    public static let sae = LinkProtection(rawValue: 1)
    /// Protected management frames (IEEE 802.11-2020, 4.5.4.9): no other station can end the link.
    public static let pmf = LinkProtection(rawValue: 2)
    /// Opportunistic wireless encryption (RFC 8110).
    public static let owe = LinkProtection(rawValue: 4)

    /// The protection that a network has by the word of its owner. WPA3-Personal includes protected management frames (Wi-Fi Alliance,
    /// WPA3 Specification); what may be WPA2 as well includes nothing.
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
