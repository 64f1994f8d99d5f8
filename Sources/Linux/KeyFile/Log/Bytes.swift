import AgentModel

/// Reads integers and bytes from the front of untrusted data.
struct ByteReader {
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

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
    /// Returns the integer in the first bytes. Traps if there are too few.
    func bigEndian<Value: FixedWidthInteger & UnsignedInteger>(_: Value.Type) -> Value {
        Value(bigEndian: loadUnaligned(as: Value.self))
    }

    /// True for the content of erased flash.
    var isBlank: Bool { allSatisfy { $0 == 0xff } }
}

extension [UInt8] {
    /// Calls `body` with the bytes, like `withUnsafeBytes` but with a typed error.
    func lend<Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
        try withUnsafeBytes { bytes in Result { () throws(Failure) in try body(bytes) } }.get()
    }
}

/// Buffer of fixed capacity for secrets. Its memory never moves and is overwritten on release. If the system supports
/// it, core dumps exclude the memory.
struct WipedBuffer: ~Copyable {
    private let protected: ProtectedMemory
    private(set) var count = 0

    var remaining: Int { memory.count - count }

    private var memory: UnsafeMutableRawBufferPointer { protected.bytes }

    init(capacity: Int) { protected = ProtectedMemory(byteCount: capacity) }

    /// Creates a buffer of `size` bytes. Fill it with `withMutableBytes`.
    init(size: Int) {
        self.init(capacity: size)
        resize(to: size)
    }

    /// Sets the number of valid bytes without changing them.
    mutating func resize(to count: Int) {
        precondition((0...memory.count).contains(count), "the buffer is smaller than its content")
        self.count = count
    }

    mutating func append(_ byte: UInt8) {
        precondition(count < memory.count, "the buffer is smaller than its content")
        memory[count] = byte
        count += 1
    }

    mutating func append(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { append(byte) }
    }

    mutating func append(bigEndian value: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Passes the bytes to `body` for writing. The pointer is invalid after `body` returns.
    mutating func withMutableBytes<Value, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try body(UnsafeMutableRawBufferPointer(rebasing: memory[..<count]))
    }

    func withBytes<Value: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    }
}

/// CRC-32 of Ethernet and zlib (ITU-T V.42). Detects any burst error of up to 32 bits, and can correct a single wrong
/// bit.
enum CRC32 {
    /// - Parameter first: checksum of the preceding bytes.
    static func checksum(_ bytes: UnsafeRawBufferPointer, after first: UInt32 = 0) -> UInt32 {
        var crc = ~first
        for byte in bytes { crc = shift(crc ^ UInt32(byte)) }
        return ~crc
    }

    /// Corrects a single wrong bit, if that explains the wrong checksum.
    /// - Returns: true if one wrong bit explains it. That bit may be in the checksum itself.
    static func repairBit(
        of bytes: UnsafeMutableRawBufferPointer, after first: UInt32 = 0, checksum: UInt32
    ) -> Bool {
        let difference = Self.checksum(UnsafeRawBufferPointer(bytes), after: first) ^ checksum
        if difference.nonzeroBitCount == 1 { return true }
        // Effects of a byte's eight bits on the checksum. The loop goes from the last byte to the first.
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

    private static func shift(_ crc: UInt32) -> UInt32 { crc >> 8 ^ table[Int(crc & 0xff)] }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { crc, _ in crc >> 1 ^ (crc & 1 == 0 ? 0 : 0xedb8_8320) }
    }
}
