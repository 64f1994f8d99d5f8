import AgentModel

/// What wpa_supplicant reports on its own, in the order in which it happened.
public enum SupplicantEvent: Sendable, Equatable {
    /// wpa_supplicant answers, its events arrive and it decides nothing by itself any more. Also sent when it came back
    /// after a crash or a restart: whatever it was asked before is forgotten, so ask for the `status` first.
    case available
    /// wpa_supplicant is gone, or does not answer. A join under way ends before this with
    /// `joinFailed(_, .supplicantUnavailable, _)`.
    case unavailable
    /// The link is up: associated and all keys in place. `attempt` is nil where no join of this process made it.
    case connected(attempt: UInt64?, bssid: BSSID)
    /// The access point of the link, or of the join under way, says which weaker ways in are not to be taken any more.
    case transitionDisabled(TransitionDisable)
    /// An established link ended, with the reason code of IEEE 802.11-2020, table 9-49, or 0 where none was given.
    /// `locallyGenerated` tells a link that this station ended (to switch, to leave, or because no beacons came) from
    /// one that the access point ended.
    case disconnected(reason: Int, locallyGenerated: Bool)
    /// The join did not lead to a link, and wpa_supplicant does not try any further. `detail` is the line of
    /// wpa_supplicant that says why, safe to print and without secrets.
    case joinFailed(attempt: UInt64, JoinFailure, detail: String)
}
