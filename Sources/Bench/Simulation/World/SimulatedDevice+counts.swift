import AgentModel

// Simulates the driver's counters of a link, for `BeaconLossDetector`.
extension SimulatedDevice {
    /// Counters of one link up to a time. Counting starts at the first read, so only differences have a meaning.
    struct LinkCounts {
        /// Time up to which the frames are counted, in milliseconds.
        fileprivate(set) var moment: Int64
        var beacons: UInt64 = 0
        /// Number of frames that were never acknowledged.
        var framesLost: UInt32 = 0
        /// Time of the last acknowledged frame, in milliseconds.
        var acknowledged: Int64
    }

    /// Milliseconds between frames of a busy device. An idle device sends too few frames to matter.
    private static let frameInterval: Int64 = 20
    /// Beacon interval in microseconds.
    private static let beaconInterval: Int64 = 102_400
    /// Longest useful interval between reads in milliseconds (`BeaconCounts.patience`).
    private static let memory: Int64 = 2000

    func framesSent(by moment: Int64) -> UInt64 {
        world.scenario.isBusy ? UInt64(max(0, moment / Self.frameInterval)) : 0
    }

    /// Returns the driver's counters of a station's link.
    /// - Parameter moment: now, or an earlier time. Since then, the access point must have been heard without a scan.
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

    /// Returns the numbers of received beacons and lost frames that follow from the link's frame loss.
    mutating func lossCounts(of station: Int) -> StationInfo? {
        guard let link = stations[station].link else { return nil }
        var tally = stations[station].tally ?? LossTally(moment: link.since)
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

    struct LossTally {
        var moment: Int64
        var beacons = 0.0
        var framesLost = 0.0
    }

    /// Returns the time at which a link's access point falls silent, at most `horizon` from now.
    func heardUntil(of station: Int) -> Int64 {
        guard let link = stations[station].link else { return now }
        return world.firstSilence(of: link.accessPoint, in: now..<(now + horizon)) ?? now + horizon
    }

    mutating func countAll() {
        for station in stations.indices where stations[station].counts != nil { count(station, to: now) }
    }

    /// Sends a frame to the gateway. The access point acknowledges the frame unless it is silent.
    mutating func askGateway(over station: Int, at moment: Int64) {
        guard let link = stations[station].link else { return }
        let isHeard = !world.isSilent(link.accessPoint, at: moment)
        stations[station].counts?.sent(1, at: moment, isHeard: isHeard)
    }

    /// Sends the frames with which mac80211 tells access points that the radio leaves the channel or returns.
    mutating func notifyAccessPoints() {
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
            // Skip earlier time, and assume that a beacon and an acknowledgement arrived in it.
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

    /// Returns the offset of the access point's beacons in the beacon interval, in microseconds.
    private func beaconPhase(of link: Link) -> Int64 {
        world.noise(at: link.since).number(.beacon, of: link.accessPoint, 0, in: 0...(Self.beaconInterval - 1))
    }

    /// Adds the counts after `counts.moment` up to and including `end`.
    private func count(_ counts: inout LinkCounts, to end: Int64, isHeard: Bool, phase: Int64) {
        let start = counts.moment
        guard start < end else { return }
        counts.moment = end
        guard let away = awayTimes, isAwayFromChannel else {
            // Count beacons only here: mac80211 ignores them during a scan (rx.c).
            if isHeard { counts.beacons += UInt64(Self.beacons(to: end, phase) - Self.beacons(to: start, phase)) }
            return countFrames(&counts, from: start, to: end, isHeard)
        }
        // The radio is off its channel for one dwell, then back for two.
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

    /// Start of the scan, and each time off the channel, in milliseconds; nil without a scan.
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
    /// Whether the device does not hear the access point. A link to it breaks soon.
    func isSilent(_ accessPoint: Int, at moment: Int64) -> Bool {
        firstSilence(of: accessPoint, in: moment..<(moment + 1)) != nil
    }
}
