import AppProtocol
import JSONValues
import NIOCore
import Synchronization

/// A connection to a device under manual control. It sends any bytes and checks each received line. Only one task at a
/// time may read.
final class Wire: Sendable {
    private struct State {
        var lastID = 0
        var lastSequence: Int?
        /// Events that arrived while the reader waited for an answer.
        var events: [Event] = []
    }

    let patience: Duration
    private let channel: any Channel
    private let mailbox: Mailbox
    private let transcript: Transcript
    private let owner: DeviceKey?
    private let state = Mutex(State())

    /// - Parameter patience: time limit for an answer.
    init(
        _ channel: any Channel, _ mailbox: Mailbox, _ transcript: Transcript, owner: DeviceKey?, patience: Duration
    ) {
        self.owner = owner
        self.channel = channel
        self.mailbox = mailbox
        self.transcript = transcript
        self.patience = patience
    }

    // MARK: Bytes and lines

    /// Sends bytes. Ignores a closed connection, because only the device's answer matters.
    func send(_ bytes: [UInt8]) async {
        transcript.sent(bytes)
        await write(bytes)
    }

    func send(line: [UInt8]) async {
        transcript.sent(line)
        await write(line + [UInt8(ascii: "\n")])
    }

    func send(line: JSONValue) async { await send(line: line.line) }

    /// Sends bytes without recording them.
    func write(_ bytes: [UInt8]) async {
        try? await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// Sends bytes without waiting, for tests in which the device does not read.
    func flood(_ bytes: [UInt8]) {
        transcript.remark("\(bytes.count) bytes at once")
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    /// Leaves received data in the kernel, as a stalled app does.
    func stopReading() async { try? await channel.setOption(.autoRead, value: false).get() }

    /// Closes the sending side. The device can still send answers.
    func finishSending() async {
        transcript.remark("the sending side is closed")
        try? await channel.close(mode: .output).get()
    }

    func close() async {
        // Disable half closure: otherwise NIOSSL ignores the device's close_notify and waits for its timeout.
        try? await channel.setOption(.allowRemoteHalfClosure, value: false).get()
        try? await channel.close().get()
    }

    func next(within limit: Duration? = nil) async throws(Deviation) -> Arrival {
        let arrival = await mailbox.next(within: limit ?? patience, on: channel.eventLoop)
        guard case .line(let line) = arrival else { return arrival }
        transcript.received(line)
        guard line.count <= ProtocolLimits.lineLength else {
            throw Deviation("lines of at most \(ProtocolLimits.lineLength) bytes", got: "one of \(line.count)")
        }
        return arrival
    }

    func line() async throws(Deviation) -> [UInt8] {
        switch try await next() {
        case .line(let line): return line
        case .closed: throw Deviation("a line", got: "the end of the connection")
        case .nothing: throw Deviation("a line within \(patience)", got: "none")
        }
    }

    // MARK: Requests and answers

    func newID() -> String {
        state.withLock { state in
            state.lastID += 1
            return "h\(state.lastID)"
        }
    }

    /// Returns the next answer to any request. Events before it are kept for ``event(_:within:_:)``.
    func answer() async throws(Deviation) -> Answer {
        let deadline = ContinuousClock.now + patience
        while true {
            switch try await next(within: deadline - .now) {
            case .nothing: throw Deviation("an answer within \(patience)", got: "none")
            case .closed: throw Deviation("an answer", got: "the end of the connection")
            case .line(let line):
                guard let event = try event(from: line) else {
                    return try Answer(line)
                }
                state.withLock { $0.events.append(event) }
            }
        }
    }

    /// Sends a line and returns its answer. Sends the line again if the device refuses it because of too many requests.
    /// - Parameter limit: time after which a further such refusal is an error.
    func exchange(
        _ line: [UInt8], refusedFor limit: Duration = Answer.longestWait * 2
    ) async throws(Deviation) -> Answer {
        let deadline = ContinuousClock.now + limit
        while true {
            await send(line: line)
            let answer = try await answer()
            guard answer.code == .tooManyRequests else { return answer }
            try await answer.waitAsTold()
            guard .now < deadline else {
                throw Deviation("an accepted request after the demanded wait", got: "none within \(limit)")
            }
        }
    }

    func exchange(_ line: JSONValue) async throws(Deviation) -> Answer { try await exchange(line.line) }

    /// Sends a request and returns its answer, also if that is an error.
    /// - Parameter sealing: whether to seal passwords, which the protocol requires over the network.
    func ask(
        _ type: MessageType, _ body: JSONValue? = nil, sealing: Bool = true
    ) async throws(Deviation) -> Answer {
        let id = newID()
        let body = sealing ? try await sealed(type, body) : body
        let answer = try await exchange(.request(type, body, id: id))
        try answer.expectID(.text(id))
        return answer
    }

    /// Sends a request. Checks that it succeeds and that all members of the answer are as documented.
    func get<Value: Decodable>(
        _ type: MessageType, _ body: JSONValue? = nil, as _: Value.Type = Value.self
    ) async throws(Deviation) -> Value {
        try await ask(type, body).body(of: type)
    }

    /// Returns the body with sealed passwords. A body without passwords and an invalid body stay unchanged.
    func sealed(_ type: MessageType, _ body: JSONValue?) async throws(Deviation) -> JSONValue? {
        guard let owner, let body, [.updateBackups, .switchNetwork].contains(type),
            let request = try? Request(line: JSONValue.request(type, body, id: "seal").line),
            case .device(let plain) = request.content, plain.hasPlainPassword
        else { return body }
        let key: SealingKey = try await get(.agreeKey)
        guard let content = try? plain.sealed(with: key, for: owner),
            let line = try? Request(id: "seal", content: .device(content)).line(),
            let sealed = JSONValue(line: line)?["body"]
        else { return body }
        return body.takingSeals(from: sealed)
    }

    // MARK: Events

    var hasEvents: Bool { state.withLock { !$0.events.isEmpty } }

    @discardableResult
    func subscribe(since: Int? = nil, stream: String? = nil) async throws(Deviation) -> Subscribed {
        var body: [String: JSONValue] = [:]
        if let since { body["since"] = .integer(since) }
        if let stream { body["stream"] = .text(stream) }
        // Set the last number after the answer: events before it must already be in order.
        let subscribed = try await get(.subscribe, .object(body), as: Subscribed.self)
        state.withLock { $0.lastSequence = $0.lastSequence ?? since ?? subscribed.seq }
        return subscribed
    }

    /// Returns the first non-nil result of `pick`. Drops other events.
    func event<Value>(
        _ what: String, within limit: Duration? = nil, _ pick: (Event) -> Value?
    ) async throws(Deviation) -> Value {
        let limit = limit ?? patience
        let deadline = ContinuousClock.now + limit
        while let event = try await nextEvent(within: deadline - .now) {
            if let value = pick(event) { return value }
        }
        throw Deviation("\(what) within \(limit)", got: "none")
    }

    /// Returns the next event.
    /// - Returns: nil after the limit or the end of the connection.
    func nextEvent(within limit: Duration) async throws(Deviation) -> Event? {
        if let event = state.withLock({ $0.events.isEmpty ? nil : $0.events.removeFirst() }) { return event }
        guard case .line(let line) = try await next(within: limit) else { return nil }
        guard let event = try event(from: line) else {
            throw Deviation("an event", got: "an answer without a request")
        }
        return event
    }

    var lastSequence: Int? { state.withLock { $0.lastSequence } }

    /// Parses an event. Checks its members and its sequence number; nil for other lines.
    private func event(from line: [UInt8]) throws(Deviation) -> Event? {
        guard let json = JSONValue(line: line), let name = json["event"]?.text else { return nil }
        try Shape.event.check(json, "an event")
        if let body = json["body"], let shape = Shape.body(ofEvent: name) { try shape.check(body, name) }
        let event: Event
        do {
            guard case .event(let known) = try ServerLine(line: line) else { return nil }
            event = known
        } catch {
            throw Deviation("an event as documented", got: "\(error)")
        }
        let last = state.withLock { state in
            defer { state.lastSequence = event.seq }
            return state.lastSequence
        }
        if let last, !event.follows(last) {
            throw Deviation("event \(last + 1), or a gap", got: "event \(event.seq) after \(last)")
        }
        return event
    }
}

extension Event {
    fileprivate func follows(_ last: Int) -> Bool {
        switch body {
        case .gap(let gap) where gap.reason == .restarted: seq == gap.missed
        case .gap(let gap): seq == last + gap.missed
        default: seq == last + 1
        }
    }
}

extension JSONValue {
    /// Returns a copy in which `sealed` members of another body replace the passwords.
    fileprivate func takingSeals(from other: JSONValue) -> JSONValue {
        switch (self, other) {
        case (.object(var members), .object(let others)):
            if let sealed = others["sealed"], members["password"] != nil {
                members["password"] = nil
                members["sealed"] = sealed
            }
            for (name, value) in members {
                if let other = others[name] { members[name] = value.takingSeals(from: other) }
            }
            return .object(members)
        case (.array(let entries), .array(let others)):
            return .array(zip(entries, others).map { $0.takingSeals(from: $1) } + entries.dropFirst(others.count))
        default: return self
        }
    }
}
