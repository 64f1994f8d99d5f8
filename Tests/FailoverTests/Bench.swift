import AgentModel
import Testing

@testable import Failover

/// A policy on the bench: a test sends events and moves the clock, and reads what the policy wants done.
struct Bench {
    var policy: FailoverPolicy
    private(set) var now = Instant(milliseconds: 1_000_000)
    /// Everything the policy wanted since `take` was last called.
    private(set) var actions: [PolicyAction] = []

    init(_ networks: [KnownNetwork] = [home, backup, spare], settings: PolicySettings = PolicySettings()) {
        policy = FailoverPolicy(settings: settings)
        send(.networks(networks))
    }

    static let home = network(1, "Home", isPreferred: true)
    static let backup = network(2, "Backup")
    static let spare = network(3, "Spare")

    static func network(
        _ id: Int, _ name: String, isPreferred: Bool = false, isHidden: Bool = false, usesPassphrase: Bool = true
    ) -> KnownNetwork {
        guard let ssid = try? SSID(name) else { preconditionFailure("not an SSID: \(name)") }
        return KnownNetwork(
            id: NetworkID(id), ssid: ssid, usesPassphrase: usesPassphrase, isHidden: isHidden, isPreferred: isPreferred)
    }

    /// A policy with interface and supplicant that is online on its home network.
    static func online(
        _ networks: [KnownNetwork] = [home, backup, spare], signal: Int = -50,
        settings: PolicySettings = PolicySettings()
    ) -> Bench {
        var bench = Bench(networks, settings: settings)
        bench.start()
        bench.finishScan([bench.observation(networks[0], signal)])
        bench.joinSucceeds()
        _ = bench.take()
        return bench
    }

    mutating func start() {
        send(.interface(isUp: true))
        send(.supplicant(isAvailable: true))
    }

    mutating func send(_ event: PolicyEvent) { actions += policy.handle(event, at: now) }

    /// Events of one moment.
    mutating func send(_ events: [PolicyEvent]) { actions += policy.handle(events, at: now) }

    /// Moves the clock, and wakes the policy whenever it asked for it.
    mutating func advance(by duration: Duration) {
        let end = now + duration
        while let wake = policy.nextWake, wake <= end {
            now = max(now, wake)
            send(.tick)
            guard policy.nextWake.map({ $0 > now }) ?? true else {
                Issue.record("asks to be woken in the past: \(policy)")
                return
            }
        }
        now = end
    }

    /// Moves the clock while the device sleeps.
    mutating func jump(by duration: Duration) { now = now + duration }

    /// Moves the clock from wake to wake until the policy wants something that `isWanted`.
    mutating func advance(upTo limit: Duration, until isWanted: (PolicyAction) -> Bool) -> Bool {
        let end = now + limit
        while !actions.contains(where: isWanted), let wake = policy.nextWake, wake <= end {
            now = max(now, wake)
            send(.tick)
        }
        return actions.contains(where: isWanted)
    }

    /// The policy's actions since the last time.
    mutating func take() -> [PolicyAction] {
        defer { actions = [] }
        return actions
    }

    // MARK: Reports of the device

    func observation(
        _ network: KnownNetwork, _ signal: Int, channel megahertz: Int = 2412, radio: UInt8 = 0,
        security: Security? = nil, age: Duration = .zero
    ) -> BSS {
        let bytes: [UInt8] = [2, 0, 0, 0, UInt8(truncatingIfNeeded: network.id.rawValue), radio]
        guard let bssid = BSSID(bytes: bytes) else { preconditionFailure("six bytes") }
        return BSS(
            bssid: bssid, ssid: network.ssid, frequency: Frequency(megahertz: megahertz), signal: signal,
            lastSeen: now.advanced(by: .zero - age), security: security ?? (network.usesPassphrase ? .wpa2 : .open))
    }

    /// Ends the scan that was ordered last.
    mutating func finishScan(_ results: [BSS] = []) {
        guard let scan = policy.scan else {
            Issue.record("no scan was ordered")
            return
        }
        send(.scanned(id: scan.order.id, results))
    }

    /// The order to join that was given last leads to an association, and the network to an address.
    mutating func joinSucceeds(frequency: Int = 2412) {
        associates(frequency: frequency)
        send(.address(isReady: true))
    }

    mutating func associates(frequency: Int = 2412) {
        guard let attempt = policy.attempt else {
            Issue.record("nothing is being joined")
            return
        }
        let any = Bench.accessPoint(of: attempt.network, frequency: frequency)
        send(
            .associated(epoch: attempt.epoch, AccessPoint(bssid: attempt.bssid ?? any.bssid, frequency: any.frequency)))
    }

    /// The probe that is under way ends.
    mutating func probeEnds(_ result: ProbeResult) { send(.probed(epoch: policy.epoch, result)) }

    mutating func joinFails(_ failure: JoinFailure) {
        guard let attempt = policy.attempt else {
            Issue.record("nothing is being joined")
            return
        }
        send(.joinFailed(epoch: attempt.epoch, failure))
    }

    static func accessPoint(of network: NetworkID, frequency: Int = 2412) -> AccessPoint {
        guard let bssid = BSSID(bytes: [2, 0, 0, 0, UInt8(truncatingIfNeeded: network.rawValue), 0]) else {
            preconditionFailure("six bytes")
        }
        return AccessPoint(bssid: bssid, frequency: Frequency(megahertz: frequency))
    }

    /// Samples of the link's signal at the interval that the policy asked for.
    mutating func measure(_ signal: Int, for duration: Duration, every interval: Duration = .milliseconds(2500)) {
        let end = now + duration
        send(.signal(signal))
        while now + interval <= end {
            advance(by: interval)
            send(.signal(signal))
        }
    }

    // MARK: Wishes of the policy

    /// The network that is being joined or is in use.
    var target: KnownNetwork? { policy.phase.network.flatMap(policy.network) }

    /// The access point that is being joined or is in use.
    var targetBSSID: BSSID? { policy.attempt?.bssid ?? policy.phase.accessPoint?.bssid }

    var isOnline: Bool { if case .online = policy.phase { true } else { false } }
}

extension [PolicyAction] {
    var joins: [LinkTarget] { compactMap { if case .join(let target) = $0 { target } else { nil } } }
    var scans: [ScanOrder] { compactMap { if case .scan(let order) = $0 { order } else { nil } } }
    var decisions: [PolicyDecision] { compactMap { if case .record(let decision) = $0 { decision } else { nil } } }
    var outcomes: [SwitchProgress] {
        compactMap { if case .switchProgress(_, let phase) = $0, phase.isFinal { phase } else { nil } }
    }
    var isLeaving: Bool { contains(.leave) }
    var probes: Int { count { if case .probe = $0 { true } else { false } } }
    var progress: [SwitchProgress] {
        compactMap { if case .switchProgress(_, let progress) = $0 { progress } else { nil } }
    }
    var writes: [StoreWrite] { compactMap { if case .store(let write) = $0 { write } else { nil } } }
    var watches: [SignalWatch?] { compactMap { if case .watchSignal(let watch) = $0 { .some(watch) } else { nil } } }
}
