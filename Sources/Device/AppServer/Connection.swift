import AgentModel
import AppProtocol
import Glibc
import NIOCore

/// A client's connection: reads lines, answers them in order, and sends events after a subscription.
struct Connection: Sendable {
    let channel: any Channel
    let peer: Peer
    let names: NetworkNames
    let service: any DeviceService
    let hub: EventHub
    let lingering: Duration
    let clock: ServerClock
    /// Limits of a network client; nil for a client on this machine.
    let session: RemoteSession?

    /// Returns when the client has finished sending and all requests are answered. Throws if the client is gone.
    func run(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            var lines = LineSplitter()
            var isSubscribed = false
            for try await bytes in inbound {
                lines.append(bytes.readableBytesView)
                while let output = lines.next() {
                    switch output {
                    case .line(let line):
                        guard let (feed, names) = try await answer(line, isSubscribed: isSubscribed) else { continue }
                        isSubscribed = true
                        group.addTask { for await event in feed { try await write(event.line(naming: names)) } }
                    case .lineTooLong:
                        try await refuse(ProtocolError.lineTooLong)
                        // Closing at once would reset the connection before the client has read the answer. Until
                        // then, drop further input.
                        group.addTask {
                            try await clock.sleep(for: lingering)
                            try await channel.close()
                        }
                    }
                }
            }
            // The end of input also ends a line. A truncated line is never a valid JSON object.
            if case .line(let line) = lines.last() { _ = try await answer(line, isSubscribed: isSubscribed) }
            group.cancelAll()
        }
    }

    /// Drops input for a while: closing at once could reset the connection before the client has read the error.
    func drain(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>) async throws {
        try await channel.close(mode: .output)
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask {
                try await clock.sleep(for: lingering)
                try await channel.close()
            }
            var dropped = 0
            for try await bytes in inbound {
                dropped += bytes.readableBytes
                if dropped > ProtocolLimits.lineLength { break }
            }
            group.cancelAll()
        }
    }

    func refuse(_ error: ProtocolError, id: String? = nil) async throws {
        try await write(Response(id: id, result: .failure(error)).line())
    }

    /// - Returns: the event feed and the network names to use in it if the line subscribes, otherwise nil.
    private func answer(_ line: [UInt8], isSubscribed: Bool) async throws -> (EventFeed, NetworkNames?)? {
        if let delay = session?.consumeRequest() {
            try await putOff(line, for: delay)
            return nil
        }
        let request: Request
        do {
            request = try Request(line: line)
        } catch {
            try await refuse(error.error, id: error.id)
            return nil
        }
        let peer = peer.relaying(as: request.relay)
        let names = peer.isRelay ? names : nil
        switch request.content {
        case .device(let body):
            try await answer(request.id, body, from: peer, names)
            return nil
        case .prove(let proved):
            let (body, author): (Request.Body, Peer)
            do throws(ProtocolError) {
                (body, author) = try await open(proved, from: peer)
            } catch {
                try await refuse(error, id: request.id)
                return nil
            }
            try await answer(request.id, body, from: author, names)
            return nil
        case .open:
            let error = ProtocolError(
                .unsupported, "the session is already open: send session.open only as the first line over the network",
                details: ["field": "type"])
            try await refuse(error, id: request.id)
            return nil
        case .subscribe where peer.isInvited:
            let error = ProtocolError(
                .notPermitted, "this key is an invitation: claim a key of your own first (key.claim)")
            try await refuse(error, id: request.id)
            return nil
        case .subscribe where isSubscribed:
            let error = ProtocolError(
                .unsupported, "this connection already has events: open another one", details: ["field": "type"])
            try await refuse(error, id: request.id)
            return nil
        case .subscribe(let subscription):
            let feed: EventFeed
            do throws(ProtocolError) {
                feed = try hub.subscribe(subscription)
            } catch {
                try await refuse(error, id: request.id)
                return nil
            }
            session?.subscribe()
            try await write(Response(id: request.id, result: .success(.subscribed(feed.answer))).line())
            return (feed, names)
        }
    }

    private func answer(_ id: String, _ body: Request.Body, from peer: Peer, _ names: NetworkNames?) async throws {
        let result = await respond(to: body, from: peer)
        let line = Response(id: id, result: result).line(naming: names)
        if case .switchNetwork = body, case .success(.switchStatus(let answer)) = result {
            try await deliver(line, of: answer)
        } else {
            try await write(line)
        }
    }

    /// Sends the answer and reports its arrival, after which the link may drop. A lost or slow client must not delay
    /// the switch.
    private func deliver(_ line: [UInt8], of answer: SwitchStatus) async throws {
        let overdue = Task {
            try await clock.sleep(for: Self.patience)
            await service.answerSent(answer)
        }
        defer { overdue.cancel() }
        do {
            try await write(line)
            if case .network = peer.origin {
                try? await channel.waitForAcknowledgement(within: .seconds(1), clock)
            }
        } catch {
            await service.answerSent(answer)
            throw error
        }
        await service.answerSent(answer)
    }

    /// Maximum time of the delivery, longer than the wait for an acknowledgement.
    private static let patience = Duration.milliseconds(1500)

    /// Refuses a request over the rate limit, and stops reading until the next one is allowed.
    private func putOff(_ line: [UInt8], for delay: Duration) async throws {
        let id: String?
        do {
            id = try Request(line: line).id
        } catch {
            id = error.id
        }
        let milliseconds = Int(delay.milliseconds) + 1
        let error = ProtocolError(
            .tooManyRequests, "too many requests: wait \(milliseconds) ms",
            details: ["retryAfterMs": .number(milliseconds)])
        try await refuse(error, id: id)
        try await clock.sleep(for: delay)
    }

    private func respond(to body: Request.Body, from peer: Peer) async -> Result<Response.Body, ProtocolError> {
        if let refusal = body.refusal(to: peer) { return .failure(refusal) }
        let named: Request.Body
        do { named = peer.isRelay ? try await service.resolve(body, named: names) : body } catch {
            return .failure(error)
        }
        do {
            return .success(try await service.respond(to: named, from: peer))
        } catch {
            // The network was just removed, so its hash has no name. A relay must not receive the hash.
            guard peer.isRelay, error.details["hash"] != nil else { return .failure(error) }
            return .failure(ProtocolError(error.code, "the network is no longer stored"))
        }
    }

    private func open(_ proved: ProvedRequest, from peer: Peer) async throws(ProtocolError) -> (Request.Body, Peer) {
        guard peer.isRelay else {
            throw ProtocolError(.notPermitted, "only a broker's bridge may send request.prove: send the request itself")
        }
        return try await service.open(proved, from: peer)
    }

    /// Returns when the kernel has accepted the line, so that closing loses nothing. Waits for a slow reader.
    private func write(_ line: [UInt8]) async throws {
        var buffer = channel.allocator.buffer(capacity: line.count + 1)
        buffer.writeBytes(line)
        buffer.writeInteger(UInt8(ascii: "\n"))
        session?.writeBegan()
        defer { session?.writeEnded() }
        try await withTaskCancellationHandler {
            try await channel.writeAndFlush(buffer)
        } onCancel: {
            channel.close(promise: nil)
        }
    }
}

extension Channel {
    /// Returns when the client's host has acknowledged all data (tcp(7), `TCP_INFO`), or after `limit`.
    func waitForAcknowledgement(within limit: Duration, _ clock: ServerClock) async throws {
        guard let options = self as? any SocketOptionProvider else { return }
        let end = clock.now + limit
        repeat {
            let state: tcp_info = try await options.unsafeGetSocketOption(
                level: .tcp, name: NIOBSDSocket.Option(rawValue: TCP_INFO)
            ).get()
            guard state.tcpi_unacked > 0 else { return }
            try await clock.sleep(for: .milliseconds(5))
        } while clock.now < end
    }
}

/// Copies received bytes and wipes the transport's buffer.
///
/// NIO and its TLS reuse their buffers, so passwords would stay in memory after the request. The copy is wiped when
/// freed (``AgentService/overwriteFreedMemory()``).
final class ReadBytesWiper: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let read = unwrapInboundIn(data)
        let own = ByteBuffer(bytes: read.readableBytesView)
        // Wipe in place: a write through ByteBuffer would copy the shared buffer.
        read.withUnsafeReadableBytes { wipe(UnsafeMutableRawBufferPointer(mutating: $0)) }
        context.fireChannelRead(wrapInboundOut(own))
    }
}
