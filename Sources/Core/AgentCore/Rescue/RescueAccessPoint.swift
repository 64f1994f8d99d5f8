import AgentModel

/// Whether the device's own access point is wanted, by which a user reaches a device that no network connects.
///
/// A pure value that knows nothing of radios: `RescueDesk` opens and closes the access point by it. It is built against the
/// trap of such access points, a device that stays in its own after a router's outage: what opens it by itself is over as
/// soon as the device is online, and only a question of a browser keeps it open beyond that, never a phone that is
/// associated. Docs/onboarding.md has it in words.
package struct RescueAccessPoint: Sendable, Equatable {
    package struct Settings: Sendable, Equatable {
        /// How long nothing that is stored may be out of sight.
        package var unseen: Duration
        /// How long a network that is in sight may refuse the device while no other one works.
        package var refused: Duration
        /// How long after a browser's last question a user counts as being there.
        package var idle: Duration
        /// How long it stays open by button or command, counted from then and from every question of a browser.
        package var requested: Duration

        package init(
            unseen: Duration = .seconds(300), refused: Duration = .seconds(600), idle: Duration = .seconds(120),
            requested: Duration = .seconds(600)
        ) {
            (self.unseen, self.refused, self.idle, self.requested) = (unseen, refused, idle, requested)
        }
    }

    /// Why it is open.
    package enum Reason: String, Sendable, CaseIterable {
        /// No network is stored.
        case neverProvisioned
        /// No stored network has been seen for a while.
        case nothingSeen
        /// A stored network is in range and does not let the device in, and no other one works.
        case nothingWorks
        case button
        case command

        var isRequest: Bool { self == .button || self == .command }
    }

    /// What else is known of the device.
    package struct Circumstances: Sendable, Equatable {
        /// Whether networks are stored.
        package var hasNetworks: Bool
        /// Whether the device is online over Wi-Fi.
        package var isOnline: Bool
        /// Whether another uplink carries its traffic.
        package var hasOtherUplink: Bool
        /// Whether a commanded switch is under way.
        package var isSwitching: Bool

        package init(
            hasNetworks: Bool, isOnline: Bool = false, hasOtherUplink: Bool = false, isSwitching: Bool = false
        ) {
            (self.hasNetworks, self.isOnline) = (hasNetworks, isOnline)
            (self.hasOtherUplink, self.isSwitching) = (hasOtherUplink, isSwitching)
        }

        var isConnected: Bool { isOnline || hasOtherUplink }
    }

    package struct Opening: Sendable, Equatable {
        package var reason: Reason
        package var since: Instant
        /// When a browser has last asked for something.
        package var asked: Instant?
        /// Whether the device has reached a network meanwhile, so that a request is fulfilled.
        package var hasArrived = false

        package init(reason: Reason, since: Instant, asked: Instant? = nil, hasArrived: Bool = false) {
            (self.reason, self.since, self.asked, self.hasArrived) = (reason, since, asked, hasArrived)
        }
    }

    let settings: Settings
    package private(set) var opening: Opening?
    /// Whether a user has closed it: it does not open by itself until the device has been connected.
    private var isClosed = false
    private var circumstances: Circumstances?
    /// Since when nothing connects the device.
    private var offline: Instant?
    /// When a stored network was last seen.
    private var seen: Instant?
    /// Whether a scan of all channels has ended since, without one.
    private var hasLooked = false
    /// Since when stored networks refuse the device.
    private var refused: Instant?

    /// - Parameter opening: what an agent before this one has opened, since the start of the system.
    package init(settings: Settings, opening: Opening? = nil) { (self.settings, self.opening) = (settings, opening) }

    // MARK: What happens

    /// A scan has ended.
    /// - Parameters:
    ///   - hasKnown: whether it shows a stored network.
    ///   - isFull: whether it was of all channels.
    package mutating func scanned(hasKnown: Bool, isFull: Bool, at now: Instant) {
        if hasKnown {
            (seen, hasLooked) = (now, false)
        } else if isFull {
            hasLooked = true
        }
    }

    /// A stored network did not let the device in, or gave it no address.
    package mutating func failed(at now: Instant) { refused = refused ?? now }

    /// A browser has asked for something.
    package mutating func asked(at now: Instant) { opening?.asked = now }

    /// A commanded switch has brought the device where it was to be.
    package mutating func arrived() { opening?.hasArrived = true }

    /// A user wants it open. Asked again, the time begins anew.
    package mutating func open(by reason: Reason, at now: Instant) {
        opening = Opening(reason: reason, since: now, asked: opening?.asked)
        isClosed = false
    }

    /// A user wants it closed.
    package mutating func close() { (opening, isClosed) = (nil, true) }

    // MARK: What follows

    /// Takes in what is known of the device, and opens or closes what is due.
    package mutating func review(_ new: Circumstances, at now: Instant) {
        if new.isConnected {
            if circumstances?.isConnected == false { opening?.hasArrived = true }
            (offline, refused, hasLooked, isClosed) = (nil, nil, false, false)
        } else if offline == nil {
            offline = now
        }
        circumstances = new
        if let opening, let end = end(of: opening), end <= now { self.opening = nil }
        if opening == nil, let reason = reason(at: now) { opening = Opening(reason: reason, since: now) }
    }

    /// Whether a user is there: then the radio is not taken away.
    package func isInUse(at now: Instant) -> Bool { opening?.asked.map { $0 + settings.idle > now } ?? false }

    /// When the next review is due.
    package var nextWake: Instant? {
        guard let opening else { return dueMoments.min() }
        return end(of: opening)
    }

    /// When it closes, as far as that is known.
    package var closes: Instant? { opening.flatMap(end) }

    private func reason(at now: Instant) -> Reason? {
        guard let circumstances, !circumstances.isConnected, !isClosed else { return nil }
        guard circumstances.hasNetworks else { return .neverProvisioned }
        if let unseenEnd, unseenEnd <= now { return .nothingSeen }
        if let refusedEnd, refusedEnd <= now { return .nothingWorks }
        return nil
    }

    private var dueMoments: [Instant] {
        guard let circumstances, !circumstances.isConnected, !isClosed, circumstances.hasNetworks else {
            return []
        }
        return [unseenEnd, refusedEnd].compactMap(\.self)
    }

    /// Never without having looked: a radio that does not scan sees nothing.
    private var unseenEnd: Instant? {
        guard hasLooked, let offline else { return nil }
        return max(offline, seen ?? offline) + settings.unseen
    }

    private var refusedEnd: Instant? { refused.map { $0 + settings.refused } }

    private func end(of opening: Opening) -> Instant? {
        guard let circumstances else { return nil }
        let idle = opening.asked.map { $0 + settings.idle }
        if circumstances.isSwitching { return nil }
        if circumstances.isConnected, !opening.reason.isRequest || opening.hasArrived { return idle ?? opening.since }
        guard opening.reason.isRequest else { return nil }
        return max(opening.since, opening.asked ?? opening.since) + settings.requested
    }
}
