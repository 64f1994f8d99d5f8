import AppProtocol

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Times as the clock on the wall shows them.
enum LocalTime {
    /// `14:03:59` in the local time zone.
    static func clock(_ timestamp: Timestamp) -> String {
        var seconds = time_t(timestamp.millisecondsSince1970 / 1000)
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil else { return timestamp.description }
        return [parts.tm_hour, parts.tm_min, parts.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}
