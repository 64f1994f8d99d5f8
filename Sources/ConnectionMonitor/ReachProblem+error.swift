import AgentModel
import InterfaceNetwork
import NIOCore
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension ReachProblem {
    /// What an attempt or a connection ended with.
    init(_ error: any Error) {
        self =
            switch error {
            case let error as ConnectFailure: error.problem
            case let error as IOError: ReachProblem(errno: error.errnoCode)
            case is UnexpectedAnswer: .unexpectedAnswer
            case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: .tlsFailed
            default: .connectionReset
            }
    }

    private init(errno: Int32) {
        self =
            switch errno {
            case ECONNREFUSED: .connectionRefused
            case ETIMEDOUT: .timedOut
            case EHOSTUNREACH, ENETUNREACH, EACCES, EPERM: .unreachable
            default: .connectionReset
            }
    }
}
