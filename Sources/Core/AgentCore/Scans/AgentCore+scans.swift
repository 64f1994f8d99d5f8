import AgentModel
import AppProtocol
import Failover

/// State of scans that run or wait for the radio.
struct ScanCoordinator: Sendable {
    var isScanning = false
    /// The policy's scan that waits for another scan to end.
    var deferred: ScanOrder?
    /// Access point to check immediately after the current scan.
    var urgent: AccessPoint?
    /// Scan that starts once the agent knows how many names the radio can probe at a time.
    var unlimited: Named?
    /// Channels on which network names were seen.
    var seenChannels = SeenChannels()
    /// Whether a retry timer runs because the radio is busy.
    var isWaitingToRetry = false
    /// App request that is answered once its scan has started.
    var unanswered: RequestID?
    /// The policy's running scan, and its start time.
    var running: (order: ScanOrder, since: Instant)?
    /// ID of the policy's scan that waits for the results of another program's scan.
    var borrowed: UInt64?
    var isAborting = false
    /// Number and start of the refused scans that were reported; nil if none were.
    var refused: (count: Int, since: Instant)?
    /// Reason of the last refusal.
    var refusal: ProtocolError?
    var joinsUnseen = false
    /// Number of the app scan that was requested last.
    var lastRequested = 0
    /// Number of the app scan that ended last; nil if none has.
    var lastEnded: Int?

    struct Named: Sendable {
        let owner: ScanOwner
        let station: StationID
        let ssids: [SSID]
        let frequencies: [Frequency]
    }
}

extension AgentCore {
    /// Starts the policy's scan, or defers it while another scan runs.
    mutating func scan(_ scan: ScanOrder) {
        guard !scans.isScanning else {
            scans.deferred = scan
            return
        }
        beginScan(.policy(scan), ssids: scan.ssids, frequencies: scan.frequencies)
    }

    /// Starts an app's scan. The app gets its answer once the kernel has accepted the scan.
    /// - Throws: `ProtocolError` if a scan runs, or the interface is missing or down.
    mutating func startScan(_ request: AppProtocol.ScanRequest, _ id: RequestID) throws(ProtocolError) {
        guard !scans.isScanning else { throw ProtocolError(.scanBusy, "a scan is running") }
        if let missing = missingInterface { throw missing }
        guard isInterfaceUp else { throw ProtocolError(.radioFailed, "\(inUse) is down") }
        scans.lastRequested += 1
        scans.unanswered = id
        beginScan(.app(id, scans.lastRequested), ssids: request.ssids, frequencies: request.frequencies)
    }

    /// - Parameter ssids: Names for probe requests.
    mutating func beginScan(_ owner: ScanOwner, ssids: [SSID], frequencies: [Frequency]) {
        scans.isScanning = true
        scans.isAborting = false
        let scan = ScanCoordinator.Named(owner: owner, station: inUse, ssids: ssids, frequencies: frequencies)
        guard !ssids.isEmpty, current.nameLimit == nil else { return emitScan(scan, limit: current.nameLimit) }
        scans.unlimited = scan
        emit(.askNameLimit(inUse))
    }

    mutating func nameLimitFound(_ limit: Int?, of station: StationID) {
        stations[station]?.nameLimit = limit
        guard let scan = scans.unlimited, scan.station == station else { return }
        scans.unlimited = nil
        emitScan(scan, limit: limit)
    }

    /// Limits the names to the number that the radio can probe in one scan. The wildcard takes one place, if there is
    /// room.
    private mutating func emitScan(_ scan: ScanCoordinator.Named, limit: Int?) {
        let limit = max(1, limit ?? 1)
        let ssids = Array(scan.ssids.prefix(max(1, limit - 1)))
        emit(
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
        emit(.answer(id, .success(.scanStarted(ScanStarted(scanId: number)))))
    }

    mutating func scanEnded(_ owner: ScanOwner, _ end: ScanEnd) {
        scans.isScanning = false
        wait(.scanOverdue, until: nil)
        if case .finished = end { radioAnswered(inUse, true) }
        if let urgent = scans.urgent {
            scans.urgent = nil
            askAccessPoint(urgent)
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
        case .minimumSecurity(let network): if case .finished(let results) = end { countDay(of: network, results) }
        }
        if !scans.isWaitingToRetry { startDeferredScan() }
    }

    private mutating func ended(_ scan: ScanOrder, _ end: ScanEnd) {
        switch end {
        case .finished(let results): scanned(results, for: scan)
        case .busy: deferUntilFree(scan)
        // The driver reports that it is connecting: retry soon.
        case .refused(_, _, isConnecting: true) where isJoining: deferUntilFree(scan)
        case .refused(let error, let joinsUnseen, _):
            (scans.refusal, scans.joinsUnseen) = (error, joinsUnseen)
            sendToPolicy(.scanRefused(id: scan.id, joinsUnseen: joinsUnseen))
        case .failed: sendToPolicy(.scanFailed(id: scan.id))
        case .aborted: emit(.readScan(inUse, after: scan))
        }
    }

    /// Retries after a second: the kernel may not report the end of a scan on another interface.
    private mutating func deferUntilFree(_ scan: ScanOrder) {
        scans.deferred = scan
        scans.isWaitingToRetry = true
        wait(.scanRetry, until: now.instant + .seconds(1))
    }

    private var isJoining: Bool { if case .joining = policy.phase { true } else { false } }

    private mutating func ended(_ id: RequestID, _ number: Int, _ end: ScanEnd) {
        if let error = end.error, scans.unanswered == id {
            scans.unanswered = nil
            return emit(.answer(id, .failure(error)))
        }
        scanBegan(.app(id, number))
        switch end {
        case .finished(let results): scanned(results)
        case .aborted: emit(.readScan(inUse, after: nil))
        case .busy, .refused, .failed: break
        }
        scans.lastEnded = number
        emit(.publish(.scanFinished(ScanFinished(scanId: number, outcome: end.outcome, networks: end.count))))
    }

    /// Uses the results of another program's scan, or of an aborted scan.
    mutating func scanRead(_ results: [BSS]?, after scan: ScanOrder?) {
        if let borrowed = scans.borrowed, borrowed == scan?.id {
            scans.borrowed = nil
            // The deferred scan may have started meanwhile.
            guard let waiting = scans.deferred, waiting.id == borrowed, let results else { return startDeferredScan() }
            forgetDeferred()
            return scanned(results, for: waiting)
        }
        if let results { scanned(results) }
        guard let scan else { return }
        guard let running = scans.running, running.order.id == scan.id, !scans.isAborting,
            now.instant - running.since >= Self.driversPatience
        else { return sendToPolicy(.scanFailed(id: scan.id)) }
        scans.refusal = ProtocolError(.radioFailed, "the driver aborted the scan")
        sendToPolicy(.scanRefused(id: scan.id, joinsUnseen: scans.joinsUnseen))
    }

    /// Minimum length of an aborted scan that means a driver timeout. brcmfmac gives up after 10 s.
    private static let driversPatience = Duration.seconds(8)

    /// Gives up on a scan of the policy that takes far too long.
    mutating func scanOverdue() {
        guard scans.isScanning, let running = scans.running else { return }
        if !scans.isAborting { emit(.abortScan([inUse])) }
        scans.isAborting = true
        scans.refusal = ProtocolError(.radioFailed, "the scan did not end in time")
        sendToPolicy(.scanRefused(id: running.order.id, joinsUnseen: scans.joinsUnseen))
    }

    /// Handles the end of another program's scan. If it covers the channels of a deferred scan, its results replace
    /// that scan.
    mutating func otherScanEnded(aborted isAborted: Bool, _ frequencies: [Frequency]) {
        guard !scans.isScanning else { return }
        guard !isAborted else { return startDeferredScan() }
        if let waiting = scans.deferred, waiting.ssids.isEmpty, !waiting.frequencies.isEmpty,
            waiting.frequencies.allSatisfy(frequencies.contains)
        {
            scans.borrowed = waiting.id
            return emit(.readScan(inUse, after: waiting))
        }
        emit(.readScan(inUse, after: nil))
        startDeferredScan()
    }

    /// Reports once that scans are refused, and once that they work again.
    mutating func reviewRefusedScans() {
        let run = policy.refusedScans
        if let since = run.since {
            if scans.refused == nil, run.count > 1 {
                let meanwhile = scans.joinsUnseen ? "; joining known networks without a scan" : ""
                log(
                    .warning,
                    "the radio of \(inUse) refuses scans: \(scans.refusal?.message ?? "no reason")\(meanwhile)")
                scans.refused = (run.count, since)
            } else if scans.refused != nil {
                scans.refused?.count = run.count
            }
        } else if let refused = scans.refused {
            scans.refused = nil
            let time = (now.instant - refused.since).components.seconds
            log(.notice, "the radio of \(inUse) scans again after \(refused.count) refused scans in \(time) s")
        }
    }

    mutating func scanned(_ results: [BSS], for scan: ScanOrder? = nil) {
        scans.seenChannels.record(results)
        recordSetupAccessPointScan(results, of: scan)
        sendToPolicy(.scanned(id: scan?.id, results))
        reviewMinimumSecurity(by: results)
        reportRefusals()
        if settings.hasProviders, let asked = claims.scanned(results, at: now.instant) { emit(.claim(asked)) }
    }

    /// Drops a deferred scan, and aborts the running one. The end of the running scan is reported as usual.
    mutating func cancelScan() {
        if let scan = scans.deferred {
            forgetDeferred()
            sendToPolicy(.scanFailed(id: scan.id))
        }
        // Abort on both stations: the scan may have started before they were exchanged.
        guard scans.isScanning else { return }
        scans.isAborting = true
        emit(.abortScan([inUse, spare].compactMap(\.self)))
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

    /// Networks in range for an app, strongest first.
    package func scanResults(_ results: [BSS], at now: Instant) -> ScanResults {
        let networks = results.sorted { ($0.signal, $1.bssid) > ($1.signal, $0.bssid) }
            .map { bss in
                ScannedNetwork(bss, now: now, providers: claims[bss.bssid], refusal: policy.refusal(of: bss))
            }
        return ScanResults(isScanning: scans.isScanning, lastScanId: scans.lastEnded, networks: networks)
    }
}

extension ScanOrder {
    /// Time limit of the scan. Each of about 150 channels takes at most 0.3 s, including returns to the link's channel.
    fileprivate var patience: Duration {
        frequencies.isEmpty ? .seconds(55) : .seconds(3) + .milliseconds(300) * min(frequencies.count, 160)
    }
}
