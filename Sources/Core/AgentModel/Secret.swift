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

/// Bytes that must not be shown: a password, a pre-shared key, the device's local key.
///
/// The description is redacted, also in interpolation, dumps and reflection. The memory is excluded from core dumps on
/// Linux (``ProtectedMemory``) and wiped with the last copy. Comparing secrets of equal length takes constant time.
public struct Secret: Sendable, Equatable {
    private let storage: Storage

    /// Copies `bytes`. The caller must wipe its own copy.
    public init(_ bytes: some Collection<UInt8>) { storage = Storage(bytes) }

    public init(text: String) { self.init(text.utf8) }

    public var count: Int { storage.bytes.count }

    /// Passes the bytes to `body`. The pointer is valid only during the call.
    public func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try withExtendedLifetime(storage) { () throws(Failure) in try body(storage.bytes) }
    }

    public static func == (left: Self, right: Self) -> Bool {
        // Copies of a secret share one storage.
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

extension Secret {
    /// Decodes pairs of hexadecimal digits. Unlike ``Hex``, it wipes its copies.
    /// - Returns: nil for an odd number of bytes, or if a byte is not a digit.
    package init?(hexDigits digits: some Collection<UInt8>) {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        var rest = digits[...]
        while let high = rest.popFirst(), let low = rest.popFirst() {
            guard let high = Hex.value(of: high), let low = Hex.value(of: low) else { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(bytes)
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Zeroes memory so that the optimizer cannot remove the writes.
public func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
    guard let start = buffer.baseAddress else { return }
    #if canImport(Darwin)
        _ = memset_s(start, buffer.count, 0, buffer.count)
    #else
        explicit_bzero(start, buffer.count)
    #endif
}

/// Memory for secrets, zeroed on allocation and wiped on deinit.
///
/// On Linux it uses ``ProtectedPages``, which core dumps exclude and a forked child sees as zeros. Elsewhere, or if no
/// page is available, it is plain memory. The size is fixed, so a reallocation cannot leave a copy behind.
package struct ProtectedMemory: ~Copyable {
    package let bytes: UnsafeMutableRawBufferPointer
    private let origin: Origin

    private enum Origin { case sharedPage, ownPages, plain }

    package init(byteCount: Int) { (bytes, origin) = Self.allocate(byteCount) }

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

    private static func allocate(_ byteCount: Int) -> (UnsafeMutableRawBufferPointer, Origin) {
        #if os(Linux)
            if byteCount > ProtectedPages.pageSize {
                if let bytes = ProtectedPages.map(byteCount) { return (bytes, .ownPages) }
            } else if let bytes = pages.withLock({ $0.allocate(byteCount) }) {
                return (bytes, .sharedPage)
            }
        #endif
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        return (bytes, .plain)
    }
}

#if os(Linux)
    /// Pages shared by small secrets, in units of 1/64 page. Ownership is recorded outside the pages, so it survives in
    /// a forked child, where they are zero. At most one empty page is kept.
    struct ProtectedPages: @unchecked Sendable {  // Gives each unit one owner and never accesses its bytes.
        private(set) var pages: [Page] = []

        struct Page {
            let start: UnsafeMutableRawPointer
            /// Bit n is set while unit n is free.
            var free = UInt64.max

            var isEmpty: Bool { free == .max }
        }

        static let pageSize = Int(getpagesize())
        /// Size of a unit: 64 bytes on a page of 4 KiB.
        static let unitSize = pageSize / UInt64.bitWidth

        /// - Parameter byteCount: At most one page.
        /// - Returns: zeroed bytes, or nil if the system has no memory left.
        mutating func allocate(_ byteCount: Int) -> UnsafeMutableRawBufferPointer? {
            let units = Self.units(byteCount)
            for index in pages.indices {
                guard let start = pages[index].allocate(units) else { continue }
                return UnsafeMutableRawBufferPointer(start: start, count: byteCount)
            }
            guard let page = Self.map(Self.pageSize)?.baseAddress else { return nil }
            pages.append(Page(start: page))
            return allocate(byteCount)
        }

        /// Frees bytes that `allocate` returned. The owner has already wiped them.
        mutating func giveBack(_ bytes: UnsafeMutableRawBufferPointer) {
            guard let start = bytes.baseAddress, let index = pages.firstIndex(where: { $0.holds(start) }) else {
                preconditionFailure("freed memory that was not allocated here")
            }
            pages[index].giveBack(Self.units(bytes.count), at: start)
            if pages[index].isEmpty, pages.count(where: \.isEmpty) > 1 {
                let page = pages.remove(at: index)
                Self.unmap(UnsafeMutableRawBufferPointer(start: page.start, count: Self.pageSize))
            }
        }

        /// Returns the number of units. Zero bytes take one unit too, so that they have an address to free.
        private static func units(_ byteCount: Int) -> Int { max(1, (byteCount + unitSize - 1) / unitSize) }
    }

    extension ProtectedPages {
        /// Allocates zeroed pages for secrets only.
        ///
        /// Core dumps omit the pages, and they stay out of swap within `RLIMIT_MEMLOCK`. A forked child finds zeros:
        /// `MADV_DONTFORK` would crash it when it frees its copies. Failures of these calls are ignored: an exposed
        /// secret is better than an offline device.
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
        /// Takes the first run of `units` free units, 1 to 64.
        fileprivate mutating func allocate(_ units: Int) -> UnsafeMutableRawPointer? {
            // Bit n stays set while the `counted` units from n on are free.
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
            precondition(free & mask == 0, "memory freed twice")
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
