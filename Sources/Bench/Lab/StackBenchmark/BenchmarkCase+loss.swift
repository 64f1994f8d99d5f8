extension BenchmarkCase {
    private static let patience = Duration.seconds(120)

    /// Time before the loss during which the pings are the device's traffic.
    private static let inUse = Duration.seconds(15)

    /// Home loses power during traffic. Measures the time until a ping through the backup.
    static func hardLoss(_ figure: Figure, channel: Int, country: String) -> BenchmarkCase {
        BenchmarkCase(
            figure.rawValue, country: country, plan: House.Plan(backupChannel: channel), figures: [figure]
        ) { house in
            let pinger = try await house.lab.pinger(to: house.backup.gateway)
            try await Task.sleep(for: inUse)
            try await house.phase.wait()
            let cut = ContinuousClock.now
            try await house.home.powerOff()
            return [figure: try await house.time(from: cut, to: pinger, limit: patience)]
        }
    }

    /// Home loses power, the backup's password is wrong, and home returns. Measures the time until a ping through home.
    static func wrongPassword(_ figure: Figure, away: Duration) -> BenchmarkCase {
        BenchmarkCase(
            figure.rawValue, plan: House.Plan(wrongPassword: "not-the-password"), figures: [figure]
        ) { house in
            try await house.phase.wait()
            try await house.home.powerOff()
            try await Task.sleep(for: away)
            let pinger = try await house.lab.pinger(to: house.home.gateway)
            let back = try await house.home.powerReturns()
            return [figure: try await house.time(from: back, to: pinger, limit: .seconds(300))]
        }
    }

    /// Home, the only network in range, shuts down with deauthentication and is off for 10 s.
    static let restart = BenchmarkCase("restart", figures: [.restart]) { house in
        try await house.backup.powerOff()
        try await Task.sleep(for: .seconds(5))
        let pinger = try await house.lab.pinger(to: house.home.gateway)
        try await house.phase.wait()
        await house.home.shutDown()
        try await Task.sleep(for: .seconds(10))
        let back = try await house.home.powerReturns()
        return [.restart: try await house.time(from: back, to: pinger, limit: patience)]
    }

    /// Home, the only network in range, repeatedly deauthenticates all stations by broadcast, like an attacker with
    /// forged frames. Measures the total time without an answer.
    static func deauthentications(_ figure: Figure, count: Int, every interval: Duration) -> BenchmarkCase {
        BenchmarkCase(figure.rawValue, figures: [figure]) { house in
            try await house.backup.powerOff()
            try await Task.sleep(for: .seconds(5))
            let pinger = try await house.lab.pinger(to: house.home.gateway)
            try await house.phase.wait()
            let start = ContinuousClock.now
            for number in 1...count {
                _ = try await house.home.ask("DEAUTHENTICATE ff:ff:ff:ff:ff:ff")
                try await Task.sleep(until: start + interval * number, clock: .continuous)
            }
            return [figure: .value(Double(pinger.lost(since: start)) * (Pinger.interval / .seconds(1)))]
        }
    }

    /// Home loses its internet access while its signal is perfect. Measures the time until a ping from the internet.
    static let deadInternet = BenchmarkCase(
        "dead-internet", plan: House.Plan(hasInternet: true), figures: [.deadInternet]
    ) { house in
        let pinger = try await house.lab.pinger(to: Upstream.mirror)
        try await pinger.reply(within: .seconds(10))
        try await house.phase.wait()
        let cut = ContinuousClock.now
        try await house.home.cutInternet()
        // Count from the last reply, because the firewall program takes a moment.
        try await pinger.silence(of: .milliseconds(200), within: .seconds(5))
        let last = pinger.lastReply ?? cut
        return [.deadInternet: try await house.time(from: last, to: pinger, limit: patience)]
    }
}

extension AccessPoint {
    /// Switches the access point on.
    /// - Returns: start of its beacons.
    func powerReturns() async throws -> ContinuousClock.Instant {
        try await powerOn()
        guard let moment = onSince else { throw LabError.unexpected("\(ssid) is not on") }
        return moment
    }
}
