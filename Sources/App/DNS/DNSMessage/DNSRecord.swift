/// What kind of record is meant (RFC 1035, 3.2.2; RFC 2782; RFC 3596).
public struct DNSRecordType: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let ipv4 = DNSRecordType(rawValue: 1)
    public static let alias = DNSRecordType(rawValue: 5)
    public static let pointer = DNSRecordType(rawValue: 12)
    public static let text = DNSRecordType(rawValue: 16)
    public static let ipv6 = DNSRecordType(rawValue: 28)
    public static let service = DNSRecordType(rawValue: 33)
}

/// What is asked.
public struct DNSQuestion: Hashable, Sendable {
    public let name: DNSName
    public let type: DNSRecordType

    public init(_ name: DNSName, _ type: DNSRecordType) {
        self.name = name
        self.type = type
    }
}

/// What is answered.
public struct DNSRecord: Equatable, Sendable {
    public let name: DNSName
    /// In seconds; 0 takes the record back (RFC 6762, 10.1).
    public let timeToLive: UInt32
    public let data: Data

    public enum Data: Equatable, Sendable {
        /// The name is another one's alias (CNAME).
        case alias(DNSName)
        case pointer(DNSName)
        case service(host: DNSName, port: UInt16)
        /// Strings of up to 255 bytes.
        case text([[UInt8]])
        /// In network order: 4 bytes.
        case ipv4([UInt8])
        /// In network order: 16 bytes.
        case ipv6([UInt8])
        /// Anything else, also of another class than that of the internet.
        case other
    }
}
