import AgentModel
import Failover

/// Measures how long the policy takes for a decision with many access points in range.
struct CrowdBenchmark {
    /// Number of access points on three bands. Half of them belong to the device's networks.
    let accessPoints: Int

    private static let networks = 11
    private static let rounds = 500

    struct Times {
        let median: Duration
        let worst: Duration
    }

    /// Sends one scan and one signal per second to the policy, on a weak link. After each scan, the policy searches for
    /// a better access point.
    /// - Returns: median and longest time for a scan; nil if the device got no link.
    func run() -> Times? {
        var policy = FailoverPolicy()
        let known = (0..<Self.networks).compactMap { number -> KnownNetwork? in
            guard let ssid = try? SSID("network \(number)") else { return nil }
            return KnownNetwork(
                id: NetworkID(number), ssid: ssid, usesPassphrase: true, isPreferred: number == 0)
        }
        var now = Instant(milliseconds: 1000)
        for event: PolicyEvent in [.networks(known), .interface(isUp: true), .supplicant(isAvailable: true)] {
            _ = policy.handle(event, at: now)
        }
        let first = observations(known, at: now, round: 0)
        _ = policy.handle(.scanned(id: nil, first), at: now)
        guard let own = first.first(where: { $0.ssid == known.first?.ssid }) else { return nil }
        _ = policy.handle(
            .associated(
                epoch: policy.linkEpoch, AccessPoint(bssid: own.bssid, frequency: own.frequency)), at: now)
        _ = policy.handle(.address(isReady: true), at: now)
        guard case .online = policy.phase else { return nil }
        var times: [Duration] = []
        for round in 1...Self.rounds {
            now = now + .seconds(1)
            _ = policy.handle(.signal(-76), at: now)
            let seen = observations(known, at: now, round: round)
            let start = ContinuousClock.now
            _ = policy.handle(.scanned(id: nil, seen), at: now)
            times.append(ContinuousClock.now - start)
        }
        times.sort()
        return Times(median: times[times.count / 2], worst: times[times.count - 1])
    }

    /// Returns a scan of access points that are too weak to switch to.
    private func observations(_ known: [KnownNetwork], at now: Instant, round: Int) -> [BSS] {
        (0..<accessPoints).compactMap { number in
            guard let bssid = BSSID(bytes: [2, 0, 0, 0, UInt8(number >> 8 & 255), UInt8(number & 255)]) else {
                return nil
            }
            let isKnown = number.isMultiple(of: 2)
            let ssid = isKnown ? known[number / 2 % known.count].ssid : try? SSID("neighbour \(number)")
            let channel = [2412, 2437, 2462, 5180, 5500, 5955][number % 6]
            return BSS(
                bssid: bssid, ssid: ssid, frequency: Frequency(megahertz: channel),
                signal: -72 - (number + round) % 12, lastSeen: now, security: .wpa2)
        }
    }
}
