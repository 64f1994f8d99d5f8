import AgentModel
import KeyFile

// Security floor of a network, set by the user or learned. See Docs/contributor/security-floor.md.

extension StoredState {
    /// Learned minimum protection; empty if two passwords are stored under the name. Staged passwords do not count.
    package func learnedProtection(of network: StoredNetwork) -> LinkProtection {
        learnsMinimumSecurity(of: network) ? statistics[network.ssid]?.learnedMinimumSecurity?.protection ?? [] : []
    }

    func learnsMinimumSecurity(of network: StoredNetwork) -> Bool {
        let own = ([home, chosen].compactMap(\.self) + backups).filter { $0.ssid == network.ssid }
        return network.credential != .none && own.dropFirst().allSatisfy { $0.hasSameKey(as: own[0]) }
    }

    mutating func recordSecurity(_ security: Security, of network: StoredNetwork) {
        changeCopies { copy in
            // A join with WPA2 does not prove that the network no longer offers WPA3.
            guard copy.isSame(as: network), (copy.security, security) != (.wpa2wpa3, .wpa2) else { return }
            copy.security = security
        }
    }

    /// Discards learned facts after the user has sent the network's password, or declared it open.
    package mutating func applyUserSetting(for network: StoredNetwork) {
        statistics[network.ssid]?.learnedMinimumSecurity = nil
        changeCopies { copy in
            if copy.isSame(as: network) {
                copy.applyUserSetting(of: network)
            } else if copy.hasSameKey(as: network) {
                copy.takeOwnerSettings(of: network)
            }
        }
    }

    /// Applies the change to the stored networks of every role.
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
    /// - Parameter network: Network as described by the user.
    package mutating func applyUserSetting(of network: StoredNetwork) {
        // The old security is outdated if the user has changed the security floor.
        security = network.security ?? (minimumSecurity == network.minimumSecurity ? security : nil)
        minimumSecurity = network.minimumSecurity
        takeOwnerSettings(of: network)
    }
}

/// Counts the days for and against the learned security floor of a network. A restart begins a new day.
struct MinimumSecurityDays: Sendable {
    static let day = Duration.seconds(86_400)
    /// Minimum age of a link before the full scan.
    static let patience = Duration.seconds(600)
    /// Delay of the next full scan if one fails.
    static let retry = Duration.seconds(3600)

    /// Last link to a verified access point.
    private(set) var link: (bssid: BSSID, protection: LinkProtection, since: Instant)?
    private var counted: Instant?
    private var nextLook: Instant?
    /// Start of a day on which no visible access point reaches the security floor; nil if one does.
    private var below: Instant?

    mutating func linked(
        to bssid: BSSID, with protection: LinkProtection, _ minimumSecurity: inout LearnedMinimumSecurity,
        at now: Instant
    ) {
        let isSame = link?.bssid == bssid && link?.protection == protection
        link = (bssid, protection, isSame ? link?.since ?? now : now)
        below = nil
        minimumSecurity.met()
        minimumSecurity.restart(at: protection)
    }

    /// Whether another day of the link may count.
    func isDue(at now: Instant) -> Bool {
        guard let link, !link.protection.isEmpty else { return false }
        return [link.since + Self.patience, counted.map { $0 + Self.day }, nextLook]
            .allSatisfy { $0.map { $0 <= now } ?? true }
    }

    /// Returns whether to scan now, because the link has protection that is not learned yet. Delays the next scan.
    mutating func looks(for minimumSecurity: LearnedMinimumSecurity, at now: Instant) -> Bool {
        nextLook = now + Self.retry
        return link.map { !minimumSecurity.protection.isSuperset(of: $0.protection) } ?? false
    }

    /// Counts a day after the scan, if the link still exists.
    mutating func count(_ minimumSecurity: inout LearnedMinimumSecurity, at now: Instant) {
        guard let link else { return }
        counted = now
        minimumSecurity.countLink(with: link.protection)
    }

    mutating func saw(_ offers: [LinkProtection], _ minimumSecurity: inout LearnedMinimumSecurity, at now: Instant) {
        for offer in offers { minimumSecurity.restart(at: offer) }
        if offers.contains(where: { $0.isSuperset(of: minimumSecurity.protection) }) {
            below = nil
            minimumSecurity.met()
        } else if let since = below {
            guard since + Self.day <= now else { return }
            below = now
            minimumSecurity.countBelow()
        } else {
            below = now
        }
    }
}
