import AgentModel
import Failover

// Simulates a link from association to end, and the measurements of its signal.
extension SimulatedDevice {
    struct Link {
        let accessPoint: Int
        let network: Int
        let key: AccessPointState.Key
        let since: Int64
        var hasAddress = false
        var addressAt = Int64.max
        /// Time of the link's loss; `Int64.max` if no loss was found yet.
        var lossAt = Int64.max
        var end = LinkEnd.other
        /// End of the time without a loss, from which to search again; `Int64.max` after a loss was found.
        var searchedUntil = Int64.max
        /// Start of the search for a loss.
        var searchedFrom: Int64

        init(accessPoint: Int, network: Int, key: AccessPointState.Key, since: Int64) {
            self.accessPoint = accessPoint
            self.network = network
            self.key = key
            self.since = since
            searchedFrom = since
        }
    }

    mutating func advance(_ link: Link, of station: Int) {
        if link.lossAt <= now {
            // An access point that is back ends the link at once. Silence is noticed only after a scan.
            guard link.end == .silence, isAwayFromChannel else { return loseLink(of: station, link.end) }
            stations[station].link?.lossAt = .max
        }
        if link.searchedUntil <= now { searchForLoss(from: link.searchedUntil, of: station) }
        guard link.addressAt <= now else { return }
        let loss = world.loss(of: link.accessPoint, at: now)
        if world.isLucky(.frame, of: link.accessPoint, at: now, chance: 1 - loss) {
            recordAddress(of: station)
            report(.addressReady(station))
        } else {
            // Retry interval of DHCP clients (RFC 2131, 4.1).
            stations[station].link?.addressAt = now + 4000
        }
    }

    mutating func searchForLoss(from moment: Int64, of station: Int) {
        guard let link = stations[station].link else { return }
        let (loss, end, searched) = world.linkLoss(
            of: link.accessPoint, in: moment..<(moment + horizon), patience: timing.lossDetection)
        stations[station].link?.lossAt = loss ?? .max
        stations[station].link?.end = end
        stations[station].link?.searchedUntil = loss == nil ? searched : .max
        stations[station].link?.searchedFrom = moment
    }

    mutating func recordAddress(of station: Int) {
        guard let link = stations[station].link else { return }
        settle()
        stations[station].link?.addressAt = .max
        stations[station].link?.hasAddress = true
        stations[station].lease = Lease(network: link.network)
        if station == inUse { recordOnline(link) }
    }

    mutating func loseLink(of station: Int, _ end: LinkEnd = .other) {
        guard stations[station].link != nil else { return }
        dropLink(of: station)
        report(.linkLost(station, end))
    }

    /// - Parameter keepingAddress: true if the next link is to the same network, so that the DHCP client keeps its
    ///   address.
    mutating func dropLink(of station: Int, keepingAddress: Bool = false) {
        guard stations[station].link != nil else { return }
        settle()
        if station == inUse { account.offline(at: now) }
        stations[station].link = nil
        stations[station].reached = nil
        stations[station].doubtAt = .max
        stations[station].isSignedIn = false
        if watch?.station == station { watch?.pause() }
        stations[station].counts = nil
        stations[station].tally = nil
        if !keepingAddress { releaseAddress(of: station) }
    }

    /// Time for a DHCP client to notice a lost link, in milliseconds (Docs/contributor/testing.md).
    private static let releaseTime: Int64 = 100

    mutating func releaseAddress(of station: Int) {
        stations[station].lease?.end = now + Self.releaseTime
    }

    mutating func endLease(of station: Int) {
        stations[station].lease = nil
        report(.addressRemoved(station))
    }

    // MARK: Signal

    /// Watch of a link's signal: samples at an interval, and the kernel's threshold events (CQM).
    struct Watch {
        let station: Int
        let order: SignalWatch
        /// Whether the device reports samples. If false, the runner calls `signal(of:)`.
        let isSampling: Bool
        var sampleAt = Int64.max
        /// Whether the kernel last saw the signal below the threshold.
        var isLow = false
        /// Time of the next report of a threshold crossing; `Int64.max` if no crossing was found yet.
        var reportAt = Int64.max
        /// Time of the crossing to report.
        var crossing: Int64 = 0
        /// Time from which to search for a crossing again; `Int64.max` after a crossing was found.
        var searchedUntil = Int64.max

        init(_ order: SignalWatch, on station: Int, isSampling: Bool) {
            (self.order, self.station, self.isSampling) = (order, station, isSampling)
        }

        var interval: Int64 { max(100, order.interval.milliseconds) }

        mutating func pause() { self = Watch(order, on: station, isSampling: isSampling) }
    }

    /// Hysteresis in dB. The kernel reports a crossing only this far past the threshold, so the agent raises it.
    private static let hysteresis = 2.0
    /// Milliseconds until the first sample, which is needed because the kernel reports only crossings.
    private static let firstSample: Int64 = 1000

    /// - Parameter isSampling: whether the device reports samples. If false, the runner calls `signal(of:)`.
    mutating func watchSignal(_ order: SignalWatch?, of station: Int, isSampling: Bool) {
        watch = order.map { Watch($0, on: station, isSampling: isSampling) }
        restartWatch(on: station)
    }

    mutating func restartWatch(on station: Int) {
        guard let link = stations[station].link, var watch, watch.station == station else { return }
        watch.pause()
        if watch.isSampling { watch.sampleAt = now + min(watch.interval, Self.firstSample) }
        watch.isLow = world.signal(of: link.accessPoint, at: now) < Double(watch.order.threshold)
        self.watch = watch
        searchForCrossing(from: now)
    }

    mutating func searchForCrossing(from moment: Int64) {
        guard var watch, let link = stations[watch.station].link else { return }
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
        guard let link = stations[watch.station].link else { return }
        if watch.searchedUntil <= now { searchForCrossing(from: watch.searchedUntil) }
        // The kernel needs beacons for a report, so reports wait until the end of a scan.
        let away = isAwayFromChannel ? scanTimes : nil
        if let away, watch.reportAt <= now { self.watch?.reportAt = max(now + 1, away.upperBound) }
        if away == nil, watch.reportAt <= now {
            self.watch?.isLow.toggle()
            searchForCrossing(from: watch.crossing)
            // The kernel reports whole dBm. Round to a value past the threshold.
            let signal = world.signal(of: link.accessPoint, at: watch.crossing)
            report(.signalCrossed(watch.station, Int(signal.rounded(watch.isLow ? .up : .down))))
        }
        if watch.sampleAt <= now {
            self.watch?.sampleAt = now + watch.interval
            report(.signal(world.averagedSignal(of: link.accessPoint, at: away?.lowerBound ?? now)))
        }
    }

    /// Returns a sample of a station's signal in dBm; nil without a link. During a scan, the sample is from its start.
    func signal(of station: Int) -> Int? {
        stations[station].link.map { link in
            let away = isAwayFromChannel ? scanTimes : nil
            return world.averagedSignal(of: link.accessPoint, at: away?.lowerBound ?? now)
        }
    }

    var scanTimes: Range<Int64>? {
        if let scan { return scan.since..<max(scan.end, scan.since + 1) }
        for case let join? in stations.map(\.join) {
            if case .searching(let since) = join.step { return since..<max(join.due, since + 1) }
        }
        return nil
    }
}
