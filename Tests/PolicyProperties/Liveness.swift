import AgentModel
import Failover

/// Whether the device gets online where it can, and how long that took at worst.
package struct Liveness {
    /// Since when each access point could have been used, without a break.
    private var usable: [Int: Instant] = [:]
    private var validated: [Int: Instant] = [:]
    /// Access points that once did not work: while another one is in use, a block of theirs may outlast any bound.
    private var tainted: Set<Int> = []
    private var onlineAt: Instant
    private var validatedAt: Instant
    /// Longest time offline with a usable access point in range that never failed.
    package private(set) var longestStranded = Duration.zero
    /// Longest time offline with a usable access point in range, whether or not it failed before.
    package private(set) var longestAfterFailures = Duration.zero
    package private(set) var longestWithoutInternet = Duration.zero

    init(from start: Instant = World.start, tainted: Set<Int> = []) {
        self.tainted = tainted
        onlineAt = start
        validatedAt = start
    }

    /// Another program interfered: what follows is measured from here.
    mutating func disturbed(at now: Instant) {
        onlineAt = now
        validatedAt = now
    }

    /// Follows what the world offers.
    mutating func update(_ world: World) {
        let isDeviceReady = world.isInterfaceUp && world.isSupplicantRunning
        for (index, site) in world.accessPoints.enumerated() {
            let network = NetworkID(Neighbourhood.networkIndex(ofAccessPoint: index))
            let isUsable = isDeviceReady && site.isUsable && world.networks.contains { $0.id == network }
            usable[index] = isUsable ? usable[index] ?? world.now : nil
            if site.isOn, site.fault != nil || !site.givesAddress { tainted.insert(index) }
            if site.internet != .online { tainted.insert(index) }
            let isValidated = isUsable && !tainted.contains(index) && world.uplink == nil
            validated[index] = isValidated ? validated[index] ?? world.now : nil
        }
    }

    mutating func check(_ world: World) throws(Violation) {
        update(world)
        let now = world.now
        if world.isOnline { onlineAt = now }
        if let link = world.link, world.isOnline, world.accessPoints[link.accessPoint].internet == .online {
            validatedAt = now
        }
        let sound = usable.filter { !tainted.contains($0.key) }
        longestStranded = max(longestStranded, try offline(since: sound, limit: Bounds.online, at: now))
        longestAfterFailures = max(
            longestAfterFailures, try offline(since: usable, limit: Bounds.onlineAfterFailures, at: now))
        if world.settings.validation != nil, let since = validated.values.min() {
            let without = now - max(since, validatedAt)
            longestWithoutInternet = max(longestWithoutInternet, without)
            if without > Bounds.validated {
                throw Violation(.reachesValidated, "on no network with internet for \(without)", at: now)
            }
        }
    }

    /// Returns the time offline with one of these access points in range.
    private func offline(since usable: [Int: Instant], limit: Duration, at now: Instant) throws(Violation) -> Duration {
        guard let since = usable.values.min() else { return .zero }
        let stranded = now - max(since, onlineAt)
        if stranded > limit {
            throw Violation(.neverStranded, "offline for \(stranded), with a usable network in range", at: now)
        }
        return stranded
    }
}
