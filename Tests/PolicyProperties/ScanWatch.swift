import AgentModel
import Failover

/// Scans on a living link keep to their budget, and there are none while another uplink carries the traffic.
struct ScanWatch {
    private var uplink: Uplink?
    private var lastOrder: UInt64?
    /// The scan under way.
    private var current: (id: UInt64, isFull: Bool, since: Instant)?
    /// The cost of the scan under way is not known for sure: the device slept in the middle of it, or the answer came
    /// at the moment of the order.
    private var isDoubtful = false
    private var fullScan = Duration.seconds(6)
    private var settings: PolicySettings
    /// Whether the link was weak when it was measured last.
    private var isWeak = false
    /// The time that all scans may take together, and those on a link that is not weak.
    private var all: TokenBucket
    private var calm: TokenBucket
    /// The last two scans because the link might have no internet. They are beside the budget.
    private var looks: [Instant] = []

    init(settings: PolicySettings) {
        self.settings = settings
        all = TokenBucket(perThousand: settings.weakScanShare, limit: settings.scanReserve)
        calm = TokenBucket(perThousand: settings.scanShare, limit: settings.scanReserve)
    }

    mutating func check(_ exchange: Exchange) throws(Violation) {
        if exchange.changesSettings { adopt(exchange.policy.settings, at: exchange.at) }
        isDoubtful = isDoubtful || exchange.isLate || exchange.events.contains(.resumed)
        // A scan that is told of twice has worked.
        for case .scanned(let id?, _) in exchange.events { ended(id, in: exchange) }
        for event in exchange.events { check(event, in: exchange) }
        for case .scan(let order) in exchange.actions {
            if let lastOrder, order.id <= lastOrder {
                throw Violation(.freshNumbers, "scan \(order.id) after scan \(lastOrder)", at: exchange.at)
            }
            lastOrder = order.id
            // An answer that guessed the number came at the same moment: taken in after the order it has ended the
            // scan, and taken in before the order it answers nothing, so the scan still goes on.
            // An interface that went down at the same moment may have ended the scan.
            isDoubtful = exchange.events.contains { $0.answers(scan: order.id) || $0 == .interface(isUp: false) }
            current = (order.id, order.frequencies.isEmpty, exchange.at)
            guard case .online = exchange.before, case .online(let link) = exchange.policy.phase,
                order.reason != .commanded
            else { continue }
            if uplink != nil {
                throw Violation(.restsOnOtherUplink, "scans for reason \(order.reason)", at: exchange.at)
            }
            // A link that leads nowhere has nothing to disturb.
            if link.uselessness == nil {
                if order.reason == .unusable {
                    try look(by: order, at: exchange.at)
                } else {
                    try spend(on: order, at: exchange.at)
                }
            }
        }
    }

    private mutating func look(by order: ScanOrder, at now: Instant) throws(Violation) {
        let isEarly = looks.count == 2 && now - looks[0] < settings.weakScan.first
        guard !order.frequencies.isEmpty, !isEarly else {
            throw Violation(.scanBudget, "looks around for a third time, or everywhere", at: now)
        }
        looks = looks.suffix(1) + [now]
    }

    /// Time earned before is not counted against the new share. The scan under way has its whole time again.
    private mutating func adopt(_ new: PolicySettings, at now: Instant) {
        settings = new
        all = TokenBucket(perThousand: new.weakScanShare, limit: new.scanReserve)
        calm = TokenBucket(perThousand: new.scanShare, limit: new.scanReserve)
        fullScan = min(fullScan, new.scanReserve)
        looks = []
        isDoubtful = true
    }

    private mutating func check(_ event: PolicyEvent, in exchange: Exchange) {
        switch event {
        case .signal(let signal):
            let accessPoint = exchange.before.accessPoint ?? exchange.policy.phase.accessPoint
            isWeak = signal < settings.thresholds(for: accessPoint?.frequency).weak
            // A weak link earns its scans at the larger share, and what it saved up may be spent when it is well again.
            if isWeak { calm.refill(at: exchange.at) }
        case .otherUplink(let uplink): self.uplink = uplink
        case .scanFailed(let id) where current?.id == id: current = nil
        case .scanRefused(let id, _) where current?.id == id: current = nil
        // A scan dies with its interface, and what answers to it later says nothing of its time.
        case .interface(isUp: false): current = nil
        default: break
        }
    }

    /// The policy learns the cost of a scan of all channels from those that it has done.
    /// Less than a second is no scan.
    private mutating func ended(_ id: UInt64, in exchange: Exchange) {
        guard let scan = current, scan.id == id else { return }
        let time = exchange.at - scan.since
        guard isDoubtful || time <= settings.scanLimit else { return }
        current = nil
        guard scan.isFull, case .online = exchange.before else { return }
        // In doubt it was cheap: what is not known is no violation. At the moment at which it is given up it may count
        // or not. If the link was left at the same moment, the policy may not have learned from it.
        let learned =
            isDoubtful || time == settings.scanLimit ? .seconds(1) : min(max(time, .seconds(1)), settings.scanReserve)
        if case .online = exchange.policy.phase { fullScan = learned } else { fullScan = min(fullScan, learned) }
    }

    private mutating func spend(on order: ScanOrder, at now: Instant) throws(Violation) {
        let cost =
            order.frequencies.isEmpty
            ? fullScan : min(fullScan, .milliseconds(100) * order.frequencies.count)
        let isWithinAll = all.spend(cost, at: now)
        // A smoothed signal may be weak a while longer than its last sample.
        if order.reason == .weak { calm.refill(at: now) }
        let isWithinCalm = isWeak || order.reason == .weak || calm.spend(cost, at: now)
        guard isWithinAll, isWithinCalm else {
            throw Violation(.scanBudget, "no air time left for \(cost) because of \(order.reason)", at: now)
        }
    }
}

extension PolicyEvent {
    fileprivate func answers(scan id: UInt64) -> Bool {
        switch self {
        case .scanned(let answered, _): answered == id
        case .scanFailed(let answered): answered == id
        case .scanRefused(let answered, _): answered == id
        default: false
        }
    }
}

/// Air time that comes in at an even pace and can be saved up to a limit.
private struct TokenBucket {
    let perThousand: Int
    let limit: Duration
    private var saved: Duration
    private var since: Instant?

    init(perThousand: Int, limit: Duration) {
        self.perThousand = perThousand
        self.limit = limit
        saved = limit
    }

    mutating func refill(at now: Instant) {
        saved = limit
        since = now
    }

    /// - Returns: whether there was enough.
    mutating func spend(_ cost: Duration, at now: Instant) -> Bool {
        saved = min(limit, saved + (since.map { (now - $0) * perThousand / 1000 } ?? .zero))
        since = now
        saved -= cost
        // A loss by rounding is no overspending.
        return saved >= .milliseconds(-1)
    }
}
