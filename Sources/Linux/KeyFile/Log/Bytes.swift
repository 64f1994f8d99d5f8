import AgentModel

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

/// Memory for the file's bytes, which hold passwords: of fixed size, so that it never moves and leaves a copy behind,
/// and overwritten when it goes. Core dumps leave it out where the system can do so.
struct WipedBuffer: ~Copyable {
    private let protected: ProtectedMemory
    private(set) var count = 0

    /// How much more can be appended.
    var remaining: Int { memory.count - count }

    private var memory: UnsafeMutableRawBufferPointer { protected.bytes }

    init(capacity: Int) { protected = ProtectedMemory(byteCount: capacity) }

    /// A buffer with so many bytes in it, to be written by `withMutableBytes`.
    init(size: Int) {
        self.init(capacity: size)
        resize(to: size)
    }

    /// Makes these many bytes count, whatever they are.
    mutating func resize(to count: Int) {
        precondition((0...memory.count).contains(count), "the buffer is too small for what it was made for")
        self.count = count
    }

    mutating func append(_ byte: UInt8) {
        precondition(count < memory.count, "the buffer is too small for what it was made for")
        memory[count] = byte
        count += 1
    }

    mutating func append(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { append(byte) }
    }

    /// Appends an integer in big-endian order.
    mutating func append(bigEndian value: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Lends the bytes for writing, for the time of the call. Do not let them escape.
    mutating func withMutableBytes<Value, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try body(UnsafeMutableRawBufferPointer(rebasing: memory[..<count]))
    }

    /// Lends the bytes for the time of the call. Do not let them escape.
    func withBytes<Value: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    }
}

/// The CRC-32 of Ethernet and zlib (ITU-T V.42): any flipped bit and any burst of up to 32 is noticed, and a single
/// flipped bit can be found and put right.
enum CRC32 {
    /// - Parameter first: the checksum of what comes before.
    static func checksum(_ bytes: UnsafeRawBufferPointer, after first: UInt32 = 0) -> UInt32 {
        var crc = ~first
        for byte in bytes { crc = shift(crc ^ UInt32(byte)) }
        return ~crc
    }

    /// Finds the one bit whose change explains why `bytes` do not have this checksum, and changes it.
    /// - Returns: whether there is one. Also true if the bit is one of the checksum itself.
    static func repairBit(
        of bytes: UnsafeMutableRawBufferPointer, after first: UInt32 = 0, checksum: UInt32
    ) -> Bool {
        let difference = Self.checksum(UnsafeRawBufferPointer(bytes), after: first) ^ checksum
        if difference.nonzeroBitCount == 1 { return true }
        // The effect of each flipped bit of a byte on the checksum, from the last byte to the first.
        var effects = (0..<8).map { shift(1 << $0) }
        for index in bytes.indices.reversed() {
            if let bit = effects.firstIndex(of: difference) {
                bytes[index] ^= 1 << bit
                return true
            }
            for bit in 0..<8 { effects[bit] = shift(effects[bit]) }
        }
        return false
    }

    /// Eight bits further.
    private static func shift(_ crc: UInt32) -> UInt32 { crc >> 8 ^ table[Int(crc & 0xff)] }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { crc, _ in crc >> 1 ^ (crc & 1 == 0 ? 0 : 0xedb8_8320) }
    }
}
