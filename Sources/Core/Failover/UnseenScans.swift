import AgentModel

/// Scans of all channels while all is well: for networks that were never seen, and for access points on channels where none was.
struct UnseenScans: Sendable, Hashable {
    /// Not before; nil for no such limit.
    var next: Instant?
    private var scans = 0
    private var surveyedAt: Instant?

    /// How long a link lives before the first survey, if no access point could carry more than it does.
    private static let patience = Duration.seconds(300)

    init(next: Instant? = nil) { self.next = next }

    mutating func ordered(at now: Instant, settings: PolicySettings) {
        next = now + settings.scanInterval.unseen.wait(after: scans)
        scans += 1
    }

    /// All channels were scanned, for whatever reason.
    mutating func surveyed(at now: Instant) { surveyedAt = now }

    /// When all channels are scanned though all networks were seen: less often where no access point could carry more than the link does.
    func nextSurvey(since start: Instant, carriesAll: Bool, settings: PolicySettings) -> Instant {
        let first = start + (carriesAll ? Self.patience : FailoverPolicy.beforeStrongerScan)
        let further = surveyedAt.map { $0 + settings.scanInterval.unseen.last * (carriesAll ? 4 : 1) }
        return max(first, further ?? first, next ?? first)
    }
}

extension FailoverPolicy {
    /// Time of the next scan of all channels on a link that is fine.
    func nextUnseenScan(_ link: Link) -> Instant? {
        if isOneUnseen { return unseenScans.next }
        return unseenScans.nextSurvey(since: link.since, carriesAll: carriesAll(link), settings: settings)
    }

    /// Whether a network of the list was never seen.
    var isOneUnseen: Bool { networks.contains { scanCache.places(of: $0.id).isEmpty } }

    mutating func scanForUnseen(_ link: Link) {
        guard canScan, let next = nextUnseenScan(link), next <= now else { return }
        if let later = orderScan([], reason: .unseen, isSparing: !isOneUnseen) {
            unseenScans.next = later
        } else {
            unseenScans.ordered(at: now, settings: settings)
        }
    }
}
