#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A system call that failed: what was attempted, and why it did not happen.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// As the object of "cannot": "open /run/x".
    public let attempt: String
    /// errno(3)
    public let errno: Int32

    /// - Parameter errno: of the call that failed last on this thread, where it is not given.
    public init(_ attempt: String, errno: Int32 = lastError()) {
        self.attempt = attempt
        self.errno = errno
    }

    public var description: String { "cannot \(attempt): \(reason)" }

    /// The C library's text for the number: "No such file or directory".
    public var reason: String { String(cString: strerror(errno)) }
}

/// The C library's `errno`, which the member of `SystemError` hides.
@usableFromInline func lastError() -> Int32 { errno }
