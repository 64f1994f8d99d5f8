import AgentModel

// What the driver counts of a link, which `BeaconWatch` goes by.
extension SimulatedDevice {
    /// The counts of one link, up to a moment. Only differences say anything: they begin where they are first read.
    struct LinkCounts {
        fileprivate(set) var moment: Int64
        var beacons: UInt64 = 0
        /// Frames that were not acknowledged in the end.
        var framesLost: UInt32 = 0
        /// When a frame was acknowledged last.
        var acknowledged: Int64
    }

    /// A device in use sends a frame in so many milliseconds; an idle one sends none that matter.
    private static let frameInterval: Int64 = 20
    /// In microseconds.
    private static let beaconInterval: Int64 = 102_400
    /// Counts that were not read for longer are of no use to the watch (`BeaconCounts.patience`).
    private static let memory: Int64 = 2000

    /// The number of frames that the device has sent in all.
    func framesSent(by moment: Int64) -> UInt64 {
        world.scenario.isBusy ? UInt64(max(0, moment / Self.frameInterval)) : 0
    }

    /// The driver's counts of a station's link.
    /// - Parameter moment: now; or earlier, if the access point was heard since, and no scan was under way.
    mutating func linkCounts(of station: Int, at moment: Int64) -> StationInfo? {
        guard stations[station].link != nil else { return nil }
        count(station, to: moment)
        guard let link = stations[station].link, let counts = stations[station].counts else { return nil }
        let phase = beaconPhase(of: link)
        let later = max(0, Self.beacons(to: counts.moment, phase) - Self.beacons(to: moment, phase))
        var info = StationInfo()
        info.beaconsReceived = counts.beacons - min(counts.beacons, counts.moment > moment ? UInt64(later) : 0)
        info.beaconInterval = .microseconds(Self.beaconInterval)
        info.inactive = .milliseconds(max(0, moment - counts.acknowledged))
        info.transmitFailed = counts.framesLost
        return info
    }

    /// What came over a station's link of the access point's beacons and of the device's own frames, as the share of frames lost lets them.
    mutating func lossCounts(of station: Int) -> StationInfo? {
        guard let link = stations[station].link else { return nil }
        var tally = stations[station].tally ?? LossTally(moment: link.since)
        // Nothing counts that was not read for longer than this.
        if now - tally.moment > Self.tallyMemory {
            tally.moment = now - Self.tallyMemory
        }
        while tally.moment < now {
            let end = min(now, tally.moment + 1000)
            let loss = world.loss(of: link.accessPoint, at: (tally.moment + end) / 2)
            tally.beacons += Double((end - tally.moment) * 1000) / Double(Self.beaconInterval) * (1 - loss)
            tally.framesLost += Double(framesSent(by: end) - framesSent(by: tally.moment)) * loss
            tally.moment = end
        }
        stations[station].tally = tally
        var info = StationInfo()
        info.beaconsReceived = UInt64(max(0, tally.beacons))
        info.beaconInterval = .microseconds(Self.beaconInterval)
        info.transmitPackets = UInt32(truncatingIfNeeded: framesSent(by: now))
        info.transmitFailed = UInt32(max(0, tally.framesLost))
        return info
    }

    private static let tallyMemory: Int64 = 60_000

    /// Beacons and lost frames of one link up to a moment.
    struct LossTally {
        var moment: Int64
        var beacons = 0.0
        var framesLost = 0.0
    }

    /// Until when a link's access point is surely heard, as far as that was searched.
    func heardUntil(of station: Int) -> Int64 {
        guard let link = stations[station].link else { return now }
        return world.firstSilence(of: link.accessPoint, in: now..<(now + horizon)) ?? now + horizon
    }

    /// Counts up to now what was counted until now as before: a scan begins or ends.
    mutating func countAll() {
        for station in stations.indices where stations[station].counts != nil { count(station, to: now) }
    }

    /// A frame to the gateway, which the access point acknowledges.
    mutating func askGateway(over station: Int, at moment: Int64) {
        guard let link = stations[station].link else { return }
        let isHeard = !world.isSilent(link.accessPoint, at: moment)
        stations[station].counts?.sent(1, at: moment, isHeard: isHeard)
    }

    /// mac80211 tells each access point that the radio leaves its channel, or that it is back.
    mutating func tellAccessPoints() {
        for station in stations.indices {
            guard let link = stations[station].link, stations[station].counts != nil else { continue }
            stations[station].counts?.sent(1, at: now, isHeard: !world.isSilent(link.accessPoint, at: now))
        }
    }

    private mutating func count(_ station: Int, to end: Int64) {
        guard let link = stations[station].link else { return }
        var counts =
            stations[station].counts
            ?? LinkCounts(moment: link.since, acknowledged: link.since)
        if counts.moment < end - Self.memory {
            // Nothing is known of the time before; at a silent access point nothing was acknowledged in it.
            counts.moment = end - Self.memory
            counts.beacons += 1
            counts.acknowledged = max(counts.acknowledged, counts.moment)
        }
        while counts.moment < end {
            let silence = world.firstSilence(of: link.accessPoint, in: counts.moment..<end) ?? end
            count(&counts, to: silence, isHeard: true, phase: beaconPhase(of: link))
            let sound = world.firstSound(of: link.accessPoint, in: silence..<end) ?? end
            count(&counts, to: sound, isHeard: false, phase: beaconPhase(of: link))
        }
        stations[station].counts = counts
    }

    /// When the access point sends its beacons, in microseconds.
    private func beaconPhase(of link: Link) -> Int64 {
        world.noise(at: link.since).number(.beacon, of: link.accessPoint, 0, in: 0...(Self.beaconInterval - 1))
    }

    /// From `counts.moment`, which is left out, to `end`, which is not.
    private func count(_ counts: inout LinkCounts, to end: Int64, isHeard: Bool, phase: Int64) {
        let start = counts.moment
        guard start < end else { return }
        counts.moment = end
        guard let away = awayTimes, isAwayFromChannel else {
            // Beacons during a scan are put aside (mac80211, rx.c).
            if isHeard { counts.beacons += UInt64(Self.beacons(to: end, phase) - Self.beacons(to: start, phase)) }
            return countFrames(&counts, from: start, to: end, isHeard)
        }
        // The radio is away for a while, and back for twice as long.
        var moment = start
        while moment < end {
            let cycle = max(0, (moment - away.since) / (3 * away.dwell))
            let back = away.since + cycle * 3 * away.dwell + away.dwell
            let leave = back + 2 * away.dwell
            if moment < back {
                moment = min(back, end)
                if moment == back { counts.sent(1, at: back, isHeard: isHeard) }
            } else {
                let next = min(leave, end)
                countFrames(&counts, from: moment, to: next, isHeard)
                moment = next
                if moment == leave { counts.sent(1, at: leave, isHeard: isHeard) }
            }
        }
    }

    private static func beacons(to moment: Int64, _ phase: Int64) -> Int64 {
        (moment * 1000 + beaconInterval - phase) / beaconInterval
    }

    private func countFrames(_ counts: inout LinkCounts, from start: Int64, to end: Int64, _ isHeard: Bool) {
        guard world.scenario.isBusy else { return }
        let count = end / Self.frameInterval - start / Self.frameInterval
        guard count > 0 else { return }
        counts.sent(UInt32(count), at: end - end % Self.frameInterval, isHeard: isHeard)
    }

    /// Since when the radio keeps leaving its channel, and for how long at a time.
    private var awayTimes: (since: Int64, dwell: Int64)? {
        scanTimes.map { ($0.lowerBound, max(1, world.scenario.radio.dwell.milliseconds)) }
    }
}

extension SimulatedDevice.LinkCounts {
    fileprivate mutating func sent(_ count: UInt32, at moment: Int64, isHeard: Bool) {
        if isHeard { acknowledged = max(acknowledged, moment) } else { framesLost &+= count }
    }
}

extension World {
    /// A link to it breaks before long.
    func isSilent(_ accessPoint: Int, at moment: Int64) -> Bool {
        firstSilence(of: accessPoint, in: moment..<(moment + 1)) != nil
    }
}
