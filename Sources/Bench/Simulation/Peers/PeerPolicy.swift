import AgentModel
import Failover

/// A model of a common connection manager's decisions, driven by the events of altnet's policy, without further
/// knowledge.
///
/// The common part: scan, choose, join, wait for an address, start again. The differences are in `PeerModel`. No peer
/// checks for internet access.
public struct PeerPolicy: LinkPolicy, Sendable {
    let model: PeerModel
    var networks: [KnownNetwork] = []
    var phase = Phase.down
    /// Results of the latest scan, and channels of known networks.
    var air: [BSSID: BSS] = [:]
    /// Times of failures. An access point is used again once it is seen after them.
    var doubts: [BSSID: Instant] = [:]
    var channels: [NetworkID: Set<Frequency>] = [:]
    var history: [NetworkID] = []
    var blocks = PeerBlocks()
    /// Untried access points of the last scan, best first.
    var queue: [Candidate] = []
    /// Consecutive scans without a candidate, and consecutive failed joins.
    var fruitlessScans = 0
    var failures = 0
    /// Network that is the only one to look for, and the end of that.
    var loyalty: (network: NetworkID, until: Instant)?
    var command: UInt64?
    var counter: UInt64 = 0
    var actions: [PolicyAction] = []

    private var isInterfaceUp = false
    private var isSupplicantAvailable = false
    private var hasStopped = false

    public init(model: PeerModel) { self.model = model }

    enum Phase {
        /// The interface or wpa_supplicant is missing.
        case down
        case waiting(until: Instant)
        case scanning(id: UInt64)
        case joining(Attempt)
        case linked(Link)
    }

    struct Candidate {
        let network: KnownNetwork
        let bss: BSS
    }

    struct Attempt {
        let network: NetworkID
        let bssid: BSSID?
        let epoch: UInt64
        let deadline: Instant
    }

    struct Link {
        let network: NetworkID
        let accessPoint: AccessPoint
        var isOnline: Bool
        var addressDeadline: Instant?
        var signal: Int?
        /// Time of the next search for a better access point, and the running search.
        var searchAt: Instant?
        var search: UInt64?
        var searches = 0
    }

    public mutating func handle(_ event: PolicyEvent, at now: Instant) -> [PolicyAction] {
        guard !hasStopped else { return [] }
        actions = []
        apply(event, at: now)
        wake(at: now)
        return actions
    }

    public var nextWake: Instant? {
        guard !hasStopped else { return nil }
        return switch phase {
        case .down, .scanning: nil
        case .waiting(let until): until
        case .joining(let attempt): attempt.deadline
        case .linked(let link): [link.addressDeadline, link.searchAt].compactMap(\.self).min()
        }
    }

    private mutating func apply(_ event: PolicyEvent, at now: Instant) {
        switch event {
        case .networks(let networks):
            self.networks = networks
            if case .waiting = phase { phase = .waiting(until: now) }
        case .remembered(let network, let frequency): channels[network, default: []].insert(frequency)
        case .interface(let isUp):
            isInterfaceUp = isUp
            readinessChanged(at: now)
        case .supplicant(let isAvailable):
            isSupplicantAvailable = isAvailable
            readinessChanged(at: now)
        case .linkFound(let network, let accessPoint):
            phase = .linked(Link(network: network, accessPoint: accessPoint, isOnline: false))
        case .scanned(let id, let results): scanned(id, results, at: now)
        case .scanFailed(let id), .scanRefused(let id, _): scanFailed(id, at: now)
        case .associated(let epoch, let accessPoint): associated(epoch, accessPoint, at: now)
        case .joinFailed(let epoch, let failure):
            if case .joining(let attempt) = phase, attempt.epoch == epoch { failed(attempt, failure, at: now) }
        case .linkLost(let end): linkLost(end, at: now)
        case .address(let isReady): addressChanged(isReady: isReady, at: now)
        case .signal(let signal):
            if case .linked(var link) = phase {
                link.signal = signal
                phase = .linked(link)
            }
        case .switchTo(let network, let id, _, _): beginSwitch(network, command: id, at: now)
        case .stop: hasStopped = true
        case .settings, .verified, .wallClock, .hourlyOutage, .spare, .otherUplink, .interrupted, .successorLost,
            .successorAddress, .probed,
            .doubted, .loss, .disassociationImminent, .transitionRequested, .neighbour, .held, .signingIn,
            .postponed, .confirmed, .resumed, .tick:
            break
        }
    }

    private mutating func readinessChanged(at now: Instant) {
        guard isInterfaceUp, isSupplicantAvailable else {
            phase = .down
            endCommand(.failed(isInterfaceUp ? .supplicantUnavailable : .interfaceDown))
            return
        }
        if case .down = phase { phase = .waiting(until: now) }
    }

    private mutating func wake(at now: Instant) {
        switch phase {
        case .waiting(let until) where until <= now: search(at: now)
        case .joining(let attempt) where attempt.deadline <= now: failed(attempt, .timeout, at: now)
        case .linked(let link):
            if let deadline = link.addressDeadline, deadline <= now {
                let attempt = Attempt(network: link.network, bssid: link.accessPoint.bssid, epoch: 0, deadline: now)
                failed(attempt, .noAddress, at: now)
            } else if let searchAt = link.searchAt, searchAt <= now {
                searchForBetter(link, at: now)
            }
        case .down, .waiting, .scanning, .joining: break
        }
    }

    mutating func nextNumber() -> UInt64 {
        counter += 1
        return counter
    }
}

/// Blocked networks, which refused the key, and blocked access points.
struct PeerBlocks: Sendable {
    private var keys: [NetworkID: Entry] = [:]
    private var accessPoints: [BSSID: Entry] = [:]

    private struct Entry {
        var count = 0
        var until: Instant?
    }

    func holds(_ network: NetworkID, _ bssid: BSSID, at now: Instant) -> Bool {
        refusesKey(network, at: now) || accessPoints[bssid].map { Self.lasts($0, at: now) } ?? false
    }

    func refusesKey(_ network: NetworkID, at now: Instant) -> Bool {
        keys[network].map { Self.lasts($0, at: now) } ?? false
    }

    mutating func refuse(_ network: NetworkID, at now: Instant, ladder: [Duration?]) {
        Self.climb(&keys[network, default: Entry()], ladder, at: now)
    }

    mutating func block(_ bssid: BSSID, at now: Instant, ladder: [Duration?]) {
        Self.climb(&accessPoints[bssid, default: Entry()], ladder, at: now)
    }

    mutating func clear(_ network: NetworkID, _ bssid: BSSID) {
        keys[network] = nil
        accessPoints[bssid] = nil
    }

    private static func lasts(_ entry: Entry, at now: Instant) -> Bool { entry.until.map { now < $0 } ?? true }

    private static func climb(_ entry: inout Entry, _ ladder: [Duration?], at now: Instant) {
        entry.until = ladder.isEmpty ? now : ladder[min(entry.count, ladder.count - 1)].map { now + $0 }
        entry.count += 1
    }
}
