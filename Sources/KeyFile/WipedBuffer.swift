import AgentModel

/// Memory for the file's bytes, which hold passwords: of fixed size, so that it never moves and leaves a copy behind, and
/// overwritten when it goes.
struct WipedBuffer: ~Copyable {
    private let memory: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(capacity: Int) { memory = .allocate(byteCount: capacity, alignment: 1) }

    deinit {
        wipe(memory)
        memory.deallocate()
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

    /// Fills what is left of the memory by calling `source` until it is full or `source` returns 0.
    mutating func fill<Failure: Error>(
        from source: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        while count < memory.count {
            let added = try source(UnsafeMutableRawBufferPointer(rebasing: memory[count...]))
            guard added > 0 else { return }
            count += min(added, memory.count - count)
        }
    }

    /// Lends the bytes for the time of the call. Do not let them escape.
    func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    }
}
