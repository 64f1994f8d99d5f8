import AgentModel

/// Decides whether the setup access point is wanted. A user reaches an offline device through it.
///
/// A pure value without knowledge of radios. The core opens and closes the access point (`SetupAccessPointState`). A
/// router outage must not keep a device in setup: an automatic opening ends once the device is online. Only browser
/// requests prolong it; an associated phone does not. See Docs/reference/setup-access-point.md.
package struct SetupAccessPoint: Sendable, Equatable {
    package struct Settings: Sendable, Equatable {
        /// Time without a stored network in range before the access point opens.
        package var unseen: Duration
        /// Time for which networks in range refuse the device before the access point opens.
        package var refused: Duration
        /// Time after a browser request in which a user counts as present.
        package var idle: Duration
        /// Time for which a requested access point stays open after the request, and after each browser request.
        package var requested: Duration

        package init(
            unseen: Duration = .seconds(300), refused: Duration = .seconds(600), idle: Duration = .seconds(120),
            requested: Duration = .seconds(600)
        ) {
            (self.unseen, self.refused, self.idle, self.requested) = (unseen, refused, idle, requested)
        }
    }

    package enum Reason: String, Sendable, CaseIterable {
        /// No network is stored.
        case neverProvisioned
        /// Each stored network is manual.
        case onlyManual
        /// No stored network was in range for a while.
        case nothingSeen
        /// Stored networks in range refuse the device, and no other network works.
        case nothingWorks
        case button
        case command

        var isRequest: Bool { self == .button || self == .command }
    }

    package struct Circumstances: Sendable, Equatable {
        /// Whether a network is stored that the device joins automatically.
        package var hasNetworks: Bool
        package var hasOnlyManual = false
        package var isOnline = false
        package var hasOtherUplink = false
        package var isSwitching = false

        var isConnected: Bool { isOnline || hasOtherUplink }
    }

    package struct Opening: Sendable, Equatable {
        package var reason: Reason
        package var since: Instant
        /// Last request of a browser.
        package var asked: Instant?
        /// Whether the device has been connected since the opening. If so, a requested opening ends like an automatic
        /// one.
        package var hasArrived = false

        package init(reason: Reason, since: Instant, asked: Instant? = nil, hasArrived: Bool = false) {
            (self.reason, self.since, self.asked, self.hasArrived) = (reason, since, asked, hasArrived)
        }
    }

    let settings: Settings
    package private(set) var opening: Opening?
    /// Whether the user has closed the access point. It then opens only on request, until the device has been
    /// connected.
    private var isClosed = false
    private var circumstances: Circumstances?
    /// Start of the current time without a connection; nil while connected.
    private var offline: Instant?
    /// Last time a stored network was in range.
    private var seen: Instant?
    /// Whether a full scan since `seen` found no stored network.
    private var hasLooked = false
    /// Time of the first refusal since the device was last connected; nil if there was none.
    private var refused: Instant?

    /// - Parameter opening: Opening by an earlier run of the agent since the boot.
    package init(settings: Settings, opening: Opening? = nil) { (self.settings, self.opening) = (settings, opening) }

    // MARK: Events

    /// - Parameter isFull: Whether all channels were scanned.
    package mutating func scanned(hasKnown: Bool, isFull: Bool, at now: Instant) {
        if hasKnown {
            (seen, hasLooked) = (now, false)
        } else if isFull {
            hasLooked = true
        }
    }

    /// Records that a stored network refused the device or gave no address.
    package mutating func failed(at now: Instant) { refused = refused ?? now }

    package mutating func asked(at now: Instant) { opening?.asked = now }

    package mutating func arrived() { opening?.hasArrived = true }

    /// Opens the access point for the user. A repeated call restarts its time limit.
    package mutating func open(by reason: Reason, at now: Instant) {
        opening = Opening(reason: reason, since: now, asked: opening?.asked)
        isClosed = false
    }

    package mutating func close() { (opening, isClosed) = (nil, true) }

    // MARK: Decisions

    /// Opens or closes the access point according to the state of the device.
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

    /// Whether a user is present. If so, joins must not close the access point.
    package func isInUse(at now: Instant) -> Bool { opening?.asked.map { $0 + settings.idle > now } ?? false }

    package var nextWake: Instant? {
        guard let opening else { return dueMoments.min() }
        return end(of: opening)
    }

    package var closes: Instant? { opening.flatMap(end) }

    private func reason(at now: Instant) -> Reason? {
        guard let circumstances, !circumstances.isConnected, !isClosed else { return nil }
        guard circumstances.hasNetworks else {
            return circumstances.hasOnlyManual ? .onlyManual : .neverProvisioned
        }
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

    /// Time at which the access point opens because no network was seen. Requires a full scan, because a radio that
    /// cannot scan finds nothing.
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
