import AppProtocol

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why a call to the device failed.
public enum ClientError: Error, Sendable, Equatable {
    /// Nobody listens there.
    case unreachable(Endpoint)
    /// This user may not connect.
    case notPermitted(Endpoint)
    case connectFailed(Endpoint, errno: Int32)
    /// The device did not answer in time.
    case timedOut
    /// The connection ended before the answer came.
    case disconnected
    /// The device answered with an error.
    case refused(ProtocolError)
    /// The device answered with something that is not the protocol.
    case notUnderstood(ProtocolError)
    case cancelled
}

extension ClientError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(.unixSocket(let path)): "no agent answers at \(path): is altnet.service running?"
        case .notPermitted(.unixSocket(let path)):
            "no permission to use \(path): run as root or as a member of the socket's group"
        case .unreachable(.network(let host, let port, _)): "nobody answers at \(host), port \(port)"
        case .notPermitted(.network(let host, let port, _)):
            "this system does not allow to connect to \(host), port \(port)"
        case .connectFailed(let endpoint, let errno):
            "could not connect to \(endpoint): \(String(cString: strerror(errno)))"
        case .timedOut: "the agent did not answer in time"
        case .disconnected: "the agent closed the connection: was it stopped?"
        case .refused(let error): error.message
        case .notUnderstood(let error): "the agent's answer was not understood: \(error.message)"
        case .cancelled: "cancelled"
        }
    }
}
