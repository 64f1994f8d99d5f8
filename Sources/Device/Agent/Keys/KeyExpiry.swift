import AgentCore
import AgentModel
import AppProtocol
import Linux

/// Ends apps' keys and their sessions when they expire.
@AgentLoop
package final class KeyExpiry {
    private let keys: KeyRing
    private let log: @AgentLoop (LogLevel, String) -> Void
    private var timer: LoopTimer?

    /// - Parameter log: called for each ended key and each error.
    package init(_ keys: KeyRing, log: @escaping @AgentLoop (LogLevel, String) -> Void) {
        (self.keys, self.log) = (keys, log)
    }

    /// Ends expired keys. Repeats this each minute while a key can expire, because the clock may be set. Call this at
    /// the start and after each change of the keys.
    package func review() {
        Task {
            do {
                for name in try await keys.expire() { log(.notice, "the key \(name.text.printable) has expired") }
            } catch {
                log(.error, "\(error)")
            }
        }
        timer = keys.nextExpiry == nil ? nil : LoopTimer(after: .seconds(60)) { [weak self] in self?.review() }
    }

    package func stop() { timer = nil }
}
