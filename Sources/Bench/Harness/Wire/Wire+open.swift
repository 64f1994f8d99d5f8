import AgentModel
import AppClient
import AppProtocol
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// Start of a connection.
enum Handshake: Sendable {
    /// Plain text, without a handshake.
    case plain
    /// TLS without a session: the client has not proved a key.
    case secured(TLSVersion = .tlsv13)
    /// TLS, and a session with this key and, if given, this fault.
    case opened(DeviceKey, TLSVersion = .tlsv13, SessionFault? = nil)
    /// TLS 1.2 with a pre-shared key, for apps of earlier versions.
    case presharedKey(DeviceKey)

    fileprivate var configuration: TLSConfiguration? {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        configuration.applicationProtocols = ["altnet"]
        switch self {
        case .plain: return nil
        case .secured(let version), .opened(_, let version, _):
            (configuration.minimumTLSVersion, configuration.maximumTLSVersion) = (version, version)
        case .presharedKey(let device):
            configuration = .makePreSharedKeyConfiguration()
            (configuration.minimumTLSVersion, configuration.maximumTLSVersion) = (.tlsv12, .tlsv12)
            configuration.cipherSuites = "ECDHE-PSK-CHACHA20-POLY1305"
            configuration.pskClientProvider = { _ in
                PSKClientIdentityResponse(
                    key: device.localKey.withBytes { NIOSSLSecureBytes(Array($0)) }, identity: device.deviceId)
            }
        }
        // Wait this long for the end of the device's TLS connection (close_notify).
        configuration.shutdownTimeout = .milliseconds(200)
        return configuration
    }
}

enum SessionFault: Sendable {
    /// Proves the key for another certificate, like the client of a man in the middle.
    case otherCertificate
    /// Sends a proof from another connection.
    case replayed(SessionRequest)
}

enum WireConnectFailure: Error {
    case unreachable(String)
    /// The device closed the connection before it was secure.
    case handshake
    /// The device refused the session.
    case refused(ProtocolError)
}

extension Wire {
    private static let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// Opens a connection.
    /// - Parameter handshake: start of the connection; nil for that of the owner's app.
    static func open(
        _ endpoint: Endpoint, _ transcript: Transcript, handshake: Handshake? = nil, patience: Duration
    ) async throws(WireConnectFailure) -> Wire {
        let handshake = handshake ?? endpoint.handshake
        let tls: NIOSSLContext?
        do {
            tls = try handshake.configuration.map { try NIOSSLContext(configuration: $0) }
        } catch {
            throw .unreachable("TLS cannot be used here: \(error)")
        }
        // A device takes one new tunnel a second, and ignores others.
        if endpoint.isBroker { await pause(.milliseconds(1100)) }
        let loop = eventLoops.next()
        let mailbox = Mailbox()
        let secured = loop.makePromise(of: CertificateFingerprint?.self)
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
        let certificate: CertificateFingerprint?
        do {
            certificate = try await secured.futureResult.get()
        } catch {
            try? await channel.close().get()
            transcript.remark("the handshake failed: \(error)")
            throw .handshake
        }
        let owner: DeviceKey? = if case .opened(let device, _, _) = handshake { device } else { nil }
        let wire = Wire(channel, mailbox, transcript, owner: owner, patience: patience)
        if case .opened(let device, _, let fault) = handshake, let certificate {
            try await wire.openSession(device, certificate, fault)
        }
        return wire
    }

    /// Opens the session and verifies the device's proof. With a fault, checks that the device refuses the session.
    /// - Throws: `refused` with the device's error; `unreachable` if the session fails for another reason.
    private func openSession(
        _ device: DeviceKey, _ certificate: CertificateFingerprint, _ fault: SessionFault?
    ) async throws(WireConnectFailure) {
        do {
            if let pinned = device.certificate, pinned != certificate {
                throw Deviation("the certificate of the pairing code", got: "another")
            }
            let greeting = try Greeting(line: await line())
            let proven = if case .otherCertificate = fault { CertificateFingerprint(of: [0]) } else { certificate }
            let transcript = SessionTranscript(
                deviceId: device.deviceId, certificate: proven, deviceNonce: greeting.nonce, appNonce: Nonce.random())
            var request = transcript.opening(named: device.name, with: device.localKey)
            if case .replayed(let earlier) = fault { request = earlier }
            await write(try Request(id: "open", content: .open(request)).line() + [UInt8(ascii: "\n")])
            let answer = try await line()
            if case .answer(_, let error?) = try ServerLine(line: answer) { throw error }
            let opened = try ServerLine.body(SessionOpened.self, of: answer)
            guard fault == nil else { throw Deviation("a refusal of the session", got: "an open session") }
            guard transcript.isProof(opened.proof, of: .device, with: device.localKey) else {
                throw Deviation("the device's proof", got: "another")
            }
        } catch let error as ProtocolError {
            await close()
            throw .refused(error)
        } catch {
            await close()
            throw .unreachable("\(error)")
        }
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
            // Do not read yet: NIO may try several addresses of the host at once, and only the connected channel is set
            // up.
            return bootstrap.channelOption(.autoRead, value: false).connect(host: host, port: port).flatMap { channel in
                prepare(channel)
                return channel.setOption(.autoRead, value: true).map { channel }
            }
        case .broker(let route, let device):
            let stopped = bootstrap.channelOption(.autoRead, value: false)
            return route.connect(to: device.deviceId, with: stopped, on: loop).flatMap { channel in
                prepare(channel)
                return channel.setOption(.autoRead, value: true).map { channel }
            }
        case .first:
            return loop.makeFailedFuture(ChannelError.operationUnsupported)
        }
    }

    private static func prepare(
        _ channel: any Channel, _ tls: NIOSSLContext?, _ secured: EventLoopPromise<CertificateFingerprint?>,
        _ mailbox: Mailbox
    ) {
        do {
            let pipeline = channel.pipeline.syncOperations
            if let tls {
                let seen = NIOLoopBoundBox<CertificateFingerprint?>(nil, eventLoop: channel.eventLoop)
                let handler = try NIOSSLClientHandler(context: tls, serverHostname: nil) { chain, verdict in
                    seen.value = (try? chain.first?.toDERBytes()).map { CertificateFingerprint(of: $0) }
                    verdict.succeed(.certificateVerified)
                }
                try pipeline.addHandlers([handler, HandshakeWatch(secured, seen)])
            } else {
                secured.succeed(nil)
            }
            try pipeline.addHandler(MailboxHandler(mailbox))
        } catch {
            // Adding handlers fails if the device has already closed the connection.
            mailbox.close()
            secured.fail(error)
        }
    }
}

extension Endpoint {
    fileprivate var handshake: Handshake {
        switch self {
        case .unixSocket: .plain
        case .network(_, _, let device), .broker(_, let device): .opened(device)
        case .first(let first, _): first.handshake
        }
    }
}

private final class HandshakeWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let secured: EventLoopPromise<CertificateFingerprint?>
    private let seen: NIOLoopBoundBox<CertificateFingerprint?>

    init(_ secured: EventLoopPromise<CertificateFingerprint?>, _ seen: NIOLoopBoundBox<CertificateFingerprint?>) {
        (self.secured, self.seen) = (secured, seen)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { secured.succeed(seen.value) }
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
