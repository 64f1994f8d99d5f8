import AgentModel
import Failover

/// The device in the simulated air, as its policy meets it: radio, wpa_supplicant, DHCP client, validation and app.
/// Does what the policy orders, and tells what comes of it. Times are the lab's (Docs/lab.md).
///
/// It never looks at the air while nothing is to be done: it asks when the next thing will happen. All moments are
/// milliseconds since the beginning of the run.
struct SimulatedDevice {
    let world: World
    let timing: StackTiming
    /// How far ahead the air is searched at once.
    let horizon: Int64
    var now: Int64 = 0
    /// What the policy has not heard yet.
    var reports = Queue<Report>()
    var account: Account

    var book: NetworkBook
    var sights: [Sight?]
    var scan: Scan?
    /// Waits until the radio is free.
    var deferredScan: ScanOrder?
    var join: Join?
    var link: Link?
    var watch: Watch?
    var probe: Probe?
    /// What the device needs was reached over the link with this epoch, and is listened to since.
    var reached: UInt64?
    /// When its silence is noticed.
    var doubtAt = Int64.max
    var confirmation: Confirmation?
    var command: OpenCommand?
    var lastCommand: UInt64 = 0
    var otherUplink: Uplink?

    var isAgentUp = true
    var agentStart = Int64.max
    var isAsleep = false
    var wakeUp = Int64.max
    /// What the policy is to hear first when the device is awake again.
    var missed: [PolicyEvent] = []
    var supplicant = SupplicantProcess()

    /// The pass that is under way, and the next of its happenings.
    var passStart: Int64 = 0
    var nextHappening = 0
    let happenings: [Scenario.Happening]

    enum Report {
        case event(PolicyEvent)
        /// The agent is a new one, which knows only what is stored.
        case restart
    }

    /// When wpa_supplicant is there, and when the agent notices that it is not or is again.
    struct SupplicantProcess {
        var isRunning = true
        var noticed = Int64.max
        var hadLink = false
        var back = Int64.max
    }

    struct Probe {
        let at: Int64
        let epoch: UInt64
        let result: ProbeResult
    }

    struct Confirmation {
        let at: Int64
        let id: UInt64
    }

    /// A commanded switch without an outcome as yet.
    struct OpenCommand {
        let id: UInt64
        let target: Int
        let cameFrom: Int?
        let confirmAfter: Duration?
    }

    init(in world: World, timing: StackTiming, horizon: Int64, account: Account) {
        self.world = world
        self.timing = timing
        self.horizon = horizon
        self.account = account
        book = NetworkBook(world.scenario) { network in
            world.tracks.indices.filter { index in
                let state = world.span(of: index, at: 0).state
                return world.tracks[index].network == network && state.isOn && state.admission == .admitted
            }.map { world.tracks[$0].bssid }
        }
        sights = Array(repeating: nil, count: world.tracks.count)
        happenings = world.happenings
        startAgent()
    }

    /// The next moment at which something happens, the policy left aside.
    var nextMoment: Int64 {
        var next = min(happeningMoment, wakeUp)
        guard !isAsleep else { return next }
        next = min(next, agentStart, supplicant.noticed, supplicant.back)
        if let scan { next = min(next, scan.end) }
        if let join { next = min(next, join.due) }
        if let link { next = min(next, link.addressAt, link.lossAt, link.searchedUntil) }
        if let watch { next = min(next, watch.sampleAt, watch.reportAt, watch.searchedUntil) }
        if let probe { next = min(next, probe.at) }
        next = min(next, doubtAt)
        if let confirmation { next = min(next, confirmation.at) }
        return next
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
        if let link { advance(link) }
        if let join, join.due <= now { advance(join) }
        if let scan, scan.end <= now { end(scan) }
        if let watch { advance(watch) }
        if let probe, probe.at <= now { end(probe) }
        if doubtAt <= now { noticeSilence() }
        if let confirmation, confirmation.at <= now {
            self.confirmation = nil
            tell(.confirmed(id: confirmation.id))
        }
    }

    /// Whether what is told is heard.
    var isAgentAwake: Bool { isAgentUp && !isAsleep }

    mutating func tell(_ event: PolicyEvent) {
        guard isAgentAwake else { return }
        reports.append(.event(event))
    }

    // MARK: What the policy wants

    mutating func perform(_ action: PolicyAction) {
        switch action {
        case .join(let target): begin(target)
        case .leave: leave()
        // No simulated device has a spare station.
        case .joinBeside, .useSuccessor, .leaveSuccessor: break
        case .scan(let order): begin(order)
        case .cancelScan: cancelScan()
        case .watchSignal(let watch): begin(watch)
        case .probe(let epoch, let limit): beginProbe(epoch, limit.milliseconds)
        // No scenario takes it down.
        case .bringInterfaceUp: break
        case .record(let decision): account.record(decision, at: now)
        case .store(.switchEnded(let id, let isCommitted)): store(switchEnded: id, isCommitted: isCommitted)
        case .switchProgress(let id, let progress): switchProgressed(id, progress)
        }
    }

    private mutating func beginProbe(_ epoch: UInt64, _ limit: Int64) {
        account.result.probes += 1
        guard let link, link.hasAddress else {
            probe = Probe(at: now, epoch: epoch, result: .failed)
            return
        }
        let state = world.span(of: link.accessPoint, at: now).state
        let loss = world.loss(of: link.accessPoint, at: now)
        // It takes two lost tries in a row.
        let isHeard = state.isOn && world.isLucky(.frame, of: link.accessPoint, at: now, chance: 1 - loss * loss)
        probe =
            switch state.internet {
            case .online where isHeard: Probe(at: now + 60, epoch: epoch, result: .online)
            case .captive where isHeard: Probe(at: now + 100, epoch: epoch, result: .captive)
            case .online, .captive, .dead: Probe(at: now + limit, epoch: epoch, result: .failed)
            }
    }

    private mutating func end(_ probe: Probe) {
        self.probe = nil
        if probe.result == .online, link != nil { reached = probe.epoch }
        tell(.probed(epoch: probe.epoch, probe.result))
    }

    /// Idle for 4 s, and then two questions a second apart without an answer.
    private static let keepAlive: Int64 = 6000

    /// The internet behind an access point went away, or came back.
    mutating func listen(after name: String) {
        guard reached != nil, let link, world.scenario.accessPoints[link.accessPoint].name == name else { return }
        doubtAt = world.span(of: link.accessPoint, at: now).state.internet == .online ? .max : now + Self.keepAlive
    }

    private mutating func noticeSilence() {
        doubtAt = .max
        guard let epoch = reached else { return }
        reached = nil
        tell(.doubted(epoch: epoch))
    }
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
    /// package sets it, and it looks on whole seconds only (Docs/detection.md).
    public var lossDetection: ClosedRange<Int64> = 205...1310
    /// The same as the kernel has it by itself: seven beacons.
    public static let kernelsLossDetection: ClosedRange<Int64> = 615...1720

    public init() {}
}
