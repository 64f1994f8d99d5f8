import AgentModel
import Failover

/// The device in the simulated air: its radio with one station or two, wpa_supplicant and DHCP client, and the app that
/// sends it commands. It does what a `DeviceRunner` orders, reports what comes of it, and decides nothing. Times are
/// the lab's (Docs/contributor/testing.md).
///
/// It never looks at the air while nothing is to be done: it asks when the next thing will happen. All moments are
/// milliseconds since the beginning of the run.
struct SimulatedDevice {
    /// Another one only where it is changed from outside (`SimulatedDevice.meet`).
    private(set) var world: World
    let timing: StackTiming
    /// How far ahead the air is searched at once.
    let horizon: Int64
    var now: Int64 = 0
    /// What the runner has not heard yet.
    var reports = Queue<DeviceReport>()
    var account: Account

    /// All of one radio.
    var stations: [Station]
    /// Index of the station that carries the traffic.
    private(set) var inUse = 0
    /// Index in the scenario's networks of the one that the device belongs in; the runner keeps it up to date.
    var preferred: Int?
    var sights: [Sight?]
    /// That a scan shows an access point which is heard: "One active scan does not always show every network."
    var sightChance = 0.97
    var scan: Scan?
    var scans = 0
    var watch: Watch?
    /// When the app confirms the switch under way.
    var confirmAt = Int64.max
    var otherUplink: Uplink?
    var isAgentUp = true
    var agentStart = Int64.max
    var isAsleep = false
    var wakeUp = Int64.max
    /// What the runner is to hear first when the device is awake again.
    var missed: [DeviceReport] = []
    var supplicant = SupplicantProcess()

    /// The pass that is under way, and the next of its happenings.
    var passStart: Int64 = 0
    var nextHappening = 0

    /// A station interface, and what it was ordered to do.
    struct Station {
        var join: Join?
        var link: Link?
        /// Since the driver was first asked for them.
        var counts: LinkCounts?
        var tally: LossTally?
        var lease: Lease?
        var probe: Probe?
        /// What the device needs was reached over the link with this epoch, and is listened to since.
        var reached: UInt64?
        /// When its silence is noticed.
        var doubtAt = Int64.max
        /// Whether somebody has signed in over its link.
        var isSignedIn = false
    }

    /// The address that the DHCP client has set.
    struct Lease {
        /// Index in the scenario's networks.
        let network: Int
        /// When the client has noticed that the link is gone, and takes the address away.
        var end = Int64.max
    }

    /// When wpa_supplicant is there, and when the agent notices that it is not or is again. Each station has one; they
    /// come and go together.
    struct SupplicantProcess {
        var isRunning = true
        var noticed = Int64.max
        /// The stations that lost their link with it.
        var unlinked: Set<Int> = []
        var back = Int64.max
    }

    struct Probe {
        let at: Int64
        let epoch: UInt64
        let result: ProbeResult
    }

    init(in world: World, stations: Int = 1, timing: StackTiming, horizon: Int64, account: Account) {
        self.world = world
        self.timing = timing
        self.horizon = horizon
        self.account = account
        self.stations = Array(repeating: Station(), count: max(1, stations))
        sights = Array(repeating: nil, count: world.tracks.count)
        startAgent()
    }

    /// The next moment at which something happens, the agent's own timers left aside.
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

    /// Moves the time on, at most to `nextMoment`, and does what is due then.
    mutating func advance(to moment: Int64) {
        now = moment
        while happeningMoment <= now { happen() }
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
        if let scan, scan.end <= now { end(scan) }
        if let watch { advance(watch) }
        for index in stations.indices {
            if let probe = stations[index].probe, probe.at <= now { end(probe, of: index) }
            if stations[index].doubtAt <= now { noticeSilence(of: index) }
        }
        if confirmAt <= now {
            confirmAt = .max
            report(.confirmation)
        }
    }

    /// Whether what is reported is heard.
    var isAgentAwake: Bool { isAgentUp && !isAsleep }

    mutating func report(_ report: DeviceReport) {
        guard isAgentAwake else { return }
        reports.append(report)
    }

    // MARK: Another world

    /// How long ago something may have happened that is still to be noticed, in milliseconds: longer than the kernel
    /// takes to call a link lost, and than counts are kept for.
    static let noticeTime: Int64 = 3000

    /// From now on the world is this one; until now it was as the one before.
    /// - Parameters:
    ///   - new: with the same access points and, in their places, the same networks.
    ///   - coming: how many of its happenings at this very moment are still to happen: its last ones.
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
        while happeningMoment <= now { happen() }
    }

    // MARK: Traffic

    /// Accounts for the time up to now, before anything changes that it depends on.
    mutating func settle() {
        let accessPoint = stations[inUse].link.flatMap { $0.hasAddress ? $0.accessPoint : nil }
        account.settle(to: now, in: world, online: accessPoint, signedIn: stations[inUse].isSignedIn)
    }

    /// Another station carries the traffic from now on.
    mutating func use(_ station: Int) {
        guard station != inUse else { return }
        settle()
        account.offline(at: now)
        inUse = station
        if let link = stations[station].link, link.hasAddress { noteOnline(link) }
    }

    mutating func noteOnline(_ link: Link) {
        account.online(
            network: link.network, accessPoint: link.accessPoint, isPreferred: link.network == preferred, at: now)
    }

    // MARK: Probes

    /// How far the link of a station leads for one question.
    struct Way {
        let isHeard: Bool
        /// Online where somebody has signed in.
        let internet: Scenario.AccessPoint.Internet
    }

    /// - Parameter luck: the moment that the luck of the frames is drawn at.
    /// - Returns: nil without a link with an address.
    func way(over station: Int, luck: Int64) -> Way? {
        guard let link = stations[station].link, link.hasAddress else { return nil }
        let state = world.span(of: link.accessPoint, at: now).state
        let loss = world.loss(of: link.accessPoint, at: now)
        // It takes two lost tries in a row.
        let isHeard = state.isOn && world.isLucky(.frame, of: link.accessPoint, at: luck, chance: 1 - loss * loss)
        let isOpen = state.internet == .captive && stations[station].isSignedIn
        return Way(isHeard: isHeard, internet: isOpen ? .online : state.internet)
    }

    /// Finds out whether the link of a station leads to what the device needs.
    mutating func probe(_ epoch: UInt64, over station: Int, within limit: Int64) {
        account.result.probes += 1
        guard let way = way(over: station, luck: now) else {
            stations[station].probe = Probe(at: now, epoch: epoch, result: .failed)
            return
        }
        // Frames wait while the radio is away from its channel.
        let delay = isAwayFromChannel ? Self.longestAbsence : 0
        stations[station].probe =
            switch way.internet {
            case .online where way.isHeard: Probe(at: now + 60 + delay, epoch: epoch, result: .online)
            case .captive where way.isHeard: Probe(at: now + 100 + delay, epoch: epoch, result: .captive)
            case .online, .captive, .dead: Probe(at: now + limit, epoch: epoch, result: .failed)
            }
    }

    /// In a scan of a living link (mac80211, scan.c).
    static let longestAbsence: Int64 = 125

    private mutating func end(_ probe: Probe, of station: Int) {
        stations[station].probe = nil
        if probe.result == .online, stations[station].link != nil { stations[station].reached = probe.epoch }
        report(.probed(station, epoch: probe.epoch, probe.result))
    }

    /// A hotspot provider signs in over the link in use.
    /// - Returns: whether that was possible: the login page is there and can be heard.
    mutating func signIn() -> Bool {
        guard let link = stations[inUse].link, link.hasAddress,
            world.span(of: link.accessPoint, at: now).state.internet != .dead,
            world.loss(of: link.accessPoint, at: now) < World.deafness
        else { return false }
        settle()
        stations[inUse].isSignedIn = true
        return true
    }

    /// It signs off again.
    mutating func signOff() {
        settle()
        stations[inUse].isSignedIn = false
    }

    /// Idle for 4 s, and then two questions a second apart without an answer.
    private static let keepAlive: Int64 = 6000

    /// The internet behind an access point went away, or came back.
    mutating func listen(after name: String) {
        for index in stations.indices {
            guard let link = stations[index].link, world.scenario.accessPoints[link.accessPoint].name == name else {
                continue
            }
            // A login page that is there again knows nobody.
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

/// What a simulated device's parts report, in the order in which it happens. Stations are indices, and access points
/// and networks those of the scenario.
enum DeviceReport {
    /// An agent starts, which knows only what is stored.
    case started
    /// The agent is told to end.
    case stopped
    /// A moment that the runner asked for has come.
    case wake
    /// The scenario begins anew.
    case passBegan

    case linked(Int, attempt: UInt64, accessPoint: Int, keepsAddress: Bool)
    case joinFailed(Int, attempt: UInt64, JoinFailure)
    case linkLost(Int, LinkEnd)
    case addressReady(Int)
    case addressRemoved(Int)
    /// A scan of whatever program.
    case scanBegan
    /// wpa_supplicant scanned before a join.
    case supplicantScanned(isAborted: Bool)
    /// The scan with this number has ended.
    case scanEnded(Int, isAborted: Bool)
    /// A sample of the signal, in dBm.
    case signal(Int)
    /// The kernel saw the signal cross the threshold, at this level in dBm.
    case signalCrossed(Int, Int)
    case probed(Int, epoch: UInt64, ProbeResult)
    case doubted(Int, epoch: UInt64)
    /// - Parameter unlinked: the stations that lost their link with it.
    case supplicant(isAvailable: Bool, unlinked: Set<Int>)

    case told(SSID, password: String?)
    case otherUplink(Uplink?)
    /// A command of the app, by the network's index.
    case command(Int, confirmWithin: Duration?, confirmAfter: Duration?)
    case confirmation
    case resumed
}

/// What decides on a simulated device: it takes reports in, and gives the device orders.
protocol DeviceRunner {
    mutating func take(_ report: DeviceReport, of device: inout SimulatedDevice)
    /// When it wants `.wake`, in milliseconds since the beginning of the run; never is `Int64.max`.
    func nextWake(at now: Int64) -> Int64
}

/// First in, first out.
struct Queue<Element> {
    private var elements: [Element] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }

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

/// What a device's other parts take, beyond what the scenario says.
public struct StackTiming: Sendable, Hashable {
    /// On top of an access point's `addressTime`: dhcpcd's probing by ARP takes about 5 s.
    public var extraAddressTime = Duration.zero
    /// From an access point's end until the kernel calls the link lost, in milliseconds: three beacons as the board
    /// package sets it, and it looks on whole seconds only (Docs/contributor/loss-and-radios.md).
    public var lossDetection: ClosedRange<Int64> = 205...1310

    /// The same as the kernel has it by itself: seven beacons.
    public static let kernelsLossDetection: ClosedRange<Int64> = 615...1720

    public init() {}
}
