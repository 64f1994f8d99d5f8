import AgentModel
import DNS

/// What a connection can be made to: an address, or a name that name servers are asked for.
public enum Host: Hashable, Sendable {
    case address(IPAddress)
    case name(DNSName)

    /// - Parameter text: an address without brackets, or a name as RFC 1123, 2.1, has it: letters, digits and hyphens, and
    ///   underscores, which people use; a dot at its end is of no meaning. Names in other letters come as `xn--...`.
    /// - Throws: `invalid`.
    public init(_ text: String) throws(NameFailure) {
        if let address = IPAddress(text) {
            self = .address(address)
            return
        }
        let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
        guard let name = DNSName(labels: labels.last == [] ? labels.dropLast() : labels[...]),
            name.labels.allSatisfy(Self.isLabel), let last = name.labels.last,
            // Such as 10.0.0.256 or 10.1: meant as an address, and no name of any domain.
            !last.allSatisfy(Self.digits.contains)
        else { throw .invalid }
        self = .name(name)
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    private static func isLabel(_ label: [UInt8]) -> Bool {
        let hyphen = UInt8(ascii: "-")
        return label.first != hyphen && label.last != hyphen
            && label.allSatisfy { byte in
                digits.contains(byte) || byte == hyphen || byte == UInt8(ascii: "_")
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            }
    }
}
