import AppClient
import AppProtocol
import NIOCore
import NIOPosix
import NIOSSL

/// A client that does no more of a session than it is told to, from any address of this machine.
struct RawClient {
    /// How far it goes.
    enum Manner: Sendable {
        /// TLS 1.2 with the local key, as before there were certificates, and a question.
        case presharedKey(DeviceKey)
        /// It connects, and says nothing.
        case silent
        /// It finishes the handshake of TLS, and says nothing.
        case secured
        /// It finishes the handshake of TLS, and sends a proof of another key.
        case wrongProof
    }

    private let channel: any Channel
    private let firstLine: EventLoopFuture<Void>

    /// - Parameter address: the source, an IPv4 address; nil for whatever the kernel chooses.
    init(
        _ manner: Manner, port: Int, from address: String? = nil, on group: any EventLoopGroup
    ) async throws {
        let loop = group.next()
        let heard = loop.makePromise(of: Void.self)
        firstLine = heard.futureResult
        let context = try manner.configuration.map { try NIOSSLContext(configuration: $0) }
        var bootstrap = ClientBootstrap(group: loop).connectTimeout(.seconds(10)).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                if let context {
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: nil) { _, verdict in
                        verdict.succeed(.certificateVerified)
                    }
                    try channel.pipeline.syncOperations.addHandler(tls)
                }
                try channel.pipeline.syncOperations.addHandler(FirstLine(heard, manner))
            }
        }
        if let address { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: address, port: 0)) }
        do { channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get() } catch {
            heard.fail(error)
            throw error
        }
    }

    /// Waits for the first line from the other side.
    func answer() async throws { try await firstLine.get() }

    func close() async { try? await channel.close().get() }
}

extension RawClient.Manner {
    fileprivate var configuration: TLSConfiguration? {
        switch self {
        case .silent: return nil
        case .secured, .wrongProof:
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.certificateVerification = .noHostnameVerification
            configuration.applicationProtocols = ["altnet"]
            return configuration
        case .presharedKey(let device):
            var configuration = TLSConfiguration.makePreSharedKeyConfiguration()
            (configuration.minimumTLSVersion, configuration.maximumTLSVersion) = (.tlsv12, .tlsv12)
            configuration.cipherSuites = "ECDHE-PSK-CHACHA20-POLY1305"
            configuration.pskClientProvider = { _ in
                PSKClientIdentityResponse(
                    key: device.localKey.withBytes { NIOSSLSecureBytes(Array($0)) }, identity: device.deviceId)
            }
            return configuration
        }
    }

    /// What it says: first, or once it is greeted.
    fileprivate var line: String? {
        switch self {
        case .presharedKey: #"{"v":1,"id":"1","type":"network.get"}"# + "\n"
        case .silent, .secured: nil
        case .wrongProof:
            #"{"v":1,"id":"1","type":"session.open","body":{"deviceId":"bench","#
                + #""nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","#
                + #""proof":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}}"# + "\n"
        }
    }
}

/// Tells when the first bytes came.
private final class FirstLine: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let heard: EventLoopPromise<Void>
    private let manner: RawClient.Manner
    private var wasGreeted = false

    init(_ heard: EventLoopPromise<Void>, _ manner: RawClient.Manner) {
        (self.heard, self.manner) = (heard, manner)
    }

    func channelActive(context: ChannelHandlerContext) {
        if case .presharedKey = manner { speak(context) }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .wrongProof = manner, !wasGreeted { speak(context) }
        wasGreeted = true
        heard.succeed()
    }

    func channelInactive(context: ChannelHandlerContext) {
        heard.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        heard.fail(error)
        context.close(promise: nil)
    }

    private func speak(_ context: ChannelHandlerContext) {
        guard let line = manner.line else { return }
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(string: line)), promise: nil)
    }
}
