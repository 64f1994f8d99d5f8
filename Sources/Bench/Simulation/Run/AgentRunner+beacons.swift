import AgentCore
import AgentModel
import Failover

/// Reads the counts of a simulated link when `BeaconWatch` wants them, as `BeaconWatcher` does on a device.
///
/// While the access point is heard and no scan is under way, samples say nothing that the next ones do not say as well.
/// They are left out until two before something else can happen: those bring the watch to where it would be.
struct BeaconSampler {
    /// What the agent's settings have where they say nothing else.
    private static let (silentBeacons, idlePace) = (3, Duration.milliseconds(500))

    let accessPoint: AccessPoint
    let station: Int
    fileprivate(set) var watch = BeaconWatch(beacons: silentBeacons, idlePace: idlePace)
    /// When the counts are read next, and when the number of frames is looked at.
    fileprivate var sampleAt = Int64.max
    fileprivate var trafficAt: Int64
    /// The first of the samples that are left out, and their interval.
    fileprivate var skipped: (first: Int64, interval: Int64)?
    fileprivate var isScanning = false
    /// From the sample before the last one to the last one.
    fileprivate var lastSample: Int64?
    fileprivate var lastInterval: Int64 = 0

    init(_ accessPoint: AccessPoint, on station: Int, _ device: SimulatedDevice) {
        (self.accessPoint, self.station) = (accessPoint, station)
        trafficAt = device.now
    }

    var next: Int64 { min(sampleAt, trafficAt) }
}

extension AgentRunner {
    /// The processor is awake, whatever for.
    mutating func lookForTraffic(_ device: inout SimulatedDevice) {
        guard let watch = beacons?.watch, watch.wantsFrames(at: Instant(milliseconds: device.now)) else { return }
        feed(.framesSent(device.framesSent(by: device.now)), at: device.now, &device)
    }

    mutating func tellBeacons(_ input: BeaconWatch.Input, _ device: inout SimulatedDevice) {
        catchUp(&device)
        if case .scan(let isUnderWay) = input { beacons?.isScanning = isUnderWay }
        feed(input, at: device.now, &device)
    }

    mutating func sampleBeacons(_ device: inout SimulatedDevice) {
        if let trafficAt = beacons?.trafficAt, trafficAt <= device.now {
            let interval = BeaconWatch.trafficInterval.milliseconds
            // An idle device sends no frames whose number would say something.
            beacons?.trafficAt =
                device.world.scenario.isBusy ? device.now - device.now % interval + interval : .max
            lookForTraffic(&device)
        }
        guard let sampler = beacons, sampler.sampleAt <= device.now else { return }
        beacons?.skipped = nil
        sample(at: device.now, &device)
    }

    /// Takes the last two of the samples that were left out, where something else happens before they are over.
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

    private mutating func feed(_ input: BeaconWatch.Input, at moment: Int64, _ device: inout SimulatedDevice) {
        let step = beacons?.watch.handle(input, at: Instant(milliseconds: moment))
        guard let sampler = beacons else { return }
        if sampler.watch.isOver {
            beacons?.sampleAt = .max
            beacons?.trafficAt = .max
        }
        switch step {
        case nil: break
        case .sample(let next, let asksGateway):
            if asksGateway { device.askGateway(over: sampler.station, at: moment) }
            beacons?.sampleAt = next.milliseconds
            skip(after: moment, &device)
        // A simulated radio counts beacons.
        case .count: break
        case .report(let report): handle(.silence(sampler.accessPoint, report), &device)
        }
    }

    /// Leaves out samples that would say nothing.
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
