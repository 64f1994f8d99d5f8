import AgentModel

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension AppServer {
    /// Events of connections, for the log.
    ///
    /// Notices that any host in the network can cause are limited: ten at once, and then one every ten seconds.
    public enum Notice: Sendable, Equatable {
        case opened(Peer)
        /// It was told why, and closed.
        case refused(Peer, Refusal)
        /// The server closed it.
        case dropped(Peer, Reason)
        /// A connection from the network did not get through its handshake.
        case turnedAway(TurnedAway)
    }

    public enum Refusal: Sendable, Hashable {
        case tooManyConnections
        /// Its user is neither in the group nor in that of the readers.
        case notPermitted
    }

    public enum Reason: Sendable, Hashable {
        /// No request for as long as allowed.
        case idle
        /// It did not read what it had asked for.
        case notReading
        /// The device does not have the address any more that it was connected to.
        case addressGone
        /// Its key was revoked, or has expired.
        case keyEnded
    }

    public struct TurnedAway: Sendable, Equatable {
        public let address: String
        public let failure: HandshakeFailure
        /// How many wrong keys came from its address in a row, and how long the next handshake from there waits for it.
        public let wrongKeys: Int
        public let delay: Duration
        /// How many others were turned away since the last notice.
        public let untold: Int

        public init(address: String, failure: HandshakeFailure, wrongKeys: Int, delay: Duration, untold: Int) {
            self.address = address
            self.failure = failure
            self.wrongKeys = wrongKeys
            self.delay = delay
            self.untold = untold
        }
    }
}

/// Why a connection from the network did not get through its handshake.
public enum HandshakeFailure: Sendable, Hashable {
    /// It has another key, or one of a name that the device does not know.
    case wrongKey
    /// Its key was revoked, or has expired.
    case endedKey
    /// It asked for another device.
    case unknownDevice
    /// It does not speak TLS, or did not begin with `session.open`.
    case notUnderstood
    case tookTooLong
    /// There was no room for it, or it was the slowest when another came.
    case crowdedOut
    /// The client left.
    case gone
}

/// Why the server does not listen.
public enum AppServerError: Error, Equatable, Sendable {
    /// The path of a Unix socket has a fixed length in the kernel (unix(7)).
    case pathTooLong(path: String, maximum: Int)
    /// Another process answers on this socket.
    case alreadyServed(path: String)
    /// Something that is no socket is in the way, and is not removed.
    case notASocket(path: String)
    case system(SystemError)
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
        case .system(let error): "\(error)"
        }
    }
}
