import AgentModel
import CNetlink
import Glibc
import Linux

extension WirelessRadio {
    /// Scans and waits for the end.
    /// - Parameters:
    ///   - deadline: limit after which the scan is aborted and `timedOut` is thrown. A full scan takes 2 s for 26
    ///     channels, 9 s for 100 (US above 2 GHz) and 14 s for 151 (all US).
    ///   - onStart: called when the kernel has accepted the scan. Errors after this call concern the scan's end.
    /// - Throws: an `isBusy` error while any scan runs on the radio.
    public func scan(
        _ request: ScanRequest = .full, deadline: Duration = .seconds(20),
        onStart: @escaping @AgentLoop () -> Void = {}
    ) async throws(NetlinkError) -> ScanOutcome {
        let attempted = "scan on \(interface)"
        let message = try await scanMessage(request, attempting: attempted)
        guard scans.isIdle else {
            throw NetlinkError(
                attempted: attempted, reason: .refused(errno: EBUSY, detail: "another scan of altnet is running"))
        }
        let end: Result<Bool, NetlinkError> = await withCheckedContinuation { continuation in
            scanWaiter = { continuation.resume(returning: $0) }
            startScan(message, attempting: attempted, deadline: deadline, onStart)
        }
        if try end.get() { return .aborted }
        return .finished(try await scanResults())
    }

    /// True if driver and firmware perform the whole join; false until `abilities()` has read this.
    public var joinsByItself: Bool { knownPhy?.joinsByItself ?? false }

    /// True while our own scan runs.
    public var isScanning: Bool { scans.isRunning }

    /// Aborts a running scan. The end of the scan is reported as an event.
    public func abortScan() {
        let attempted = "abort the scan on \(interface)"
        guard let request = try? request(NL80211_CMD_ABORT_SCAN, attempting: attempted) else { return }
        // Ignores a refusal: the scan's regular end will be reported.
        socket.send(request, expecting: .acknowledged, attempting: attempted, within: NetlinkSocket.patience) { _ in }
    }

    /// Reads the kernel's recent scan results of all programs, at most the 1024 strongest.
    public func scanResults() async throws(NetlinkError) -> [BSS] {
        let attempted = "read the scan results of \(interface)"
        let request = try request(NL80211_CMD_GET_SCAN, attempting: attempted)
        var heard = HeardAccessPoints()
        for _ in 1...NetlinkSocket.attempts {
            heard = HeardAccessPoints()
            let isConsistent = try await socket.walk(request, attempting: attempted) { message in
                guard let bss = BSS(message, now: .now) else { return }
                heard.add(bss, encryptedHalf: BSS.encryptedHalf(of: bss, message))
            }
            if isConsistent { break }
        }
        return heard.merged()
    }

    func endScan(_ result: Result<Bool, NetlinkError>) {
        scans.forget()
        scanDeadline = nil
        guard let waiter = scanWaiter else { return }
        scanWaiter = nil
        waiter(result)
    }

    private func startScan(
        _ message: NetlinkRequest, attempting attempted: String, deadline: Duration,
        _ onStart: @escaping @AgentLoop () -> Void
    ) {
        scans.request()
        scanDeadline = LoopTimer(after: deadline) { [weak self] in
            self?.abortScan()
            self?.endScan(.failure(NetlinkError(attempted: attempted, reason: .timedOut(after: deadline))))
        }
        let patience = min(deadline, NetlinkSocket.patience)
        socket.send(message, expecting: .acknowledged, attempting: attempted, within: patience) { [self] ending in
            if case .failed(let error) = ending {
                endScan(.failure(error))
            } else {
                onStart()
                if let aborted = scans.accepted() { endScan(.success(aborted)) }
            }
        }
    }

    private func scanMessage(
        _ scan: ScanRequest, attempting attempted: String
    ) async throws(NetlinkError) -> NetlinkRequest {
        let names = (scan.asksEverybody ? [[]] : []) + scan.ssids.map(\.bytes)
        if names.count > 1 {
            let limit = try await abilities().maximumScanSSIDs
            guard names.count <= limit else {
                throw NetlinkError(attempted: attempted, reason: .exceeds(limit: limit, of: "SSIDs"))
            }
        }
        var scan = scan
        if scan.frequencies.isEmpty { scan.frequencies = await worthScanning() }
        // The first scan of all, of one channel, does not wait for the radio to be read.
        if scan.frequencies.count > 1, let phy = try? await abilities() {
            scan.frequencies = phy.scannable(scan.frequencies)
        }
        guard scan.frequencies.count <= Self.maximumFrequencies else {
            throw NetlinkError(
                attempted: attempted, reason: .exceeds(limit: Self.maximumFrequencies, of: "frequencies"))
        }
        var request = try request(NL80211_CMD_TRIGGER_SCAN, attempting: attempted)
        request.attributes.put(scan, asking: names)
        return request
    }

    /// Returns the channels of a full scan. Reads them again, because they depend on the location.
    private func worthScanning() async -> [Frequency] {
        guard let known = try? await abilities(), !known.worthScanning.isEmpty else { return [] }
        return (try? await phy())?.worthScanning ?? []
    }

    public func abilities() async throws(NetlinkError) -> Phy {
        if let knownPhy { return knownPhy }
        let phy = try await phy()
        knownPhy = phy
        return phy
    }

    /// Maximum number of frequencies, more than all bands have together.
    nonisolated static let maximumFrequencies = 512
}

extension AttributeWriter {
    /// - Parameter names: SSIDs to probe; the empty one is the wildcard. Without names, the scan is passive.
    mutating func put(_ scan: ScanRequest, asking names: [[UInt8]]) {
        if !names.isEmpty {
            putNested(NL80211_ATTR_SCAN_SSIDS) { list in
                for (index, name) in names.enumerated() { list.put(index + 1, bytes: name) }
            }
        }
        if !scan.frequencies.isEmpty {
            putNested(NL80211_ATTR_SCAN_FREQUENCIES) { list in
                for (index, frequency) in scan.frequencies.enumerated() {
                    list.put(index + 1, UInt32(clamping: frequency.megahertz))
                }
            }
        }
        if scan.flush { put(NL80211_ATTR_SCAN_FLAGS, NL80211_SCAN_FLAG_FLUSH.rawValue) }
    }
}

public struct ScanRequest: Hashable, Sendable {
    /// SSIDs to probe, at most `Phy.maximumScanSSIDs` including the wildcard. Hidden networks do not answer the
    /// wildcard. Scans often miss their beacons, because the radio stays on a channel for less than a beacon interval.
    public var ssids: [SSID]
    /// True to send the wildcard SSID as well.
    public var asksEverybody: Bool
    /// Channels to scan; empty means all allowed channels, which takes seconds. Disallowed channels are skipped; if
    /// none is left, the kernel refuses the scan.
    public var frequencies: [Frequency]
    /// True to discard older results first.
    public var flush: Bool

    public init(ssids: [SSID] = [], asksEverybody: Bool = true, frequencies: [Frequency] = [], flush: Bool = false) {
        self.ssids = ssids
        self.asksEverybody = asksEverybody
        self.frequencies = frequencies
        self.flush = flush
    }

    public static let full = ScanRequest()
}

public enum ScanOutcome: Hashable, Sendable {
    /// All scan results that the kernel keeps, up to 30 s old.
    case finished([BSS])
    /// The scan was aborted by another program or the driver; some channels were not scanned.
    case aborted
}

/// Recognises the end of our own scan among other programs' scans. The kernel runs one scan per radio, and reports
/// events and answers in one order. An end belongs to our scan if it follows the acceptance, or a start after our
/// request. The second rule is needed because a short scan may end before the kernel's acknowledgement.
struct ScanTracker: Equatable {
    private enum State: Equatable {
        case idle
        case requested(since: Seen)
        case running
    }

    private enum Seen: Equatable {
        case nothing
        case start
        case end(aborted: Bool)
    }

    private var state = State.idle

    var isIdle: Bool { state == .idle }

    /// True if our scan is running.
    var isRunning: Bool { state == .running }

    mutating func request() { state = .requested(since: .nothing) }

    /// Records that the kernel has accepted our scan.
    /// - Returns: nil while the scan runs; if it is already over, true if it was aborted.
    mutating func accepted() -> Bool? {
        guard case .requested(let seen) = state else { return nil }
        if case .end(let aborted) = seen {
            state = .idle
            return aborted
        }
        state = .running
        return nil
    }

    /// Records the start of any scan on the interface.
    mutating func started() {
        if case .requested = state { state = .requested(since: .start) }
    }

    /// Records the end of any scan on the interface.
    /// - Returns: nil if the scan is not ours; else true if it was aborted.
    mutating func ended(aborted: Bool) -> Bool? {
        switch state {
        case .idle, .requested(since: .nothing), .requested(since: .end): return nil
        case .requested(since: .start):
            state = .requested(since: .end(aborted: aborted))
            return nil
        case .running:
            state = .idle
            return aborted
        }
    }

    /// Records that our scan was refused or abandoned.
    mutating func forget() { state = .idle }
}
