import AgentModel

/// Where the device was when its radio went away, as it does when firmware crashes or a stick is pulled. No access point
/// is to blame for that, and the one that was in use comes first when the radio is back.
struct RadioReturn: Sendable, Hashable {
    let network: NetworkID
    let frequency: Frequency
    /// When the radio came back; nil while it is away.
    private(set) var since: Instant?
    /// When its channel is scanned next.
    private(set) var nextScan: Instant?
    private var scans = 0

    /// So many scans, within so long, and it is one like any other.
    private static let scans = 3
    private static let patience = Duration.seconds(3)
    private static let interval = Duration.milliseconds(250)

    init(to network: NetworkID, on frequency: Frequency) { (self.network, self.frequency) = (network, frequency) }

    mutating func radioIsBack(at now: Instant) { (since, nextScan, scans) = (now, now, 0) }
    mutating func radioIsGone() { (since, nextScan) = (nil, nil) }

    mutating func scanOrdered(at now: Instant) {
        scans += 1
        nextScan = now + Self.interval
    }

    /// When nothing else may be joined no more; nil while the radio is away.
    var end: Instant? { since.map { $0 + Self.patience } }

    /// - Parameter isScanning: whether the last scan has not ended yet.
    func isOver(at now: Instant, isScanning: Bool) -> Bool {
        end.map { $0 <= now || scans >= Self.scans && !isScanning } ?? false
    }
}

/// All that is held against networks and access points, as it was before a link was lost.
struct LossRecord: Sendable {
    let link: FailoverPolicy.Link
    let at: Instant
    let histories: [NetworkID: NetworkHistory]
    let losses: Losses

    /// A link that is lost for so long at most before its radio goes away was lost for that.
    static let suspicion = Duration.seconds(5)
}

extension FailoverPolicy {
    /// The radio goes away, on whose link or on whose loss the device was.
    mutating func radioWentAway(at now: Instant) {
        if let lastLoss, now - lastLoss.at <= LossRecord.suspicion {
            // What was held against networks since was the radio's fault.
            histories = lastLoss.histories
            losses = lastLoss.losses
            returnAfterRadio(to: lastLoss.link)
        }
        lastLoss = nil
        radioReturn?.radioIsGone()
    }

    mutating func returnAfterRadio(to link: Link) {
        guard let frequency = link.accessPoint.frequency, network(link.network) != nil else { return }
        radioReturn = RadioReturn(to: link.network, on: frequency)
    }

    /// When something is due of a return after the radio was away; nil where none is under way.
    var radioReturnMoment: Instant? {
        guard let radioReturn, let end = radioReturn.end else { return nil }
        return canScan ? min(end, radioReturn.nextScan ?? end) : end
    }

    /// An interface that is away for less is up again at once where it was.
    private static let memory = Duration.seconds(3)

    /// Joins the access point's network that was in use before the radio went away, or scans for it.
    /// - Returns: whether nothing else is to be done now.
    mutating func returnAfterRadio(at now: Instant, _ actions: inout [PolicyAction]) -> Bool {
        guard var radioReturn, let since = radioReturn.since, command == nil else { return false }
        if let bss = observation(of: radioReturn.network, at: now, since: since - Self.memory),
            isOpen(bss, of: radioReturn.network, at: now), quality(of: bss) != .faint
        {
            self.radioReturn = nil
            join(radioReturn.network, at: bss, purpose: .automatic, cause: search.cause, at: now, &actions)
            return true
        }
        guard !radioReturn.isOver(at: now, isScanning: scan != nil), !isBlocked(radioReturn.network, at: now) else {
            self.radioReturn = nil
            // It has to be seen again before it is joined.
            histories[radioReturn.network, default: NetworkHistory()].gone(at: now)
            return false
        }
        if canScan, radioReturn.nextScan.map({ $0 <= now }) ?? false {
            radioReturn.scanOrdered(at: now)
            self.radioReturn = radioReturn
            search.orderedQuickScan()
            orderScan([radioReturn.frequency], reason: .offline, at: now, &actions)
        }
        return true
    }
}
