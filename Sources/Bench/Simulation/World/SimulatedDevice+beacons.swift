import AgentCore
import AgentModel

// The agent's own watch over beacons, by the time that the device takes to notice silence.
extension SimulatedDevice {
    /// When the access point of a link would be taken for silent.
    struct BeaconWatchModel {
        let station: Int
        let accessPoint: Int
        /// The access point is being asked.
        var isAsking = false
        var suspectAt = Int64.max
        var searchedUntil = Int64.max
    }

    /// From the end of an access point until it is suspected, in milliseconds: of a device that is in use (0.21 to 0.41
    /// s), and while the radio scans (six beacon intervals, and one look at the counts more: these come every 0.1 s of
    /// a device in use, and every 0.5 s of one that is idle). Docs/detection.md has how these follow.
    private enum Patience {
        static let inUse: ClosedRange<Int64> = 210...410
        static let inScanInUse: ClosedRange<Int64> = 610...710
        static let inScanIdle: ClosedRange<Int64> = 610...1110
    }

    mutating func watchBeacons(of accessPoint: Int?, on station: Int) {
        beacons = accessPoint.map { BeaconWatchModel(station: station, accessPoint: $0) }
        searchForSilence()
    }

    /// The access point was asked whether it is there.
    mutating func beaconsAnswered(isThere: Bool) {
        guard let watch = beacons else { return }
        beacons?.isAsking = false
        guard isThere || world.loss(of: watch.accessPoint, at: now) < World.deafness else {
            return report(.silence(watch.station, accessPoint: watch.accessPoint, .confirmed))
        }
        searchForSilence()
    }

    mutating func searchForSilence() {
        guard let watch = beacons, !watch.isAsking, stations[watch.station].link?.accessPoint == watch.accessPoint
        else {
            return
        }
        beacons?.suspectAt = .max
        beacons?.searchedUntil = .max
        let isBusy = world.scenario.isBusy
        guard isBusy || isAwayFromChannel else { return }
        let patience =
            !isAwayFromChannel ? Patience.inUse : isBusy ? Patience.inScanInUse : Patience.inScanIdle
        let (silent, end, searched) = world.linkLoss(
            of: watch.accessPoint, in: now..<(now + horizon), patience: patience, by: .suspicion)
        if let silent, end == .silence {
            beacons?.suspectAt = silent
        } else {
            // One that was off and is back sends its stations away by itself.
            beacons?.searchedUntil = max(now + 1, silent ?? searched)
        }
    }

    mutating func advance(_ watch: BeaconWatchModel) {
        if watch.searchedUntil <= now { searchForSilence() }
        guard watch.suspectAt <= now else { return }
        beacons?.suspectAt = .max
        beacons?.isAsking = true
        report(.silence(watch.station, accessPoint: watch.accessPoint, .suspected))
    }
}
