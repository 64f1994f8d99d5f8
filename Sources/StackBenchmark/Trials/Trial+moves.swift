import AgentModel
import Lab

/// The link lives, and another network is the better one.
extension Trial {
    /// Home falls to -85 dBm, while the backup is at -40: until a ping through the backup, and how long nothing went.
    static let weakSignal = Trial(
        "weak-signal", plan: House.Plan(backupSignal: -40), figures: [.weakSignal, .weakSignalGap]
    ) { house in
        let pinger = try await house.lab.pinger(to: house.backup.gateway)
        let traffic = try await house.lab.pinger()
        try await traffic.reply(within: .seconds(5))
        try await house.phase.wait()
        let fade = ContinuousClock.now
        try await house.home.setSignal(-85)
        let moved = try await house.time(from: fade, to: pinger, limit: .seconds(120))
        guard case .value = moved else { return [.weakSignal: moved, .weakSignalGap: moved] }
        try await traffic.reply(within: .seconds(10))
        return [.weakSignal: moved, .weakSignalGap: .value(traffic.longestGap(since: fade) / .seconds(1))]
    }

    /// The device is on the backup, and home, which it prefers, returns: until a ping through home.
    static let homeReturns = Trial("home-returns", figures: [.homeReturns]) { house in
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

    /// A person commands a change to the backup: how long nothing went.
    static let command = Trial("command", figures: [.commandGap]) { house in
        let pinger = try await house.lab.pinger(to: house.backup.gateway)
        let traffic = try await house.lab.pinger()
        try await traffic.reply(within: .seconds(5))
        try await house.phase.wait()
        let start = ContinuousClock.now
        try await house.stack.change(to: house.backup)
        let limit = Duration.seconds(120)
        let moved = try await house.time(from: start, to: pinger, limit: limit)
        guard case .value = moved else { return [.commandGap: moved] }
        try await traffic.reply(within: .seconds(10))
        return [.commandGap: .value(traffic.longestGap(since: start) / .seconds(1))]
    }
}
