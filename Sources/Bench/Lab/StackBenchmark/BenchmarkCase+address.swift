/// Cases in which the device joins a network and needs an address.
extension BenchmarkCase {
    /// A user switches between the networks: first to the new backup, then to and fro between known networks. In odd
    /// runs, the first answer of the DHCP server is lost in each of the last two switches.
    static let address = BenchmarkCase(
        "address", figures: [.addressNew, .addressKnown, .addressKnownLost, .switchThere, .switchBack]
    ) { house in
        let moves = try await Moves(house)
        var readings: [Figure: Measured] = [:]
        // Check first, because a stack without priorities may already have joined the backup.
        let isNew = await house.backup.associations.isEmpty
        let first = try await moves.move(to: house.backup)
        if isNew { readings[.addressNew] = first.address }
        readings[.addressKnown] = try await moves.move(to: house.home).address
        try await house.backup.lose(questions: 1)
        readings[.addressKnownLost] = try await moves.move(to: house.backup).address
        try await house.home.lose(answers: house.run % 2)
        readings[.switchBack] = try await moves.move(to: house.home).gap
        try await house.backup.lose(answers: house.run % 2)
        readings[.switchThere] = try await moves.move(to: house.backup).gap
        return readings
    }

    private struct Moves {
        let house: House
        let traffic: Pinger
        let home: Pinger
        let backup: Pinger

        static let limit = Duration.seconds(60)
        /// Pause between moves. Actions that follow the first ping, such as conflict detection, end during it.
        static let settling = Duration.seconds(15)

        init(_ house: House) async throws {
            self.house = house
            traffic = try await house.lab.pinger()
            home = try await house.lab.pinger(to: house.home.gateway)
            backup = try await house.lab.pinger(to: house.backup.gateway)
            try await traffic.reply(within: .seconds(5))
            try await house.phase.wait()
        }

        /// Switches to `network`.
        /// - Returns: time from the association to the first ping through `network`, and the longest time without an
        ///   answer.
        func move(to network: AccessPoint) async throws -> (address: Measured, gap: Measured) {
            let pinger = network === house.home ? home : backup
            let start = ContinuousClock.now
            try await house.stack.change(to: network)
            let moved = try await house.time(from: start, to: pinger, limit: Self.limit)
            guard case .value(let seconds) = moved else { return (moved, moved) }
            guard let association = await network.associations.first(where: { $0 > start }) else {
                throw LabError.unexpected("no station has associated with \(network.ssid)")
            }
            try await traffic.reply(within: .seconds(10))
            let gap = traffic.longestGap(since: start) / .seconds(1)
            try await Task.sleep(for: Self.settling)
            return (.value(seconds - association.seconds(since: start)), .value(gap))
        }
    }
}
