import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension ClientError {
    init(connecting endpoint: Endpoint, _ error: any Error) {
        self =
            switch error {
            case let error as IOError:
                switch error.errnoCode {
                case ENOENT, ECONNREFUSED: .unreachable(endpoint)
                case EACCES, EPERM: .notPermitted(endpoint)
                case let code: .connectFailed(endpoint, errno: code)
                }
            case ChannelError.connectTimeout: .timedOut
            case is SocketAddressError: .connectFailed(endpoint, errno: ENAMETOOLONG)
            case is CancellationError: .cancelled
            default: .disconnected
            }
    }
}
