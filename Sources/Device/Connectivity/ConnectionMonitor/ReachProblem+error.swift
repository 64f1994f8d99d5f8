import AgentModel
import NIOCore
import NIOSSL

extension ReachProblem {
    /// What an attempt or a connection ended with.
    init(_ error: any Error) {
        self =
            switch error {
            case let error as ConnectFailure: error.problem
            case let error as IOError: ConnectFailure(errno: error.errnoCode).problem
            case is UnexpectedAnswer: .unexpectedAnswer
            case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: .tlsFailed
            default: .connectionReset
            }
    }
}
