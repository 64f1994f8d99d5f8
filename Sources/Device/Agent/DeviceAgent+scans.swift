import AgentModel
import AppProtocol
import Failover
import Linux
import Netlink

/// Which scans of ours are under way or wait for the radio.
struct ScanDesk {
    var isScanning = false
    /// The policy's scan that has to wait until somebody else's has ended.
    var deferred: ScanOrder?
    /// What the radio is needed for as soon as the scan under way has ended, before anybody is told of the end.
    var urgent: (@AgentLoop () -> Void)?
    /// Looks whether the radio is free for it.
    var retry: LoopTimer?
    /// How many names the radio can call in one scan, the call to everybody included; nil until it was asked.
    var maximumNames: Int?
    /// The last scan that an app asked for, and the last of those that ended.
    var lastRequested = 0
    var lastEnded: Int?
}

/// How a scan ended.
enum ScanEnd {
    case finished([BSS])
    case aborted
    case failed(NetlinkError)

    /// Why it failed, if it did.
    var error: NetlinkError? { if case .failed(let error) = self { error } else { nil } }

    var outcome: ScanFinished.Outcome {
        switch self {
        case .finished: .finished
        case .aborted: .aborted
        case .failed: .failed
        }
    }

    var count: Int { if case .finished(let results) = self { results.count } else { 0 } }
}

extension DeviceAgent {
    /// Scans for the policy. Where the radio is busy with another scan, this one waits for its end.
    func scan(_ order: ScanOrder) {
        guard !scans.isScanning else {
            scans.deferred = order
            return
        }
        run(Netlink.ScanRequest(ssids: order.ssids, frequencies: order.frequencies)) { [weak self] end in
            guard let self else { return }
            switch end {
            case .finished(let results): scanned(results, for: order)
            case .failed(let error) where error.isBusy: postpone(order)
            case .failed: handle(.scanFailed(id: order.id))
            case .aborted:
                Task {
                    await self.readScanResults()
                    self.handle(.scanFailed(id: order.id))
                }
            }
        }
    }

    /// Scans for an app, and reports the end to whoever listens.
    /// - Returns: when the kernel has taken the scan on.
    func startScan(_ request: AppProtocol.ScanRequest) async throws(ProtocolError) -> ScanStarted {
        guard !scans.isScanning else { throw ProtocolError(.scanBusy, "a scan is running") }
        if let missing = missingInterface { throw missing }
        guard isInterfaceUp else { throw ProtocolError(.radioFailed, "\(station.interface) is down") }
        scans.lastRequested += 1
        let id = scans.lastRequested
        let refusal = await withCheckedContinuation { continuation in
            let start = ScanStart(continuation)
            run(
                Netlink.ScanRequest(ssids: request.ssids, frequencies: request.frequencies), onStart: { start.began() }
            ) { [weak self] end in
                if let error = end.error, !start.hasBegun { return start.wasRefused(error) }
                start.began()
                guard let self else { return }
                switch end {
                case .finished(let results): scanned(results)
                case .aborted: Task { await self.readScanResults() }
                case .failed: break
                }
                scans.lastEnded = id
                hub.publish(.scanFinished(ScanFinished(scanId: id, outcome: end.outcome, networks: end.count)))
            }
        }
        if let refusal { throw ProtocolError(refusal) }
        return ScanStarted(scanId: id)
    }

    /// What is said where there is no Wi-Fi interface.
    var missingInterface: ProtocolError? {
        guard radio.isSupported else {
            return ProtocolError(.interfaceMissing, "there is no Wi-Fi in the kernel: it has no nl80211")
        }
        guard radio.interfaceIndex != nil else {
            return ProtocolError(.interfaceMissing, "there is no interface \(station.interface)")
        }
        return nil
    }

    /// Somebody else scanned, or a scan of ours was cut short: what was found serves as well.
    func readScanResults() async {
        do { scanned(try await radio.scanResults()) } catch { log.warning("\(error)") }
    }

    /// Whoever scanned, what was found is for the policy, and then for providers to claim.
    func scanned(_ results: [BSS], for order: ScanOrder? = nil) {
        handle(.scanned(id: order?.id, results))
        reportRefusals()
        claims.scanned(results)
    }

    /// Runs a scan, with `onEnd` at its end, and then what waited for it.
    func run(
        _ request: Netlink.ScanRequest, onStart: @escaping @AgentLoop () -> Void = {},
        onEnd: @escaping @AgentLoop (ScanEnd) -> Void
    ) {
        scans.isScanning = true
        Task {
            let end = await end(of: request, onStart)
            scans.isScanning = false
            let urgent = scans.urgent
            scans.urgent = nil
            urgent?()
            onEnd(end)
            if scans.retry == nil { startDeferredScan() }
        }
    }

    private func end(
        of request: Netlink.ScanRequest, _ onStart: @escaping @AgentLoop () -> Void
    ) async -> ScanEnd {
        do throws(NetlinkError) {
            return switch try await radio.scan(await fitting(request), deadline: .seconds(50), onStart: onStart) {
            case .finished(let results): .finished(results)
            case .aborted: .aborted
            }
        } catch {
            // That the interface is missing is said by itself, and once.
            if !error.isBusy, !error.isInterfaceMissing { log.warning("\(error)") }
            return .failed(error)
        }
    }

    /// The request with as many names as the radio can call at once; the policy begins with another one each time.
    private func fitting(_ request: Netlink.ScanRequest) async -> Netlink.ScanRequest {
        guard !request.ssids.isEmpty else { return request }
        if scans.maximumNames == nil { scans.maximumNames = try? await radio.phy().maximumScanSSIDs }
        let maximum = max(1, scans.maximumNames ?? 1)
        var request = request
        request.ssids = Array(request.ssids.prefix(max(1, maximum - 1)))
        request.asksEverybody = request.ssids.count < maximum
        return request
    }

    /// Somebody else's scan has the radio: wait for its end, which may not be told where it is another interface's.
    private func postpone(_ order: ScanOrder) {
        scans.deferred = order
        scans.retry = LoopTimer(after: .seconds(1)) { [weak self] in
            // Another scan may have begun meanwhile, whose end is the next occasion.
            self?.scans.retry = nil
            self?.startDeferredScan()
        }
    }

    /// Ends a scan that is under way, also one that somebody else started; its end is reported like any other.
    func cancelScan() {
        if let order = scans.deferred {
            scans.deferred = nil
            scans.retry = nil
            handle(.scanFailed(id: order.id))
        }
        // It may have begun before the stations were exchanged.
        if scans.isScanning { for station in stations { station.radio.abortScan() } }
    }

    /// Ends a scan of ours that is under way, and of nobody else, because the radio is needed.
    /// - Returns: whether there is one, after which `urgent` comes.
    func endScan(for urgent: @escaping @AgentLoop () -> Void) -> Bool {
        guard scans.isScanning, radio.isScanning else { return false }
        scans.urgent = urgent
        radio.abortScan()
        return true
    }

    func startDeferredScan() {
        guard !scans.isScanning, let order = scans.deferred else { return }
        scans.deferred = nil
        scans.retry = nil
        scan(order)
    }

    /// What the kernel knows to be in range, strongest first.
    func scanResults() async throws(ProtocolError) -> ScanResults {
        do {
            let now = Instant.now
            let networks = try await radio.scanResults().sorted { ($0.signal, $1.bssid) > ($1.signal, $0.bssid) }
                .map { bss in
                    ScannedNetwork(bss, now: now, providers: claims[bss.bssid], refusal: policy.refusal(of: bss))
                }
            return ScanResults(isScanning: scans.isScanning, lastScanId: scans.lastEnded, networks: networks)
        } catch {
            throw ProtocolError(error)
        }
    }
}

/// Whether the scan that an app asked for has begun, which is the answer to it.
@AgentLoop
private final class ScanStart {
    private(set) var hasBegun = false
    private var answer: CheckedContinuation<NetlinkError?, Never>?

    init(_ answer: CheckedContinuation<NetlinkError?, Never>) { self.answer = answer }

    func began() {
        hasBegun = true
        resume(returning: nil)
    }

    func wasRefused(_ error: NetlinkError) { resume(returning: error) }

    private func resume(returning error: NetlinkError?) {
        answer?.resume(returning: error)
        answer = nil
    }
}

extension ProtocolError {
    init(_ error: NetlinkError) {
        switch error {
        case _ where error.isInterfaceMissing: self.init(.interfaceMissing, "\(error)")
        case _ where error.isBusy: self.init(.scanBusy, "\(error)")
        default: self.init(.radioFailed, "\(error)")
        }
    }

}
