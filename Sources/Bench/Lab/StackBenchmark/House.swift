import AgentModel

/// The place where every case happens: a home network and a backup, both on, and a device that knows both and is online
/// at home, kept there by one of the stacks.
struct House: Sendable {
    /// Deviations from the usual house.
    struct Plan: Sendable {
        /// 1 to 14 are on 2.4 GHz, 36 and above on 5 GHz. Home is on channel 1.
        var backupChannel = 6
        /// At the device, in dBm. Home is at -50.
        var backupSignal = -60
        /// The backup's password in the device's settings, if it is a wrong one.
        var wrongPassword: String?
        /// Whether there is an internet behind both networks.
        var hasInternet = false
    }

    let lab: Lab
    let stack: any NetworkStack
    let home: AccessPoint
    let backup: AccessPoint
    let backupPassword: String
    let hasInternet: Bool
    /// The number of the run, from 0.
    let run: Int
    /// When within a second what the case is about begins.
    let phase: Phase

    /// How long the device is left alone once it is online, to look around: as long for each.
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
            // A stack without priorities may have found the backup first.
            try await stack.change(to: home)
            try await online(on: home, within: .seconds(60))
        }
        try await Task.sleep(for: Self.settling)
    }

    /// The device's networks, the preferred network first.
    var knownNetworks: [KnownNetwork] {
        [
            KnownNetwork(home.ssid, security: .wpa2("home-password"), priority: 10),
            KnownNetwork(backup.ssid, security: .wpa2(backupPassword), priority: 0),
        ]
    }

    /// Waits until data goes through this network.
    func online(on network: AccessPoint, within limit: Duration) async throws {
        try await eventually(within: limit, every: .milliseconds(200), "the device to be online on \(network.ssid)") {
            try await lab.station.network() == network.ssid
        }
    }

    /// The stopwatch: from `moment` to the first ping answered after it.
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

/// The result of one case.
enum Measured: Equatable, Sendable {
    case value(Double)
    /// It did not happen within that time.
    case never(limit: Duration)
}

extension ContinuousClock.Instant {
    func seconds(since other: Self) -> Double { (self - other) / .seconds(1) }
}
