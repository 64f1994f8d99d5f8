#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

public typealias TimeInterval = Double

/// A moment on the system's clock.
public struct Date: Sendable, Hashable {
    /// In seconds.
    public let timeIntervalSince1970: TimeInterval

    /// Now.
    public init() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        timeIntervalSince1970 = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    public init(timeIntervalSince1970: TimeInterval) { self.timeIntervalSince1970 = timeIntervalSince1970 }
}

/// This process.
public final class ProcessInfo: Sendable {
    public static let processInfo = ProcessInfo()

    private init() {}

    /// The variables of the environment; what is no UTF-8 in them is replaced.
    public var environment: [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let parts = String(cString: entry).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, variables[String(parts[0])] == nil { variables[String(parts[0])] = String(parts[1]) }
            next += 1
        }
        return variables
    }
}

/// An error that has a description for people.
public protocol LocalizedError: Error {
    var errorDescription: String? { get }
    var failureReason: String? { get }
    var recoverySuggestion: String? { get }
    var helpAnchor: String? { get }
}

extension LocalizedError {
    public var errorDescription: String? { nil }
    public var failureReason: String? { nil }
    public var recoverySuggestion: String? { nil }
    public var helpAnchor: String? { nil }
}

extension String {
    /// How text becomes bytes.
    public struct Encoding: Sendable, Hashable {
        public static let utf8 = Encoding()
    }

    /// - Returns: nil where the bytes are no such text.
    public init?(data: Data, encoding: Encoding) { self.init(validating: data, as: UTF8.self) }

    public init?(bytes: some Sequence<UInt8>, encoding: Encoding) { self.init(validating: Array(bytes), as: UTF8.self) }

    public func data(using encoding: Encoding, allowLossyConversion: Bool = false) -> Data? { Data(utf8) }
}
