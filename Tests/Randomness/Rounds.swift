#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How often the tests with random input repeat: `make check` is for every change and takes a tenth, `make thorough`
/// takes all (`ALTNET_TESTS=thorough`).
public enum Rounds {
    public static let areAll = getenv("ALTNET_TESTS").map { String(cString: $0) } == "thorough"

    /// - Parameter all: the rounds of a thorough run, at least 1.
    /// - Returns: `all`, or a tenth of it in a run that is not thorough, at least 1.
    public static func of(_ all: Int) -> Int { areAll ? all : max(1, all / 10) }
}
