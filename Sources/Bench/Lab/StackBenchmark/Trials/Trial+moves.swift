import AgentModel

/// The link lives, and another network is the better one.
extension Trial {
    /// Home falls to -85 dBm, while the backup is at -40: until a ping through the backup, how long nothing went, and how many
    /// pings were lost.
    static let weakSignal = Trial(
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

    /// The device is on the backup, and home, which it prefers, returns: until a ping through home.
    static let homeReturns = Trial("home-returns", isMove: true, figures: [.homeReturns]) { house in
        let limit = Duration.seconds(180)
        try await house.phase.wait()
        try await house.home.powerOff()
        do { try await house.online(on: house.backup, within: .seconds(120)) } catch LabError.timedOut {
            throw LabError.unexpected("it never came to the backup from which it could have returned")
        }
        try await Task.sleep(for: .seconds(20))
        let pinger = try await house.lab.pinger(to: house.home.gateway)
        let back = try await house.home.powerReturns()
        return [.homeReturns: try await house.time(from: back, to: pinger, limit: limit)]
    }

    /// A person commands a change to the backup: how long nothing went, and how many pings were lost.
    static let command = Trial("command", isMove: true, figures: [.commandGap, .commandLost]) { house in
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
    /// How long nothing was answered at most, in seconds, and how many pings never were, once all of them had their second.
    fileprivate func harm(since start: ContinuousClock.Instant) async throws -> (gap: Measured, lost: Measured) {
        try await reply(within: .seconds(10))
        let gap = longestGap(since: start) / .seconds(1)
        try await Task.sleep(for: .seconds(2))
        return (.value(gap), .value(Double(lost(since: start))))
    }
}
