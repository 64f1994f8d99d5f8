import AppProtocol

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// An error of a call to the device.
public enum ClientError: Error, Sendable, Equatable {
    /// The endpoint does not exist, or refuses connections.
    case unreachable(Endpoint)
    case notPermitted(Endpoint)
    case connectFailed(Endpoint, errno: Int32)
    case unresolvable(Endpoint)
    /// The app has no address to try.
    case notFound
    /// The device does not know this key. Either it was paired again, or it is another device.
    case keyRefused(Endpoint)
    /// The device's certificate differs from the one in the pairing code: the device was reset, or this is another
    /// host. The app has sent no data. Pair the device again.
    case certificateChanged(Endpoint)
    /// The other side accepted the key, but did not prove that it has the key too.
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
    /// The device did not answer, so the result of a command is unknown. With a `switchId`, ask the device later.
    case outcomeUnknown(switchId: String?)
    /// The switch has ended, and the device is not on the new network.
    case notSwitched(SwitchStatus)
    /// The phone did not join the setup access point. The value describes the phone's error.
    case accessPointNotJoined(String)
    case cancelled
}

extension ClientError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(.unixSocket(let path)): "no agent answers at \(path): is altnet.service running?"
        case .notPermitted(.unixSocket(let path)):
            "no permission to use \(path): run as root or as a member of the socket's group"
        case .unreachable(.network(let host, let port, _)):
            "no device answers, check that it is on and in this network: \(host), port \(port)"
        case .notPermitted(.network(let host, let port, _)):
            "this system blocks the connection, check its firewall and permissions: \(host), port \(port)"
        case .unreachable(let endpoint): "no device answers, check that it is on and at the broker: \(endpoint)"
        case .notPermitted(let endpoint): "no permission to start altnet-mqtt: \(endpoint)"
        case .connectFailed(.broker, errno: ENOENT): "altnet-mqtt is not installed: apt install altnet-fleet"
        case .connectFailed(.broker, errno: EINVAL):
            "the broker's address must not contain a user or password: pass the user separately, the password in a file"
        case .connectFailed(let endpoint, let errno):
            "could not connect to \(endpoint): \(String(cString: strerror(errno)))"
        case .unresolvable(let endpoint):
            "no address found, check the name and that the device is in this network: \(endpoint)"
        case .notFound: "the device was not found: check that it is on and in this network"
        case .keyRefused(let endpoint):
            "the key does not fit the device, check the device id or pair again: \(endpoint)"
        case .certificateChanged(let endpoint):
            "the certificate differs from the pairing code, pair again only if the device was reset, else it may be "
                + "another host: \(endpoint)"
        case .notTheDevice(let endpoint):
            "the host did not prove that it is the device, it may be another host: \(endpoint)"
        case .notADevice(let endpoint): "not an altnet device, check the port: \(endpoint)"
        case .turnedAway(.broker(let route, let device)):
            "no answer through the broker, check its address and secrets and that the device is on: "
                + "\(device.deviceId) at \(route.shown)"
        case .turnedAway(let endpoint):
            "the device closed the connection, it may be busy, try again later: \(endpoint)"
        case .timedOut: "the agent did not answer in time: try again"
        case .disconnected: "the connection to the agent was lost: check that it is running"
        case .refused(let error): error.message
        case .notUnderstood(let error):
            "invalid answer from the agent, check that both have the same version: \(error.message)"
        case .outcomeUnknown(let switchId):
            "the outcome of the switch\(switchId.map { " \($0)" } ?? "") is unknown: check where the device is"
        case .notSwitched(let status):
            status.text ?? "the device is not on the new network: \(status.reason?.rawValue ?? status.phase.rawValue)"
        case .accessPointNotJoined(let reason): "the phone could not join the setup access point: \(reason)"
        case .cancelled: "cancelled"
        }
    }
}

extension ClientError {
    init(connecting endpoint: Endpoint, errno: Int32) {
        self =
            switch errno {
            case ENOENT where endpoint.device != nil: .connectFailed(endpoint, errno: errno)
            case ENOENT, ECONNREFUSED: .unreachable(endpoint)
            case EACCES, EPERM: .notPermitted(endpoint)
            case ECONNRESET, EPIPE: .turnedAway(endpoint)
            case ETIMEDOUT: .timedOut
            case let code: .connectFailed(endpoint, errno: code)
            }
    }

    /// Converts an error that the device sends instead of opening the session.
    init(opening endpoint: Endpoint, _ error: ProtocolError) {
        self =
            switch error.code {
            case .keyRefused: .keyRefused(endpoint)
            case .malformed, .unsupportedVersion, .internalError: .notADevice(endpoint)
            default: .refused(error)
            }
    }
}
