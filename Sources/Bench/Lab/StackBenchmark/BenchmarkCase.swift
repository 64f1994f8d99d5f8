import Glibc

/// An event in a device's life, and its measurements.
public struct BenchmarkCase: Sendable {
    public let name: String
    /// Regulatory domain, which determines the channels of a scan.
    let country: String
    let plan: House.Plan
    /// Whether the case takes an hour, which is too long in real time.
    public let isVirtualOnly: Bool
    /// Whether the device leaves a working link. If so, the case also runs with a second station interface.
    let isMove: Bool
    public let figures: [Figure]
    let play: @Sendable (House) async throws -> [Figure: Measured]

    init(
        _ name: String, country: String = "CN", plan: House.Plan = House.Plan(), isVirtualOnly: Bool = false,
        isMove: Bool = false, figures: [Figure], play: @escaping @Sendable (House) async throws -> [Figure: Measured]
    ) {
        self.name = name
        self.country = country
        self.plan = plan
        self.isVirtualOnly = isVirtualOnly
        self.isMove = isMove
        self.figures = figures
        self.play = play
    }

    public static let all: [BenchmarkCase] =
        [
            hardLoss(.hardLoss24CN, channel: 6, country: "CN"), hardLoss(.hardLoss5CN, channel: 36, country: "CN"),
            hardLoss(.hardLoss24US, channel: 6, country: "US"), hardLoss(.hardLoss5US, channel: 36, country: "US"),
            weakSignal, homeReturns, coldStart, wrongPassword(.wrongPassword40, away: .seconds(40)),
            wrongPassword(.wrongPassword300, away: .seconds(300)), restart,
            deauthentications(.deauthentications, count: 10, every: .seconds(25)),
            deauthentications(.deauthenticationStorm, count: 20, every: .seconds(5)), deadInternet, command, address,
            idle,
        ]

    /// Runs the case once in a new lab.
    /// - Parameter number: number of the run, from 0.
    public func run(_ stack: StackName, number: Int) async throws -> [FigureReading] {
        let measured = try await Lab.run(
            "\(name) \(stack.rawValue)", accessPoints: 2, country: country, spare: stack.spare
        ) { lab in
            try await play(House(lab, plan: plan, stack: stack, run: number))
        }
        return measured.map { FigureReading($0, $1) }
    }
}

/// Lower limit for stacks with one radio that detect a loss by three missing beacons. It is the sum of those beacons, a
/// scan of one channel, a join with cached keys, and a confirmed lease.
///
/// Measured with wpa_supplicant and dhcpcd, each started at the right moment.
public enum LowerBound {
    /// Three beacon intervals of 102.4 ms, in seconds.
    static let beacons = 0.3072
    public static let name = "floor"

    public static func run() async throws -> [FigureReading] {
        try await Lab.run("floor", accessPoints: 1) { lab in
            let backup = try await lab.accessPoint(
                "BackupNet", security: .wpa2("backup-password"), channel: 6, signal: -60)
            try await backup.powerOn()
            let station = lab.station
            try await station.startDHCPClient()
            try await station.startSupplicant(knowing: [
                ConfiguredNetwork(backup.ssid, security: .wpa2("backup-password"))
            ])
            let pinger = try await lab.pinger(to: backup.gateway)
            try await pinger.reply(within: .seconds(60))
            try await station.ask("DISCONNECT")
            try await pinger.silence(of: .seconds(1), within: .seconds(10))
            try await station.ask("BSS_FLUSH 0")

            let start = ContinuousClock.now
            try await station.ask("SCAN TYPE=ONLY freq=2437")
            try await eventually(within: .seconds(10), every: .milliseconds(2), "the scan's result") {
                try await station.ask("SCAN_RESULTS").contains("\(backup.bssid)")
            }
            let seen = ContinuousClock.now
            try await station.ask("SELECT_NETWORK 0")
            try await eventually(within: .seconds(10), every: .milliseconds(2), "the join") {
                await station.joined() != nil
            }
            let joined = ContinuousClock.now
            let reply = try await pinger.reply(after: seen, within: .seconds(30))
            let parts: [(Figure, Double)] = [
                (.lowerBound, beacons + reply.seconds(since: start)), (.lowerBoundScan, seen.seconds(since: start)),
                (.lowerBoundJoin, joined.seconds(since: seen)), (.lowerBoundLease, reply.seconds(since: joined)),
            ]
            return parts.map { FigureReading($0, .value($1)) }
        }
    }
}

/// Offset of an event within a second. The kernel checks for lost beacons on whole seconds, so the detection time
/// depends on the offset. Without different offsets, all runs in virtual time would be equal.
struct Phase: Equatable {
    /// Fraction of a second, 0 to 1.
    let fraction: Double

    /// Creates the phase of a run. Any number of runs is spread evenly, and all stacks get the same phases.
    init(ofRun number: Int) {
        let step = 0.6180339887498949
        fraction = (0.05 + Double(number) * step).truncatingRemainder(dividingBy: 1)
    }

    /// Returns the time from `moment` on the kernel's clock to the next moment of this phase.
    func distance(from moment: Duration) -> Duration {
        let (seconds, rest) = moment.components
        let wanted = Duration.seconds(fraction)
        let now = moment - .seconds(seconds)
        return rest == 0 || now <= wanted ? wanted - now : wanted - now + .seconds(1)
    }

    /// Waits until the next moment of this phase, on the clock of the kernel's timers.
    func wait() async throws {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        try await Task.sleep(for: distance(from: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)))
    }
}
