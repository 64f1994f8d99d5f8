import AgentModel

/// The air time that scans may take on a living link: it comes in at an even pace, and can be saved up to a limit.
struct ScanBudget: Hashable, Sendable {
    /// What a scan of one channel takes, and of all of them until that was measured: the radio returns to its own channel in
    /// between (Docs/lab.md).
    static let channelTime = Duration.milliseconds(100)
    static let firstFullScan = Duration.seconds(6)
    /// Less is no scan: somebody answered from memory.
    private static let shortestFullScan = Duration.seconds(1)

    private var share: Int
    private var urgentShare: Int
    private var reserve: Duration
    private var fullScan = firstFullScan
    private var saved: Duration
    private var since: Instant?

    init(_ settings: PolicySettings) {
        share = settings.scanShare
        urgentShare = settings.weakScanShare
        reserve = settings.scanReserve
        saved = reserve
    }

    /// What was saved up stays, as far as there is still room for it.
    mutating func adopt(_ settings: PolicySettings) {
        share = settings.scanShare
        urgentShare = settings.weakScanShare
        reserve = settings.scanReserve
        saved = min(saved, reserve)
        fullScan = min(fullScan, reserve)
    }

    func cost(of frequencies: [Frequency]) -> Duration {
        frequencies.isEmpty ? fullScan : min(Self.channelTime * frequencies.count, fullScan)
    }

    /// Takes the price of a scan out of the budget, or leaves it.
    mutating func spend(on frequencies: [Frequency], isUrgent: Bool, at now: Instant) -> Bool {
        let earned = since.map { (now - $0) * (isUrgent ? urgentShare : share) / 1000 } ?? .zero
        saved = min(reserve, saved + earned)
        since = now
        let cost = cost(of: frequencies)
        guard cost <= saved else { return false }
        saved -= cost
        return true
    }

    /// How long to wait until a scan can be paid for that was refused.
    func wait(for frequencies: [Frequency], isUrgent: Bool) -> Duration {
        let missing = cost(of: frequencies) - saved
        return max(.seconds(1), missing * 1000 / max(1, isUrgent ? urgentShare : share))
    }

    /// How long a scan of all channels really took. What takes longer than the reserve could never be paid, and what is
    /// answered at the moment of the order was somebody else's scan.
    mutating func measured(_ time: Duration) {
        guard time > .zero else { return }
        fullScan = min(max(time, Self.shortestFullScan), reserve)
    }
}
