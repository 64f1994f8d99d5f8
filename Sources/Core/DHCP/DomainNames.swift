/// Search domains, limited to characters that are safe in /etc/resolv.conf: letters, digits, hyphens, underscores and
/// dots.
enum DomainNames {
    /// Maximum number of domains (resolv.conf(5)). Others are ignored.
    static let most = 32

    /// Parses option 119 (RFC 3397, 2): names with compression pointers (RFC 1035, 4.1.4). Returns nil if any is
    /// malformed.
    static func list(_ bytes: [UInt8]) -> [String]? {
        var names: [String] = []
        var place = 0
        while place < bytes.count {
            guard let (name, end) = name(in: bytes, at: place) else { return nil }
            if names.count < most, !names.contains(name) { names.append(name) }
            place = end
        }
        return names.isEmpty ? nil : names
    }

    /// Parses option 15: one name, or several separated by spaces, as many servers send. Returns nil if any is
    /// malformed.
    static func words(_ bytes: [UInt8]) -> [String]? {
        let text = bytes.reversed().drop { $0 == 0 }.reversed()
        let words = text.split(separator: UInt8(ascii: " ")).map(Array.init)
        guard !words.isEmpty else { return nil }
        var names: [String] = []
        for word in words {
            let labels = word.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
            // A name may end with a dot.
            guard let name = name(of: labels.last == [] ? Array(labels.dropLast()) : labels) else { return nil }
            if names.count < most, !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// Parses a name. Follows a pointer only if it points further back than the last one, so parsing always ends.
    private static func name(in bytes: [UInt8], at start: Int) -> (name: String, end: Int)? {
        var labels: [[UInt8]] = []
        var (place, earliest) = (start, start)
        var end: Int?
        while place < bytes.count {
            let length = Int(bytes[place])
            switch length >> 6 {
            case 0b00 where length == 0:
                guard let name = name(of: labels) else { return nil }
                return (name, end ?? place + 1)
            case 0b00:
                guard labels.count < 128, place + length < bytes.count else { return nil }
                labels.append(Array(bytes[(place + 1)...(place + length)]))
                place += length + 1
            case 0b11:
                guard place + 1 < bytes.count else { return nil }
                end = end ?? place + 2
                place = (length & 0x3f) << 8 | Int(bytes[place + 1])
                guard place < earliest else { return nil }
                earliest = place
            default: return nil
            }
        }
        return nil
    }

    private static func name(of labels: [[UInt8]]) -> String? {
        guard !labels.isEmpty, labels.allSatisfy({ (1...63).contains($0.count) && $0.allSatisfy(isPlain) }),
            labels.reduce(0, { $0 + $1.count + 1 }) <= 254
        else { return nil }
        return labels.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
