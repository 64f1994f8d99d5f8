/// The setup of all cases: a home network, a backup network, and a device with one of the stacks. The device knows both
/// networks and is online at home.
struct House: Sendable {
    struct Plan: Sendable {
        /// Channel of the backup network: 1 to 14 on 2.4 GHz, 36 and above on 5 GHz. The home network is on channel 1.
        var backupChannel = 6
        /// Signal of the backup network at the device in dBm. The home network has -50 dBm.
        var backupSignal = -60
        /// Wrong password of the backup in the device's settings; nil for the right one.
        var wrongPassword: String?
        var hasInternet = false
    }

    let lab: Lab
    let stack: any NetworkStack
    let home: AccessPoint
    let backup: AccessPoint
    let backupPassword: String
    let hasInternet: Bool
    /// Number of the run, from 0.
    let run: Int
    /// Offset within a second at which the case starts.
    let phase: Phase

    /// Pause after the device is online. It is equal for all stacks.
    private static let settling = Duration.seconds(20)

    init(_ lab: Lab, plan: Plan, stack name: StackName, run: Int) async throws {
        self.lab = lab
        self.run = run
        phase = Phase(ofRun: run)
        home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1, signal: -50)
        backup = try await lab.accessPoint(
            "BackupNet", security: .wpa2("backup-password"), channel: plan.backupChannel, signal: plan.backupSignal)
        backupPassword = plan.wrongPassword ?? "backup-password"
        hasInternet = plan.hasInternet
        if hasInternet {
            let upstream = try await lab.upstream()
            for accessPoint in [home, backup] { try await accessPoint.connect(to: upstream) }
        }
        try await home.powerOn()
        try await backup.powerOn()
        stack = name.stack(in: lab)
        try await stack.setUp(self)
        do { try await online(on: home, within: .seconds(60)) } catch LabError.timedOut {
            // A stack without priorities may have joined the backup. Switch it to home.
            try await stack.change(to: home)
            try await online(on: home, within: .seconds(60))
        }
        try await Task.sleep(for: Self.settling)
    }

    /// Networks that the device knows, in order of preference.
    var knownNetworks: [ConfiguredNetwork] {
        [
            ConfiguredNetwork(home.ssid, security: .wpa2("home-password"), priority: 10),
            ConfiguredNetwork(backup.ssid, security: .wpa2(backupPassword), priority: 0),
        ]
    }

    func online(on network: AccessPoint, within limit: Duration) async throws {
        try await eventually(within: limit, every: .milliseconds(200), "the device to be online on \(network.ssid)") {
            try await lab.station.network() == network.ssid
        }
    }

    /// Measures the time from `moment` to the first answered ping after it.
    func time(
        from moment: ContinuousClock.Instant, to pinger: Pinger, limit: Duration
    ) async throws -> Measured {
        do {
            let rest = moment + limit - .now
            return .value(try await pinger.reply(after: moment, within: rest).seconds(since: moment))
        } catch LabError.timedOut {
            return .never(limit: limit)
        }
    }
}

enum Measured: Equatable, Sendable {
    case value(Double)
    case never(limit: Duration)
}

extension ContinuousClock.Instant {
    func seconds(since other: Self) -> Double { (self - other) / .seconds(1) }
}
