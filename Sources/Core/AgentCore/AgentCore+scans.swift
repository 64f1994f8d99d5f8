import AgentModel
import AppProtocol
import Failover

/// The agent's scans that are under way or wait for the radio.
struct ScanDesk: Sendable {
    var isScanning = false
    /// The policy's scan that has to wait until another one has ended.
    var deferred: ScanOrder?
    /// The access point that is to be asked as soon as the scan under way has ended, before anything else comes of the
    /// end.
    var urgent: AccessPoint?
    /// The scan that has to wait until it is known how many names the radio can call.
    var unlimited: Named?
    /// Where names were seen.
    var places = SeenPlaces()
    /// Whether a timer is to look whether the radio is free.
    var isWaitingToRetry = false
    /// The app that is answered as soon as its scan has begun.
    var unanswered: RequestID?
    /// The policy's scan that the radio has taken on, and when.
    var running: (order: ScanOrder, since: Instant)?
    /// The policy's scan that waits, while the results of another program's are read in its place.
    var borrowed: UInt64?
    /// Whether the scan under way was told to end.
    var isAborting = false
    /// The run of refused scans that was told, and why they are.
    var refused: (count: Int, since: Instant)?
    var refusal: ProtocolError?
    var joinsUnseen = false
    /// The last scan that an app asked for, and the last of those that ended.
    var lastRequested = 0
    var lastEnded: Int?

    /// A scan that calls hidden networks by their names.
    struct Named: Sendable {
        let owner: ScanOwner
        let station: StationID
        let ssids: [SSID]
        let frequencies: [Frequency]
    }
}

extension AgentCore {
    /// Scans for the policy. Where the radio is busy with another scan, this one waits for its end.
    mutating func scan(_ scan: ScanOrder) {
        guard !scans.isScanning else {
            scans.deferred = scan
            return
        }
        begin(.policy(scan), ssids: scan.ssids, frequencies: scan.frequencies)
    }

    /// Scans for an app, which is answered when the kernel has taken the scan on.
    mutating func startScan(_ request: AppProtocol.ScanRequest, _ id: RequestID) throws(ProtocolError) {
        guard !scans.isScanning else { throw ProtocolError(.scanBusy, "a scan is running") }
        if let missing = missingInterface { throw missing }
        guard isInterfaceUp else { throw ProtocolError(.radioFailed, "\(inUse) is down") }
        scans.lastRequested += 1
        scans.unanswered = id
        begin(.app(id, scans.lastRequested), ssids: request.ssids, frequencies: request.frequencies)
    }

    /// - Parameter ssids: names to call hidden networks by.
    mutating func begin(_ owner: ScanOwner, ssids: [SSID], frequencies: [Frequency]) {
        scans.isScanning = true
        scans.isAborting = false
        let scan = ScanDesk.Named(owner: owner, station: inUse, ssids: ssids, frequencies: frequencies)
        guard !ssids.isEmpty, current.nameLimit == nil else { return order(scan, limit: current.nameLimit) }
        scans.unlimited = scan
        order(.askNameLimit(inUse))
    }

    /// The scan that waited for it begins.
    mutating func nameLimitFound(_ limit: Int?, of station: StationID) {
        stations[station]?.nameLimit = limit
        guard let scan = scans.unlimited, scan.station == station else { return }
        scans.unlimited = nil
        order(scan, limit: limit)
    }

    /// With as many names as the radio can call at once; the policy begins with another one each time. The call to
    /// every access point counts as one of them, and comes last.
    private mutating func order(_ scan: ScanDesk.Named, limit: Int?) {
        let limit = max(1, limit ?? 1)
        let ssids = Array(scan.ssids.prefix(max(1, limit - 1)))
        order(
            .scan(
                scan.station, scan.owner, ssids: ssids, frequencies: scan.frequencies,
                asksEverybody: ssids.count < limit))
    }

    mutating func scanBegan(_ owner: ScanOwner) {
        if case .policy(let scan) = owner {
            scans.running = (scan, now.instant)
            wait(.scanOverdue, until: now.instant + scan.patience)
        }
        guard case .app(let id, let number) = owner, scans.unanswered == id else { return }
        scans.unanswered = nil
        order(.answer(id, .success(.scanStarted(ScanStarted(scanId: number)))))
    }

    /// A scan of the agent's has ended; what waited for it comes next.
    mutating func scanEnded(_ owner: ScanOwner, _ end: ScanEnd) {
        scans.isScanning = false
        wait(.scanOverdue, until: nil)
        if case .finished = end { radioAnswered(inUse, true) }
        if let urgent = scans.urgent {
            scans.urgent = nil
            ask(urgent)
        }
        switch owner {
        case .policy(let scan): ended(scan, end)
        case .app(let id, let number): ended(id, number, end)
        case .silence(let accessPoint, let start):
            guard case .finished(let results) = end else {
                asked(accessPoint, isThere: true)
                break
            }
            let observation = results.first { $0.bssid == accessPoint.bssid }
            asked(accessPoint, isThere: observation.map { $0.lastSeen >= start } ?? false)
        case .floor(let network): if case .finished(let results) = end { countDay(of: network, results) }
        }
        if !scans.isWaitingToRetry { startDeferredScan() }
    }

    private mutating func ended(_ scan: ScanOrder, _ end: ScanEnd) {
        switch end {
        case .finished(let results): scanned(results, for: scan)
        case .busy: deferUntilFree(scan)
        // A driver that joins something says so: it is free in a moment.
        case .refused(_, _, isConnecting: true) where isJoining: deferUntilFree(scan)
        case .refused(let error, let joinsUnseen, _):
            (scans.refusal, scans.joinsUnseen) = (error, joinsUnseen)
            tell(.scanRefused(id: scan.id, joinsUnseen: joinsUnseen))
        case .failed: tell(.scanFailed(id: scan.id))
        case .aborted: order(.readScan(inUse, after: scan))
        }
    }

    /// Its end may not be told where it is another interface's.
    private mutating func deferUntilFree(_ scan: ScanOrder) {
        scans.deferred = scan
        scans.isWaitingToRetry = true
        wait(.scanRetry, until: now.instant + .seconds(1))
    }

    private var isJoining: Bool { if case .joining = policy.phase { true } else { false } }

    private mutating func ended(_ id: RequestID, _ number: Int, _ end: ScanEnd) {
        if let error = end.error, scans.unanswered == id {
            scans.unanswered = nil
            return order(.answer(id, .failure(error)))
        }
        scanBegan(.app(id, number))
        switch end {
        case .finished(let results): scanned(results)
        case .aborted: order(.readScan(inUse, after: nil))
        case .busy, .refused, .failed: break
        }
        scans.lastEnded = number
        order(.publish(.scanFinished(ScanFinished(scanId: number, outcome: end.outcome, networks: end.count))))
    }

    /// Another program scanned, or a scan of the agent's was cut short: what was found serves as well.
    mutating func scanRead(_ results: [BSS]?, after scan: ScanOrder?) {
        if let borrowed = scans.borrowed, borrowed == scan?.id {
            scans.borrowed = nil
            // It may have begun by itself meanwhile.
            guard let waiting = scans.deferred, waiting.id == borrowed, let results else { return startDeferredScan() }
            forgetDeferred()
            return scanned(results, for: waiting)
        }
        if let results { scanned(results) }
        guard let scan else { return }
        guard let running = scans.running, running.order.id == scan.id, !scans.isAborting,
            now.instant - running.since >= Self.driversPatience
        else { return tell(.scanFailed(id: scan.id)) }
        scans.refusal = ProtocolError(.radioFailed, "the driver gave them up")
        tell(.scanRefused(id: scan.id, joinsUnseen: scans.joinsUnseen))
    }

    /// A scan that ends by itself after so long, and was cut short, is one that the firmware did not end: brcmfmac waits
    /// for ten seconds.
    private static let driversPatience = Duration.seconds(8)

    /// The policy's scan takes far longer than its channels do: the radio is not to be waited for.
    mutating func scanOverdue() {
        guard scans.isScanning, let running = scans.running else { return }
        if !scans.isAborting { order(.abortScan([inUse])) }
        scans.isAborting = true
        scans.refusal = ProtocolError(.radioFailed, "they do not end")
        tell(.scanRefused(id: running.order.id, joinsUnseen: scans.joinsUnseen))
    }

    /// The end of another program's scan: what it has found is what a scan that waits is to find, if it has its
    /// channels.
    mutating func otherScanEnded(aborted isAborted: Bool, _ frequencies: [Frequency]) {
        guard !scans.isScanning else { return }
        guard !isAborted else { return startDeferredScan() }
        if let waiting = scans.deferred, waiting.ssids.isEmpty, !waiting.frequencies.isEmpty,
            waiting.frequencies.allSatisfy(frequencies.contains)
        {
            scans.borrowed = waiting.id
            return order(.readScan(inUse, after: waiting))
        }
        order(.readScan(inUse, after: nil))
        startDeferredScan()
    }

    /// Says once that scans are refused, and once that they work again.
    mutating func reviewRefusedScans() {
        let run = policy.refusedScans
        if let since = run.since {
            if scans.refused == nil, run.count > 1 {
                let meanwhile = scans.joinsUnseen ? "; known networks are joined without" : ""
                say(
                    .warning,
                    "the radio of \(inUse) refuses scans: \(scans.refusal?.message ?? "no reason")\(meanwhile)")
                scans.refused = (run.count, since)
            } else if scans.refused != nil {
                scans.refused?.count = run.count
            }
        } else if let refused = scans.refused {
            scans.refused = nil
            let time = (now.instant - refused.since).components.seconds
            say(.notice, "the radio of \(inUse) scans again, after it refused \(refused.count) in \(time) s")
        }
    }

    /// The results of any program's scan are for the policy, and then for providers to claim.
    mutating func scanned(_ results: [BSS], for scan: ScanOrder? = nil) {
        scans.places.note(results)
        noteRescueScan(results, of: scan)
        tell(.scanned(id: scan?.id, results))
        reviewFloors(by: results)
        reportRefusals()
        if settings.hasProviders, let asked = claims.scanned(results, at: now.instant) { order(.claim(asked)) }
    }

    /// Ends a scan that is under way, also another program's; its end is reported like any other.
    mutating func cancelScan() {
        if let scan = scans.deferred {
            forgetDeferred()
            tell(.scanFailed(id: scan.id))
        }
        // It may have begun before the stations were exchanged.
        guard scans.isScanning else { return }
        scans.isAborting = true
        order(.abortScan([inUse, spare].compactMap(\.self)))
    }

    mutating func startDeferredScan() {
        guard !scans.isScanning, let scan = scans.deferred else { return }
        forgetDeferred()
        self.scan(scan)
    }

    private mutating func forgetDeferred() {
        scans.deferred = nil
        if scans.isWaitingToRetry { wait(.scanRetry, until: nil) }
        scans.isWaitingToRetry = false
    }

    /// The networks in range, strongest first, for an app.
    package func scanResults(_ results: [BSS], at now: Instant) -> ScanResults {
        let networks = results.sorted { ($0.signal, $1.bssid) > ($1.signal, $0.bssid) }
            .map { bss in
                ScannedNetwork(bss, now: now, providers: claims[bss.bssid], refusal: policy.refusal(of: bss))
            }
        return ScanResults(isScanning: scans.isScanning, lastScanId: scans.lastEnded, networks: networks)
    }
}

extension ScanOrder {
    /// How long it may take, far beyond what its channels do: with a channel of the link's own in between, each is done
    /// in 0.3 s, and a radio has about 150. A scan of all channels takes 43 s at most.
    fileprivate var patience: Duration {
        frequencies.isEmpty ? .seconds(55) : .seconds(3) + .milliseconds(300) * min(frequencies.count, 160)
    }
}
