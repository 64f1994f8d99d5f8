import AgentModel

extension ReachProblem {
    /// Why something was not reached, in a few words for a person: `connection refused`.
    public var words: String {
        switch self {
        case .noAddress: "no address"
        case .noRoute: "no route"
        case .gatewaySilent: "the gateway does not answer"
        case .noNameServer: "the network names no name server"
        case .nameServerSilent: "no name server answers"
        case .nameUnknown: "there is no such name"
        case .nameServerFailed: "the name server fails"
        case .connectionRefused: "connection refused"
        case .connectionReset: "connection broken off"
        case .unreachable: "no way there"
        case .timedOut: "no answer in time"
        case .tlsFailed: "TLS failed"
        case .unexpectedAnswer: "unexpected answer"
        case .captive: "somebody has to sign in"
        }
    }
}
