import AppProtocol
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A connection to a device: sends requests, matches answers to them by their id, and collects events.
///
/// Requests may be sent at the same time. One that timed out leaves nothing behind: ids are never used twice, so its
/// late answer is dropped. The connection ends when nobody holds it any more.
final class DeviceConnection: Sendable {
    private let channel: any Channel
    private let inbox: Inbox

    init(channel: any Channel, inbox: Inbox) {
        self.channel = channel
        self.inbox = inbox
    }

    deinit { channel.close(promise: nil) }

    /// What the device says by itself, from the moment of the subscription on.
    var events: AsyncThrowingStream<Event, any Error> { inbox.events }

    var isOpen: Bool { inbox.isOpen }

    /// Whether the device has said something so recently.
    func isHeard(within span: Duration) -> Bool {
        inbox.heard.map { ContinuousClock.now - $0 < span } ?? false
    }

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
        var timer: Scheduled<Void>?
        defer { timer?.cancel() }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard inbox.expect(id, continuation) else { return }
                // Nobody waits for it any more, so the device shall not hear of it.
                guard !Task.isCancelled else { return inbox.fail(id, .cancelled) }
                timer = channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { [inbox] in
                    inbox.fail(id, .timedOut)
                }
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

    /// Closes without a goodbye. What the device has not got by now it shall not get later: somebody may have sent it
    /// anew.
    func abandon() {
        inbox.end(.disconnected)
        let socket = channel as? any SocketOptionProvider
        _ = socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        channel.close(promise: nil)
    }
}
