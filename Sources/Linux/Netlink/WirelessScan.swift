import AgentModel
import CNetlink
import Glibc
import Linux

extension WirelessRadio {
    /// Scans and waits for the end. There is one scan of our own at a time.
    ///
    /// - Parameters:
    ///   - deadline: after it the scan is aborted and `timedOut` is thrown. A full scan takes 2 s with 26 channels and
    ///     14 s with the 151 of the domain US, 9 s with the 100 of these that are above 2 GHz.
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

    /// Whether driver and firmware do all of a join, as far as that was read (`abilities`).
    public var joinsByItself: Bool { knownPhy?.joinsByItself ?? false }

    /// Whether a scan of our own is under way, and so no other program's.
    public var isScanning: Bool { scans.isRunning }

    /// Asks for the end of a scan; without one nothing happens. The end is an event.
    public func abortScan() {
        let attempted = "abort the scan on \(interface)"
        guard let request = try? request(NL80211_CMD_ABORT_SCAN, attempting: attempted) else { return }
        // Refused when there is none, or by a driver that cannot: either way the scan's own end decides.
        socket.send(request, expecting: .acknowledged, attempting: attempted, within: NetlinkSocket.patience) { _ in }
    }

    /// The results of recent scans that the kernel remembers, of all programs; the strongest 1024.
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
        return heard.take()
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
        guard let known = try? await abilities(), !known.worthScanning.isEmpty else { return [] }
        return (try? await phy())?.worthScanning ?? []
    }

    /// The abilities of the radio as they were read last, if they have not changed since.
    public func abilities() async throws(NetlinkError) -> Phy {
        if let knownPhy { return knownPhy }
        let phy = try await phy()
        knownPhy = phy
        return phy
    }

    /// More than all bands have together.
    nonisolated static let maximumFrequencies = 512
}

extension AttributeWriter {
    /// - Parameter names: SSIDs to ask for, of which the empty one asks every access point. Without any the radio only
    ///   listens.
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

/// A scan to make.
public struct ScanRequest: Hashable, Sendable {
    /// Networks to ask for by name. Without it a hidden network often is not seen at all: the radio stays on a channel
    /// for less time than between two beacons, and to the wildcard question it does not answer. The radio takes
    /// `Phy.maximumScanSSIDs` at once, and the wildcard question counts as one of them.
    public var ssids: [SSID]
    /// Whether access points that beacon their name are asked too (the wildcard SSID).
    public var asksEverybody: Bool
    /// The channels to listen on. Empty means every channel that the regulatory domain allows, which takes seconds.
    /// Channels that it does not allow are left out, and if none is left the scan is refused.
    public var frequencies: [Frequency]
    /// Whether to forget older results first, so that only what this scan hears is left.
    public var flush: Bool

    public init(ssids: [SSID] = [], asksEverybody: Bool = true, frequencies: [Frequency] = [], flush: Bool = false) {
        self.ssids = ssids
        self.asksEverybody = asksEverybody
        self.frequencies = frequencies
        self.flush = flush
    }

    /// Every channel, every access point.
    public static let full = ScanRequest()
}

/// How a scan of our own ended.
public enum ScanOutcome: Hashable, Sendable {
    /// With everything the radio knows of now, the newest and the older that the kernel still keeps (30 s).
    case finished([BSS])
    /// By another program's wish or by the driver's; a part of the channels was not listened to.
    case aborted
}

/// Tells the end of our own scan from the ends of others'.
///
/// The kernel does one scan at a time on a radio, and events and answers come in one order. So the end is ours if it
/// comes after the scan was accepted, or if a start and this end came between the request and its acceptance: a short
/// scan can be over before the kernel has sent its acknowledgement.
struct ScanTracker: Equatable {
    private enum State: Equatable {
        case idle
        case requested(since: Seen)
        case running
    }

    /// The progress since the request.
    private enum Seen: Equatable {
        case nothing
        case start
        case end(aborted: Bool)
    }

    private var state = State.idle

    var isIdle: Bool { state == .idle }

    /// Whether the scan that is under way is ours.
    var isRunning: Bool { state == .running }

    mutating func request() { state = .requested(since: .nothing) }

    /// The kernel accepted the scan.
    /// - Returns: whether it was aborted, if it is over already.
    mutating func accepted() -> Bool? {
        guard case .requested(let seen) = state else { return nil }
        if case .end(let aborted) = seen {
            state = .idle
            return aborted
        }
        state = .running
        return nil
    }

    /// Some scan of the interface started.
    mutating func started() {
        if case .requested = state { state = .requested(since: .start) }
    }

    /// Some scan of the interface ended.
    /// - Returns: whether it was aborted, if it was ours.
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

    /// The scan was refused or is given up.
    mutating func forget() { state = .idle }
}
