import AgentModel
import AppProtocol
import Failover
import KeyFile

/// Counts metrics for fleet operators. Its size depends only on the number of stored networks.
package struct MetricsLedger: Sendable {
    /// Minimum interval of counted signal measurements. A falling signal is measured more often.
    static let signalInterval = Duration.seconds(10)
    /// Maximum time between a decision and an outage that it explains.
    static let causeLife = Duration.seconds(10)
    private static let day = Duration.seconds(24 * 3600)

    private var began: Instant?
    private var now = Instant(milliseconds: 0)
    /// Whether a network is stored, so that the device should be connected.
    private var isExpected: Bool
    private var expected = Duration.zero
    private var connected = Duration.zero

    private var outage: Outage?
    private var outages: [OutageCause: Tally] = [:]
    private var lastCause: (cause: OutageCause, at: Instant)?

    private var lastConnection: LastConnection?
    private var moves: [Move: Histogram] = [:]

    private var signal = Histogram([-90, -85, -80, -75, -70, -65, -60, -55, -50, -40])
    private var lastSignal: Instant?
    /// Signal of the link in dBm; nil without a link.
    private var level: Int?

    private var scans: [String: Int] = [:]
    private var scanBegan: Instant?
    private var scanTime = Duration.zero
    private var failures: [JoinFailure: Int] = [:]
    private var faults: [String: Int] = [:]
    private var steps: [RecoverySteps.Step: Int] = [:]
    private var setupAccessPointOpenings: [String: Int] = [:]
    private var writes: [String: Int] = [:]
    /// Connection attempts to the device's own servers, by result.
    private var targetConnections = (made: 0, failed: 0)
    /// Last time online in each stored network, except the current one.
    private var proven: [NetworkHash: Instant] = [:]
    private var network: NetworkHash?

    private struct Outage: Sendable {
        let began: Instant
        var cause: OutageCause
        let left: SSID?
    }

    /// Last network and access point with which the device was online.
    private struct LastConnection: Sendable {
        var ssid: SSID
        var bssid: BSSID?
        /// Time at which the device left; nil while it is connected there.
        var left: Instant?
        var wasPlanned = false
    }

    private struct Move: Hashable, Comparable {
        /// Kind of the move: `network` or `access_point`.
        let kind: String
        /// Reason of the move: `planned` or `lost`.
        let reason: String

        static func < (left: Self, right: Self) -> Bool { (left.kind, left.reason) < (right.kind, right.reason) }
    }

    init(_ state: StoredState) { isExpected = !state.namedNetworks.isEmpty }

    // MARK: Events

    /// - Parameter effects: Effects that the core returned for the event.
    mutating func record(_ event: AgentEvent, _ effects: [Effect], at now: Instant) {
        pass(to: now)
        switch event {
        case .scanBegan: scanBegan = now
        case .scanEnded:
            if let scanBegan { scanTime += now - scanBegan }
            scanBegan = nil
        case .committed(_, let state):
            isExpected = !state.namedNetworks.isEmpty
            writes["done", default: 0] += 1
        case .refusedCommit: writes["failed", default: 0] += 1
        default: break
        }
        for effect in effects { record(effect) }
    }

    private mutating func record(_ effect: Effect) {
        switch effect {
        case .record(_, let actions):
            for case .record(let decision) in actions { record(decision) }
        case .publish(.networkChanged(let status)): record(status)
        case .publish(.signal(let reading)): record(reading)
        case .publish(.targetChanged(let target)): record(target)
        case .publish(.decision(let decision)) where decision.kind.rawValue == "recovery":
            faults[decision.reason.rawValue, default: 0] += 1
        case .publish(.decision(let decision)) where decision.kind.rawValue == "rescue":
            setupAccessPointOpenings[decision.reason.rawValue, default: 0] += 1
        case .scan(_, let owner, _, _, _): scans[owner.metricName, default: 0] += 1
        case .recover(_, let step): steps[step, default: 0] += 1
        default: break
        }
    }

    private mutating func pass(to now: Instant) {
        if began == nil {
            (began, self.now) = (now, now)
            outage = Outage(began: now, cause: .start, left: nil)
        }
        let time = max(.zero, now - self.now)
        self.now = max(now, self.now)
        if isExpected { expected += time }
        if outage == nil { connected += time }
    }

    private mutating func record(_ decision: PolicyDecision) {
        if decision.kind == .failed, case .failure(let failure) = decision.cause { failures[failure, default: 0] += 1 }
        guard let cause = OutageCause(decision.cause) else { return }
        lastCause = (cause, now)
        guard let outage else { return }
        // The failure of a move, or of a new join to the lost network, is a more precise cause.
        let isOfTheSame = decision.from != nil && decision.from == outage.left
        let isDeeper = outage.cause == .move || (outage.cause == .accessPoint && isOfTheSame)
        if isDeeper, cause != .move { self.outage?.cause = cause }
    }

    private mutating func record(_ status: NetworkStatus) {
        recordMove(to: status)
        level = status.wifiSignal
        if status.isConnected {
            if let outage { outages[outage.cause, default: Tally()].add(now - outage.began) }
            outage = nil
        } else if outage == nil {
            outage = Outage(began: now, cause: cause(of: status), left: lastConnection?.ssid)
        }
        if let network { proven[network] = now }
        network = status.state == .online && status.isConnected ? status.hash : nil
        proven = proven.filter { now - $0.value <= Self.day }
    }

    private func cause(of status: NetworkStatus) -> OutageCause {
        if let cause = OutageCause(status) { return cause }
        guard let lastCause, now - lastCause.at <= Self.causeLife else { return .accessPoint }
        return lastCause.cause
    }

    /// Records a move once the device is online again, in another network or at another access point.
    private mutating func recordMove(to status: NetworkStatus) {
        guard status.state == .online, let ssid = status.ssid else {
            if lastConnection != nil, lastConnection?.left == nil {
                lastConnection?.left = now
                lastConnection?.wasPlanned = lastCause?.cause == .move && now - (lastCause?.at ?? now) <= Self.causeLife
            }
            return
        }
        defer { lastConnection = LastConnection(ssid: ssid, bssid: status.bssid ?? lastConnection?.bssid) }
        guard let lastConnection,
            lastConnection.ssid != ssid || (status.bssid != nil && lastConnection.bssid != status.bssid)
        else { return }
        let isPlanned = lastConnection.left == nil || lastConnection.wasPlanned
        let move = Move(
            kind: lastConnection.ssid == ssid ? "access_point" : "network", reason: isPlanned ? "planned" : "lost")
        moves[move, default: Histogram([50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000])]
            .observe(lastConnection.left.map { (now - $0).metric } ?? 0)
    }

    private mutating func record(_ reading: SignalReading) {
        level = reading.signal
        if let lastSignal, now - lastSignal < Self.signalInterval { return }
        lastSignal = now
        signal.observe(reading.signal)
    }

    private mutating func record(_ target: TargetStatus) {
        switch target.state {
        case .ready: targetConnections.made += 1
        case .failed, .waiting: targetConnections.failed += 1
        case .setup, .preparing, .cancelled: break
        }
    }
}

extension ScanOwner {
    fileprivate var metricName: String {
        switch self {
        case .policy: "policy"
        case .app: "app"
        case .silence: "silence"
        case .minimumSecurity: "floor"
        }
    }
}

// MARK: Report

extension MetricsLedger {
    /// Values reported in addition to the counters.
    package struct Facts: Sendable, Equatable {
        package var version: String
        /// Bytes written to the key file since the start of the agent.
        package var bytesWritten: Int
        /// Sectors of the key file that were erased since the start of the agent.
        package var sectorsErased: Int
        /// Erases of the most erased sector since the key file was created.
        package var mostErases: Int

        package init(version: String, bytesWritten: Int = 0, sectorsErased: Int = 0, mostErases: Int = 0) {
            (self.version, self.bytesWritten) = (version, bytesWritten)
            (self.sectorsErased, self.mostErases) = (sectorsErased, mostErases)
        }
    }

    func report(_ networks: BackupList, _ facts: Facts, at clock: ClockReading) -> MetricsReport {
        var ledger = self
        ledger.pass(to: clock.instant)
        return MetricsReport(
            ledger.connection + ledger.radio + ledger.stored(networks, at: clock) + [
                Metric(
                    "altnet_key_file_writes", .counter, "Changes of the key file, by result.",
                    ledger.samples(ledger.writes, of: "result", always: ["done", "failed"])),
                Metric(
                    "altnet_key_file_written_bytes", .counter, unit: "bytes", "Bytes written to the key file.",
                    [.init(facts.bytesWritten)]),
                Metric(
                    "altnet_key_file_erased_sectors", .counter, "Sectors of the key file that were erased.",
                    [.init(facts.sectorsErased)]),
                Metric(
                    "altnet_key_file_sector_erases", .gauge,
                    "Erases of the most erased sector since the key file was created.",
                    [.init(facts.mostErases)]),
                Metric(
                    "altnet_build_info", .gauge, "Always 1, with the agent's version as a label.",
                    [.init(["version": facts.version], 1)]),
                .time(
                    "altnet_uptime_seconds", .gauge,
                    "Time since the agent started.",
                    [.init((ledger.now - (ledger.began ?? ledger.now)).metric)]),
            ])
    }

    /// All metrics, with all label values where the set is closed.
    package static var examples: [Metric] {
        var ledger = MetricsLedger(StoredState())
        for (kind, reason) in [("access_point", "lost"), ("network", "planned")] {
            ledger.moves[Move(kind: kind, reason: reason)] = Histogram([1])
        }
        for failure in JoinFailure.allCases { ledger.failures[failure] = 1 }
        for fault in RecoverySteps.Fault.allCases { ledger.faults[fault.rawValue] = 1 }
        for step in RecoverySteps.Step.allCases { ledger.steps[step] = 1 }
        for reason in SetupAccessPoint.Reason.allCases { ledger.setupAccessPointOpenings[reason.rawValue] = 1 }
        let clock = ClockReading(instant: Instant(milliseconds: 0), time: Timestamp(millisecondsSince1970: 0))
        return ledger.report(BackupList(max: 1, revision: 1, networks: []), Facts(version: ""), at: clock).metrics
    }

    private var connection: [Metric] {
        [
            Metric(
                "altnet_connected", .gauge, "1 while the device has the required connectivity, else 0.",
                [.init(outage == nil ? 1 : 0)]),
            .time(
                "altnet_connected_seconds", .counter,
                "Time with the required connectivity.", [.init(connected.metric)]),
            .time(
                "altnet_expected_seconds", .counter,
                "Time with a stored network, in which the device should be connected.",
                [.init(expected.metric)]),
            Metric(
                "altnet_outages", .counter, "Ended outages, by cause.",
                OutageCause.allCases.map {
                    .init(["cause": $0.rawValue], outages[$0]?.count ?? 0)
                }),
            .time(
                "altnet_outage_seconds", .counter,
                "Total length of ended outages, by cause.",
                OutageCause.allCases.map {
                    .init(["cause": $0.rawValue], outages[$0]?.time.metric ?? 0)
                }),
            .time(
                "altnet_current_outage_seconds", .gauge,
                "Length of the current outage, 0 without one.",
                [.init(outage.map { (now - $0.began).metric } ?? 0)]),
            .time(
                "altnet_move_gap_seconds", .histogram,
                "Time without a network during a move to another network or access point.",
                moves.sorted { $0.key < $1.key }.map {
                    $0.value.sample(["kind": $0.key.kind, "reason": $0.key.reason])
                }),
            Metric(
                "altnet_own_server_connections", .counter, "Attempts to reach the device's own servers, by result.",
                [
                    .init(["result": "failed"], targetConnections.failed),
                    .init(["result": "made"], targetConnections.made),
                ]),
        ]
    }

    private var radio: [Metric] {
        [
            Metric(
                "altnet_wifi_signal_dbm", .histogram, unit: "dbm",
                "Signal of the link, measured at most every 10 s.", [signal.sample()]),
            Metric(
                "altnet_wifi_current_signal_dbm", .gauge, unit: "dbm", "Signal of the link now; absent without a link.",
                level.map { [.init($0)] } ?? []),
            Metric(
                "altnet_scans", .counter, "Scans, by purpose.",
                samples(scans, of: "for", always: ["app", "floor", "policy", "silence"])),
            .time(
                "altnet_scan_seconds", .counter,
                "Time that the radio spent on scans.",
                [.init(scanTime.metric)]),
            Metric(
                "altnet_join_failures", .counter, "Joins that failed, by reason.",
                samples(Dictionary(failures.map { ($0.key.rawValue, $0.value) }) { $1 }, of: "reason")),
            Metric(
                "altnet_radio_faults", .counter, "Detected and repaired faults of the radio, its firmware or driver.",
                samples(faults, of: "fault")),
            Metric(
                "altnet_recovery_steps", .counter, "Steps taken to repair the radio.",
                samples(Dictionary(steps.map { ($0.key.rawValue, $0.value) }) { $1 }, of: "step")),
            Metric(
                "altnet_rescues", .counter, "Openings and closings of the setup access point, by reason.",
                samples(setupAccessPointOpenings, of: "reason")),
        ]
    }

    private func stored(_ list: BackupList, at clock: ClockReading) -> [Metric] {
        var networks = list.networks
        for network in [list.home, list.chosen] {
            if let network, !networks.contains(where: { $0.hash == network.hash }) { networks.append(network) }
        }
        let provenNow = networks.filter { network in
            network.hash == self.network || proven[network.hash].map { now - $0 <= Self.day } ?? false
        }
        let dayAgo = clock.time.millisecondsSince1970 - Self.day.milliseconds
        let seen = networks.filter { network in
            provenNow.contains { $0.hash == network.hash }
                || network.lastSeen.map { $0.millisecondsSince1970 >= dayAgo } ?? false
        }
        return [
            Metric(
                "altnet_stored_networks", .gauge, "Stored networks.",
                [.init(networks.count)]),
            Metric(
                "altnet_seen_networks", .gauge, "Stored networks that were in range within the last day.",
                [.init(seen.count)]),
            Metric(
                "altnet_proven_networks", .gauge,
                "Stored networks in which the device was online within the last day: with 1 it has no proven backup.",
                [.init(provenNow.count)]),
        ]
    }

    /// - Parameter always: Labels to report even with count 0.
    private func samples(_ counts: [String: Int], of label: String, always: [String] = []) -> [Metric.Sample] {
        Set(counts.keys).union(always).sorted().map { .init([label: $0], counts[$0] ?? 0) }
    }
}

extension AgentCore {
    package func metrics(_ facts: MetricsLedger.Facts, at clock: ClockReading) -> MetricsReport {
        ledger.report(backupList(at: clock), facts, at: clock)
    }
}
