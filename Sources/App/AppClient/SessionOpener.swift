#if os(Linux) || os(macOS)
    import AppProtocol
    import NIOCore
    import NIOSSL

    /// The app's side of opening a session over TLS. Checks the device's certificate, and exchanges proofs of the key.
    final class SessionOpener: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer
        typealias InboundOut = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let seen: NIOLoopBoundBox<CertificateFingerprint?>
        private let opened: EventLoopPromise<SessionOpened>
        private var lines = LineSplitter(maximumLength: ProtocolLimits.lineLength)
        private var handshake: SessionHandshake

        private init(
            _ device: DeviceKey, _ seen: NIOLoopBoundBox<CertificateFingerprint?>,
            _ opened: EventLoopPromise<SessionOpened>
        ) {
            (self.seen, self.opened) = (seen, opened)
            handshake = SessionHandshake(device)
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
                    let isAccepted = fingerprint.map { SessionHandshake.accepts($0, from: device) } ?? false
                    if fingerprint != nil, !isAccepted { opened.fail(OpeningFault.otherCertificate) }
                    verdict.succeed(isAccepted ? .certificateVerified : .failed)
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
                guard let certificate = seen.value else { return fail(ChannelError.eof, context) }
                do {
                    switch try handshake.handle(line, certificate: certificate) {
                    case .send(let line): context.writeAndFlush(wrapOutboundOut(Self.buffer(line)), promise: nil)
                    case .opened(let session): return finish(session, context)
                    }
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

        private static func buffer(_ line: [UInt8]) -> ByteBuffer { ByteBuffer(bytes: line + [UInt8(ascii: "\n")]) }

        private func finish(_ session: SessionOpened, _ context: ChannelHandlerContext) {
            opened.succeed(session)
            // Pass further lines to the session, for example the error `busy`.
            while case .line(let line)? = lines.next() {
                context.fireChannelRead(wrapInboundOut(Self.buffer(line)))
            }
            if case .line(let rest)? = lines.last() { context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: rest))) }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        }

        private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
            opened.fail(error)
            context.close(promise: nil)
        }
    }
#endif
