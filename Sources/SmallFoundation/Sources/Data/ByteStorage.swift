#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The memory of a ``Data``, shared by its copies and slices. It is overwritten with zeros before it is given back.
///
/// Changed only by the one value that has it, as `isKnownUniquelyReferenced` tells; hence it may be sent anywhere.
final class ByteStorage: @unchecked Sendable {
    /// Never nil, also where there are no bytes.
    private(set) var start: UnsafeMutableRawPointer
    private(set) var capacity: Int
    private let owner: Owner

    private enum Owner {
        case storage
        /// Somebody else, who wants to know when the memory is no longer needed. It must not be changed.
        case other(release: (UnsafeMutableRawPointer, Int) -> Void)
    }

    /// Room for bytes, which are zeros.
    init(capacity: Int) {
        self.capacity = max(capacity, 1)
        guard let start = calloc(self.capacity, 1) else { fatalError("out of memory for \(capacity) bytes") }
        self.start = start
        owner = .storage
    }

    /// Takes over what `malloc` gave.
    init(adopting start: UnsafeMutableRawPointer, count: Int) {
        self.start = start
        capacity = count
        owner = .storage
    }

    init(of other: UnsafeMutableRawPointer, count: Int, release: @escaping (UnsafeMutableRawPointer, Int) -> Void) {
        start = other
        capacity = count
        owner = .other(release: release)
    }

    var isChangeable: Bool { if case .storage = owner { true } else { false } }

    deinit {
        switch owner {
        case .storage:
            #if canImport(Darwin)
                _ = memset_s(start, capacity, 0, capacity)
            #else
                explicit_bzero(start, capacity)
            #endif
            free(start)
        case .other(let release): release(start, capacity)
        }
    }
}
