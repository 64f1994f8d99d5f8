#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why the server does not listen.
public enum AppServerError: Error, Equatable, Sendable {
    /// The path of a Unix socket has a fixed length in the kernel (unix(7)).
    case pathTooLong(path: String, maximum: Int)
    /// Another process answers on this socket.
    case alreadyServed(path: String)
    /// Something that is no socket is in the way, and is not removed.
    case notASocket(path: String)
    case system(attempted: String, path: String, errno: Int32)
}

extension AppServerError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .pathTooLong(let path, let maximum):
            "the socket's path \(path) is longer than \(maximum) bytes: choose a shorter one"
        case .alreadyServed(let path):
            "another agent is running and answers on \(path): stop it first, or choose another socket"
        case .notASocket(let path):
            "\(path) exists and is not a socket: remove it, or choose another path for the socket"
        case .system(let attempted, let path, let errno):
            "could not \(attempted) \(path): \(String(cString: strerror(errno)))"
        }
    }
}
