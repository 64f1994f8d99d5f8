import Simulation

/// Cases in which the link works and another network is better.
extension BenchmarkCase {
    /// Home's signal falls to -85 dBm, the backup has -40 dBm. Measures the time until a ping through the backup, the
    /// longest gap, and the lost pings.
    static let weakSignal = BenchmarkCase(
        "weak-signal", plan: House.Plan(backupSignal: -40), isMove: true,
        figures: [.weakSignal, .weakSignalGap, .weakSignalLost]
    ) { house in
        let pinger = try await house.lab.pinger(to: house.backup.gateway)
        let traffic = try await house.lab.pinger()
        try await traffic.reply(within: .seconds(5))
        try await house.phase.wait()
        let fade = ContinuousClock.now
        try await house.home.setSignal(-85)
        let moved = try await house.time(from: fade, to: pinger, limit: .seconds(120))
        guard case .value = moved else {
            return [.weakSignal: moved, .weakSignalGap: moved, .weakSignalLost: moved]
        }
        let (gap, lost) = try await traffic.harm(since: fade)
        return [.weakSignal: moved, .weakSignalGap: gap, .weakSignalLost: lost]
    }

    /// The device is on the backup, and the preferred home returns. Measures the time until a ping through home.
    static let homeReturns = BenchmarkCase("home-returns", isMove: true, figures: [.homeReturns]) { house in
        let limit = Duration.seconds(180)
        try await house.phase.wait()
        try await house.home.powerOff()
        do { try await house.online(on: house.backup, within: .seconds(120)) } catch LabError.timedOut {
            throw LabError.unexpected("the device did not join the backup, so it cannot return home")
        }
        try await Task.sleep(for: .seconds(20))
        let pinger = try await house.lab.pinger(to: house.home.gateway)
        let back = try await house.home.powerReturns()
        return [.homeReturns: try await house.time(from: back, to: pinger, limit: limit)]
    }

    /// A user switches to the backup. Measures the longest gap and the lost pings.
    static let command = BenchmarkCase("command", isMove: true, figures: [.commandGap, .commandLost]) { house in
        let pinger = try await house.lab.pinger(to: house.backup.gateway)
        let traffic = try await house.lab.pinger()
        try await traffic.reply(within: .seconds(5))
        try await house.phase.wait()
        let start = ContinuousClock.now
        try await house.stack.change(to: house.backup)
        let limit = Duration.seconds(120)
        let moved = try await house.time(from: start, to: pinger, limit: limit)
        guard case .value = moved else { return [.commandGap: moved, .commandLost: moved] }
        let (gap, lost) = try await traffic.harm(since: start)
        return [.commandGap: gap, .commandLost: lost]
    }
}

extension Pinger {
    /// Returns the longest gap in seconds and the number of lost pings. Waits until each ping had at least a second for
    /// its reply.
    fileprivate func harm(since start: ContinuousClock.Instant) async throws -> (gap: Measured, lost: Measured) {
        try await reply(within: .seconds(10))
        let gap = longestGap(since: start) / .seconds(1)
        try await Task.sleep(for: .seconds(2))
        return (.value(gap), .value(Double(lost(since: start))))
    }
}

/// Cases of a cold start and of an idle device.
extension BenchmarkCase {
    /// All programs start at once on a device that was online earlier and has no link and address now. Measures the
    /// time until a ping. D-Bus already runs for stacks that need it.
    static let coldStart = BenchmarkCase("cold-start", figures: [.coldStart]) { house in
        await house.stack.stop()
        try await house.lab.station.clear()
        let pinger = try await house.lab.pinger(to: house.home.gateway)
        try await pinger.silence(of: .seconds(2), within: .seconds(10))
        try await house.phase.wait()
        let start = ContinuousClock.now
        try await house.stack.start()
        return [.coldStart: try await house.time(from: start, to: pinger, limit: .seconds(120))]
    }

    /// The device is idle at home for an hour. Measures the resources of all programs together.
    static let idle = BenchmarkCase(
        "idle", isVirtualOnly: true,
        figures: [
            .memory, .memoryAnonymous, .memoryDirty, .idleSwitches, .idleProcessor, .idleDisk,
            .supplicantSwitches, .supplicantProcessor,
        ]
    ) { house in
        // Move the state to a separate disk with a journal, as on a board.
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
            throw LabError.unexpected("the device was not idle: it left home")
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
