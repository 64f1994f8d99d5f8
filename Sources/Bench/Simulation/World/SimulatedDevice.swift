import AgentModel
import Failover

/// Simulated device: a radio with one or two stations, wpa_supplicant, a DHCP client, and an app for commands. Performs
/// the orders of a `DeviceRunner` and reports results. The times are measurements in the lab
/// (Docs/contributor/testing.md).
///
/// The device skips idle time by computing the next event. All times are milliseconds since the start of the run.
struct SimulatedDevice {
    /// World of the device. Only `meet` replaces it, after external changes.
    private(set) var world: World
    let timing: StackTiming
    /// Time for which the device computes events in advance, in milliseconds.
    let horizon: Int64
    var now: Int64 = 0
    var reports = Queue<DeviceReport>()
    var account: Account

    /// Stations of the device. They share one radio.
    var stations: [Station]
    /// Index of the station that carries the traffic.
    private(set) var inUse = 0
    /// Index of the preferred network in the scenario. The runner updates it.
    var preferred: Int?
    var sights: [Sight?]
    /// Probability that a scan finds an access point in range, 0 to 1. Active scans can miss one.
    var sightChance = 0.97
    var scan: Scan?
    var scans = 0
    var watch: Watch?
    var confirmAt = Int64.max
    var otherUplink: Uplink?
    var isAgentUp = true
    var agentStart = Int64.max
    var isAsleep = false
    var wakeUp = Int64.max
    /// Reports that the runner gets after the device wakes up.
    var missed: [DeviceReport] = []
    var supplicant = SupplicantProcess()

    /// Start of the current pass, in milliseconds.
    var passStart: Int64 = 0
    /// Index of the pass's next event.
    var nextHappening = 0

    struct Station {
        var join: Join?
        var link: Link?
        /// Driver's counters of the link; nil before the first read.
        var counts: LinkCounts?
        var tally: LossTally?
        var lease: Lease?
        var probe: Probe?
        /// Epoch of the link over which the device reached the target; nil if it did not. If set, the device notices
        /// when the target falls silent.
        var reached: UInt64?
        var doubtAt = Int64.max
        var isSignedIn = false
    }

    struct Lease {
        let network: Int
        /// Time at which the DHCP client notices the lost link and removes the address.
        var end = Int64.max
    }

    /// State of wpa_supplicant for all stations, and the times at which the agent notices its end and its return.
    struct SupplicantProcess {
        var isRunning = true
        var noticed = Int64.max
        var unlinked: Set<Int> = []
        var back = Int64.max
    }

    struct Probe {
        let at: Int64
        let epoch: UInt64
        let result: ProbeResult
    }

    init(in world: World, stations: Int, timing: StackTiming, horizon: Int64, account: Account) {
        self.world = world
        self.timing = timing
        self.horizon = horizon
        self.account = account
        self.stations = Array(repeating: Station(), count: max(1, stations))
        sights = Array(repeating: nil, count: world.tracks.count)
        startAgent()
    }

    /// Time of the next event, ignoring the agent's timers.
    var nextMoment: Int64 {
        var next = min(happeningMoment, wakeUp)
        guard !isAsleep else { return next }
        next = min(next, agentStart, supplicant.noticed, supplicant.back)
        if let scan { next = min(next, scan.end) }
        for station in stations {
            if let join = station.join { next = min(next, join.due) }
            if let link = station.link { next = min(next, link.addressAt, link.lossAt, link.searchedUntil) }
            if let lease = station.lease { next = min(next, lease.end) }
            if let probe = station.probe { next = min(next, probe.at) }
            next = min(next, station.doubtAt)
        }
        if let watch { next = min(next, watch.sampleAt, watch.reportAt, watch.searchedUntil) }
        return min(next, confirmAt)
    }

    /// Advances the time to `moment` and handles due events. `moment` must not be after `nextMoment`.
    mutating func advance(to moment: Int64) {
        now = moment
        while happeningMoment <= now { performNext() }
        if wakeUp <= now { resume() }
        guard !isAsleep else { return }
        if agentStart <= now { startAgent() }
        if supplicant.noticed <= now { noticeDeathOfSupplicant() }
        if supplicant.back <= now { supplicantReturns() }
        for index in stations.indices {
            if let lease = stations[index].lease, lease.end <= now { endLease(of: index) }
            if let link = stations[index].link { advance(link, of: index) }
        }
        for index in stations.indices {
            if let join = stations[index].join, join.due <= now { advance(join, of: index) }
        }
        if let scan, scan.end <= now { endScan(scan) }
        if let watch { advance(watch) }
        for index in stations.indices {
            if let probe = stations[index].probe, probe.at <= now { endProbe(probe, of: index) }
            if stations[index].doubtAt <= now { noticeSilence(of: index) }
        }
        if confirmAt <= now {
            confirmAt = .max
            report(.confirmation)
        }
    }

    var isAgentAwake: Bool { isAgentUp && !isAsleep }

    mutating func report(_ report: DeviceReport) {
        guard isAgentAwake else { return }
        reports.append(report)
    }

    // MARK: Change of the world

    /// Maximum delay in milliseconds until the device notices an event. It exceeds the kernel's loss detection and the
    /// counters' memory.
    static let noticeTime: Int64 = 3000

    /// Replaces the world from now on.
    /// - Parameters:
    ///   - new: world with the same access points, and the same networks at their indices.
    ///   - coming: number of events at this time that must still happen. They are the last ones at this time.
    mutating func meet(_ new: World, coming: Int) {
        settle()
        countAll()
        let wereSilent = stations.map { $0.link.map { world.isSilent($0.accessPoint, at: max(0, now - 1)) } ?? false }
        world = new
        nextHappening = max(0, happenings.count { passStart + $0.at.milliseconds <= now } - coming)
        for index in stations.indices {
            guard let link = stations[index].link else { continue }
            let start = wereSilent[index] ? max(link.since, link.searchedFrom, now - Self.noticeTime) : now
            searchForLoss(from: start, of: index)
        }
        searchForCrossing(from: now)
        while happeningMoment <= now { performNext() }
    }

    // MARK: Traffic

    /// Adds the time up to now to the account. Call this before a change of link, address or sign-in.
    mutating func settle() {
        let accessPoint = stations[inUse].link.flatMap { $0.hasAddress ? $0.accessPoint : nil }
        account.settle(to: now, in: world, online: accessPoint, signedIn: stations[inUse].isSignedIn)
    }

    mutating func use(_ station: Int) {
        guard station != inUse else { return }
        settle()
        account.offline(at: now)
        inUse = station
        if let link = stations[station].link, link.hasAddress { recordOnline(link) }
    }

    mutating func recordOnline(_ link: Link) {
        account.online(
            network: link.network, accessPoint: link.accessPoint, isPreferred: link.network == preferred, at: now)
    }

    // MARK: Probes

    /// Reachability of the internet over a link for one question.
    struct Way {
        let isHeard: Bool
        /// State of the internet access. It is `online` after a sign-in at a login page.
        let internet: Scenario.AccessPoint.Internet
    }

    /// Returns whether the internet is reachable over a station's link; nil without a link or address.
    /// - Parameter luck: time that selects the random frame losses.
    func way(over station: Int, luck: Int64) -> Way? {
        guard let link = stations[station].link, link.hasAddress else { return nil }
        let state = world.span(of: link.accessPoint, at: now).state
        let loss = world.loss(of: link.accessPoint, at: now)
        // The question fails after two lost attempts in a row.
        let isHeard = state.isOn && world.isLucky(.frame, of: link.accessPoint, at: luck, chance: 1 - loss * loss)
        let isOpen = state.internet == .captive && stations[station].isSignedIn
        return Way(isHeard: isHeard, internet: isOpen ? .online : state.internet)
    }

    mutating func probe(_ epoch: UInt64, over station: Int, within limit: Int64) {
        account.result.probes += 1
        guard let way = way(over: station, luck: now) else {
            stations[station].probe = Probe(at: now, epoch: epoch, result: .failed)
            return
        }
        // Frames wait while the radio is off the link's channel.
        let delay = isAwayFromChannel ? Self.longestAbsence : 0
        stations[station].probe =
            switch way.internet {
            case .online where way.isHeard: Probe(at: now + 60 + delay, epoch: epoch, result: .online)
            case .captive where way.isHeard: Probe(at: now + 100 + delay, epoch: epoch, result: .captive)
            case .online, .captive, .dead: Probe(at: now + limit, epoch: epoch, result: .failed)
            }
    }

    /// Longest time off the link's channel during a scan, in milliseconds (mac80211, scan.c).
    static let longestAbsence: Int64 = 125

    private mutating func endProbe(_ probe: Probe, of station: Int) {
        stations[station].probe = nil
        if probe.result == .online, stations[station].link != nil { stations[station].reached = probe.epoch }
        report(.probed(station, epoch: probe.epoch, probe.result))
    }

    /// Signs in over the link in use.
    /// - Returns: true if the login page is reachable.
    mutating func signIn() -> Bool {
        guard let link = stations[inUse].link, link.hasAddress,
            world.span(of: link.accessPoint, at: now).state.internet != .dead,
            world.loss(of: link.accessPoint, at: now) < World.deafness
        else { return false }
        settle()
        stations[inUse].isSignedIn = true
        return true
    }

    mutating func signOff() {
        settle()
        stations[inUse].isSignedIn = false
    }

    /// Milliseconds until a keepalive fails: 4 s without traffic, then two unanswered probes one second apart.
    private static let keepAlive: Int64 = 6000

    mutating func listen(after name: String) {
        for index in stations.indices {
            guard let link = stations[index].link, world.scenario.accessPoints[link.accessPoint].name == name else {
                continue
            }
            // A new login page needs a new sign-in.
            stations[index].isSignedIn = false
            guard stations[index].reached != nil else { continue }
            let isOnline = world.span(of: link.accessPoint, at: now).state.internet == .online
            stations[index].doubtAt = isOnline ? .max : now + Self.keepAlive
        }
    }

    private mutating func noticeSilence(of station: Int) {
        stations[station].doubtAt = .max
        guard let epoch = stations[station].reached else { return }
        stations[station].reached = nil
        report(.doubted(station, epoch: epoch))
    }
}

/// Report of a simulated device to its runner. Indices stand for stations, access points and networks.
enum DeviceReport {
    /// The agent has started with its stored state.
    case started
    case stopped
    /// The time of the runner's `nextWake` has come.
    case wake
    case passBegan

    case linked(Int, attempt: UInt64, accessPoint: Int, keepsAddress: Bool)
    case joinFailed(Int, attempt: UInt64, JoinFailure)
    case linkLost(Int, LinkEnd)
    case addressReady(Int)
    case addressRemoved(Int)
    /// Any program has started a scan.
    case scanBegan
    /// wpa_supplicant scanned before a join.
    case supplicantScanned(isAborted: Bool)
    case scanEnded(Int, isAborted: Bool)
    /// A sample of the signal, in dBm.
    case signal(Int)
    /// A station's signal crossed the threshold. The second value is the signal in dBm.
    case signalCrossed(Int, Int)
    case probed(Int, epoch: UInt64, ProbeResult)
    case doubted(Int, epoch: UInt64)
    /// - Parameter unlinked: stations whose links ended with wpa_supplicant.
    case supplicant(isAvailable: Bool, unlinked: Set<Int>)

    case passwordGiven(SSID, password: String?)
    case otherUplink(Uplink?)
    /// A command of the app to switch to the network with this index.
    case command(Int, confirmWithin: Duration?, confirmAfter: Duration?)
    case confirmation
    case resumed
}

/// Controls a simulated device: handles its reports and gives it orders.
protocol DeviceRunner {
    mutating func handle(_ report: DeviceReport, of device: inout SimulatedDevice)
    /// Next time for `.wake`, in milliseconds since the start of the run; `Int64.max` for never.
    func nextWake(at now: Int64) -> Int64
}

struct Queue<Element> {
    private var elements: [Element] = []
    private var head = 0

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        defer {
            head += 1
            if head == elements.count {
                elements.removeAll(keepingCapacity: true)
                head = 0
            }
        }
        return elements[head]
    }
}

/// Timing of a device's DHCP client and kernel.
public struct StackTiming: Sendable, Hashable {
    /// Time of the DHCP client in addition to an access point's `addressTime`. dhcpcd's ARP probing takes about 5 s.
    public var extraAddressTime = Duration.zero
    /// Time from an access point's end until the kernel ends the link, in milliseconds. With the board package, the
    /// kernel allows three missing beacons and checks on whole seconds (Docs/contributor/loss-and-radios.md).
    public var lossDetection: ClosedRange<Int64> = 205...1310

    /// Loss detection by the kernel's default of seven missing beacons, in milliseconds.
    public static let kernelsLossDetection: ClosedRange<Int64> = 615...1720

    public init() {}
}
