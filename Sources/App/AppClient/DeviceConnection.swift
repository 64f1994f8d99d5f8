import AppProtocol
import Synchronization

/// A connection to a device. Sends requests, finds their answers by ID, and collects events.
///
/// IDs are never reused, so a late answer to a timed-out request is dropped. The connection closes when its last
/// reference is released.
final class DeviceConnection: Sendable {
    private let transport: any Transport
    private let router: MessageRouter
    /// Result of opening the session; nil for the agent on this machine.
    let session: SessionOpened?

    init(transport: any Transport, router: MessageRouter, session: SessionOpened?) {
        self.transport = transport
        self.router = router
        self.session = session
    }

    deinit { transport.close() }

    var events: AsyncThrowingStream<Event, any Error> { router.events }

    var isOpen: Bool { router.isOpen }

    var mayDeliverLate: Bool { transport.mayDeliverLate }

    func isHeard(within span: Duration) -> Bool {
        router.heard.map { ContinuousClock.now - $0 < span } ?? false
    }

    func send<Answer: Decodable>(
        _ content: Request.Content, as type: Answer.Type, within limit: Duration
    ) async throws(ClientError) -> Answer {
        let id = router.newID()
        let line: [UInt8]
        do {
            line = try Request(id: id, content: content).line()
        } catch {
            throw .refused(error)
        }
        guard line.count <= ProtocolLimits.lineLength else { throw .refused(.lineTooLong) }
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard router.expect(id, continuation) else { return }
                // Do not send the request if the caller has given up.
                guard !Task.isCancelled else { return router.fail(id, .cancelled) }
                timer = Task { [router] in
                    guard (try? await Task.sleep(for: limit)) != nil else { return }
                    router.fail(id, .timedOut)
                }
                transport.send(line) { [router] in router.fail(id, .disconnected) }
            }
        } onCancel: {
            router.fail(id, .cancelled)
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

    func close() async { await transport.closed() }

    /// Closes at once, because the session may repeat requests.
    func abandon() {
        router.end(.disconnected)
        transport.abandon()
    }
}

final class MessageRouter: Sendable {
    typealias Waiting = CheckedContinuation<Result<[UInt8], ClientError>, Never>

    let events: AsyncThrowingStream<Event, any Error>
    private let continuation: AsyncThrowingStream<Event, any Error>.Continuation
    private let state = Mutex(State())

    private struct State {
        var lastID = 0
        var waiting: [String: Waiting] = [:]
        /// Error that ended the connection; nil while it is open.
        var end: ClientError?
        var heard: ContinuousClock.Instant?
    }

    init() {
        // A slow reader loses the oldest events, and notices this by the sequence numbers.
        (events, continuation) = AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    var isOpen: Bool { state.withLock { $0.end == nil } }

    /// Time of the device's last line; nil before the first.
    var heard: ContinuousClock.Instant? { state.withLock { $0.heard } }

    func newID() -> String {
        state.withLock { state in
            state.lastID += 1
            return String(state.lastID)
        }
    }

    /// - Returns: false if the connection has ended. In this case, `continuation` has received the error.
    func expect(_ id: String, _ continuation: Waiting) -> Bool {
        let end = state.withLock { state in
            if state.end == nil { state.waiting[id] = continuation }
            return state.end
        }
        guard let end else { return true }
        continuation.resume(returning: .failure(end))
        return false
    }

    func fail(_ id: String, _ error: ClientError) {
        removeWaiting(id)?.resume(returning: .failure(error))
    }

    func receive(_ line: [UInt8]) {
        state.withLock { $0.heard = .now }
        do {
            switch try ServerLine(line: line) {
            case .answer(let id?, let failure):
                removeWaiting(id)?.resume(returning: failure.map { .failure(.refused($0)) } ?? .success(line))
            case .answer(nil, let failure):
                // An error without ID concerns the connection, for example too many connections.
                if let failure { end(.refused(failure)) }
            case .event(let event): continuation.yield(event)
            case .unknown: break
            }
        } catch {
            end(.notUnderstood(error))
        }
    }

    /// Ends the connection: fails pending and future requests. The error of the first call stays.
    func end(_ error: ClientError) {
        let waiting = state.withLock { state in
            if state.end == nil { state.end = error }
            defer { state.waiting = [:] }
            return state.waiting.values.map { ($0, state.end ?? error) }
        }
        for (continuation, error) in waiting { continuation.resume(returning: .failure(error)) }
        continuation.finish(throwing: error)
    }

    private func removeWaiting(_ id: String) -> Waiting? {
        state.withLock { $0.waiting.removeValue(forKey: id) }
    }
}
