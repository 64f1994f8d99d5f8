import AgentModel
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Why there is no connection.
public enum ConnectFailure: Error, Sendable, Equatable {
    /// The host's addresses are not known.
    case name(NameFailure)
    /// No program listens there (RST).
    case refused
    /// The other side broke off while the connection was being made.
    case reset
    /// A router, or the neighbours' silence, says that there is no way there.
    case unreachable
    /// No answer in time.
    case timedOut
    /// The routing table knows no way there.
    case noRoute
    /// It is this machine's own address, and the way is to be that of an interface.
    case ownAddress
    /// There is no address to send from, or the interface has gone.
    case noAddress
    /// The kernel does not let us: a firewall, or a socket that may not be bound to the interface.
    case notPermitted
    /// The channel could not be set up; this is what the caller's closure threw.
    case setUp(String)
    /// Anything else that the kernel says (errno.h).
    case system(SystemError)
    /// The task was cancelled.
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

    /// How specific it is about the path: a host that refuses has been reached.
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
    /// The errors of connect(2), ip(7) and tcp(7).
    init(_ error: any Error) {
        switch error {
        case let failure as ConnectFailure: self = failure
        case let error as IOError: self.init(errno: error.errnoCode)
        // Closed on this side, because the time was over.
        case is ChannelError: self = .timedOut
        default: self = .reset
        }
    }

    /// - Parameter errno: of errno.h.
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

/// Why a host's addresses are not known.
public enum NameFailure: Error, Sendable, Equatable {
    /// The text is neither an address nor a host's name; no server was asked.
    case invalid
    /// The network names no name server, or has not yet.
    case noServers
    /// No name server answered in time.
    case silent
    /// There is no such name (NXDOMAIN).
    case unknownName
    /// There is such a name, but no address belongs to it.
    case noAddress
    /// The name servers answered with this code (RFC 1035, 4.1.1), such as 2 for their own failure and 5 for a refusal.
    case failed(code: UInt8)
    /// The name servers' answers cannot be read.
    case malformed
    /// No name server could even be asked.
    case unsent(ReachProblem)
    /// The task was cancelled.
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
        case .invalid: "that is no name of a host"
        case .noServers: "the network names no name server"
        case .silent: "no name server answers"
        case .unknownName: "there is no such name"
        case .noAddress: "no address belongs to the name"
        case .failed(let code): "the name server answers with error \(code)"
        case .malformed: "what the name server answers is no answer"
        case .unsent(let problem): "no name server can be asked (\(problem.rawValue))"
        case .cancelled: "cancelled"
        }
    }
}
