/// A domain name: labels of 1 to 63 arbitrary bytes, 255 bytes in all as a message holds it (RFC 1035, 2.3.4).
///
/// Names are equal without regard to the case of ASCII letters (RFC 4343).
public struct DNSName: Sendable {
    public let labels: [[UInt8]]

    static let maximumLength = 255
    static let maximumLabel = 63

    /// - Returns: nil for what is too long, or has an empty label.
    public init?(labels: some Sequence<[UInt8]>) {
        let labels = Array(labels)
        guard labels.allSatisfy({ (1...Self.maximumLabel).contains($0.count) }),
            labels.reduce(1, { $0 + $1.count + 1 }) <= Self.maximumLength
        else { return nil }
        self.labels = labels
    }

    /// - Parameter text: labels with dots between them; there is no way to write a dot within a label.
    public init?(_ text: String) {
        self.init(
            labels: text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init))
    }

    /// For names in the source.
    package init(known labels: String...) { self.labels = labels.map { Array($0.utf8) } }

    /// The name without its first label; nil for the root.
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
    /// As master files have it: what is not printable ASCII is `\DDD`, and a dot or backslash of a label is escaped
    /// (RFC 1035, 5.1). So it can be shown whatever the network sent.
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
