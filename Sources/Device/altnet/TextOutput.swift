#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A standard stream or a terminal that text is written to.
struct TextOutput: Sendable {
    struct Failure: Error, Equatable {
        /// As `errno` says it.
        let number: Int32
    }

    let descriptor: Int32

    /// Writes all of it, in as many parts as the system takes.
    func put(_ text: String) throws(Failure) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in write(descriptor, bytes.baseAddress, bytes.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw Failure(number: errno)
            }
        }
    }
}
