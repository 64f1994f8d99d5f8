import AgentModel
import AppProtocol
import FailoverPolicy
import Netlink

/// Which scans of ours are under way or wait for the radio.
struct ScanDesk {
    var isScanning = false
    /// The policy's scan that has to wait until somebody else's has ended.
    var deferred: ScanOrder?
    /// The last scan that an app asked for, and the last of those that ended.
    var lastRequested = 0
    var lastEnded: Int?
}

extension DeviceAgent {
    /// Scans for the policy. Where the radio is busy with another scan, this one waits for its end.
    func scan(_ order: ScanOrder) {
        guard !scans.isScanning else {
            scans.deferred = order
            return
        }
        let request = Netlink.ScanRequest(ssids: order.ssids, frequencies: order.frequencies)
        Task {
            do throws(NetlinkError) {
                switch try await run(request) {
                case .finished(let results): handle(.scanned(id: order.id, results))
                case .aborted: handle(.scanFailed(id: order.id))
                }
            } catch {
                if error.isBusy {
                    scans.deferred = order
                } else {
                    log.warning("\(error)")
                    handle(.scanFailed(id: order.id))
                }
            }
            startDeferredScan()
        }
    }

    /// Scans for an app, and reports the end to whoever listens.
    func startScan(_ request: AppProtocol.ScanRequest) throws(ProtocolError) -> ScanStarted {
        guard !scans.isScanning else { throw ProtocolError(.scanBusy, "a scan is running") }
        guard radio.interfaceIndex != nil else { throw .interfaceMissing(settings.interface) }
        scans.lastRequested += 1
        let id = scans.lastRequested
        let request = Netlink.ScanRequest(ssids: request.ssids, frequencies: request.frequencies)
        Task {
            let outcome = await finish(request)
            scans.lastEnded = id
            hub.publish(.scanFinished(ScanFinished(scanId: id, outcome: outcome.kind, networks: outcome.count)))
            startDeferredScan()
        }
        return ScanStarted(scanId: id)
    }

    private func finish(_ request: Netlink.ScanRequest) async -> (kind: ScanFinished.Outcome, count: Int) {
        do {
            switch try await run(request) {
            case .finished(let results):
                handle(.scanned(id: nil, results))
                return (.finished, results.count)
            case .aborted: return (.aborted, 0)
            }
        } catch {
            log.warning("\(error)")
            return (.failed, 0)
        }
    }

    private func run(_ request: Netlink.ScanRequest) async throws(NetlinkError) -> ScanOutcome {
        scans.isScanning = true
        defer { scans.isScanning = false }
        return try await radio.scan(request)
    }

    /// Ends a scan that is under way, also one that somebody else started; its end is reported like any other.
    func cancelScan() {
        scans.deferred = nil
        radio.abortScan()
    }

    func startDeferredScan() {
        guard !scans.isScanning, let order = scans.deferred else { return }
        scans.deferred = nil
        scan(order)
    }

    /// What the kernel knows to be in range, strongest first.
    func scanResults() async throws(ProtocolError) -> ScanResults {
        do {
            let now = Instant.now
            let networks = try await radio.scanResults().sorted { ($0.signal, $1.bssid) > ($1.signal, $0.bssid) }
                .map { ScannedNetwork($0, now: now) }
            return ScanResults(isScanning: scans.isScanning, lastScanId: scans.lastEnded, networks: networks)
        } catch {
            throw ProtocolError(error)
        }
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

    static func interfaceMissing(_ name: String) -> ProtocolError {
        ProtocolError(.interfaceMissing, "there is no interface \(name)")
    }
}
