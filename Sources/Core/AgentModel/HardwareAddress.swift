/// The MAC address of a network interface: six bytes (IEEE 802).
public struct HardwareAddress: Hashable, Sendable {
    /// The six bytes in the order they are sent, in the lower 48 bits.
    private let bits: UInt64

    /// - Returns: nil unless there are six bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 6 else { return nil }
        bits = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private init(bits: UInt64) { self.bits = bits }

    /// ff:ff:ff:ff:ff:ff
    public static let broadcast = HardwareAddress(bits: 0xffff_ffff_ffff)
    /// 00:00:00:00:00:00, which ARP has where an address is asked for.
    public static let zero = HardwareAddress(bits: 0)

    public var bytes: [UInt8] { stride(from: 40, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bits >> $0) } }

    /// Whether one interface can have it: it is not that of a group, and not zero.
    public var isInterface: Bool { bits >> 40 & 1 == 0 && bits != 0 }
}

extension HardwareAddress: CustomStringConvertible {
    /// As in `02:00:00:00:01:00`.
    public var description: String { bytes.map { Hex.string([$0]) }.joined(separator: ":") }
}
