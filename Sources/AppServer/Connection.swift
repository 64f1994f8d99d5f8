import AppProtocol
import NIOCore

/// One client's connection: reads lines, has them answered in their order, and carries events once it is subscribed.
struct Connection: Sendable {
    let channel: any Channel
    let peer: Peer
    let service: any DeviceService
    let hub: EventHub
    let lingering: Duration
    let clock: ServerClock

    /// Returns when the client has said its last and everything is answered.
    /// - Throws: when the client is gone.
    func run(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            var lines = LineSplitter()
            var isSubscribed = false
            for try await bytes in inbound {
                lines.append(bytes.readableBytesView)
                while let output = lines.next() {
                    switch output {
                    case .line(let line):
                        guard let feed = try await answer(line, isSubscribed: isSubscribed) else { continue }
                        isSubscribed = true
                        group.addTask { for await event in feed { try await write(event.line()) } }
                    case .lineTooLong:
                        try await refuse(ProtocolError.lineTooLong)
                        // Closing at once would reset the connection under the answer: what comes is dropped for a while.
                        group.addTask {
                            try await Task.sleep(for: lingering)
                            try await channel.close()
                        }
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Answers what belongs to no request.
    func refuse(_ error: ProtocolError) async throws {
        try await write(Response(id: nil, result: .failure(error)).line())
    }

    /// - Returns: the events to carry from now on, where the line asked for them.
    private func answer(_ line: [UInt8], isSubscribed: Bool) async throws -> EventFeed? {
        let request: Request
        do {
            request = try Request(line: line)
        } catch {
            try await write(Response(id: error.id, result: .failure(error.error)).line())
            return nil
        }
        switch request.content {
        case .device(let body):
            let result = await respond(to: body)
            try await write(Response(id: request.id, result: result).line())
            if case .switchNetwork = body, case .success(.switchStatus(let answer)) = result {
                if case .network = peer.origin {
                    try? await channel.waitForAcknowledgement(within: .seconds(1), clock)
                }
                await service.hasArrived(answer)
            }
            return nil
        case .subscribe where isSubscribed:
            let error = ProtocolError(.unsupported, "this connection carries events already: open another one")
            try await write(Response(id: request.id, result: .failure(error)).line())
            return nil
        case .subscribe(let subscription):
            let feed = hub.subscribe(subscription)
            try await write(Response(id: request.id, result: .success(.subscribed(feed.answer))).line())
            return feed
        }
    }

    private func respond(to body: Request.Body) async -> Result<Response.Body, ProtocolError> {
        do {
            return .success(try await service.respond(to: body, from: peer))
        } catch {
            return .failure(error)
        }
    }

    /// Returns when the kernel has taken the line, so that closing afterwards loses nothing. A client that does not read is
    /// waited for, until the task is cancelled.
    private func write(_ line: [UInt8]) async throws {
        var buffer = channel.allocator.buffer(capacity: line.count + 1)
        buffer.writeBytes(line)
        buffer.writeInteger(UInt8(ascii: "\n"))
        try await withTaskCancellationHandler {
            try await channel.writeAndFlush(buffer)
        } onCancel: {
            channel.close(promise: nil)
        }
    }
}
