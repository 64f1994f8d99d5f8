import AgentModel
import Failover

// The calm after a hostile history.
extension World {
    /// All networks are in range after any history: the first one works now, and the others answer no join.
    init(after watched: WatchedPolicy, at now: Instant) {
        self.init(settings: watched.policy.settings, traits: Traits())
        trace = watched.trace
        self.watched = watched
        self.now = now
        isInterfaceUp = false
        networks = (0..<Neighbourhood.networkCount).map { Neighbourhood.network($0) }
        for index in accessPoints.indices {
            accessPoints[index].isOn = true
            accessPoints[index].fault = index == 0 ? nil : .timeout
        }
        liveness = Liveness(from: now, tainted: [0])
    }

    /// Starts the device's parts again, and waits until it is online.
    /// - Returns: the time that it took.
    mutating func getOnline() throws(Violation) -> Duration {
        try send([.networks(networks), .otherUplink(nil), .spare(isReady: false), .interface(isUp: false)])
        // The link that stood by is in use now, and ends as well.
        try send([.interface(isUp: false)])
        try bringInterfaceUp()
        try send([.supplicant(isAvailable: true)])
        while !isOnline { try run(until: now + .seconds(1)) }
        return liveness.longestAfterFailures
    }
}
