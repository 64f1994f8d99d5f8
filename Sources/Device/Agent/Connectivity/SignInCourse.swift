import AgentModel
import AppProtocol
import Hotspots

/// How the sign-in at the network in use goes, and what of it concerns the policy.
struct SignInCourse {
    /// What the policy has to hear, and what has to be found out, after a change.
    enum Consequence: Equatable {
        case nothing
        /// A provider says that it is done: the network itself shows whether it is so.
        case look
        case isUnderWay(until: Instant)
        /// No provider can, or a user has to: a network without a sign-in is better.
        case isLeftToOthers
    }

    private(set) var status = HotspotStatus()
    /// Whether the policy waits for what comes of it.
    private var isAwaited = false

    /// Whether a provider has signed in, and may have to log off.
    var isSignedIn: Bool { status.portal.state == .authenticated || status.portal.state == .maintaining }

    mutating func networkLeft() { isAwaited = false }

    /// The policy waits for what comes of it.
    mutating func await() { isAwaited = true }

    /// What came of it is known.
    mutating func isOver() { isAwaited = false }

    mutating func changed(to new: HotspotStatus) -> Consequence {
        let old = status
        status = new
        if new.portal.state == .authenticated, old.portal.state != .authenticated { return .look }
        if let end = new.signingInUntil, new.portal.state != .presentingUI {
            isAwaited = true
            return .isUnderWay(until: end)
        }
        guard isAwaited, new.signingInUntil == nil || new.portal.state == .presentingUI else { return .nothing }
        isAwaited = false
        return .isLeftToOthers
    }
}
