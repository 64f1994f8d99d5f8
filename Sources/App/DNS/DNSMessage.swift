/// A DNS message (RFC 1035, 4.1) as name servers or multicast DNS (RFC 6762, 5.1 and 6.7) use it.
public struct DNSMessage: Equatable, Sendable {
    public let id: UInt16
    public let isResponse: Bool
    /// True if the answer did not fit the datagram.
    public let isTruncated: Bool
    public let wantsRecursion: Bool
    public let responseCode: DNSResponseCode
    public let questions: [DNSQuestion]
    public let records: [DNSRecord]
    private let answerCount: Int

    public var answers: ArraySlice<DNSRecord> { records.prefix(answerCount) }

    /// Maximum length in bytes, the limit of multicast DNS (RFC 6762, 17).
    public static let maximumLength = 9000
    /// Maximum number of questions, and of records, in a message.
    static let maximumEntries = 512

    public init(asking questions: [DNSQuestion], id: UInt16, recursively: Bool = false) {
        self.id = id
        self.questions = questions
        isResponse = false
        isTruncated = false
        wantsRecursion = recursively
        responseCode = .success
        records = []
        answerCount = 0
    }

    package init(records: [DNSRecord]) {
        id = 0
        questions = []
        isResponse = true
        isTruncated = false
        wantsRecursion = false
        responseCode = .success
        self.records = records
        answerCount = records.count
    }
}

/// Reason why bytes are not a DNS message.
public enum DNSMessageError: Error, Equatable, Sendable {
    case truncated
    /// The message has too many bytes or entries.
    case tooLarge
    /// A name is too long, has a pointer loop or an unknown kind of label.
    case badName
    /// The length of a record's data does not match its type.
    case badRecord
}

extension DNSMessage {
    /// Parses untrusted bytes from the network.
    public init(reading bytes: some Collection<UInt8>) throws(DNSMessageError) {
        guard bytes.count <= Self.maximumLength else { throw .tooLarge }
        var reader = DNSReader(bytes)
        id = try reader.number()
        let flags = try reader.number()
        isResponse = flags & 0x8000 != 0
        isTruncated = flags & 0x0200 != 0
        wantsRecursion = flags & Self.recursion != 0
        responseCode = DNSResponseCode(rawValue: UInt8(flags & 0xf))
        let questionCount = Int(try reader.number())
        answerCount = Int(try reader.number())
        let recordCount = answerCount + Int(try reader.number()) + Int(try reader.number())
        guard questionCount <= Self.maximumEntries, recordCount <= Self.maximumEntries else { throw .tooLarge }
        var questions: [DNSQuestion] = []
        for _ in 0..<questionCount { questions.append(try reader.question()) }
        var records: [DNSRecord] = []
        for _ in 0..<recordCount { records.append(try reader.record()) }
        self.questions = questions
        self.records = records
    }

    private static let recursion: UInt16 = 0x0100

    /// Returns the answer to a query with one question.
    /// - Parameter address: four bytes, sent with a TTL of 0; nil for an answer without a record.
    /// - Returns: nil unless the message has exactly one question.
    package func reply(_ code: DNSResponseCode = .success, address: [UInt8]? = nil) -> [UInt8]? {
        guard questions.count == 1 else { return nil }
        var bytes = query
        // Flags: response, authoritative and recursion available. Recursion desired is copied from the query.
        bytes[2] = 0x84 | (bytes[2] & 0x01)
        bytes[3] = 0x80 | code.rawValue & 0xf
        guard let address, address.count == 4 else { return bytes }
        bytes[7] = 1
        // Pointer to the question's name, type A, class IN, TTL 0, length 4.
        return bytes + [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4] + address
    }

    /// Bytes of a query with these questions, without name compression.
    public var query: [UInt8] {
        var bytes: [UInt8] = []
        func append(_ number: UInt16) { bytes += [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)] }
        for number in [id, wantsRecursion ? Self.recursion : 0, UInt16(questions.count), 0, 0, 0] { append(number) }
        for question in questions {
            for label in question.name.labels { bytes += [UInt8(label.count)] + label }
            bytes.append(0)
            append(question.type.rawValue)
            append(DNSReader.internet)
        }
        return bytes
    }
}

/// Response code of a name server (RFC 1035, 4.1.1).
public struct DNSResponseCode: RawRepresentable, Hashable, Sendable {
    /// Response code, 0 to 15.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let success = DNSResponseCode(rawValue: 0)
    /// The name does not exist (NXDOMAIN).
    public static let unknownName = DNSResponseCode(rawValue: 3)
}

/// A domain name: labels of 1 to 63 arbitrary bytes, up to 255 bytes on the wire (RFC 1035, 2.3.4).
///
/// Comparison ignores the case of ASCII letters (RFC 4343).
public struct DNSName: Sendable {
    public let labels: [[UInt8]]

    static let maximumLength = 255
    static let maximumLabel = 63

    /// - Returns: nil if the name is too long or has an empty label.
    public init?(labels: some Sequence<[UInt8]>) {
        let labels = Array(labels)
        guard labels.allSatisfy({ (1...Self.maximumLabel).contains($0.count) }),
            labels.reduce(1, { $0 + $1.count + 1 }) <= Self.maximumLength
        else { return nil }
        self.labels = labels
    }

    /// - Parameter text: labels separated by dots, so a label cannot contain a dot.
    public init?(_ text: String) {
        self.init(
            labels: text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init))
    }

    /// Creates a name from constant labels, without validation.
    package init(known labels: String...) { self.labels = labels.map { Array($0.utf8) } }

    package var parent: DNSName? { labels.isEmpty ? nil : DNSName(labels: labels.dropFirst()) }

    private var folded: [[UInt8]] {
        labels.map { $0.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 } }
    }
}

extension DNSName: Hashable {
    public static func == (left: Self, right: Self) -> Bool { left.folded == right.folded }

    public func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}

extension DNSName: CustomStringConvertible {
    /// Text in the master file format (RFC 1035, 5.1). Dots, backslashes and bytes outside printable ASCII are escaped,
    /// so the text is safe to show.
    public var description: String {
        labels.map { label in
            label.map { byte in
                switch byte {
                case UInt8(ascii: "."), UInt8(ascii: "\\"): "\\" + String(Unicode.Scalar(byte))
                case 0x21...0x7e: String(Unicode.Scalar(byte))
                default: "\\" + String(repeating: "0", count: byte < 10 ? 2 : byte < 100 ? 1 : 0) + String(byte)
                }
            }.joined()
        }.joined(separator: ".")
    }
}

/// Type of a record (RFC 1035, 3.2.2; RFC 2782; RFC 3596).
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

/// A question for the records of a name.
public struct DNSQuestion: Hashable, Sendable {
    public let name: DNSName
    public let type: DNSRecordType

    public init(_ name: DNSName, _ type: DNSRecordType) {
        self.name = name
        self.type = type
    }
}

/// A resource record.
public struct DNSRecord: Equatable, Sendable {
    public let name: DNSName
    /// Time to live in seconds. 0 withdraws the record (RFC 6762, 10.1).
    public let timeToLive: UInt32
    public let data: Data

    /// Data of a record, by its type.
    public enum Data: Equatable, Sendable {
        /// Canonical name (CNAME record).
        case alias(DNSName)
        case pointer(DNSName)
        case service(host: DNSName, port: UInt16)
        /// Strings of up to 255 bytes each (TXT record).
        case text([[UInt8]])
        /// IPv4 address of 4 bytes in network order.
        case ipv4([UInt8])
        /// IPv6 address of 16 bytes in network order.
        case ipv6([UInt8])
        /// Any other type or class.
        case other
    }
}
