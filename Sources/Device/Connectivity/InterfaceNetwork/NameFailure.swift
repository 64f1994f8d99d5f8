import AgentModel

/// Why a host's addresses are not known.
public enum NameFailure: Error, Sendable, Equatable {
    /// That is neither an address nor a host's name; nobody was asked.
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
    /// What the name servers answered is no answer.
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
