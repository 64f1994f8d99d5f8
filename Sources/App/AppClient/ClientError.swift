import AppProtocol
import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Error of a call to the device.
public enum ClientError: Error, Sendable, Equatable {
    /// No program listens at the endpoint.
    case unreachable(Endpoint)
    case notPermitted(Endpoint)
    case connectFailed(Endpoint, errno: Int32)
    case unresolvable(Endpoint)
    /// There is no address to try.
    case notFound
    /// The device has no such key. It was paired again since, or it is another device.
    case keyRefused(Endpoint)
    /// The device's certificate is not the one in the pairing code: the device was reset, or this is another host. The
    /// app has sent no data. Pair the device again.
    case certificateChanged(Endpoint)
    /// The other side accepted the key but did not prove that it has the key.
    case notTheDevice(Endpoint)
    /// The program at the endpoint does not speak the protocol over TLS.
    case notADevice(Endpoint)
    /// The connection ended before the session was open.
    case turnedAway(Endpoint)
    case timedOut
    /// The connection ended before the answer arrived.
    case disconnected
    case refused(ProtocolError)
    /// The device's answer is malformed.
    case notUnderstood(ProtocolError)
    /// The result of a command is unknown because the device did not answer. With a `switchId`, ask the device later.
    case outcomeUnknown(switchId: String?)
    /// The switch has ended, and the device is not on the new network.
    case notSwitched(SwitchStatus)
    /// The phone did not join the setup access point. The value is the phone's error.
    case accessPointNotJoined(String)
    case cancelled
}

extension ClientError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(.unixSocket(let path)): "no agent answers at \(path): is altnet.service running?"
        case .notPermitted(.unixSocket(let path)):
            "no permission to use \(path): run as root or as a member of the socket's group"
        case .unreachable(.network(let host, let port, _)): "no device answers at \(host), port \(port)"
        case .notPermitted(.network(let host, let port, _)):
            "this system does not allow to connect to \(host), port \(port)"
        case .connectFailed(let endpoint, let errno):
            "could not connect to \(endpoint): \(String(cString: strerror(errno)))"
        case .unresolvable(let endpoint):
            "no address was found for \(endpoint): is the name right, and is the device in this network?"
        case .notFound: "the device was not found: is it in this network?"
        case .keyRefused(let endpoint):
            "the key does not fit \(endpoint): is it the right device id, and has it been paired anew since?"
        case .certificateChanged(let endpoint):
            "\(endpoint) shows another certificate than its pairing code says: if the device was reset, pair it anew; "
                + "else another host is in its place"
        case .notTheDevice(let endpoint): "what answers has not proved to be \(endpoint): it may be another host"
        case .notADevice(let endpoint): "no altnet device: \(endpoint): check the port"
        case .turnedAway(let endpoint):
            "the connection was closed before it was secured, by \(endpoint): it may be busy, so try again shortly"
        case .timedOut: "the agent did not answer in time"
        case .disconnected: "the connection to the agent was lost: was it stopped?"
        case .refused(let error): error.message
        case .notUnderstood(let error): "the agent's answer was not understood: \(error.message)"
        case .outcomeUnknown(let switchId):
            "the device could not be asked how the switch\(switchId.map { " \($0)" } ?? "") has ended: see where it is"
        case .notSwitched(let status):
            status.text ?? "the device is not on the new network: \(status.reason?.rawValue ?? status.phase.rawValue)"
        case .accessPointNotJoined(let reason): "the phone has not joined the device's own network: \(reason)"
        case .cancelled: "cancelled"
        }
    }
}

extension ClientError {
    init(connecting endpoint: Endpoint, _ error: any Error) {
        self =
            switch error {
            case let error as ClientError: error
            case let error as IOError: ClientError(connecting: endpoint, errno: error.errnoCode)
            case let error as NIOConnectionError: ClientError(connecting: endpoint, error)
            case let error as NIOSSLError: ClientError(securing: endpoint, error)
            case OpeningFault.otherCertificate: .certificateChanged(endpoint)
            case OpeningFault.notTheDevice: .notTheDevice(endpoint)
            case let error as ProtocolError: ClientError(opening: endpoint, error)
            case ChannelError.connectTimeout: .timedOut
            case ChannelError.eof, ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed: .turnedAway(endpoint)
            case is SocketAddressError: .connectFailed(endpoint, errno: ENAMETOOLONG)
            case is CancellationError: .cancelled
            default: .disconnected
            }
    }

    private init(connecting endpoint: Endpoint, errno: Int32) {
        self =
            switch errno {
            case ENOENT, ECONNREFUSED: .unreachable(endpoint)
            case EACCES, EPERM: .notPermitted(endpoint)
            case ECONNRESET, EPIPE: .turnedAway(endpoint)
            case ETIMEDOUT: .timedOut
            case let code: .connectFailed(endpoint, errno: code)
            }
    }

    /// Prefers "unreachable" among the errors of a host's addresses: it says more than a missing route.
    private init(connecting endpoint: Endpoint, _ error: NIOConnectionError) {
        let attempts = error.connectionErrors.map { ClientError(connecting: endpoint, $0.error) }
        self = attempts.first { $0 == .unreachable(endpoint) } ?? attempts.first ?? .unresolvable(endpoint)
    }

    /// Converts an error that the device sends instead of opening the session.
    private init(opening endpoint: Endpoint, _ error: ProtocolError) {
        self =
            switch error.code {
            case .keyRefused: .keyRefused(endpoint)
            case .malformed, .unsupportedVersion, .internalError: .notADevice(endpoint)
            default: .refused(error)
            }
    }

    private init(securing endpoint: Endpoint, _ error: NIOSSLError) {
        guard case .handshakeFailed(.sslError(let stack)) = error else {
            self = .turnedAway(endpoint)
            return
        }
        if stack.contains(.eofDuringHandshake) {
            self = .turnedAway(endpoint)
        } else {
            self = .notADevice(endpoint)
        }
    }
}
