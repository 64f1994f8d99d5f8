/// Takes numbers and byte strings off the front of a buffer, and nil where it has ended.
struct ByteReader {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    /// A number in the host's byte order, as netlink has them.
    mutating func take<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number? {
        take(MemoryLayout<Number>.size).map { bytes in
            var number = Number.zero
            withUnsafeMutableBytes(of: &number) { $0.copyBytes(from: bytes) }
            return number
        }
    }

    /// Leaves the reader at the next multiple of four from its own start, or at its end where padding is missing.
    mutating func skipPadding(after count: Int) {
        rest = rest.dropFirst(netlinkAligned(count) - count)
    }
}

/// `count` rounded up to netlink's alignment of four bytes (netlink.h, `NLMSG_ALIGN` and `NLA_ALIGN`).
func netlinkAligned(_ count: Int) -> Int { (count + 3) & ~3 }

extension Array where Element == UInt8 {
    /// Adds a number in the host's byte order.
    mutating func append(number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number) { append(contentsOf: $0) }
    }

    mutating func padToNetlinkAlignment() {
        append(contentsOf: repeatElement(0, count: netlinkAligned(count) - count))
    }
}
