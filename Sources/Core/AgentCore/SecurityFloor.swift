import AgentModel
import KeyFile

// The security floor of a network: the owner's word, and what the device learns. Docs/failover.md has the rule.

extension StoredState {
    /// The protection that the device has learned to ask of a network. Nothing where two passwords are stored under its
    /// name: a newer one that is staged is not another network's.
    package func learnedProtection(of network: StoredNetwork) -> LinkProtection {
        learnsFloor(of: network) ? statistics[network.ssid]?.learnedFloor?.protection ?? [] : []
    }

    func learnsFloor(of network: StoredNetwork) -> Bool {
        let own = ([home, chosen].compactMap(\.self) + backups).filter { $0.ssid == network.ssid }
        return network.credential != .none && own.dropFirst().allSatisfy { $0.hasSameKey(as: own[0]) }
    }

    /// The last join of a network was authenticated so.
    mutating func note(_ security: Security, of network: StoredNetwork) {
        changeCopies { copy in
            // A network with both goes on having both where a station can do WPA2 only.
            guard copy.isSame(as: network), (copy.security, security) != (.wpa2wpa3, .wpa2) else { return }
            copy.security = security
        }
    }

    /// The owner has sent a network with its password, or said that it has none: what was learnt of it counts no more.
    package mutating func takeWord(for network: StoredNetwork) {
        statistics[network.ssid]?.learnedFloor = nil
        changeCopies { copy in
            if copy.isSame(as: network) {
                copy.takeWord(of: network)
            } else if copy.hasSameKey(as: network) {
                copy.staticAddress = network.staticAddress
            }
        }
    }

    /// A network is stored once for each of its roles.
    private mutating func changeCopies(_ change: (inout StoredNetwork) -> Void) {
        if var network = home {
            change(&network)
            home = network
        }
        if var network = chosen {
            change(&network)
            chosen = network
        }
        if var target = pendingSwitch?.target {
            change(&target)
            pendingSwitch?.target = target
        }
        for index in backups.indices { change(&backups[index]) }
    }
}

extension StoredNetwork {
    /// - Parameter network: the same as its owner describes it.
    package mutating func takeWord(of network: StoredNetwork) {
        // Its security of before says nothing where the owner allows less.
        security = network.security ?? (floor == network.floor ? security : nil)
        floor = network.floor
        staticAddress = network.staticAddress
    }
}

/// When days were last counted for and against the learned floor of a network. A restart begins a new day.
struct FloorDays: Sendable {
    static let day = Duration.seconds(86_400)
    /// A link counts only after so long, and after a look around: a scan of all channels.
    static let patience = Duration.seconds(600)
    /// From look to look, where the first one failed.
    static let retry = Duration.seconds(3600)

    /// The last link to a verified access point.
    private(set) var link: (bssid: BSSID, protection: LinkProtection, since: Instant)?
    private var counted: Instant?
    private var nextLook: Instant?
    /// The begin of the day that counts against the floor, while nothing in sight reaches it.
    private var below: Instant?

    /// A link was made to a verified access point.
    mutating func linked(
        to bssid: BSSID, with protection: LinkProtection, _ floor: inout LearnedFloor, at now: Instant
    ) {
        let isSame = link?.bssid == bssid && link?.protection == protection
        link = (bssid, protection, isSame ? link?.since ?? now : now)
        below = nil
        floor.met()
        floor.restart(at: protection)
    }

    /// Whether the link may be worth another day.
    func isDue(at now: Instant) -> Bool {
        guard let link, !link.protection.isEmpty else { return false }
        return [link.since + Self.patience, counted.map { $0 + Self.day }, nextLook]
            .allSatisfy { $0.map { $0 <= now } ?? true }
    }

    /// Looks around now, if the link has anything that is not learned.
    mutating func looks(for floor: LearnedFloor, at now: Instant) -> Bool {
        nextLook = now + Self.retry
        return link.map { !floor.protection.isSuperset(of: $0.protection) } ?? false
    }

    /// The device has looked around, and the link is there.
    mutating func count(_ floor: inout LearnedFloor, at now: Instant) {
        guard let link else { return }
        counted = now
        floor.countLink(with: link.protection)
    }

    /// Verified access points are in sight.
    /// - Parameter offers: the protection of each.
    mutating func saw(_ offers: [LinkProtection], _ floor: inout LearnedFloor, at now: Instant) {
        for offer in offers { floor.restart(at: offer) }
        if offers.contains(where: { $0.isSuperset(of: floor.protection) }) {
            below = nil
            floor.met()
        } else if let since = below {
            guard since + Self.day <= now else { return }
            below = now
            floor.countBelow()
        } else {
            below = now
        }
    }
}
