import AgentModel
import Simulation

/// Nothing happens, or everything begins.
extension Trial {
    /// All programs are started at once, by a device that has been online before and has no link and no address: until a
    /// ping. The D-Bus of those that need one runs already.
    static let coldStart = Trial("cold-start", figures: [.coldStart]) { house in
        await house.stack.stop()
        try await house.lab.station.clear()
        let pinger = try await house.lab.pinger(to: house.home.gateway)
        try await pinger.silence(of: .seconds(2), within: .seconds(10))
        try await house.phase.wait()
        let start = ContinuousClock.now
        try await house.stack.start()
        return [.coldStart: try await house.time(from: start, to: pinger, limit: .seconds(120))]
    }

    /// An hour at home in which nothing happens: what all programs together take.
    static let idle = Trial(
        "idle", isVirtualOnly: true,
        figures: [
            .memory, .memoryAnonymous, .memoryDirty, .idleSwitches, .idleProcessor, .idleDisk,
            .supplicantSwitches, .supplicantProcessor,
        ]
    ) { house in
        // What they keep goes to a disk of its own from here on, with a journal as on a board.
        await house.stack.stop()
        try await house.lab.station.clear()
        let disk = try await Disk(in: house.lab, for: house.stack.stateFolders)
        try await house.stack.start()
        try await house.online(on: house.home, within: .seconds(120))
        try await Task.sleep(for: .seconds(120))

        let programs = await house.stack.programs
        let memory = ProcessMemory(of: programs)
        var meters = programs.map { WorkMeter($0) }
        let written = try await disk.written
        let end = ContinuousClock.now + .seconds(3600)
        while .now < end {
            try await Task.sleep(for: WorkMeter.interval)
            for index in meters.indices { meters[index].look() }
        }
        for meter in meters {
            let (program, work) = (meter.program, meter.work)
            let memory = "\(Int(ProcessMemory(of: [program]).proportional)) KiB"
            let time = "\((work.processorTime / .milliseconds(1)).fixed(0)) ms on the processor"
            house.lab.report("an hour of \(program.name)", "\(memory), \(work.switches) context switches, \(time)")
        }
        let work = meters.map(\.work).reduce(ProcessWork(), +)
        let supplicantWork = meters.filter(\.program.isSupplicant).map(\.work).reduce(ProcessWork(), +)
        let writtenInAnHour = try await disk.written - written
        guard try await house.lab.station.network() == house.home.ssid else {
            throw LabError.unexpected("it was not idle: it left home")
        }
        await house.stack.stop()
        try await disk.remove()
        return [
            .memory: .value(memory.proportional / 1024), .memoryAnonymous: .value(memory.anonymous / 1024),
            .memoryDirty: .value(memory.dirty / 1024), .idleSwitches: .value(Double(work.switches) / 60),
            .idleProcessor: .value(work.processorTime / .milliseconds(60)),
            .idleDisk: .value(Double(writtenInAnHour) / 1024),
            .supplicantSwitches: .value(Double(supplicantWork.switches) / 60),
            .supplicantProcessor: .value(supplicantWork.processorTime / .milliseconds(60)),
        ]
    }
}

extension Program {
    fileprivate var isSupplicant: Bool { name == "wpa_supplicant" }
}
