import AgentModel

extension AppServer {
    /// Connection events for the log.
    ///
    /// The server limits the notices that any host can cause: ten at once, then one every ten seconds.
    public enum Notice: Sendable, Equatable {
        case opened(Peer)
        /// The server refuses the connection. The client receives the reason before the close.
        case refused(Peer, Refusal)
        /// The server closed a connection.
        case dropped(Peer, Reason)
        /// The handshake failed.
        case rejected(RejectedConnection)
    }

    public enum Refusal: Sendable, Hashable {
        case tooManyConnections
        /// The user is in neither the main group nor the readers' group.
        case notPermitted
    }

    public enum Reason: Sendable, Hashable {
        /// The client sent no request within the idle time.
        case idle
        case notReading
        /// The device has lost the connection's local address.
        case addressGone
        case keyEnded
    }

    public struct RejectedConnection: Sendable, Equatable {
        public let address: String
        public let failure: HandshakeFailure
        /// Number of consecutive wrong keys from the site, and the delay of its next handshake.
        public let wrongKeys: Int
        public let delay: Duration
        /// Number of rejected connections since the last notice.
        public let unreported: Int
    }
}

/// Reason of a failed handshake.
public enum HandshakeFailure: Sendable, Hashable {
    /// The client used a wrong key or an unknown key name.
    case wrongKey
    /// The key was revoked or has expired.
    case endedKey
    case unknownDevice
    /// The client does not speak TLS, or did not begin with `session.open`.
    case notUnderstood
    case tookTooLong
    /// The server had too many connections, or a newer handshake displaced this one.
    case crowdedOut
    case gone
}

/// The reason why the server cannot listen.
public enum AppServerError: Error, Equatable, Sendable {
    /// The path is longer than `sun_path` (unix(7)).
    case pathTooLong(path: String, maximum: Int)
    case alreadyServed(path: String)
    /// The path exists and is not a socket. The file is kept.
    case notASocket(path: String)
    case system(SystemError)
}

extension AppServerError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .pathTooLong(let path, let maximum):
            "the socket's path \(path) is longer than \(maximum) bytes: choose a shorter one"
        case .alreadyServed(let path):
            "another agent is already listening on \(path): stop it first, or choose another socket"
        case .notASocket(let path):
            "\(path) exists and is not a socket: remove it, or choose another path for the socket"
        case .system(let error): "\(error)"
        }
    }
}
