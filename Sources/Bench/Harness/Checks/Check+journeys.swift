import AgentModel
import AppProtocol

extension Check {
    /// Switches to networks that are there.
    static let journeys = [
        to("committed", "a switch by name and password ends on the new network") { trial in
            let (network, home, wire, position) = try await trial.departure()
            let accepted = try await trial.command(try await trial.entry(network.asTrial, on: wire), on: wire)
            let journey = try await trial.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .committed)
            try await trial.waitUntilOnline(in: network.ssid, on: network)
            try await trial.goHome(to: home)
        },
        to("byHash", "a switch by hash ends on the stored network", touchesBackups: true) { trial in
            let (network, home, wire, position) = try await trial.departure()
            let hash = try await trial.store(network, on: wire)
            let accepted = try await trial.command(["hash": .text(hash.base64)], on: wire)
            let journey = try await trial.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .committed)
            try await trial.waitUntilOnline(in: network.ssid, on: network)
            try await trial.goHome(to: home)
        },
        to("events", "a switch is told: its progress, the decision, the network") { trial in
            let (network, home, wire, position) = try await trial.departure()
            let accepted = try await trial.command(try await trial.entry(network.asTrial, on: wire), on: wire)
            let journey = try await trial.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("joining among the phases", journey.phases.contains(.joining), got: "\(journey.phases)")
            try await trial.waitUntilOnline(in: network.ssid, on: network)
            let listener = try await trial.open()
            try await listener.subscribe(since: position.seq, stream: position.stream)
            var missing: Set = ["network.changed", "switch.progress", "decision"]
            let deadline = ContinuousClock.now + .seconds(5)
            while !missing.isEmpty, let event = try await listener.nextEvent(within: deadline - .now) {
                missing.remove(event.body.name)
            }
            try expect("an event of each kind", missing.isEmpty, got: "no \(missing.sorted().joined(separator: ", "))")
            try await trial.goHome(to: home)
        },
        to("confirmed", "a switch that is confirmed over the new network stands") { trial in
            let (network, home, wire, position) = try await trial.departure()
            let entry = try await trial.entry(network.asTrial, on: wire).with(["confirmWithin": 60])
            let accepted = try await trial.command(entry, on: wire)
            let arrival = try await trial.follow(
                accepted, on: wire, stream: position.stream, to: network, until: .waitingForConfirmation)
            try expect("the phase", arrival.outcome.phase, is: .waitingForConfirmation)
            let id: JSONValue = ["switchId": .text(accepted.switchId)]
            let confirmed: SwitchStatus = try await arrival.wire.get(.confirmSwitch, id)
            try expect(
                "committed, or heard", [.committed, .validating, .waitingForAddress].contains(confirmed.phase),
                got: confirmed.phase.rawValue)
            let journey = try await trial.follow(accepted, on: arrival.wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .committed)
            try await trial.waitUntilOnline(in: network.ssid, on: network)
            let again: SwitchStatus = try await trial.open().get(.confirmSwitch, id)
            try expect("a second confirmation answered as the first", again.phase, is: .committed)
            try await trial.goHome(to: home)
        },
        to("unconfirmed", "a switch that nobody confirms ends where it began") { trial in
            let (network, home, wire, position) = try await trial.departure()
            let entry = try await trial.entry(network.asTrial, on: wire).with(["confirmWithin": 5])
            let accepted = try await trial.command(entry, on: wire)
            let journey = try await trial.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .rolledBack)
            try expect("the reason", journey.outcome.reason, is: ReasonCode(.unconfirmed))
            try await trial.waitUntilOnline(in: try home.name, on: nil)
        },
        to("wrongKey", "a switch with a wrong password ends where it began, as wrongKey") { trial in
            let (network, home, wire, position) = try await trial.departure()
            guard network.password != nil else { throw Obstacle("\(network.name) has no password") }
            let wrong = TrialNetwork(ssid: network.ssid, password: trial.freshPassword())
            let accepted = try await trial.command(try await trial.entry(wrong, on: wire), on: wire)
            let journey = try await trial.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .rolledBack)
            try expect("the reason", journey.outcome.reason, is: ReasonCode(.wrongKey))
            try await trial.waitUntilOnline(in: try home.name, on: nil)
        },
        to("joinOnce", "a network that is joined once is forgotten afterwards", touchesBackups: true) { trial in
            try trial.needsFeature("joinOnce")
            let (network, home, wire, position) = try await trial.departure()
            try await trial.remove(network, on: wire)
            let entry = try await trial.entry(network.asTrial, on: wire).with(["joinOnce": true])
            let accepted = try await trial.command(entry, on: wire)
            let journey = try await trial.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .committed)
            try await trial.waitUntilOnline(in: network.ssid, on: network)
            try await trial.goHome(to: home)
            let hash = NetworkHash(
                localKey: try trial.key().localKey, ssid: network.ssid, password: network.password)
            try await trial.open().ask(.switchNetwork, ["hash": .text(hash.base64)]).expectRefusal(.unknownNetwork)
        },
    ]

    /// What the device does when access points come and go.
    static let accessPoints = [
        Check("accessPoints.gone", "a network whose access point is off is notFound", section: "switch.get") { trial in
            let (network, home, wire, position) = try await trial.departure()
            try await trial.withAccessPoint(network, on: false) {
                let accepted = try await trial.command(try await trial.entry(network.asTrial, on: wire), on: wire)
                let journey = try await trial.follow(accepted, on: wire, stream: position.stream, to: nil)
                try expect("the outcome", journey.outcome.phase, is: .rolledBack)
                try expect("the reason", journey.outcome.reason, is: ReasonCode(.notFound))
                try await trial.waitUntilOnline(in: try home.name, on: nil)
            }
        },
        Check(
            "accessPoints.failover", "a device whose access point goes joins a stored network", section: "history.get",
            touchesBackups: true
        ) { trial in
            let (network, home, wire, position) = try await trial.departure()
            guard let own = trial.bench.network(try home.name) else {
                throw Obstacle("needs the network that the device is in among --networks")
            }
            _ = try await trial.store(network, on: wire)
            try await trial.withAccessPoint(own, on: false) {
                try await trial.waitUntilOnline(in: network.ssid, on: network)
                let listener = try await trial.open()
                try await listener.subscribe(since: position.seq, stream: position.stream)
                _ = try await listener.event("the decision to join \(network.name)") { event in
                    if case .decision(let decision) = event.body {
                        decision.to?.ssid == network.ssid ? true : nil
                    } else {
                        nil
                    }
                }
            }
            try await trial.goHome(to: home)
        },
    ]
}

extension Trial {
    typealias Departure = (network: BenchNetwork, home: NetworkStatus, wire: Wire, position: Subscribed)

    /// A network to switch to, where the device is now, and a connection that carries events.
    fileprivate func departure() async throws -> Departure {
        let wire = try await open()
        let position = try await wire.subscribe()
        let home = try await online(wire)
        guard home.hash != nil else { throw Obstacle("the device is in a network that it has not stored") }
        let others = bench.networks.filter { $0.ssid != home.ssid }
        // One that it can be sent to from outside its own list comes first: it leaves no trace.
        let stored = Set(baseline.backups.networks.map(\.ssid))
        guard let network = others.first(where: { !stored.contains($0.ssid) }) ?? others.first else {
            throw Obstacle("needs another network in --networks")
        }
        return (network, home, wire, position)
    }

    /// Has the device store a network, beside its own or as one of them.
    fileprivate func store(_ network: BenchNetwork, on wire: Wire) async throws -> NetworkHash {
        if let stored = baseline.backups.networks.first(where: { $0.ssid == network.ssid }) { return stored.hash }
        guard let stored = try await update([network.asTrial], on: wire).networks.last else {
            throw Deviation("the network that was stored", got: "an empty list")
        }
        return stored.hash
    }

    /// Has the device store a network no longer, for the time of the check.
    fileprivate func remove(_ network: BenchNetwork, on wire: Wire) async throws {
        let others = baseline.backups.networks.filter { $0.ssid != network.ssid }
        guard let stored = baseline.backups.networks.first(where: { $0.ssid == network.ssid }) else { return }
        guard isDestructive || baseline.passwordKnown(of: stored.hash) != nil else {
            throw Obstacle("\(network.name) is stored, and could not be stored again: give its password and --key-file")
        }
        let _: BackupList = try await wire.get(
            .updateBackups, .networks(others.map { ["hash": .text($0.hash.base64)] }))
    }

    /// Sends the device back where it was. Frames get lost in the air, and the way back is no check: it is tried again.
    func goHome(to home: NetworkStatus) async throws {
        guard let hash = home.hash else { return }
        var outcome = SwitchPhase.committed
        for _ in 1...3 {
            let wire = try await open()
            let now: NetworkStatus = try await wire.get(.getNetwork)
            guard now.ssid != home.ssid else { return }
            let position = try await wire.subscribe()
            let accepted = try await command(["hash": .text(hash.base64)], on: wire)
            outcome = try await follow(accepted, on: wire, stream: position.stream, to: nil).outcome.phase
            if outcome == .committed { break }
        }
        try expect("the way back", outcome, is: .committed)
        try await waitUntilOnline(in: try home.name, on: nil)
    }

    /// Runs `body` with an access point turned off or on, and turns it back.
    fileprivate func withAccessPoint(
        _ network: BenchNetwork, on isOn: Bool, _ body: () async throws -> Void
    ) async throws {
        guard let accessPoints = bench.accessPoints, try await accessPoints.names().contains(network.name) else {
            throw Obstacle("needs --hook for the access point \(network.name)")
        }
        transcript.note("\(network.name) is turned \(isOn ? "on" : "off")")
        try await accessPoints.turn(network.name, on: isOn)
        do {
            try await body()
        } catch {
            try await accessPoints.turn(network.name, on: !isOn)
            throw error
        }
        transcript.note("\(network.name) is turned \(isOn ? "off" : "on")")
        try await accessPoints.turn(network.name, on: !isOn)
    }
}

extension BenchNetwork {
    fileprivate var asTrial: TrialNetwork {
        TrialNetwork(ssid: ssid, password: password?.withBytes { String(decoding: $0, as: UTF8.self) })
    }
}
