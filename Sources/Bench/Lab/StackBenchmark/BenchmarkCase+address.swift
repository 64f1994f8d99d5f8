import AgentModel

/// The link is there, and the address has to come.
extension BenchmarkCase {
    /// A user commands changes between the two networks: to the backup, in which the device has never been, and then
    /// there and back where it knows both. The server's first answer gets lost in every second run of the last two.
    static let address = BenchmarkCase(
        "address", figures: [.addressNew, .addressKnown, .addressKnownLost, .switchThere, .switchBack]
    ) { house in
        let moves = try await Moves(house)
        var readings: [Figure: Measured] = [:]
        // A stack without priorities may have been there before it was told to be at home.
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
        /// Until the next: what goes on after the first ping, such as a probe for conflicts, comes to its end.
        static let settling = Duration.seconds(15)

        init(_ house: House) async throws {
            self.house = house
            traffic = try await house.lab.pinger()
            home = try await house.lab.pinger(to: house.home.gateway)
            backup = try await house.lab.pinger(to: house.backup.gateway)
            try await traffic.reply(within: .seconds(5))
            try await house.phase.wait()
        }

        /// - Returns: from the association until the first ping through `network`, and how long nothing was answered.
        func move(to network: AccessPoint) async throws -> (address: Measured, gap: Measured) {
            let pinger = network === house.home ? home : backup
            let start = ContinuousClock.now
            try await house.stack.change(to: network)
            let moved = try await house.time(from: start, to: pinger, limit: Self.limit)
            guard case .value(let seconds) = moved else { return (moved, moved) }
            guard let association = await network.associations.first(where: { $0 > start }) else {
                throw LabError.unexpected("\(network.ssid) has associated no station")
            }
            try await traffic.reply(within: .seconds(10))
            let gap = traffic.longestGap(since: start) / .seconds(1)
            try await Task.sleep(for: Self.settling)
            return (.value(seconds - association.seconds(since: start)), .value(gap))
        }
    }
}
