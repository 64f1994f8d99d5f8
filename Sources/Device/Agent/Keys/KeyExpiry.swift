import AgentCore
import AgentModel
import AppProtocol
import Linux

/// Ends the keys of apps, and their sessions, as they expire while the device runs.
@AgentLoop
package final class KeyExpiry {
    private let keys: KeyRing
    private let log: @AgentLoop (LogLevel, String) -> Void
    private var timer: LoopTimer?

    /// - Parameter log: is told of each key that ended, and why one could not be.
    package init(_ keys: KeyRing, log: @escaping @AgentLoop (LogLevel, String) -> Void) {
        (self.keys, self.log) = (keys, log)
    }

    /// Ends what has expired, and looks again in a minute where a key can: the clock may be set meanwhile.
    /// To be called at the start, and after each change of the keys.
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
