#if os(Linux)
    import Synchronization
#endif

/// Memory for bytes that nobody may read by accident, zero at first and overwritten when its owner goes.
///
/// On Linux it lies in pages that hold nothing else, see ``ProtectedPages``: core dumps leave them out, and a forked child
/// finds zeros there. Where the system has no such page to give, and on other systems, it is plain memory. It is of fixed
/// size, so that it never moves and leaves a copy behind.
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
