import AgentModel

/// Why there was no answer.
public enum WebFailure: Error, Equatable {
    /// No connection came about.
    case notReached(ReachProblem)
    /// The answer was not complete in time.
    case timedOut
    /// The other side is not who it should be, or does not speak TLS.
    case tlsFailed
    /// The certificates to trust cannot be read.
    case noAuthorities
    /// The connection ended before the answer did.
    case closedEarly
    /// What came is no HTTP/1 answer.
    case notHTTP
    /// More than the limits allow.
    case tooLarge(Part)
    /// The body is compressed or otherwise wrapped, though that was not asked for.
    case encoded
    /// Whoever asked does not want to know any more.
    case cancelled

    public enum Part: Sendable, CaseIterable {
        case header, body, interimAnswers
    }

    public var problem: ReachProblem {
        switch self {
        case .notReached(let problem): problem
        case .timedOut, .cancelled: .timedOut
        case .tlsFailed, .noAuthorities: .tlsFailed
        case .closedEarly: .connectionReset
        case .notHTTP, .tooLarge, .encoded: .unexpectedAnswer
        }
    }
}

extension WebFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notReached(let problem): "there is no connection (\(problem))"
        case .timedOut: "there was no answer in time"
        case .tlsFailed: "the other side is not who it should be, or does not speak TLS"
        case .noAuthorities: "the certificates to trust cannot be read"
        case .closedEarly: "the connection ended before the answer did"
        case .notHTTP: "what came is no HTTP answer"
        case .tooLarge(.header): "the answer's header is too large"
        case .tooLarge(.body): "the answer's body is too large"
        case .tooLarge(.interimAnswers): "there were too many interim answers"
        case .encoded: "the answer is compressed, which was not asked for"
        case .cancelled: "nobody waits for the answer any more"
        }
    }
}
