import AgentModel
import Failover

/// Model of a common connection manager's decisions. It gets the same events as altnet's policy, and nothing else.
///
/// All peers scan, choose an access point, join it, wait for an address, and start again after a failure. `PeerModel`
/// describes their differences. Peers do not check for internet access.
public struct PeerPolicy: LinkPolicy, Sendable {
    let model: PeerModel
    var networks: [KnownNetwork] = []
    var phase = Phase.down
    /// Scan results of the last 30 s.
    var air: [BSSID: BSS] = [:]
    /// Times of failed joins. A peer uses the access point again after a scan has found it later.
    var doubts: [BSSID: Instant] = [:]
    /// Known channels of the networks.
    var channels: [NetworkID: Set<Frequency>] = [:]
    /// Networks on which the peer was online. The last one used is last.
    var history: [NetworkID] = []
    var blocks = PeerBlocks()
    /// Access points of the last scan that were not tried yet, best first.
    var queue: [Candidate] = []
    /// Number of consecutive scans without a candidate.
    var fruitlessScans = 0
    /// Number of consecutive failed joins.
    var failures = 0
    /// The only network that the peer searches until this time, after its loss.
    var loyalty: (network: NetworkID, until: Instant)?
    var command: UInt64?
    var counter: UInt64 = 0
    var actions: [PolicyAction] = []

    private var isInterfaceUp = false
    private var isSupplicantAvailable = false
    private var hasStopped = false

    public init(model: PeerModel) { self.model = model }

    enum Phase {
        /// The interface or wpa_supplicant is not available.
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
        /// Time of the next search for a better access point.
        var searchAt: Instant?
        /// ID of the running search's scan.
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
        case .settings, .verified, .spare, .otherUplink, .interrupted, .successorLost, .successorAddress, .probed,
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

/// Networks and access points that a peer ignores for a time. A network is blocked after it refused the key.
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
