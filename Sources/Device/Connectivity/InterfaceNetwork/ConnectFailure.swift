import AgentModel

/// Why there is no connection.
public enum ConnectFailure: Error, Sendable, Equatable {
    /// The host's addresses are not known.
    case name(NameFailure)
    /// Nobody listens there (RST).
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
    case system(errno: CInt)
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

    /// How much it says about the way there: whoever refuses has been reached.
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
        case .system(let errno): "error \(errno)"
        case .cancelled: "cancelled"
        }
    }
}
