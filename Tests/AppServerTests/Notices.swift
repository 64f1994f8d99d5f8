import AppServer
import Synchronization

/// What a server has told of its connections.
final class Notices: Sendable {
    private struct State {
        var all: [AppServer.Notice] = []
        var waiting: [(isMeant: @Sendable (AppServer.Notice) -> Bool, continuation: CheckedContinuation<Void, Never>)] =
            []
    }

    private let state = Mutex(State())

    var all: [AppServer.Notice] { state.withLock { $0.all } }

    func append(_ notice: AppServer.Notice) {
        let met = state.withLock { state in
            state.all.append(notice)
            let met = state.waiting.filter { $0.isMeant(notice) }.map(\.continuation)
            state.waiting.removeAll { $0.isMeant(notice) }
            return met
        }
        for continuation in met { continuation.resume() }
    }

    /// Returns once such a notice has come.
    func contain(_ isMeant: @escaping @Sendable (AppServer.Notice) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.all.contains(where: isMeant) { return true }
                state.waiting.append((isMeant, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Why connections did not get through their handshakes.
    var failures: [HandshakeFailure] {
        all.compactMap { if case .turnedAway(let turnedAway) = $0 { turnedAway.failure } else { nil } }
    }

    /// Why open connections were closed.
    var reasons: [AppServer.Reason] {
        all.compactMap { if case .dropped(_, let reason) = $0 { reason } else { nil } }
    }
}
