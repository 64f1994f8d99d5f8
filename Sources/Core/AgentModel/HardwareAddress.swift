/// MAC address of a network interface (IEEE 802).
public struct HardwareAddress: Hashable, Sendable {
    /// The six bytes in the order they are sent, in the lower 48 bits.
    private let bits: UInt64

    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 6 else { return nil }
        bits = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private init(bits: UInt64) { self.bits = bits }

    public static let broadcast = HardwareAddress(bits: 0xffff_ffff_ffff)
    /// All zeros, as in the target field of an ARP request.
    public static let zero = HardwareAddress(bits: 0)

    public var bytes: [UInt8] { stride(from: 40, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bits >> $0) } }

    /// Whether an interface can have this address: not a group address and not zero.
    public var isInterface: Bool { bits >> 40 & 1 == 0 && bits != 0 }
}

extension HardwareAddress: CustomStringConvertible {
    public var description: String { bytes.map { Hex.string([$0]) }.joined(separator: ":") }
}
