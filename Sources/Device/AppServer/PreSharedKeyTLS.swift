import AgentModel
import AppProtocol
import NIOCore
import NIOSSL

/// TLS 1.2 for those who have the device's key: ECDHE for forward secrecy, the key to prove each side to the other
/// (RFC 5489, RFC 7905), no certificates.
///
/// Confined to one event loop.
final class PreSharedKeyTLS {
    private let context: NIOSSLContext
    private let observed: NIOLoopBoundBox<IdentityObserver?>

    init(_ device: DeviceKey, on eventLoop: any EventLoop) throws {
        let observed = NIOLoopBoundBox<IdentityObserver?>(nil, eventLoop: eventLoop)
        // Whoever does not know the id gets as far as one with a wrong key does, and cannot tell the difference.
        var random = SystemRandomNumberGenerator()
        let decoy = Secret((0..<device.localKey.count).map { _ in UInt8.random(in: 0...255, using: &random) })
        var configuration = TLSConfiguration.makePreSharedKeyConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.maximumTLSVersion = .tlsv12
        configuration.cipherSuites = "ECDHE-PSK-CHACHA20-POLY1305"
        configuration.curves = [.x25519, .secp256r1]
        // How long a client is waited for that does not say goodbye when the server does.
        configuration.shutdownTimeout = .seconds(1)
        configuration.pskServerProvider = { client in
            let isOurs = client.clientIdentity == device.deviceId
            observed.value?.identity = isOurs ? .ours : .unknown
            // Made for each handshake, and wiped after it: the key rests in the memory of `Secret` only.
            return PSKServerIdentityResponse(key: NIOSSLSecureBytes(isOurs ? device.localKey : decoy))
        }
        context = try NIOSSLContext(configuration: configuration)
        self.observed = observed
    }

    /// The handlers of one connection, in their order from the network.
    func handlers() -> (observer: IdentityObserver, tls: NIOSSLServerHandler) {
        (IdentityObserver(observed), NIOSSLServerHandler(context: context))
    }
}

/// Stands before TLS and learns which identity came over this connection: TLS asks for the key of an identity without
/// saying for whom.
final class IdentityObserver: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    enum Identity {
        case ours, unknown
    }

    fileprivate(set) var identity: Identity?
    private let observed: NIOLoopBoundBox<IdentityObserver?>

    fileprivate init(_ observed: NIOLoopBoundBox<IdentityObserver?>) { self.observed = observed }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        observed.value = self
        defer { observed.value = nil }
        context.fireChannelRead(data)
    }
}

extension NIOSSLSecureBytes {
    fileprivate init(_ secret: Secret) {
        var bytes = secret.withBytes { Array($0) }
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        self.init(bytes)
    }
}
