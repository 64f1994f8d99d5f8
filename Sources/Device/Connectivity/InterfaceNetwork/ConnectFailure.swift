import AgentModel
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reason why a connection was not made.
public enum ConnectFailure: Error, Sendable, Equatable {
    case name(NameFailure)
    /// The other side refuses: no program listens there (RST).
    case refused
    /// The other side reset the connection.
    case reset
    /// The host is unreachable by ICMP, or its neighbour does not answer.
    case unreachable
    case timedOut
    /// The routing table has no route.
    case noRoute
    /// The address belongs to this machine. Connections through an interface to it are not allowed.
    case ownAddress
    /// There is no source address, or the interface is gone.
    case noAddress
    /// The kernel denies the connection, because of a firewall or the binding to the interface.
    case notPermitted
    /// The caller's setup closure has thrown an error.
    case setUp(String)
    /// The kernel reported any other errno.
    case system(SystemError)
    case cancelled
}

extension ConnectFailure {
    public var problem: ReachProblem {
        switch self {
        case .name(let failure): failure.problem
        case .refused: .connectionRefused
        case .reset: .connectionReset
        case .unreachable, .ownAddress, .notPermitted, .system: .unreachable
        case .timedOut, .cancelled: .timedOut
        case .noRoute: .noRoute
        case .noAddress: .noAddress
        case .setUp: .tlsFailed
        }
    }

    /// Amount of information about the path, 0 to 8. For example, a refusal shows that the host was reached.
    var weight: Int {
        switch self {
        case .setUp, .cancelled: 8
        case .refused: 7
        case .reset: 6
        case .unreachable: 5
        case .timedOut: 4
        case .notPermitted, .ownAddress: 3
        case .system: 2
        case .noRoute, .noAddress: 1
        case .name: 0
        }
    }
}

extension ConnectFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .name(let failure): failure.description
        case .refused: "connection refused"
        case .reset: "connection reset"
        case .unreachable: "unreachable"
        case .timedOut: "no answer in time"
        case .noRoute: "no route"
        case .ownAddress: "this device's own address"
        case .noAddress: "no address to send from"
        case .notPermitted: "not permitted"
        case .setUp(let reason): reason
        case .system(let error): "\(error)"
        case .cancelled: "cancelled"
        }
    }
}

extension ConnectFailure {
    /// Converts the errors of connect(2), ip(7) and tcp(7) to failures.
    init(_ error: any Error) {
        switch error {
        case let failure as ConnectFailure: self = failure
        case let error as IOError: self.init(errno: error.errnoCode)
        // The channel was closed locally at the time limit.
        case is ChannelError: self = .timedOut
        default: self = .reset
        }
    }

    public init(errno: CInt) {
        self =
            switch errno {
            case ECONNREFUSED: .refused
            case ECONNRESET, ECONNABORTED, EPIPE: .reset
            case ETIMEDOUT: .timedOut
            case EHOSTUNREACH, EHOSTDOWN, ENOPROTOOPT, EPROTO: .unreachable
            case ENETUNREACH, ENETDOWN: .noRoute
            case EADDRNOTAVAIL, ENODEV: .noAddress
            case EPERM, EACCES: .notPermitted
            default: .system(SystemError("connect", errno: errno))
            }
    }
}

/// Reason why a name has no address.
public enum NameFailure: Error, Sendable, Equatable {
    /// The name is neither an address nor a host name; no query was sent.
    case invalid
    /// The network has announced no name server.
    case noServers
    case silent
    /// The name does not exist (NXDOMAIN).
    case unknownName
    /// The name exists without an address.
    case noAddress
    /// Response code of the servers (RFC 1035, 4.1.1), such as 2 (server failure) or 5 (refused).
    case failed(code: UInt8)
    case malformed
    /// Sending a query failed.
    case unsent(ReachProblem)
    case cancelled
}

extension NameFailure {
    public var problem: ReachProblem {
        switch self {
        case .noServers: .noNameServer
        case .silent, .cancelled: .nameServerSilent
        case .invalid, .unknownName, .noAddress: .nameUnknown
        case .failed, .malformed: .nameServerFailed
        case .unsent(let problem): problem
        }
    }
}

extension NameFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .invalid: "not a host name"
        case .noServers: "the network has no name server"
        case .silent: "no name server answers"
        case .unknownName: "no such name"
        case .noAddress: "the name has no address"
        case .failed(let code): "the name server failed with error \(code)"
        case .malformed: "the name server sent a malformed answer"
        case .unsent(let problem): "no name server can be reached: \(problem.rawValue)"
        case .cancelled: "cancelled"
        }
    }
}
