import AgentModel
import Failover
import Randomness

/// A device with its radio and supplicant among access points that come and go: whatever the policy orders is done, and
/// answered in time.
package struct World {
    package internal(set) var watched: WatchedPolicy
    package internal(set) var now = Self.start
    let settings: PolicySettings
    let traits: Traits
    var accessPoints = (0..<Neighbourhood.accessPointCount).map { _ in Site() }
    var isInterfaceUp = true
    /// Another program holds the interface down.
    var isInterfaceStuck = false
    var isSupplicantRunning = true
    var uplink: Uplink?
    var networks: [KnownNetwork] = []
    var link: Link?
    /// The link that is made beside it.
    var beside: Link?
    var answers: [Answer] = []
    var watch: SignalWatch?
    var nextSample: Instant?
    var openSwitch: Switch?
    var switches: UInt64 = 0
    package internal(set) var liveness = Liveness()
    /// Joins ordered while a link was alive, with their times.
    package internal(set) var departures: [Instant] = []
    package internal(set) var wakes = 0
    var trace: ((Instant, [PolicyEvent], [PolicyAction]) -> Void)?

    static let start = Instant(milliseconds: 1_000_000)

    /// Lasting properties of the device and the air.
    package struct Traits: Hashable, Sendable {
        /// The seed of the noise.
        package var seed: UInt64 = 0
        /// Standard deviation of a measurement, in tenths of a dB.
        package var noise = 15
        /// Whether the driver watches the signal's threshold.
        package var isSupervised = true
        /// The time of a scan of all channels, in ms.
        package var fullScan = 3000
        /// Whether another network can be joined beside the link in use.
        package var hasSpare = false

        package init() {}
    }

    struct Site {
        var isOn = false
        var level = -50
        var fault: JoinFailure?
        var givesAddress = true
        var internet = ProbeResult.online
    }

    struct Link {
        let accessPoint: Int
        let epoch: UInt64
        var hasAddress = false
    }

    struct Switch {
        let id: UInt64
        let target: NetworkID
        let cameFrom: NetworkID?
        let isConfirmed: Bool
    }

    struct Answer {
        let at: Instant
        let order: Order

        enum Order {
            case scan(ScanOrder)
            case join(LinkTarget)
            case joinBeside(LinkTarget)
            case address(epoch: UInt64)
            case probe(epoch: UInt64)
            case silence(epoch: UInt64)
            case signIn(epoch: UInt64)
            case linkBroken(epoch: UInt64)
            case interfaceUp
            case confirmation(UInt64)
        }
    }

    package init(settings: PolicySettings, traits: Traits) {
        self.settings = settings
        self.traits = traits
        watched = WatchedPolicy(settings: settings, at: Self.start)
    }

    package var isOnline: Bool {
        guard let link, link.hasAddress, case .online = watched.policy.phase else { return false }
        return true
    }

    // MARK: Time

    package mutating func run(until end: Instant) throws(Violation) {
        while let next = nextMoment, next <= end {
            now = max(now, next)
            if let wake = watched.nextWake, wake <= now {
                wakes += 1
                try send([.tick])
            } else if let index = answers.indices.min(by: { answers[$0].at < answers[$1].at }), answers[index].at <= now
            {
                try answer(answers.remove(at: index).order)
            } else {
                try sample()
            }
            try liveness.check(self)
        }
        now = max(now, end)
        try liveness.check(self)
    }

    private var nextMoment: Instant? {
        [watched.nextWake, answers.map(\.at).min(), nextSample].compactMap(\.self).min()
    }

    mutating func send(_ events: [PolicyEvent]) throws(Violation) {
        watched.trace = trace
        let actions = try watched.handle(events, at: now)
        for action in actions { perform(action) }
    }

    // MARK: Orders

    private mutating func perform(_ action: PolicyAction) {
        switch action {
        case .join(let target):
            if case .some = link, isOnline || watched.policy.phase.network != nil { departures.append(now) }
            cutLink()
            answers.removeAll { if case .join = $0.order { true } else { false } }
            let takes = isSupplicantRunning ? 300 + noise(salt: target.epoch) * 10 : 50
            expect(.join(target), in: max(50, takes))
        case .leave: cutLink()
        case .joinBeside(let target):
            leaveBeside()
            expect(.joinBeside(target), in: max(50, 300 + noise(salt: target.epoch) * 10))
        case .leaveSuccessor: leaveBeside()
        case .useSuccessor(let epoch): useBeside(epoch)
        case .scan(let order):
            let takes = order.frequencies.isEmpty ? traits.fullScan : 100 * order.frequencies.count
            expect(.scan(order), in: takes)
        case .cancelScan:
            for index in answers.indices {
                if case .scan = answers[index].order { answers[index] = Answer(at: now, order: answers[index].order) }
            }
        case .watchSignal(let watch):
            self.watch = watch
            nextSample = watch.map { now + (traits.isSupervised ? $0.interval : $0.unsupervisedInterval) }
            if watch != nil, traits.isSupervised { nextSample = now + .seconds(1) }
        case .probe(let epoch, _): expect(.probe(epoch: epoch), in: 200)
        case .bringInterfaceUp: if !isInterfaceStuck { expect(.interfaceUp, in: 500) }
        case .switchProgress(let id, .waitingForConfirmation):
            if let openSwitch, openSwitch.id == id, openSwitch.isConfirmed { expect(.confirmation(id), in: 2000) }
        case .switchProgress(let id, let progress):
            if progress.isFinal, openSwitch?.id == id { openSwitch = nil }
        case .record, .store: break
        }
    }

    private mutating func expect(_ order: Answer.Order, in milliseconds: Int) {
        answers.append(Answer(at: now + .milliseconds(milliseconds), order: order))
    }

    private mutating func leaveBeside() {
        beside = nil
        answers.removeAll { if case .joinBeside = $0.order { true } else { false } }
    }

    private mutating func useBeside(_ epoch: UInt64) {
        if isOnline { departures.append(now) }
        watch = nil
        nextSample = nil
        link = beside
        beside = nil
        answers = answers.map { answer in
            guard case .joinBeside(let target) = answer.order, target.epoch == epoch else { return answer }
            return Answer(at: answer.at, order: .join(target))
        }
    }

    private mutating func cutLink() {
        link = nil
        watch = nil
        nextSample = nil
        answers.removeAll { if case .address = $0.order { true } else { false } }
    }

    /// A number about zero, the same for the same moment, of about the spread that the traits tell, in dB.
    func noise(salt: UInt64) -> Int {
        guard traits.noise > 0 else { return 0 }
        var random = SeededRandom(
            seed: traits.seed ^ (UInt64(bitPattern: now.milliseconds) &* 31) ^ (salt &* 0x9E37_79B9))
        // The sum of twelve has a standard deviation of one.
        let sum = (0..<12).reduce(0) { sum, _ in sum + Int.random(in: 0..<1000, using: &random) } - 6000
        return sum * traits.noise / 10_000
    }
}
