import AgentModel
import Linux

/// A join from the call to its outcome.
@AgentLoop
final class JoinAttempt {
    /// The caller's number for it.
    let number: UInt64
    var phase = Phase.preparing

    enum Phase {
        /// wpa_supplicant is being told of the network. What happens on the air still concerns the old link.
        case preparing
        /// wpa_supplicant accepted to select it. The timer ends it.
        case trying(JoinProgress, deadline: LoopTimer)
        /// It failed, and wpa_supplicant is brought to rest before the caller is told.
        case failing(JoinFailure, network: Int, detail: String)
        case over
    }

    init(number: UInt64) { self.number = number }

    /// Whether the caller was promised an event.
    var isAccepted: Bool {
        switch phase {
        case .trying, .failing: true
        case .preparing, .over: false
        }
    }
}
