import AgentModel
import AppClient
import AppProtocol
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// How a connection over the network begins.
enum Handshake: Sendable {
    /// Not at all: what is sent is plain text.
    case plain
    /// TLS with a pre-shared key.
    case key(identity: String, key: Secret, ciphers: String = Self.cipher)
    /// TLS as browsers speak it, with a certificate that the device does not have.
    /// - newestOnly: in TLS 1.3 or not at all.
    case certificate(newestOnly: Bool)

    /// The one cipher suite of the protocol, in OpenSSL's spelling.
    static let cipher = "ECDHE-PSK-CHACHA20-POLY1305"

    static func owner(_ device: DeviceKey) -> Handshake { .key(identity: device.deviceId, key: device.localKey) }

    fileprivate var configuration: TLSConfiguration? {
        var configuration = TLSConfiguration.makeClientConfiguration()
        // A device without a certificate is what is expected; the pre-shared key is its proof.
        configuration.certificateVerification = .none
        switch self {
        case .plain: return nil
        case .certificate(let newestOnly):
            if newestOnly { configuration.minimumTLSVersion = .tlsv13 }
        case .key(let identity, let key, let ciphers):
            configuration = .makePreSharedKeyConfiguration()
            configuration.minimumTLSVersion = .tlsv12
            configuration.maximumTLSVersion = .tlsv12
            configuration.cipherSuites = ciphers
            configuration.pskClientProvider = { _ in
                PSKClientIdentityResponse(
                    key: key.withBytes { NIOSSLSecureBytes(Array($0)) }, identity: identity)
            }
        }
        // How long a device is waited for that does not say goodbye.
        configuration.shutdownTimeout = .milliseconds(200)
        return configuration
    }
}

/// Why there is no connection.
enum ConnectFailure: Error {
    case unreachable(String)
    /// The other side broke off before the connection was secure.
    case handshake
}

extension Wire {
    /// One thread is enough for every connection of the harness.
    private static let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// - Parameter handshake: of a connection over the network; nil for the owner's.
    static func open(
        _ endpoint: Endpoint, _ transcript: Transcript, handshake: Handshake? = nil, patience: Duration
    ) async throws(ConnectFailure) -> Wire {
        let tls: NIOSSLContext?
        do {
            tls = try (handshake ?? endpoint.handshake).configuration.map { try NIOSSLContext(configuration: $0) }
        } catch {
            throw .unreachable("TLS cannot be used here: \(error)")
        }
        let loop = eventLoops.next()
        let mailbox = Mailbox()
        let secured = loop.makePromise(of: Void.self)
        let channel: any Channel
        do {
            channel = try await connect(to: endpoint, on: loop, within: patience) { channel in
                prepare(channel, tls, secured, mailbox)
            }.get()
        } catch {
            secured.fail(error)
            throw .unreachable("\(endpoint): \(error)")
        }
        let timer = loop.scheduleTask(in: TimeAmount(patience)) {
            secured.fail(ChannelError.connectTimeout(TimeAmount(patience)))
        }
        defer { timer.cancel() }
        do {
            try await secured.futureResult.get()
        } catch {
            try? await channel.close().get()
            transcript.note("the handshake failed: \(error)")
            throw .handshake
        }
        return Wire(channel, mailbox, transcript, patience: patience)
    }

    private static func connect(
        to endpoint: Endpoint, on loop: any EventLoop, within limit: Duration,
        _ prepare: @escaping @Sendable (any Channel) -> Void
    ) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(limit))
            .channelOption(.allowRemoteHalfClosure, value: true)
        switch endpoint {
        case .unixSocket(let path):
            return bootstrap.channelInitializer { channel in channel.eventLoop.makeCompletedFuture { prepare(channel) }
            }
            .connect(unixDomainSocketPath: path)
        case .network(let host, let port, _):
            // Reads nothing yet: of the addresses of one host several may be tried at once, and only the winner is set
            // up.
            return bootstrap.channelOption(.autoRead, value: false).connect(host: host, port: port).flatMap { channel in
                prepare(channel)
                return channel.setOption(.autoRead, value: true).map { channel }
            }
        }
    }

    private static func prepare(
        _ channel: any Channel, _ tls: NIOSSLContext?, _ secured: EventLoopPromise<Void>, _ mailbox: Mailbox
    ) {
        do {
            let pipeline = channel.pipeline.syncOperations
            if let tls {
                try pipeline.addHandler(try NIOSSLClientHandler(context: tls, serverHostname: nil))
                try pipeline.addHandler(HandshakeWatch(secured))
            } else {
                secured.succeed()
            }
            try pipeline.addHandler(MailboxHandler(mailbox))
        } catch {
            // The other side may have closed the connection by now.
            mailbox.close()
            secured.fail(error)
        }
    }
}

extension Endpoint {
    fileprivate var handshake: Handshake {
        switch self {
        case .unixSocket: .plain
        case .network(_, _, let device): .owner(device)
        }
    }
}

/// Tells how the handshake ended.
private final class HandshakeWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let secured: EventLoopPromise<Void>

    init(_ secured: EventLoopPromise<Void>) { self.secured = secured }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { secured.succeed() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        secured.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        secured.fail(error)
        context.fireErrorCaught(error)
    }
}
