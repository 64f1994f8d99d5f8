#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
#if os(Linux)
    import Synchronization
#endif

/// Bytes that must not be shown by accident: a password, a pre-shared key, the device's local key.
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
        // Copies of one secret are one in memory.
        if left.storage === right.storage { return true }
        return left.count == right.count
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

/// Memory for secrets, zero at first and overwritten when its owner goes.
///
/// On Linux it lies in pages that hold nothing else, see ``ProtectedPages``: core dumps leave them out, and a forked
/// child finds zeros there. If the system has no such page to give, and on other systems, it is plain memory. It is of
/// fixed size, so that it never moves and leaves a copy behind.
package struct ProtectedMemory: ~Copyable {
    package let bytes: UnsafeMutableRawBufferPointer
    private let origin: Origin

    private enum Origin { case sharedPage, ownPages, plain }

    package init(byteCount: Int) { (bytes, origin) = Self.take(byteCount) }

    deinit {
        wipe(bytes)
        switch origin {
        #if os(Linux)
            case .sharedPage: Self.pages.withLock { $0.giveBack(bytes) }
            case .ownPages: ProtectedPages.unmap(bytes)
        #else
            case .sharedPage, .ownPages: break
        #endif
        case .plain: bytes.deallocate()
        }
    }

    #if os(Linux)
        private static let pages = Mutex(ProtectedPages())
    #endif

    private static func take(_ byteCount: Int) -> (UnsafeMutableRawBufferPointer, Origin) {
        #if os(Linux)
            if byteCount > ProtectedPages.pageSize {
                if let bytes = ProtectedPages.map(byteCount) { return (bytes, .ownPages) }
            } else if let bytes = pages.withLock({ $0.take(byteCount) }) {
                return (bytes, .sharedPage)
            }
        #endif
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        return (bytes, .plain)
    }
}

#if os(Linux)
    /// Pages of memory that small secrets share: each page is cut into 64 units, and a secret has as many in a row as
    /// it needs.
    ///
    /// The owner of each unit is noted elsewhere, so it survives in a forked child, whose copy of the pages is empty.
    /// Not more than one page without a secret is kept, for short-lived buffers come and go.
    struct ProtectedPages: @unchecked Sendable {  // Hands out each piece to one owner, and never reads or writes it.
        private(set) var pages: [Page] = []

        struct Page {
            let start: UnsafeMutableRawPointer
            /// Bit n is set while unit n is free.
            var free = UInt64.max

            var isEmpty: Bool { free == .max }
        }

        static let pageSize = Int(getpagesize())
        /// 64 bytes where a page has 4 KiB.
        static let unitSize = pageSize / UInt64.bitWidth

        /// - Parameter byteCount: Not more than a page.
        /// - Returns: Bytes that are zero, or nil if the system has no more memory to give.
        mutating func take(_ byteCount: Int) -> UnsafeMutableRawBufferPointer? {
            let units = Self.units(byteCount)
            for index in pages.indices {
                guard let start = pages[index].take(units) else { continue }
                return UnsafeMutableRawBufferPointer(start: start, count: byteCount)
            }
            guard let page = Self.map(Self.pageSize)?.baseAddress else { return nil }
            pages.append(Page(start: page))
            return take(byteCount)
        }

        /// Takes back what `take` gave out. Its owner has wiped it.
        mutating func giveBack(_ bytes: UnsafeMutableRawBufferPointer) {
            guard let start = bytes.baseAddress, let index = pages.firstIndex(where: { $0.holds(start) }) else {
                preconditionFailure("memory given back that was not taken here")
            }
            pages[index].giveBack(Self.units(bytes.count), at: start)
            if pages[index].isEmpty, pages.count(where: \.isEmpty) > 1 {
                let page = pages.remove(at: index)
                Self.unmap(UnsafeMutableRawBufferPointer(start: page.start, count: Self.pageSize))
            }
        }

        /// Nothing at all takes a unit too: it is somewhere, and can be given back.
        private static func units(_ byteCount: Int) -> Int { max(1, (byteCount + unitSize - 1) / unitSize) }
    }

    extension ProtectedPages {
        /// New pages, zero, for nothing but secrets.
        ///
        /// Core dumps leave them out. A forked child finds zeros: it has no use for the secrets, and still may give
        /// back its copies of them, which would kill it if its copy of the memory had no such pages (`MADV_DONTFORK`).
        /// They stay out of swap as far as `RLIMIT_MEMLOCK` allows. A kernel that refuses one of these wishes takes
        /// nothing from the others, and the device runs on: a secret in plain sight of root beats a device that is
        /// offline.
        /// - SeeAlso: madvise(2), mlock(2)
        static func map(_ byteCount: Int) -> UnsafeMutableRawBufferPointer? {
            let start = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            guard let start, start != MAP_FAILED else { return nil }
            _ = madvise(start, byteCount, MADV_DONTDUMP)
            _ = madvise(start, byteCount, MADV_WIPEONFORK)
            _ = mlock(start, byteCount)
            return UnsafeMutableRawBufferPointer(start: start, count: byteCount)
        }

        static func unmap(_ bytes: UnsafeMutableRawBufferPointer) { _ = munmap(bytes.baseAddress, bytes.count) }
    }

    extension ProtectedPages.Page {
        /// Takes the first `units` free units in a row, 1 to 64.
        fileprivate mutating func take(_ units: Int) -> UnsafeMutableRawPointer? {
            // Bit n stays set while the units from n on, `counted` of them, are free.
            var starts = free
            var counted = 1
            while counted < units {
                let more = min(counted, units - counted)
                starts &= starts >> more
                counted += more
            }
            guard starts != 0 else { return nil }
            let first = starts.trailingZeroBitCount
            free &= ~Self.mask(units, from: first)
            return start + first * ProtectedPages.unitSize
        }

        fileprivate mutating func giveBack(_ units: Int, at position: UnsafeMutableRawPointer) {
            let mask = Self.mask(units, from: (position - start) / ProtectedPages.unitSize)
            precondition(free & mask == 0, "memory given back twice")
            free |= mask
        }

        fileprivate func holds(_ position: UnsafeMutableRawPointer) -> Bool {
            (start..<start + ProtectedPages.pageSize).contains(position)
        }

        private static func mask(_ units: Int, from first: Int) -> UInt64 {
            (UInt64.max >> (UInt64.bitWidth - units)) << first
        }
    }
#endif
