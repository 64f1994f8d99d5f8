import AppProtocol
import Synchronization

/// Where answers find their requests and events wait for their reader.
final class Inbox: Sendable {
    typealias Waiting = CheckedContinuation<Result<[UInt8], ClientError>, Never>

    let events: AsyncThrowingStream<Event, any Error>
    private let continuation: AsyncThrowingStream<Event, any Error>.Continuation
    private let state = Mutex(State())

    private struct State {
        var lastID = 0
        var waiting: [String: Waiting] = [:]
        /// Why the connection has ended.
        var end: ClientError?
        /// When the device last said something.
        var heard: ContinuousClock.Instant?
    }

    init() {
        // What a reader leaves lying is dropped from here on; the sequence numbers of the rest show it.
        (events, continuation) = AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    var isOpen: Bool { state.withLock { $0.end == nil } }

    /// When the device last said something, nil if it has not yet.
    var heard: ContinuousClock.Instant? { state.withLock { $0.heard } }

    func newID() -> String {
        state.withLock { state in
            state.lastID += 1
            return String(state.lastID)
        }
    }

    /// - Returns: false if the connection has ended, which `continuation` has then been told.
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
        take(id)?.resume(returning: .failure(error))
    }

    func receive(_ line: [UInt8]) {
        state.withLock { $0.heard = .now }
        do {
            switch try ServerLine(line: line) {
            case .answer(let id?, let failure):
                take(id)?.resume(returning: failure.map { .failure(.refused($0)) } ?? .success(line))
            case .answer(nil, let failure):
                // Said of no request in particular, as by a server that has no place for this connection.
                if let failure { end(.refused(failure)) }
            case .event(let event): continuation.yield(event)
            case .unknown: break
            }
        } catch {
            end(.notUnderstood(error))
        }
    }

    /// Everything that waits, and everything that is asked from now on, fails with `error`; the first reason stays.
    func end(_ error: ClientError) {
        let waiting = state.withLock { state in
            if state.end == nil { state.end = error }
            defer { state.waiting = [:] }
            return state.waiting.values.map { ($0, state.end ?? error) }
        }
        for (continuation, error) in waiting { continuation.resume(returning: .failure(error)) }
        continuation.finish(throwing: error)
    }

    private func take(_ id: String) -> Waiting? {
        state.withLock { $0.waiting.removeValue(forKey: id) }
    }
}
