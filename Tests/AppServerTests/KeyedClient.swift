import AgentModel
import AppProtocol
import AppServer
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import PipedPrograms
import TestTime

/// An app's end of a connection over TLS, driven by hand.
final class KeyedClient: Sendable {
    private let channel: any Channel
    private let received: ReceivedLines

    private init(_ channel: any Channel, _ received: ReceivedLines) {
        self.channel = channel
        self.received = received
    }

    /// Returns once TCP is connected: the handshake is under way.
    /// - Parameters:
    ///   - source: the address to come from.
    ///   - receiveBuffer: how many bytes the kernel takes for a client that does not read.
    ///   - version: of TLS.
    ///   - opens: false to show no key, and to see the device's first lines.
    static func connecting(
        to port: Int, at host: String = "127.0.0.1", as device: DeviceKey = .sample, from source: String? = nil,
        receiveBuffer: Int32? = nil, version: TLSVersion = .tlsv13, opens: Bool = true
    ) async throws -> KeyedClient {
        var configuration = TLSConfiguration.makeClientConfiguration()
        (configuration.minimumTLSVersion, configuration.maximumTLSVersion) = (version, version)
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        let context = try NIOSSLContext(configuration: configuration)
        let received = ReceivedLines()
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let seen = NIOLoopBoundBox<CertificateFingerprint?>(nil, eventLoop: channel.eventLoop)
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: nil) { chain, verdict in
                        seen.value = (try? chain.first?.toDERBytes()).map { CertificateFingerprint(of: $0) }
                        verdict.succeed(.certificateVerified)
                    }
                    try channel.pipeline.syncOperations.addHandler(tls)
                    if opens { try channel.pipeline.syncOperations.addHandler(OpeningHandler(device, seen)) }
                    try channel.pipeline.syncOperations.addHandler(ReceivedLinesHandler(received))
                }
            }
        if let receiveBuffer {
            bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBuffer))
        }
        if let source { bootstrap = try bootstrap.bind(to: SocketAddress(ipAddress: source, port: 0)) }
        return KeyedClient(try await bootstrap.connect(host: host, port: port).get(), received)
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// - Throws: also where the handshake fails.
    func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Sends and does not wait until it has gone out.
    func post(_ text: String) { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }

    /// The next line, or nil once the server has closed the connection.
    func line() async throws -> String? { try await received.next() }

    /// Asks for the network, and has the answer's code.
    func ask(id: String = "a") async throws -> ErrorCode? {
        try await send(request(.getNetwork, id: id))
        return try answer(await line()).code
    }

    func stopReading() async throws { try await channel.setOption(.autoRead, value: false).get() }

    func resumeReading() async throws {
        try await channel.setOption(.autoRead, value: true).get()
        channel.read()
    }

    func finishSending() { channel.close(mode: .output, promise: nil) }

    func close() async { try? await channel.close() }
}

extension DeviceKey {
    static let sample = key("altnet-7f3c", byte: 7)

    static func key(_ id: String, byte: UInt8) -> DeviceKey {
        do {
            return try DeviceKey(deviceId: id, localKey: Secret(Array(repeating: byte, count: 32)))
        } catch {
            preconditionFailure("\(error)")
        }
    }
}

/// Opens the session as Docs/integrator/protocol.md has it, and holds back what is sent until then. A device that
/// refuses, or does not prove itself, is left without a line.
private final class OpeningHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let device: DeviceKey
    private let seen: NIOLoopBoundBox<CertificateFingerprint?>
    private var lines = LineSplitter()
    private var transcript: SessionTranscript?
    private var held: [(NIOAny, EventLoopPromise<Void>?)] = []
    private var isOpen = false

    init(_ device: DeviceKey, _ seen: NIOLoopBoundBox<CertificateFingerprint?>) {
        (self.device, self.seen) = (device, seen)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOpen else { return context.fireChannelRead(data) }
        lines.append(unwrapInboundIn(data).readableBytesView)
        while !isOpen, case .line(let line)? = lines.next() {
            do {
                guard let transcript else {
                    try answer(Greeting(line: line), context)
                    continue
                }
                let opened = try ServerLine.body(SessionOpened.self, of: line)
                guard transcript.isProof(opened.proof, of: .device, with: device.localKey) else {
                    return context.close(promise: nil)
                }
                open(context)
            } catch {
                return context.close(promise: nil)
            }
        }
        while case .line(let line)? = lines.next() {
            context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: line + [10])))
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isOpen else { return context.write(data, promise: promise) }
        held.append((data, promise))
    }

    func channelInactive(context: ChannelHandlerContext) {
        for (_, promise) in held { promise?.fail(ChannelError.eof) }
        held = []
        context.fireChannelInactive()
    }

    private func answer(_ greeting: Greeting, _ context: ChannelHandlerContext) throws {
        guard let certificate = seen.value else { throw ChannelError.eof }
        let transcript = SessionTranscript(
            deviceId: device.deviceId, certificate: certificate, deviceNonce: greeting.nonce, appNonce: .random())
        self.transcript = transcript
        let request = transcript.opening(named: device.name, with: device.localKey)
        let line = try Request(id: "open", content: .open(request)).line()
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: line + [10])), promise: nil)
    }

    private func open(_ context: ChannelHandlerContext) {
        isOpen = true
        for (data, promise) in held { context.write(data, promise: promise) }
        held = []
        context.flush()
    }
}

extension DeviceCertificate {
    /// One for all tests: making it takes long.
    static let sample: DeviceCertificate = {
        guard let certificate = try? DeviceCertificate.random() else { preconditionFailure("no certificate") }
        return certificate
    }()
}

extension AppCredentials {
    /// Of a device that has the owner's key alone.
    static let sample = AppCredentials(
        deviceId: DeviceKey.sample.deviceId, certificate: .sample, keys: OwnerKey(DeviceKey.sample.localKey))

    func takingPreSharedKey() -> AppCredentials {
        AppCredentials(deviceId: deviceId, certificate: certificate, keys: keys, acceptsPreSharedKey: true)
    }
}

/// The received lines that were not read yet.
private final class ReceivedLines: Sendable {
    private struct State {
        var lines: [String] = []
        var rest: [UInt8] = []
        var hasEnded = false
    }

    private let state = Observed(State())

    func append(_ bytes: some Sequence<UInt8>) {
        state.change { state in
            for byte in bytes {
                if byte == 10 {
                    state.lines.append(String(decoding: state.rest, as: UTF8.self))
                    state.rest = []
                } else {
                    state.rest.append(byte)
                }
            }
        }
    }

    func end() { state.change { $0.hasEnded = true } }

    func next() async throws -> String? {
        try await state.next("a line or the end of the connection") { state -> String?? in
            guard state.lines.isEmpty else { return .some(state.lines.removeFirst()) }
            return state.hasEnded ? .some(nil) : nil
        }
    }
}

private final class ReceivedLinesHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: ReceivedLines

    init(_ received: ReceivedLines) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.append(unwrapInboundIn(data).readableBytesView)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) { received.end() }
}

/// `openssl s_client`: a client that has nothing in common with this project.
struct OpenSSLClient {
    /// The server's output.
    let lines: [String]
    /// The messages of openssl.
    let errors: String

    /// Sends `input`, reads `expecting` lines or up to the end of the connection, and leaves.
    /// - Parameter options: keys, versions and ciphers.
    static func talk(
        to port: Int, _ options: [String], input: String = request(.getNetwork), expecting count: Int = 1
    ) async throws -> OpenSSLClient {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try run(port, options, input, count) })
            }
        }
    }

    static let keyed = ["-psk", String(repeating: "07", count: 32), "-psk_identity", "altnet-7f3c"]

    private static func run(_ port: Int, _ options: [String], _ input: String, _ count: Int) throws -> OpenSSLClient {
        let errors = Pipe()
        let program = try PipedProgram(
            "timeout",
            ["60", "openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-quiet", "-no_ign_eof"] + options,
            errors: .descriptor(errors.fileHandleForWriting.fileDescriptor))
        try errors.fileHandleForWriting.close()
        try? program.input.write(contentsOf: Data(input.utf8))
        var received = Data()
        while received.count(where: { $0 == 10 }) < count {
            let data = program.output.availableData
            if data.isEmpty { break }
            received += data
        }
        try? program.input.close()
        let said = errors.fileHandleForReading.readDataToEndOfFile()
        program.wait()
        return OpenSSLClient(
            lines: String(decoding: received, as: UTF8.self).split(separator: "\n").map(String.init),
            errors: String(decoding: said, as: UTF8.self))
    }
}
