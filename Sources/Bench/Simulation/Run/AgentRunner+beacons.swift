import AgentCore
import AgentModel
import Failover

/// Reads a simulated link's counters for `BeaconLossDetector`, like `BeaconLossMonitor` on a real device.
///
/// Skips samples while the access point is heard and no scan runs, because they would be equal. Before the next change,
/// takes the last two skipped samples to bring `watch` up to date.
struct BeaconSampler {
    /// Default values of the agent's settings.
    private static let (silentBeacons, idlePace) = (3, Duration.milliseconds(500))

    let accessPoint: AccessPoint
    let station: Int
    fileprivate(set) var watch = BeaconLossDetector(beacons: silentBeacons, idlePace: idlePace)
    /// Time of the next sample, in milliseconds; `Int64.max` for none.
    fileprivate var sampleAt = Int64.max
    /// Time of the next check of the number of sent frames, in milliseconds.
    fileprivate var trafficAt: Int64
    /// Time of the first skipped sample, and the samples' interval, in milliseconds.
    fileprivate var skipped: (first: Int64, interval: Int64)?
    fileprivate var isScanning = false
    /// Time of the last sample, in milliseconds.
    fileprivate var lastSample: Int64?
    /// Interval before the last sample, in milliseconds.
    fileprivate var lastInterval: Int64 = 0

    init(_ accessPoint: AccessPoint, on station: Int, _ device: SimulatedDevice) {
        (self.accessPoint, self.station) = (accessPoint, station)
        trafficAt = device.now
    }

    var next: Int64 { min(sampleAt, trafficAt) }
}

extension AgentRunner {
    /// Reads the number of sent frames while the processor is awake anyway.
    mutating func lookForTraffic(_ device: inout SimulatedDevice) {
        guard let watch = beacons?.watch, watch.wantsFrames(at: Instant(milliseconds: device.now)) else { return }
        feed(.framesSent(device.framesSent(by: device.now)), at: device.now, &device)
    }

    mutating func sendBeacons(_ event: BeaconLossDetector.Event, _ device: inout SimulatedDevice) {
        catchUp(&device)
        if case .scan(let isUnderWay) = event { beacons?.isScanning = isUnderWay }
        feed(event, at: device.now, &device)
    }

    mutating func sampleBeacons(_ device: inout SimulatedDevice) {
        if let trafficAt = beacons?.trafficAt, trafficAt <= device.now {
            let interval = BeaconLossDetector.trafficInterval.milliseconds
            // An idle device sends too few frames to matter.
            beacons?.trafficAt =
                device.world.scenario.isBusy ? device.now - device.now % interval + interval : .max
            lookForTraffic(&device)
        }
        guard let sampler = beacons, sampler.sampleAt <= device.now else { return }
        beacons?.skipped = nil
        sample(at: device.now, &device)
    }

    /// Takes the last two skipped samples if an event comes before the next sample.
    mutating func catchUp(_ device: inout SimulatedDevice) {
        guard let skipped = beacons?.skipped else { return }
        beacons?.skipped = nil
        beacons?.sampleAt = skipped.first
        guard device.now > skipped.first else { return }
        let last = (device.now - 1 - skipped.first) / skipped.interval
        for number in max(0, last - 1)...last { sample(at: skipped.first + number * skipped.interval, &device) }
    }

    private mutating func sample(at moment: Int64, _ device: inout SimulatedDevice) {
        guard let sampler = beacons else { return }
        beacons?.sampleAt = .max
        if let last = sampler.lastSample { beacons?.lastInterval = moment - last }
        beacons?.lastSample = moment
        let wantsFrames = sampler.watch.wantsFrames(at: Instant(milliseconds: moment))
        let counts = device.linkCounts(of: sampler.station, at: moment)
        feed(.sampled(counts, framesSent: wantsFrames ? device.framesSent(by: moment) : nil), at: moment, &device)
    }

    private mutating func feed(_ event: BeaconLossDetector.Event, at moment: Int64, _ device: inout SimulatedDevice) {
        let effect = beacons?.watch.handle(event, at: Instant(milliseconds: moment))
        guard let sampler = beacons else { return }
        if sampler.watch.isOver {
            beacons?.sampleAt = .max
            beacons?.trafficAt = .max
        }
        switch effect {
        case nil: break
        case .sample(let next, let asksGateway):
            if asksGateway { device.askGateway(over: sampler.station, at: moment) }
            beacons?.sampleAt = next.milliseconds
            skip(after: moment, &device)
        // Not needed: a simulated radio counts beacons.
        case .count: break
        case .report(let report): handle(.silence(sampler.accessPoint, report), &device)
        }
    }

    private mutating func skip(after moment: Int64, _ device: inout SimulatedDevice) {
        guard let sampler = beacons, moment == device.now, sampler.lastSample == moment, !sampler.isScanning,
            device.isRadioFree
        else { return }
        let interval = sampler.sampleAt - moment
        guard interval > 0, interval == sampler.lastInterval else { return }
        let count = (device.heardUntil(of: sampler.station) - 1 - sampler.sampleAt) / interval - 1
        guard count > 0 else { return }
        beacons?.skipped = (sampler.sampleAt, interval)
        beacons?.sampleAt = sampler.sampleAt + count * interval
    }
}
