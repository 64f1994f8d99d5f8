import AppProtocol
import NIOCore
import NIOSSL

/// The app's side of opening a session over TLS. Checks the device's certificate, and exchanges proofs of the key.
final class SessionOpener: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let device: DeviceKey
    private let seen: NIOLoopBoundBox<CertificateFingerprint?>
    private let opened: EventLoopPromise<SessionOpened>
    private var lines = LineSplitter(maximumLength: ProtocolLimits.lineLength)
    private var transcript: SessionTranscript?

    private init(
        _ device: DeviceKey, _ seen: NIOLoopBoundBox<CertificateFingerprint?>,
        _ opened: EventLoopPromise<SessionOpened>
    ) {
        (self.device, self.seen, self.opened) = (device, seen, opened)
    }

    /// Returns the handlers of a connection, the one next to the network first.
    static func handlers(
        for device: DeviceKey, on loop: any EventLoop, opened: EventLoopPromise<SessionOpened>
    ) throws -> (tls: NIOSSLClientHandler, opener: SessionOpener) {
        let seen = NIOLoopBoundBox<CertificateFingerprint?>(nil, eventLoop: loop)
        // A device's certificate does not come from an authority. The fingerprint or the later proof identifies the
        // device.
        let tls = try NIOSSLClientHandler(
            context: context.get(), serverHostname: nil,
            customVerificationCallback: { chain, verdict in
                let fingerprint = (try? chain.first?.toDERBytes()).map { CertificateFingerprint(of: $0) }
                seen.value = fingerprint
                if let pinned = device.certificate, fingerprint != pinned { opened.fail(OpeningFault.otherCertificate) }
                verdict.succeed(
                    fingerprint == nil || device.certificate.map { $0 != fingerprint } ?? false
                        ? .failed : .certificateVerified)
            })
        return (tls, SessionOpener(device, seen, opened))
    }

    /// TLS context, shared by all connections because creating one is slow.
    private static let context = Result {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["altnet"]
        configuration.shutdownTimeout = .seconds(1)
        configuration.certificateVerification = .noHostnameVerification
        // The system's trust roots are not used, and loading them is slow.
        configuration.trustRoots = .certificates([])
        return try NIOSSLContext(configuration: configuration)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lines.append(unwrapInboundIn(data).readableBytesView)
        while let output = lines.next() {
            guard case .line(let line) = output else { return fail(ProtocolError.lineTooLong, context) }
            do throws(ProtocolError) {
                guard let transcript else {
                    try answer(Greeting(line: line), context)
                    continue
                }
                return finish(try Self.answer(line), transcript, context)
            } catch {
                return fail(error, context)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error, context) }

    func channelInactive(context: ChannelHandlerContext) {
        opened.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    /// Fails the opening. Has no effect once the session is open.
    func handlerRemoved(context: ChannelHandlerContext) { opened.fail(ChannelError.eof) }

    private func answer(_ greeting: Greeting, _ context: ChannelHandlerContext) throws(ProtocolError) {
        guard let certificate = seen.value else { return fail(ChannelError.eof, context) }
        let transcript = SessionTranscript(
            deviceId: device.deviceId, certificate: certificate, deviceNonce: greeting.nonce, appNonce: .random())
        self.transcript = transcript
        let request = transcript.opening(named: device.name, with: device.localKey)
        let line = try Request(id: "open", content: .open(request)).line()
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: line + [UInt8(ascii: "\n")])), promise: nil)
    }

    private static func answer(_ line: [UInt8]) throws(ProtocolError) -> SessionOpened {
        if case .answer(_, let failure?) = try ServerLine(line: line) { throw failure }
        return try ServerLine.body(SessionOpened.self, of: line)
    }

    private func finish(_ answer: SessionOpened, _ transcript: SessionTranscript, _ context: ChannelHandlerContext) {
        guard transcript.isProof(answer.proof, of: .device, with: device.localKey) else {
            return fail(OpeningFault.notTheDevice, context)
        }
        opened.succeed(answer)
        // Pass further lines to the session, for example the error `busy`.
        while case .line(let line)? = lines.next() {
            context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: line + [UInt8(ascii: "\n")])))
        }
        if case .line(let rest)? = lines.last() { context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: rest))) }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        opened.fail(error)
        context.close(promise: nil)
    }
}

/// A fault of a host that speaks the protocol.
enum OpeningFault: Error {
    case otherCertificate
    case notTheDevice
}
