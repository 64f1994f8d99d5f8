import AppProtocol
import NIOCore
import Synchronization

enum Arrival: Sendable, Equatable {
    case line([UInt8])
    /// The device closed its side, or the connection broke, possibly within a line.
    case closed
    case nothing
}

/// Received lines in order, and the task that waits for the next one.
final class Mailbox: Sendable {
    private struct State {
        var lines: [[UInt8]] = []
        var isClosed = false
        var ticket = 0
        var waiting: CheckedContinuation<Arrival, Never>?
    }

    private let state = Mutex(State())

    func deliver(_ line: [UInt8]) {
        let waiting = state.withLock { state -> CheckedContinuation<Arrival, Never>? in
            guard let waiting = state.waiting else {
                state.lines.append(line)
                return nil
            }
            state.waiting = nil
            return waiting
        }
        waiting?.resume(returning: .line(line))
    }

    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: .closed)
    }

    /// Returns the next line, or waits for it.
    /// - Parameters:
    ///   - limit: time limit. If it is not positive, returns `.nothing` even if a line is available. A device that
    ///     sends without end therefore cannot delay a reader with a deadline.
    ///   - loop: event loop that runs the timer.
    func next(within limit: Duration, on loop: any EventLoop) async -> Arrival {
        guard limit > .zero else { return .nothing }
        return await withCheckedContinuation { continuation in
            let (present, ticket) = state.withLock { state -> (Arrival?, Int) in
                if !state.lines.isEmpty { return (.line(state.lines.removeFirst()), 0) }
                if state.isClosed { return (.closed, 0) }
                state.ticket += 1
                state.waiting = continuation
                return (nil, state.ticket)
            }
            if let present { return continuation.resume(returning: present) }
            loop.scheduleTask(in: TimeAmount(limit)) { self.giveUp(ticket) }
        }
    }

    private func giveUp(_ ticket: Int) {
        let waiting = state.withLock { state -> CheckedContinuation<Arrival, Never>? in
            guard state.ticket == ticket else { return nil }
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: .nothing)
    }
}

final class MailboxHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let mailbox: Mailbox
    /// Splitter that also accepts lines longer than the protocol allows. `Wire` reports such lines.
    private var lines = LineSplitter(maximumLength: 4 * ProtocolLimits.lineLength)

    init(_ mailbox: Mailbox) { self.mailbox = mailbox }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lines.append(unwrapInboundIn(data).readableBytesView)
        while let output = lines.next() {
            guard case .line(let line) = output else { return context.close(promise: nil) }
            mailbox.deliver(line)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { mailbox.close() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        mailbox.close()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        mailbox.close()
        context.close(promise: nil)
    }
}
