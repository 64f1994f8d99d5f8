/// The MAC address of one access point's radio for one network.
public struct BSSID: Hashable, Sendable, Comparable {
    /// The six bytes in the order they are sent, in the lower 48 bits.
    private let value: UInt64

    /// - Returns: nil unless there are exactly six bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 6 else { return nil }
        value = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads `02:00:00:00:01:00`.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6, parts.allSatisfy({ $0.utf8.count == 2 }), let bytes = Hex.bytes(parts.joined())
        else { return nil }
        self.init(bytes: bytes)
    }

    public var bytes: [UInt8] { stride(from: 40, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) } }

    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

extension BSSID: CustomStringConvertible {
    public var description: String { bytes.map { Hex.string([$0]) }.joined(separator: ":") }
}
