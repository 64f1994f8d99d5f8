/// A message of DNS (RFC 1035, 4.1), as far as a host needs it that asks: name servers, or all of a link by multicast
/// (RFC 6762, 5.1 and 6.7).
public struct DNSMessage: Equatable, Sendable {
    public let id: UInt16
    public let isResponse: Bool
    /// There was more to say than the datagram could hold.
    public let isTruncated: Bool
    /// The one who answers is to ask on for us.
    public let wantsRecursion: Bool
    public let responseCode: DNSResponseCode
    public let questions: [DNSQuestion]
    /// Those of all sections: what is asked for, and what the answerer thinks will be asked next.
    public let records: [DNSRecord]
    private let answerCount: Int

    /// What is asked for: the records of the first section.
    public var answers: ArraySlice<DNSRecord> { records.prefix(answerCount) }

    /// Larger ones are not sent by multicast (RFC 6762, 17).
    public static let maximumLength = 9000
    /// How many questions and how many records a message is read with.
    static let maximumEntries = 512

    /// - Parameter recursively: as a name server is asked that finds out what it does not know.
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

    /// An answer.
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

/// Why something is not a message that can be read.
public enum DNSMessageError: Error, Equatable, Sendable {
    /// It ends in the middle.
    case truncated
    /// It is longer than any message, or has more entries.
    case tooLarge
    /// A name is too long, or leads round in a circle, or has a label of an unknown kind.
    case badName
    /// The data of a record has not the length that its type asks for.
    case badRecord
}

extension DNSMessage {
    /// Reads what came from the network.
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

    /// The questions as a message, in which no name is compressed.
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

/// How a name server fared (RFC 1035, 4.1.1).
public struct DNSResponseCode: RawRepresentable, Hashable, Sendable {
    /// 0 to 15.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let success = DNSResponseCode(rawValue: 0)
    /// There is no such name (NXDOMAIN).
    public static let unknownName = DNSResponseCode(rawValue: 3)
}
