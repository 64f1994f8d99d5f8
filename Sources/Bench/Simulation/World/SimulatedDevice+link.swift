import AgentModel
import Failover

// A link from the association until it is gone, and what is measured of it.
extension SimulatedDevice {
    struct Link {
        let accessPoint: Int
        /// Index in the scenario's networks.
        let network: Int
        let id: NetworkID
        /// The password with which it was made.
        let key: AccessPointState.Key
        let since: Int64
        var hasAddress = false
        var addressAt = Int64.max
        /// When it breaks, and until when that is known.
        var lossAt = Int64.max
        var end = LinkEnd.other
        var searchedUntil = Int64.max

        init(accessPoint: Int, network: Int, id: NetworkID, key: AccessPointState.Key, since: Int64) {
            self.accessPoint = accessPoint
            self.network = network
            self.id = id
            self.key = key
            self.since = since
        }
    }

    mutating func advance(_ link: Link) {
        if link.lossAt <= now {
            loseLink(link.end)
            return
        }
        if link.searchedUntil <= now { searchForLoss(from: link.searchedUntil) }
        guard link.addressAt <= now else { return }
        let loss = world.loss(of: link.accessPoint, at: now)
        if world.isLucky(.frame, of: link.accessPoint, at: now, chance: 1 - loss) {
            addressReady()
        } else {
            // What a DHCP client waits before it asks again (RFC 2131, 4.1).
            self.link?.addressAt = now + 4000
        }
    }

    mutating func searchForLoss(from moment: Int64) {
        guard let link else { return }
        let (loss, end, searched) = world.linkLoss(
            of: link.accessPoint, in: moment..<(moment + horizon), patience: timing.lossDetection)
        self.link?.lossAt = loss ?? .max
        self.link?.end = end
        self.link?.searchedUntil = loss == nil ? searched : .max
    }

    mutating func addressReady() {
        guard let link else { return }
        settle()
        self.link?.addressAt = .max
        self.link?.hasAddress = true
        account.online(
            network: link.network, accessPoint: link.accessPoint, isPreferred: book[link.network].isPreferred, at: now)
        tell(.address(isReady: true))
    }

    /// The link is gone, and the policy had no part in it.
    mutating func loseLink(_ end: LinkEnd = .other) {
        guard link != nil else { return }
        dropLink()
        tell(.linkLost(end))
    }

    mutating func dropLink() {
        guard link != nil else { return }
        settle()
        account.offline(at: now)
        link = nil
        reached = nil
        doubtAt = .max
        watch?.pause()
    }

    /// Accounts for the time up to now, before anything changes that it depends on.
    mutating func settle() {
        let accessPoint = link.flatMap { $0.hasAddress ? $0.accessPoint : nil }
        account.settle(to: now, in: world, online: accessPoint)
    }

    // MARK: Signal

    /// Measures at an interval, and tells what the kernel's own watch (CQM) sees.
    struct Watch {
        let order: SignalWatch
        var sampleAt = Int64.max
        /// Whether the kernel last saw the signal below the threshold.
        var isLow = false
        /// When the next crossing is told, and what is told.
        var reportAt = Int64.max
        var crossing: Int64 = 0
        var searchedUntil = Int64.max

        init(_ order: SignalWatch) { self.order = order }

        var interval: Int64 { max(100, order.interval.milliseconds) }

        mutating func pause() { self = Watch(order) }
    }

    /// The kernel tells of a crossing only this far past the threshold, in dB; the agent sets the threshold that much
    /// higher.
    private static let hysteresis = 2.0
    /// The agent measures once when the watch begins, for the kernel tells of crossings only.
    private static let firstSample: Int64 = 1000

    mutating func begin(_ order: SignalWatch?) {
        watch = order.map(Watch.init)
        restartWatch()
    }

    mutating func restartWatch() {
        guard let link, var watch else { return }
        watch.pause()
        watch.sampleAt = now + min(watch.interval, Self.firstSample)
        watch.isLow = world.signal(of: link.accessPoint, at: now) < Double(watch.order.threshold)
        self.watch = watch
        searchForCrossing(from: now)
    }

    private mutating func searchForCrossing(from moment: Int64) {
        guard let link, var watch else { return }
        let threshold = Double(watch.order.threshold)
        let wanted: World.Wanted =
            watch.isLow ? .above(threshold + 2 * Self.hysteresis - 1) : .below(threshold)
        let crossing = world.firstMoment(of: link.accessPoint, in: moment..<(moment + horizon)) {
            $0.state.isOn ? wanted : .never
        }
        if let crossing {
            watch.crossing = crossing
            let delay = world.noise(at: crossing).number(
                .thresholdReport, of: link.accessPoint, crossing, in: 100...200)
            watch.reportAt = max(now, crossing + delay)
            watch.searchedUntil = .max
        } else {
            watch.reportAt = .max
            watch.searchedUntil = moment + horizon
        }
        self.watch = watch
    }

    mutating func advance(_ watch: Watch) {
        guard let link else { return }
        if watch.searchedUntil <= now { searchForCrossing(from: watch.searchedUntil) }
        if watch.reportAt <= now {
            self.watch?.isLow.toggle()
            searchForCrossing(from: watch.crossing)
            // The kernel counts in whole dBm, so what is below a threshold is a whole one below it.
            let signal = world.signal(of: link.accessPoint, at: watch.crossing)
            tell(.signal(Int(signal.rounded(watch.isLow ? .up : .down))))
        }
        if watch.sampleAt <= now {
            self.watch?.sampleAt = now + watch.interval
            tell(.signal(world.averagedSignal(of: link.accessPoint, at: now)))
        }
    }
}
