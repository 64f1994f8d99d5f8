import Connectivity
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server on loopback that says what it was told to, whatever it is asked.
struct ScriptedServer: Sendable {
    enum End: Sendable {
        case close
        case silence
        /// Goes on with this for as long as anybody listens.
        case endlessly(String)
        /// One byte at a time, for as long as anybody listens.
        case drip(String)
    }

    let port: Int
    private let requests: Requests

    /// What it was asked, of all connections together.
    var received: String { requests.text.withLock { $0 } }
    var connections: Int { requests.connections.withLock { $0 } }

    /// - Parameter awaiting: what has to arrive before it says anything.
    static func serving<Result>(
        _ answer: String, then end: End = .close, awaiting: String = "\r\n\r\n", tls: NIOSSLContext? = nil,
        _ body: (ScriptedServer) async throws -> Result
    ) async throws -> Result {
        let requests = Requests()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    let script = Script(answer: answer, end: end, awaiting: awaiting, requests: requests)
                    try channel.pipeline.syncOperations.addHandler(script)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let result: Result
        do {
            result = try await body(ScriptedServer(port: listener.localAddress?.port ?? 0, requests: requests))
        } catch {
            try await listener.close()
            throw error
        }
        try await listener.close()
        return result
    }

    fileprivate final class Requests: Sendable {
        let text = Mutex("")
        let connections = Mutex(0)
    }

    private final class Script: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        let answer: String
        let end: End
        let awaiting: String
        let requests: Requests
        private var request = ""
        private var hasAnswered = false

        init(answer: String, end: End, awaiting: String, requests: Requests) {
            (self.answer, self.end, self.awaiting, self.requests) = (answer, end, awaiting, requests)
        }

        func channelActive(context: ChannelHandlerContext) {
            requests.connections.withLock { $0 += 1 }
            context.fireChannelActive()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = String(buffer: unwrapInboundIn(data))
            request += text
            requests.text.withLock { $0 += text }
            guard !hasAnswered, request.contains(awaiting) else { return }
            hasAnswered = true
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            switch end {
            case .close: context.close(promise: nil)
            case .silence: break
            case .endlessly(let text):
                // Much at once: whoever shares this thread gets his turn when the socket takes no more.
                let count = 65_536 / text.utf8.count
                Self.repeat(ByteBuffer(string: String(repeating: text, count: count)), on: context.channel)
            case .drip(let text): Self.drip(text, on: context.channel)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private static func `repeat`(_ text: ByteBuffer, on channel: any Channel) {
            channel.writeAndFlush(text).whenSuccess {
                channel.eventLoop.execute { Self.repeat(text, on: channel) }
            }
        }

        private static func drip(_ text: String, on channel: any Channel) {
            guard let first = text.first else { return }
            let rest = text.dropFirst() + String(first)
            channel.writeAndFlush(ByteBuffer(string: String(first))).whenSuccess {
                channel.eventLoop.scheduleTask(in: .milliseconds(20)) { drip(String(rest), on: channel) }
            }
        }
    }
}

extension InterfaceNetwork {
    static let loopback = InterfaceNetwork(interface: nil, on: MultiThreadedEventLoopGroup.singleton)
}

extension WebLimits {
    /// Nobody waits for so long: where time matters, the test says so.
    static func within(_ time: Duration = .seconds(60), body: WebLimits.Body = .whole(upTo: 4096)) -> WebLimits {
        WebLimits(time: time, body: body)
    }
}

extension ScriptedServer {
    func address(_ target: String = "/", scheme: String = "http") throws -> WebAddress {
        try WebAddress("\(scheme)://127.0.0.1:\(port)\(target)")
    }

    func exchange(
        _ target: String = "/", scheme: String = "http", limits: WebLimits = .within(),
        trusting authorities: WebClient.Authorities = .system
    ) async throws -> Result<WebAnswer, WebFailure> {
        do {
            let request = WebRequest(.get, try address(target, scheme: scheme))
            return .success(
                try await WebClient(trusting: authorities).fetch(request, through: .loopback, limits: limits))
        } catch let failure as WebFailure {
            return .failure(failure)
        }
    }
}
