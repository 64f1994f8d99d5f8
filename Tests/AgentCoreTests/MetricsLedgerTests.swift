import AgentModel
import AppProtocol
import Failover
import KeyFile
import Testing

@testable import AgentCore

/// What is counted, and what that says.
// covers: seed/user-fleet
@Suite struct MetricsLedgerTests {
    @Test func connectedTimeIsTheTimeOnlineAndExpectedTimeThatWithANetworkStored() throws {
        var bench = try Bench()
        bench.pass(5)
        bench.online("Home")
        bench.pass(60)
        bench.offline(.linkLost)
        bench.pass(10)
        #expect(bench.value("altnet_connected_seconds") == 60)
        #expect(bench.value("altnet_expected_seconds") == 75)
        #expect(bench.value("altnet_connected") == 0)
        #expect(bench.value("altnet_current_outage_seconds") == 10)
        #expect(bench.value("altnet_uptime_seconds") == 75)
    }

    @Test func aDeviceWithoutANetworkIsNotMeantToBeConnected() throws {
        var bench = try Bench(stored: [])
        bench.pass(30)
        #expect(bench.value("altnet_expected_seconds") == 0)
        bench.record(.committed(1, StoredState(home: bench.network("Home"))))
        bench.pass(30)
        #expect(bench.value("altnet_expected_seconds") == 30)
    }

    /// Each cause by what the policy and the status say.
    @Test(arguments: [
        (PolicyDecision.Cause.linkLost, "access_point"), (.failure(.wrongKey), "key"),
        (.failure(.noAddress), "address"), (.interfaceDown, "radio"), (.commanded, "move"),
        (.failure(.noInternet), "internet"),
    ])
    func anOutageHasTheCauseOfTheDecisionBeforeIt(cause: PolicyDecision.Cause, name: String) throws {
        var bench = try Bench()
        bench.online("Home")
        bench.offline(cause)
        bench.pass(7)
        bench.online("Home")
        #expect(bench.value("altnet_outages", ["cause": name]) == 1)
        #expect(bench.value("altnet_outage_seconds", ["cause": name]) == 7)
        #expect(bench.value("altnet_current_outage_seconds") == 0)
        // The start, of no length.
        #expect(bench.value("altnet_outages", ["cause": "start"]) == 1)
    }

    @Test func aNetworkThatLeadsNowhereIsAnOutageOfTheInternetOrOfTheOwnServer() throws {
        var bench = try Bench()
        bench.online("Home", reach: .target, required: .target)
        bench.online("Home", reach: .internet, required: .target)
        bench.pass(3)
        bench.online("Home", reach: .target, required: .target)
        bench.online("Home", reach: .lan, required: .target)
        bench.pass(4)
        bench.online("Home", reach: .target, required: .target)
        #expect(bench.value("altnet_outage_seconds", ["cause": "own_server"]) == 3)
        #expect(bench.value("altnet_outage_seconds", ["cause": "internet"]) == 4)
    }

    /// The password was changed: the access point goes, and lets the device in no more.
    @Test func aNetworkThatWasLostAndRefusesThePasswordIsAnOutageOfTheKey() throws {
        var bench = try Bench()
        bench.online("Home")
        bench.offline(.linkLost)
        bench.decide(.failed, .failure(.wrongKey), from: "Home")
        bench.online("Backup")
        #expect(bench.value("altnet_outages", ["cause": "key"]) == 1)
        #expect(bench.value("altnet_outages", ["cause": "access_point"]) == 0)
        #expect(bench.value("altnet_join_failures", ["reason": "wrongKey"]) == 1)
    }

    @Test func anotherNetworkThatRefusesDoesNotChangeTheCause() throws {
        var bench = try Bench()
        bench.online("Home")
        bench.offline(.linkLost)
        bench.decide(.failed, .failure(.wrongKey), from: "Backup")
        bench.online("Home")
        #expect(bench.value("altnet_outages", ["cause": "access_point"]) == 1)
    }

    @Test func aCableKeepsTheDeviceConnected() throws {
        var bench = try Bench()
        bench.online("Home")
        var status = bench.status(.offline)
        (status.uplink, status.carrier) = (.wired, nil)
        bench.publish(status)
        bench.pass(20)
        #expect(bench.value("altnet_connected_seconds") == 20)
    }

    // MARK: Moves

    @Test func theGapOfAMoveIsTheTimeWithoutANetwork() throws {
        var bench = try Bench()
        bench.online("Home")
        bench.offline(.linkLost)
        bench.pass(2)
        bench.online("Backup")
        // Joined before the other was left: no gap.
        bench.decide(.join, .preferred)
        bench.online("Home")
        bench.online("Home", bssid: "02:00:00:00:01:01")
        let gaps = try #require(bench.metric("altnet_move_gap_seconds"))
        let lost = try #require(gaps.samples.first { $0.labels == ["kind": "network", "reason": "lost"] })
        #expect(lost.count == 1 && lost.value == 2000)
        #expect(lost.buckets?.first { $0.atMost == 1000 }?.count == 0)
        #expect(lost.buckets?.first { $0.atMost == 2500 }?.count == 1)
        let planned = try #require(gaps.samples.first { $0.labels == ["kind": "network", "reason": "planned"] })
        #expect(planned.count == 1 && planned.value == 0)
        let roam = try #require(gaps.samples.first { $0.labels == ["kind": "access_point", "reason": "planned"] })
        #expect(roam.count == 1)
    }

    @Test func backInTheSameNetworkIsNoMove() throws {
        var bench = try Bench()
        bench.online("Home")
        bench.offline(.linkLost)
        bench.online("Home")
        #expect(bench.metric("altnet_move_gap_seconds")?.samples.isEmpty == true)
    }

    // MARK: The radio

    @Test func aSignalThatIsMeasuredOftenCountsEveryTenSeconds() throws {
        var bench = try Bench()
        for _ in 0..<21 {
            bench.record(.timer(.signal), [.publish(.signal(SignalReading(signal: -72)))])
            bench.pass(1)
        }
        let signal = try #require(bench.metric("altnet_wifi_signal_dbm")?.samples.first)
        #expect(signal.count == 3 && signal.value == -216)
        #expect(signal.buckets?.first { $0.atMost == -75 }?.count == 0)
        #expect(signal.buckets?.first { $0.atMost == -70 }?.count == 3)
        #expect(bench.metric("altnet_wifi_current_signal_dbm")?.samples.map(\.value) == [-72])
        bench.offline(.linkLost)
        #expect(bench.metric("altnet_wifi_current_signal_dbm")?.samples.isEmpty == true)
    }

    @Test func theTimeOfScansIsThatWhichTheyHadTheRadio() throws {
        var bench = try Bench()
        let owner = ScanOwner.app(1, 1)
        bench.record(.resumed, [.scan("wlan0", owner, ssids: [], frequencies: [], asksEverybody: true)])
        bench.pass(1)
        bench.record(.scanBegan(owner))
        bench.pass(3)
        bench.record(.scanEnded(owner, .aborted))
        #expect(bench.value("altnet_scans", ["for": "app"]) == 1 && bench.value("altnet_scan_seconds") == 3)
    }

    @Test func stepsAndFaultsOfTheRadioAreCounted() throws {
        var bench = try Bench()
        let fault = Decision(
            seq: 1, time: Timestamp(millisecondsSince1970: 0), monotonicMs: 0, kind: .init(rawValue: "recovery"),
            from: nil, to: nil, reason: ReasonCode(rawValue: "mute"), text: "mute")
        bench.record(.resumed, [.publish(.decision(fault)), .recover("wlan0", .cycleInterface)])
        #expect(bench.value("altnet_radio_faults", ["fault": "mute"]) == 1)
        #expect(bench.value("altnet_recovery_steps", ["step": "cycleInterface"]) == 1)
    }

    // MARK: Stored networks

    @Test func aNetworkIsProvenByBeingOnlineInItWithinADay() throws {
        var bench = try Bench(stored: ["Home", "Backup"])
        bench.online("Backup")
        bench.online("Home")
        #expect(bench.value("altnet_stored_networks") == 2)
        #expect(bench.value("altnet_proven_networks") == 2)
        bench.pass(25 * 3600)
        // It is in this one still.
        #expect(bench.value("altnet_proven_networks") == 1 && bench.value("altnet_seen_networks") == 1)
    }

    // MARK: The report

    @Test func namesAndUnitsKeepToTheConventions() throws {
        var bench = try Bench()
        bench.online("Home")
        let metrics = bench.report.metrics
        #expect(Set(metrics.map(\.name)).count == metrics.count)
        for metric in metrics {
            #expect(metric.name.wholeMatch(of: /altnet(_[a-z]+)+/) != nil, "\(metric.name)")
            #expect(!metric.name.hasSuffix("_total") && metric.help.hasSuffix("."))
            if let unit = metric.unit { #expect(metric.name.hasSuffix("_" + unit), "\(metric.name)") }
        }
    }

    /// Over a year of outages nothing but numbers grows.
    @Test func itDoesNotGrow() throws {
        var bench = try Bench()
        for index in 0..<2000 {
            bench.online(index % 2 == 0 ? "Home" : "Backup")
            bench.pass(600)
            bench.offline(.linkLost)
            bench.pass(5)
        }
        let samples = bench.report.metrics.reduce(0) { $0 + $1.samples.count }
        #expect(samples < 60)
        #expect(bench.value("altnet_outages", ["cause": "access_point"]) == 1999)
    }

    /// A clock that goes back, as an outside one may.
    @Test func timeThatGoesBackCountsNothing() throws {
        var bench = try Bench()
        bench.online("Home")
        bench.pass(10)
        bench.pass(-100)
        bench.pass(100)
        #expect(bench.value("altnet_connected_seconds") == 10)
    }
}

/// A ledger and its clock.
private struct Bench {
    private var ledger: MetricsLedger
    private var now = Instant(milliseconds: 1_000_000)
    private let stored: [String]

    init(stored: [String] = ["Home"]) throws {
        self.stored = stored
        ledger = MetricsLedger(StoredState(backups: stored.map { Self.network($0) }))
        record(.atWork)
    }

    static func ssid(_ name: String) -> SSID {
        guard let ssid = try? SSID(name) else { preconditionFailure("\(name) is no SSID") }
        return ssid
    }

    static func network(_ name: String) -> StoredNetwork {
        StoredNetwork(ssid: Self.ssid(name), credential: .none)
    }
    func network(_ name: String) -> StoredNetwork { Self.network(name) }

    static func hash(_ name: String) -> NetworkHash {
        network(name).hash(localKey: Secret(text: "0123456789abcdef"))
    }

    mutating func record(_ event: AgentEvent, _ effects: [Effect] = []) { ledger.record(event, effects, at: now) }
    mutating func publish(_ status: NetworkStatus) { record(.resumed, [.publish(.networkChanged(status))]) }

    /// In seconds.
    mutating func pass(_ time: Int) {
        now = now + .seconds(time)
        record(.resumed)
    }

    mutating func decide(_ kind: PolicyDecision.Kind, _ cause: PolicyDecision.Cause, from name: String? = nil) {
        let decision = PolicyDecision(
            at: now, kind: kind, from: name.map { Self.ssid($0) }, to: nil, fromBSSID: nil, toBSSID: nil, cause: cause,
            signal: nil, considered: [])
        record(.resumed, [.record(.resumed, [.record(decision)])])
    }

    func status(_ state: LinkState) -> NetworkStatus {
        NetworkStatus(state: state, uplink: nil, flags: [], since: Timestamp(millisecondsSince1970: 0))
    }

    mutating func online(
        _ name: String, bssid: String = "02:00:00:00:01:00", reach: ReachLevel? = nil, required: ReachLevel = .link
    ) {
        var status = status(.online)
        status.uplink = .wifi
        status.ssid = Self.ssid(name)
        status.bssid = BSSID(bssid)
        status.hash = Self.hash(name)
        status.connectivity = Connectivity(
            level: reach, required: required, checked: reach.map { _ in Timestamp(millisecondsSince1970: 1) })
        publish(status)
    }

    mutating func offline(_ cause: PolicyDecision.Cause) {
        decide(.lost, cause)
        publish(status(.offline))
    }

    var report: MetricsReport {
        let networks = stored.map { name in
            BackupNetwork(
                ssid: Self.ssid(name), hash: Self.hash(name), security: .wpa2, isHidden: false)
        }
        return ledger.report(
            BackupList(max: 3, revision: 1, networks: networks), MetricsLedger.Facts(version: "1.2"),
            at: ClockReading(instant: now, time: Timestamp(millisecondsSince1970: 1_770_000_000_000)))
    }

    func metric(_ name: String) -> Metric? { report.metrics.first { $0.name == name } }

    /// In the metric's unit.
    func value(_ name: String, _ labels: [String: String] = [:]) -> Int? {
        metric(name).flatMap { metric in
            metric.samples.first { $0.labels == labels }.map { $0.value / metric.scale }
        }
    }
}
