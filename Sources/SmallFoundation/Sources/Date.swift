#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A moment on the wall clock.
public struct Date: Sendable {
    /// In seconds.
    public let timeIntervalSince1970: Double

    /// Now.
    public init() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        timeIntervalSince1970 = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
