import AgentModel
import CNetlink
import Glibc
import Linux

extension WirelessRadio {
    /// Scans and waits for the end. There is one scan of our own at a time.
    ///
    /// - Parameters:
    ///   - deadline: after it the scan is aborted and `timedOut` is thrown. A full scan takes 2 s with 26 channels and 14 s
    ///     with the 151 of the domain US, 9 s with the 100 of these that are above 2 GHz.
    ///   - onStart: is called when the kernel has taken the scan on: an error from then on is one of its end.
    /// - Throws: an error that `isBusy` while any scan is under way on the radio.
    public func scan(
        _ request: ScanRequest = .full, deadline: Duration = .seconds(20),
        onStart: @escaping @AgentLoop () -> Void = {}
    ) async throws(NetlinkError) -> ScanOutcome {
        let attempted = "scan on \(interface)"
        let message = try await scanMessage(request, attempting: attempted)
        guard scans.isIdle else {
            throw NetlinkError(
                attempted: attempted, reason: .refused(errno: EBUSY, detail: "by another scan of our own"))
        }
        let end: Result<Bool, NetlinkError> = await withCheckedContinuation { continuation in
            scanWaiter = { continuation.resume(returning: $0) }
            startScan(message, attempting: attempted, deadline: deadline, onStart)
        }
        if try end.get() { return .aborted }
        return .finished(try await scanResults())
    }

    /// Whether a scan of our own is under way, and so nobody else's.
    public var isScanning: Bool { scans.isRunning }

    /// Asks for the end of a scan; without one nothing happens. The end is an event.
    public func abortScan() {
        let attempted = "abort the scan on \(interface)"
        guard let request = try? request(NL80211_CMD_ABORT_SCAN, attempting: attempted) else { return }
        // Refused when there is none, or by a driver that cannot: either way the scan's own end decides.
        socket.send(request, expecting: .acknowledged, attempting: attempted, within: NetlinkSocket.patience) { _ in }
    }

    /// What the kernel remembers of recent scans, whoever made them.
    public func scanResults() async throws(NetlinkError) -> [BSS] {
        let attempted = "read the scan results of \(interface)"
        let request = try request(NL80211_CMD_GET_SCAN, attempting: attempted)
        return try await socket.dump(request, attempting: attempted) { BSS($0, now: .now) }
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
            let limit = try await rememberedPhy().maximumScanSSIDs
            guard names.count <= limit else {
                throw NetlinkError(attempted: attempted, reason: .exceeds(limit: limit, of: "SSIDs"))
            }
        }
        var scan = scan
        if scan.frequencies.isEmpty { scan.frequencies = await worthScanning() }
        guard scan.frequencies.count <= Self.maximumFrequencies else {
            throw NetlinkError(
                attempted: attempted, reason: .exceeds(limit: Self.maximumFrequencies, of: "frequencies"))
        }
        var request = try request(NL80211_CMD_TRIGGER_SCAN, attempting: attempted)
        request.attributes.put(scan, asking: names)
        return request
    }

    /// Read anew where it matters: what may be used depends on where the device is.
    private func worthScanning() async -> [Frequency] {
        guard let known = try? await rememberedPhy(), !known.worthScanning.isEmpty else { return [] }
        return (try? await phy())?.worthScanning ?? []
    }

    private func rememberedPhy() async throws(NetlinkError) -> Phy {
        if let knownPhy { return knownPhy }
        let phy = try await phy()
        knownPhy = phy
        return phy
    }

    /// More than all bands have together.
    private static let maximumFrequencies = 512
}

extension AttributeWriter {
    /// - Parameter names: SSIDs to ask for, of which the empty one asks everybody. Without any the radio only listens.
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
