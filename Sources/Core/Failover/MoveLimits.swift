import AgentModel

/// Moves away from living links, to limit how often they happen.
struct MoveLimits: Hashable, Sendable {
    private var departures: [Instant] = []
    private var roams: [Instant] = []
    private static let hourlyLimit = 12

    /// Whether the link may be left for another network, or for another access point of its own.
    /// - Parameter isClearlyGood: whether the target is far above weak. Other moves, among networks that are about as
    ///   weak as each other, are limited by the hour as well.
    func allow(roam isRoam: Bool, toClearlyGood isClearlyGood: Bool, at now: Instant, settings: PolicySettings) -> Bool
    {
        let moves = isRoam ? roams : departures
        let limit = isRoam ? settings.roamLimit : settings.switchLimit
        return moves.count { now - $0 <= settings.switchLimitWindow } < limit
            && (isClearlyGood || (roams + departures).count { now - $0 <= .seconds(3600) } < Self.hourlyLimit)
    }

    mutating func departs(isRoam: Bool, at now: Instant, settings: PolicySettings) {
        departures.removeAll { now - $0 > .seconds(3600) }
        roams.removeAll { now - $0 > .seconds(3600) }
        if isRoam { roams.append(now) } else { departures.append(now) }
    }
}
