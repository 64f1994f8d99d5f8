import AppProtocol
import NIOCore
import NIOSSL
import NIOTLS

extension DeviceKey {
    /// TLS 1.2 with the local key as pre-shared key (RFC 7905, clause 2): either side proves that it has the key, and
    /// what is said stays secret even if the key gets lost later.
    func tlsHandler() throws -> NIOSSLClientHandler {
        var configuration = TLSConfiguration.makePreSharedKeyConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.maximumTLSVersion = .tlsv12
        configuration.cipherSuites = "ECDHE-PSK-CHACHA20-POLY1305"
        configuration.shutdownTimeout = .seconds(1)
        configuration.pskClientProvider = { [self] _ in
            var key = NIOSSLSecureBytes()
            localKey.withBytes { key.append(contentsOf: $0) }
            return PSKClientIdentityResponse(key: key, identity: deviceId)
        }
        // A name in the handshake would only tell others what the device is called.
        return try NIOSSLClientHandler(context: NIOSSLContext(configuration: configuration), serverHostname: nil)
    }
}

/// Waits for the end of the handshake, and is gone after it.
final class HandshakeObserver: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let completed: EventLoopPromise<Void>

    init(_ completed: EventLoopPromise<Void>) { self.completed = completed }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            completed.succeed()
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        completed.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        completed.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    /// After the end of the handshake this changes nothing any more.
    func handlerRemoved(context: ChannelHandlerContext) { completed.fail(ChannelError.eof) }
}
