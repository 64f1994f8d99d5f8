import AgentModel

/// Memory for the file's bytes, which hold passwords: of fixed size, so that it never moves and leaves a copy behind, and
/// overwritten when it goes. Core dumps leave it out where the system can do so.
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
