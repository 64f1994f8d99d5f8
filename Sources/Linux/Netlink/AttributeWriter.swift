/// Builds a run of netlink attributes.
struct AttributeWriter {
    private(set) var bytes: [UInt8] = []

    mutating func put(_ type: some RawRepresentable<UInt32>, bytes value: some Collection<UInt8>) {
        put(Int(type.rawValue), bytes: value)
    }

    mutating func put(_ type: some RawRepresentable<UInt32>, _ number: some FixedWidthInteger) {
        put(Int(type.rawValue), number)
    }

    /// An attribute whose presence says everything.
    mutating func putFlag(_ type: some RawRepresentable<UInt32>) { put(Int(type.rawValue), bytes: []) }

    mutating func putNested(_ type: some RawRepresentable<UInt32>, _ fill: (inout AttributeWriter) -> Void) {
        putNested(Int(type.rawValue), fill)
    }

    mutating func put(_ type: Int, bytes value: some Collection<UInt8>) {
        bytes.append(number: UInt16(clamping: Attributes.headerLength + value.count))
        bytes.append(number: UInt16(truncatingIfNeeded: type))
        bytes.append(contentsOf: value)
        bytes.padToNetlinkAlignment()
    }

    mutating func put(_ type: Int, _ number: some FixedWidthInteger) {
        var value: [UInt8] = []
        value.append(number: number)
        put(type, bytes: value)
    }

    /// Text with its closing zero byte.
    mutating func put(_ type: Int, string: String) { put(type, bytes: Array(string.utf8) + [0]) }

    mutating func putNested(_ type: Int, _ fill: (inout AttributeWriter) -> Void) {
        var inner = AttributeWriter()
        fill(&inner)
        put(type | Self.nestedFlag, bytes: inner.bytes)
    }

    /// `NLA_F_NESTED`, on which newer kernels insist in newer messages.
    private static let nestedFlag = 0x8000
}
