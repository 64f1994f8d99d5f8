/// Parses a message without trusting its lengths.
struct DNSReader {
    private let bytes: [UInt8]
    private var position = 0

    /// Class IN (RFC 1035, 3.2.4).
    static let internet: UInt16 = 1
    /// Top bit of a class: cache flush in a record, unicast response in a question (RFC 6762, 18.12 and 18.13).
    private static let flagOfClass: UInt16 = 0x8000

    init(_ bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    mutating func number() throws(DNSMessageError) -> UInt16 {
        let bytes = try read(2)
        return bytes.reduce(0) { $0 << 8 | UInt16($1) }
    }

    mutating func question() throws(DNSMessageError) -> DNSQuestion {
        let name = try name()
        let type = DNSRecordType(rawValue: try number())
        _ = try number()
        return DNSQuestion(name, type)
    }

    mutating func record() throws(DNSMessageError) -> DNSRecord {
        let name = try name()
        let type = DNSRecordType(rawValue: try number())
        let isInternet = try number() & ~Self.flagOfClass == Self.internet
        let timeToLive = UInt32(try number()) << 16 | UInt32(try number())
        let length = Int(try number())
        guard length <= bytes.count - position else { throw .truncated }
        let end = position + length
        let data = isInternet ? try data(of: type, length: length) : nil
        guard data == nil || position == end else { throw .badRecord }
        position = end
        return DNSRecord(name: name, timeToLive: timeToLive, data: data ?? .other)
    }

    /// - Returns: nil for a type that `DNSRecord.Data` does not have.
    private mutating func data(of type: DNSRecordType, length: Int) throws(DNSMessageError) -> DNSRecord.Data? {
        switch type {
        case .ipv4: .ipv4(Array(try read(4, of: length)))
        case .ipv6: .ipv6(Array(try read(16, of: length)))
        case .alias: .alias(try name())
        case .pointer: .pointer(try name())
        case .service: try service()
        case .text: .text(try strings(length))
        default: nil
        }
    }

    /// Reads an SRV record (RFC 2782). Skips priority and weight, because a device announces one server.
    private mutating func service() throws(DNSMessageError) -> DNSRecord.Data {
        _ = try read(4)
        let port = try number()
        return .service(host: try name(), port: port)
    }

    private mutating func strings(_ length: Int) throws(DNSMessageError) -> [[UInt8]] {
        let end = position + length
        var strings: [[UInt8]] = []
        while position < end {
            let count = Int(try read(1).first ?? 0)
            guard position + count <= end else { throw .badRecord }
            strings.append(Array(try read(count)))
        }
        return strings
    }

    /// Reads a name that may end in a pointer (RFC 1035, 4.1.4). A pointer must refer to earlier bytes, but
    /// not to the header.
    private mutating func name() throws(DNSMessageError) -> DNSName {
        var labels: [[UInt8]] = []
        var length = 1
        var place = position
        var earliest = position
        var end: Int?
        while true {
            guard place < bytes.count else { throw .truncated }
            let byte = bytes[place]
            switch byte >> 6 {
            case 0b00 where byte == 0:
                position = end ?? place + 1
                guard let name = DNSName(labels: labels) else { throw .badName }
                return name
            case 0b00:
                let next = place + 1 + Int(byte)
                guard next <= bytes.count else { throw .truncated }
                length += Int(byte) + 1
                guard length <= DNSName.maximumLength else { throw .badName }
                labels.append(Array(bytes[(place + 1)..<next]))
                place = next
            case 0b11:
                guard place + 1 < bytes.count else { throw .truncated }
                end = end ?? place + 2
                place = Int(byte & 0x3f) << 8 | Int(bytes[place + 1])
                guard place < earliest, place >= Self.headerLength else { throw .badName }
                earliest = place
            default: throw .badName
            }
        }
    }

    private static let headerLength = 12

    private mutating func read(_ count: Int) throws(DNSMessageError) -> ArraySlice<UInt8> {
        guard count <= bytes.count - position else { throw .truncated }
        defer { position += count }
        return bytes[position..<(position + count)]
    }

    private mutating func read(_ count: Int, of length: Int) throws(DNSMessageError) -> ArraySlice<UInt8> {
        guard count == length else { throw .badRecord }
        return try read(count)
    }
}
