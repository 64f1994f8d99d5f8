import AgentModel

/// Links that were up and were lost, by access point: one that lets the device in and throws it out again is not blocked for
/// that, but another that is as good comes first.
struct Losses: Hashable, Sendable {
    private var moments: [BSSID: [Instant]] = [:]

    private static let accessPoints = 16

    mutating func lost(_ bssid: BSSID, at now: Instant, settings: PolicySettings) {
        let recent = moments[bssid, default: []].filter { now - $0 <= settings.lossWindow }
        moments[bssid] = Array((recent + [now]).suffix(settings.lossLimit))
        moments.forgetEarliest(beyond: Self.accessPoints) { $0.last ?? .distantPast }
    }

    /// Whether links to it were lost again and again of late.
    func isRestless(_ bssid: BSSID, at now: Instant, settings: PolicySettings) -> Bool {
        guard let lost = moments[bssid] else { return false }
        return lost.count { now - $0 <= settings.lossWindow } >= settings.lossLimit
    }
}
