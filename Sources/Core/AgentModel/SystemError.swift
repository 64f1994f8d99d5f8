#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A failed system call.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Action that failed, such as "open /run/x". In the message it follows "cannot".
    public let attempt: String
    public let errno: Int32

    /// - Parameter errno: Error number. The default is the one of the last failed call on this thread.
    public init(_ attempt: String, errno: Int32 = lastError()) {
        self.attempt = attempt
        self.errno = errno
    }

    public var description: String { "cannot \(attempt): \(reason)" }

    public var reason: String { String(cString: strerror(errno)) }
}

/// Returns the C library's `errno`, which `SystemError.errno` shadows.
@usableFromInline func lastError() -> Int32 { errno }
