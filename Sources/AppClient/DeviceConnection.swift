import AppProtocol
import NIOCore
import NIOPosix

/// A connection to a device: sends requests, matches answers to them by their id, and collects events.
///
/// Requests may be sent at the same time. One that timed out leaves nothing behind: ids are never used twice, so its
/// late answer is dropped.
final class DeviceConnection: Sendable {
    /// One thread is enough for every connection of a process, and it lives as long as the process does.
    private static let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    private let channel: any Channel
    private let inbox: Inbox

    private init(channel: any Channel, inbox: Inbox) {
        self.channel = channel
        self.inbox = inbox
    }

    static func open(_ endpoint: Endpoint, within limit: Duration) async throws(ClientError) -> DeviceConnection {
        let inbox = Inbox()
        let bootstrap = ClientBootstrap(group: eventLoops)
            .connectTimeout(TimeAmount(limit))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(LineReceiver(inbox: inbox))
                }
            }
        do {
            let channel =
                switch endpoint {
                case .unixSocket(let path): try await bootstrap.connect(unixDomainSocketPath: path).get()
                case .network: throw ClientError.disconnected
                }
            return DeviceConnection(channel: channel, inbox: inbox)
        } catch {
            throw ClientError(connecting: endpoint, error)
        }
    }

    /// What the device says by itself, from the moment of the subscription on.
    var events: AsyncThrowingStream<Event, any Error> { inbox.events }

    /// - Returns: the body of the answer.
    func send<Answer: Decodable>(
        _ content: Request.Content, as type: Answer.Type, within limit: Duration
    ) async throws(ClientError) -> Answer {
        let id = inbox.newID()
        let line: [UInt8]
        do {
            line = try Request(id: id, content: content).line()
        } catch {
            throw .refused(error)
        }
        guard line.count <= ProtocolLimits.lineLength else { throw .refused(.lineTooLong) }
        let timer = channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { [inbox] in
            inbox.fail(id, .timedOut)
        }
        defer { timer.cancel() }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard inbox.expect(id, continuation) else { return }
                if Task.isCancelled { inbox.fail(id, .cancelled) }
                var buffer = channel.allocator.buffer(capacity: line.count + 1)
                buffer.writeBytes(line)
                buffer.writeInteger(UInt8(ascii: "\n"))
                channel.writeAndFlush(buffer).whenFailure { [inbox] _ in inbox.fail(id, .disconnected) }
            }
        } onCancel: {
            inbox.fail(id, .cancelled)
        }
        do {
            return try ServerLine.body(Answer.self, of: try answer.get())
        } catch let error as ClientError {
            throw error
        } catch let error as ProtocolError {
            throw .notUnderstood(error)
        } catch {
            throw .disconnected
        }
    }

    func close() async {
        try? await channel.close()
    }
}

/// Cuts what arrives into lines for the inbox.
private final class LineReceiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let inbox: Inbox
    private var lines = LineSplitter()

    init(inbox: Inbox) { self.inbox = inbox }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lines.append(unwrapInboundIn(data).readableBytesView)
        while let output = lines.next() {
            switch output {
            case .line(let line): inbox.receive(line)
            case .lineTooLong:
                inbox.end(.notUnderstood(.lineTooLong))
                context.close(promise: nil)
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.end(.disconnected)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        inbox.end(.disconnected)
        context.close(promise: nil)
    }
}
