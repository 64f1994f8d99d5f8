import AgentModel
import AppProtocol
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
    static func connecting(
        to port: Int, at host: String = "127.0.0.1", as device: DeviceKey = .sample, from source: String? = nil,
        receiveBuffer: Int32? = nil
    ) async throws -> KeyedClient {
        let key = device.localKey.withBytes { NIOSSLSecureBytes(Array($0)) }
        var configuration = TLSConfiguration.makePreSharedKeyConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.maximumTLSVersion = .tlsv12
        configuration.cipherSuites = "ECDHE-PSK-CHACHA20-POLY1305"
        configuration.pskClientProvider = { _ in PSKClientIdentityResponse(key: key, identity: device.deviceId) }
        let context = try NIOSSLContext(configuration: configuration)
        let received = ReceivedLines()
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        try NIOSSLClientHandler(context: context, serverHostname: nil), ReceivedLinesHandler(received),
                    ])
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
        try await state.take("a line or the end of the connection") { state -> String?? in
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
