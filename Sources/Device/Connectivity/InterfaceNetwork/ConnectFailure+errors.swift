import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension ConnectFailure {
    /// What the kernel says by connect(2) and ip(7), tcp(7).
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
            default: .system(errno: errno)
            }
    }
}
