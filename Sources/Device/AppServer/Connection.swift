import AgentModel
import AppProtocol
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One client's connection: reads lines, has them answered in their order, and carries events once it is subscribed.
struct Connection: Sendable {
    let channel: any Channel
    let peer: Peer
    /// Names the networks towards relays.
    let names: NetworkNames
    let service: any DeviceService
    let hub: EventHub
    let lingering: Duration
    let clock: ServerClock
    /// Keeps the limits of a client in the network; nil for one of this machine.
    let session: RemoteSession?

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
                        guard let (feed, names) = try await answer(line, isSubscribed: isSubscribed) else { continue }
                        isSubscribed = true
                        group.addTask { for await event in feed { try await write(event.line(naming: names)) } }
                    case .lineTooLong:
                        try await refuse(ProtocolError.lineTooLong)
                        // Closing at once would reset the connection under the answer: input is dropped for a while.
                        group.addTask {
                            try await clock.sleep(for: lingering)
                            try await channel.close()
                        }
                    }
                }
            }
            // The end of what is sent ends a line too. One that was cut off is no JSON object: none begins with
            // another.
            if case .line(let line) = lines.last() { _ = try await answer(line, isSubscribed: isSubscribed) }
            group.cancelAll()
        }
    }

    /// Tells a client why it is not served, and gives it time to read that: one that writes before it reads would find
    /// the connection broken, and not why.
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

    /// - Returns: the events to carry from now on, where the line asked for them, and the names for networks in them.
    private func answer(_ line: [UInt8], isSubscribed: Bool) async throws -> (EventFeed, NetworkNames?)? {
        if let delay = session?.takeRequest() {
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
                .unsupported, "a session is opened once, over the network, by the first line",
                details: ["field": "type"])
            try await refuse(error, id: request.id)
            return nil
        case .subscribe where peer.isInvited:
            let error = ProtocolError(
                .notPermitted, "this key is an invitation: claim a key of its own with key.claim first")
            try await refuse(error, id: request.id)
            return nil
        case .subscribe where isSubscribed:
            let error = ProtocolError(
                .unsupported, "this connection carries events already: open another one", details: ["field": "type"])
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

    /// Sends the answer after which the link may drop, and says when it has arrived. A client that is gone, or does not
    /// read, does not hold up what it has asked for.
    private func deliver(_ line: [UInt8], of answer: SwitchStatus) async throws {
        let overdue = Task {
            try await clock.sleep(for: Self.patience)
            await service.hasArrived(answer)
        }
        defer { overdue.cancel() }
        do {
            try await write(line)
            if case .network = peer.origin {
                try? await channel.waitForAcknowledgement(within: .seconds(1), clock)
            }
        } catch {
            await service.hasArrived(answer)
            throw error
        }
        await service.hasArrived(answer)
    }

    /// Longer than an acknowledgement is waited for.
    private static let patience = Duration.milliseconds(1500)

    /// Refuses a request over the rate limit, and reads no more before the limit allows the next one.
    private func putOff(_ line: [UInt8], for delay: Duration) async throws {
        let id: String?
        do {
            id = try Request(line: line).id
        } catch {
            id = error.id
        }
        let milliseconds = Int(delay.milliseconds) + 1
        let error = ProtocolError(
            .tooManyRequests, "more requests than the agent answers: the next is welcome in \(milliseconds) ms",
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
            // It says the hash of a network that went in between.
            guard peer.isRelay, error.details["hash"] != nil else { return .failure(error) }
            return .failure(ProtocolError(error.code, "the network is not stored any more"))
        }
    }

    private func open(_ proved: ProvedRequest, from peer: Peer) async throws(ProtocolError) -> (Request.Body, Peer) {
        guard peer.isRelay else {
            throw ProtocolError(.notPermitted, "only a relay needs the proof of another's key")
        }
        return try await service.open(proved, from: peer)
    }

    /// Returns when the kernel has taken the line, so that closing afterwards loses nothing. A client that does not
    /// read is waited for, until the task is cancelled.
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
    /// Returns when the client's machine has acknowledged all that was sent over TCP (tcp(7), `TCP_INFO`), or gives up
    /// at `limit`: a client that has gone acknowledges nothing.
    func waitForAcknowledgement(within limit: Duration, _ clock: ServerClock) async throws {
        #if os(Linux)
            guard let options = self as? any SocketOptionProvider else { return }
            let end = clock.now + limit
            repeat {
                let state: tcp_info = try await options.unsafeGetSocketOption(
                    level: .tcp, name: NIOBSDSocket.Option(rawValue: TCP_INFO)
                ).get()
                guard state.tcpi_unacked > 0 else { return }
                try await clock.sleep(for: .milliseconds(5))
            } while clock.now < end
        #endif
    }
}

/// Takes what a client has sent out of the memory where the transport keeps it, and overwrites it there.
///
/// NIO reads into the same few buffers all the time, and its TLS decrypts into one that lives as long as the
/// connection: a password would stay behind the end of what comes after it. The next handlers get memory of their own,
/// which is freed, and overwritten then (``AgentService/overwriteFreedMemory()``).
final class ReadBytesWiper: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let read = unwrapInboundIn(data)
        let own = ByteBuffer(bytes: read.readableBytesView)
        // In place: writing to the buffer would be writing to a copy of it, for the transport has it too.
        read.withUnsafeReadableBytes { wipe(UnsafeMutableRawBufferPointer(mutating: $0)) }
        context.fireChannelRead(wrapInboundOut(own))
    }
}
