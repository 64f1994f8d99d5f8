import AgentModel
import AppProtocol
import AppServer
import Synchronization

/// Whether a phone reaches the setup access point. The phone loses it while the radio tries a network.
final class PhoneReach: Sendable {
    private struct State {
        /// The switch that took the access point away; nil while the phone reaches it.
        var lostBy: String?
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let returnTime: Duration
    private let state = Mutex(State())

    /// - Parameter returnTime: time from the end of an attempt until the phone is back.
    init(returnTime: Duration) { self.returnTime = returnTime }

    func record(_ status: SwitchStatus) {
        guard status.phase != .accepted else { return }
        guard status.phase.isOutcome else { return state.withLock { $0.lostBy = status.switchId } }
        Task { [returnTime] in
            try? await Task.sleep(for: returnTime)
            restore(after: status.switchId)
        }
    }

    /// Waits until the phone reaches the access point.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.lostBy != nil { state.waiting.append(continuation) }
                return state.lostBy == nil
            }
            if isReached { continuation.resume() }
        }
    }

    /// - Parameter switchID: ignored if another switch has taken the access point away since; nil for any switch.
    func restore(after switchID: String? = nil) {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard switchID == nil || state.lostBy == switchID else { return [] }
            defer { state = State() }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// Pages that answer only while the phone reaches the access point. Requests wait, as TCP resends what is lost.
struct PagesInReach: WebPages {
    let pages: any WebPages
    let reach: PhoneReach

    func respond(to request: BrowserRequest, from client: Browser) async -> BrowserResponse {
        await reach.wait()
        return await pages.respond(to: request, from: client)
    }
}
