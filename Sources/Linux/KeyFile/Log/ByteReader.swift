/// Reads from the front of bytes that may hold anything.
struct ByteReader {
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// - Returns: nil if there are fewer.
    mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
    }

    mutating func integer<Value: FixedWidthInteger & UnsignedInteger>(_ type: Value.Type) -> Value? {
        bytes(MemoryLayout<Value>.size)?.bigEndian(type)
    }
}

extension UnsafeRawBufferPointer {
    /// The integer in the first bytes, of which there must be enough.
    func bigEndian<Value: FixedWidthInteger & UnsignedInteger>(_: Value.Type) -> Value {
        Value(bigEndian: loadUnaligned(as: Value.self))
    }

    /// Whether this is what erased flash looks like.
    var isBlank: Bool { allSatisfy { $0 == 0xff } }
}

extension [UInt8] {
    /// `withUnsafeBytes`, for what throws one type of error.
    func lend<Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
        try withUnsafeBytes { bytes in Result { () throws(Failure) in try body(bytes) } }.get()
    }
}
