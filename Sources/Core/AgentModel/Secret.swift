#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Bytes that nobody may read by accident: a password, a pre-shared key, the device's local key.
///
/// Its description says only that it is redacted, also when it is interpolated, dumped or reflected upon. It lives in
/// memory that core dumps leave out on Linux (``ProtectedMemory``) and that is overwritten when the last copy goes.
/// Equality takes the same time wherever two secrets of one length differ.
public struct Secret: Sendable, Equatable {
    private let storage: Storage

    /// Takes a copy. The caller's own copy stays the caller's to wipe.
    public init(_ bytes: some Collection<UInt8>) { storage = Storage(bytes) }

    /// The UTF-8 bytes of `text`.
    public init(text: String) { self.init(text.utf8) }

    public var count: Int { storage.bytes.count }

    /// Lends the bytes for the time of the call. Do not let them escape.
    public func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try withExtendedLifetime(storage) { () throws(Failure) in try body(storage.bytes) }
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.count == right.count
            && left.withBytes { left in
                right.withBytes { right in zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0 }
            }
    }

    private final class Storage: @unchecked Sendable {  // Written in `init` and `deinit` only.
        private let memory: ProtectedMemory

        var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory.bytes) }

        init(_ bytes: some Collection<UInt8>) {
            memory = ProtectedMemory(byteCount: bytes.count)
            memory.bytes.copyBytes(from: bytes)
        }
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Overwrites memory that held a secret, in a way that the optimiser may not leave out.
public func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
    guard let start = buffer.baseAddress else { return }
    #if canImport(Darwin)
        _ = memset_s(start, buffer.count, 0, buffer.count)
    #else
        explicit_bzero(start, buffer.count)
    #endif
}
