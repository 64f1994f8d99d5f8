import NIOCore
import NIOPosix
import NIOSSL

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
            case let error as ClientError: error
            case let error as IOError: ClientError(connecting: endpoint, errno: error.errnoCode)
            case let error as NIOConnectionError: ClientError(connecting: endpoint, error)
            case let error as NIOSSLError: ClientError(securing: endpoint, error)
            case ChannelError.connectTimeout: .timedOut
            case ChannelError.eof, ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed: .turnedAway(endpoint)
            case is SocketAddressError: .connectFailed(endpoint, errno: ENAMETOOLONG)
            case is CancellationError: .cancelled
            default: .disconnected
            }
    }

    private init(connecting endpoint: Endpoint, errno: Int32) {
        self =
            switch errno {
            case ENOENT, ECONNREFUSED: .unreachable(endpoint)
            case EACCES, EPERM: .notPermitted(endpoint)
            case ECONNRESET, EPIPE: .turnedAway(endpoint)
            case ETIMEDOUT: .timedOut
            case let code: .connectFailed(endpoint, errno: code)
            }
    }

    /// A host has several addresses, of which one may be refused and another one without a route: the former says more.
    private init(connecting endpoint: Endpoint, _ error: NIOConnectionError) {
        let attempts = error.connectionErrors.map { ClientError(connecting: endpoint, $0.error) }
        self = attempts.first { $0 == .unreachable(endpoint) } ?? attempts.first ?? .unresolvable(endpoint)
    }

    /// BoringSSL's reasons have stable names, and no other public form.
    private init(securing endpoint: Endpoint, _ error: NIOSSLError) {
        guard case .handshakeFailed(.sslError(let stack)) = error else {
            self = .turnedAway(endpoint)
            return
        }
        let reasons = stack.flatMap { $0.description.split { $0 == ":" || $0 == " " } }
        // Said by the device, or found here in what the device said: one of the two has another key.
        let signsOfAnotherKey = ["BAD_RECORD_MAC", "DECRYPT_ERROR", "DIGEST_CHECK_FAILED", "UNKNOWN_PSK_IDENTITY"]
        if reasons.contains(where: { signsOfAnotherKey.contains(where: $0.hasSuffix) }) {
            self = .keyRefused(endpoint)
        } else if stack.contains(.eofDuringHandshake) {
            self = .turnedAway(endpoint)
        } else {
            self = .notADevice(endpoint)
        }
    }
}
