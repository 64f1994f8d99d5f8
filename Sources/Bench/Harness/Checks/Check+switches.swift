import AgentModel
import AppProtocol
import JSONValues

extension Check {
    /// Switches that fail. They need no second network.
    static let switches = [
        to("unknownNetwork", "a hash that the device does not know is an unknownNetwork") { check in
            let wire = try await check.open()
            _ = try await check.online(wire)
            try await wire.ask(.switchNetwork, ["hash": .text(unknownHash)]).expectRefusal(
                .unknownNetwork, details: ["hash": .text(unknownHash)])
        },
        to("invalid", "an invalid network is refused with the name of the field") { check in
            let wire = try await check.open()
            let name = try check.fresh().json
            let refusals: [(body: JSONValue, code: ErrorCode, field: String)] = [
                ([:], .malformed, "ssid"), (name, .passwordMissing, "password"),
                (["ssid": "", "security": "open"], .invalidSsid, "ssid"),
                (name.with(["password": "short"]), .invalidPassword, "password"),
                (name.with(["password": "12345678", "security": "enterprise"]), .unsupported, "security"),
                (["hash": "none"], .malformed, "hash"),
                (name.with(["sealed": "none"]), .malformed, "sealed"),
            ]
            for (body, code, field) in refusals {
                try await wire.ask(.switchNetwork, body).expectRefusal(code, field: "body.\(field)")
            }
        },
        to("uplink", "a switch over another uplink than Wi-Fi is refused") { check in
            let wire = try await check.open()
            let status: NetworkStatus = try await wire.get(.getNetwork)
            guard status.flags.isDisjoint(with: [.canSwitch, .switchInProgress]) else {
                throw Obstacle("needs a device with another uplink than Wi-Fi, or without a Wi-Fi interface")
            }
            let code: ErrorCode = status.uplink == nil || status.uplink == .wifi ? .interfaceMissing : .cannotSwitch
            let network = try check.fresh().json.with(["security": "open"])
            try await wire.ask(.switchNetwork, network).expectRefusal(code)
        },
        to("alreadyAssociated", "a switch to the current network is refused as alreadyAssociated") { check in
            let wire = try await check.listening()
            let status = try await check.online(wire)
            guard let hash = status.hash else { throw Obstacle("the device has not stored its current network") }
            for body: JSONValue in [["hash": .text(hash.base64)], ["hash": .text(hash.base64), "confirmWithin": 60]] {
                try await wire.ask(.switchNetwork, body).expectRefusal(.alreadyAssociated)
            }
            let after: NetworkStatus = try await wire.get(.getNetwork)
            try expect("the unchanged link", after.since, is: status.since)
        },
        to("notFound", "a switch to a missing network is rolled back as notFound") { check in
            let (home, journey) = try await check.goNowhere()
            try expect("the outcome", journey.outcome.phase, is: .rolledBack)
            try expect("the reason", journey.outcome.reason, is: ReasonCode(.notFound))
            try expect("a sentence", journey.outcome.text?.isEmpty == false, got: "none")
            try await check.waitUntilOnline(in: home, on: nil)
        },
        to("oneOutcome", "a switch has one outcome, which can be read afterwards") { check in
            let (home, journey) = try await check.goNowhere()
            try await check.waitUntilOnline(in: home, on: nil)
            let id: JSONValue = ["switchId": .text(journey.outcome.switchId)]
            let read: SwitchStatus = try await check.open().get(.getSwitch, id)
            try expect("the outcome", read, is: journey.outcome)
            // Continue after other messages, which may have arrived meanwhile.
            _ = try await journey.wire.ask(.getNetwork)
            while let event = try await journey.wire.nextEvent(within: .milliseconds(200)) {
                try expect(
                    "no progress after the outcome", event.progress?.switchId != journey.outcome.switchId,
                    got: event.progress?.phase.rawValue ?? "")
            }
        },
        to("inProgress", "a second switch is refused while one runs") { check in
            let wire = try await check.open()
            let position = try await wire.subscribe()
            let home = try await check.online(wire)
            let accepted = try await check.command(check.entry(try check.fresh()), on: wire)
            // Use an open network: sealing a password takes time, during which the first switch may end.
            let second = try check.fresh().json.with(["security": "open"])
            try await wire.ask(.switchNetwork, second).expectRefusal(
                .switchInProgress, details: ["switchId": .text(accepted.switchId)])
            let during: NetworkStatus = try await wire.get(.getNetwork)
            try expect(
                "flag 4, and not flag 2",
                during.flags.isDisjoint(with: .canSwitch) && during.flags.contains(.switchInProgress),
                got: "flags \(during.flags.rawValue)")
            let journey = try await check.follow(accepted, on: wire, stream: position.stream, to: nil)
            try expect("the outcome", journey.outcome.phase, is: .rolledBack)
            try await check.waitUntilOnline(in: try home.name, on: nil)
        },
        to("race", "of two simultaneous switches, exactly one is accepted, and it ends") { check in
            let wires = [try await check.open(), try await check.open()]
            let position = try await wires[0].subscribe()
            let home = try await check.online(wires[0])
            for wire in wires {
                // Use open networks: sealing a password takes time.
                let body = try check.fresh().json.with(["security": "open"])
                await wire.send(line: .request(.switchNetwork, body, id: "race"))
            }
            var (accepted, refusals): ([SwitchStatus], [Answer]) = ([], [])
            for wire in wires {
                let answer = try await wire.answer()
                if answer.code == nil {
                    accepted.append(try answer.body(of: .switchNetwork))
                } else {
                    refusals.append(answer)
                }
            }
            guard let winner = accepted.first, accepted.count == 1 else {
                throw Deviation("one accepted switch", got: "\(accepted.count)")
            }
            for refusal in refusals {
                try refusal.expectRefusal(.switchInProgress, details: ["switchId": .text(winner.switchId)])
            }
            let journey = try await check.follow(winner, on: wires[0], stream: position.stream, to: nil)
            try expect("the outcome", journey.outcome.phase, is: .rolledBack)
            try await check.waitUntilOnline(in: try home.name, on: nil)
        },
        Check("switch.confirm.notWaiting", "a finished switch cannot be confirmed", section: "switch.confirm") {
            check in
            let (home, journey) = try await check.goNowhere(confirmWithin: 30)
            let id: JSONValue = ["switchId": .text(journey.outcome.switchId)]
            try await check.waitUntilOnline(in: home, on: nil)
            try await check.open().ask(.confirmSwitch, id).expectRefusal(
                .notWaiting, details: ["phase": .text(journey.outcome.phase.rawValue)])
        },
        to("listStands", "a switch that is rolled back does not change the list") { check in
            let wire = try await check.open()
            let before: BackupList = try await wire.get(.getBackups)
            let (home, _) = try await check.goNowhere()
            try await check.waitUntilOnline(in: home, on: nil)
            let after: BackupList = try await check.open().get(.getBackups)
            try expect("the unchanged list", after.shown, is: before.shown)
        },
    ]

    static func to(
        _ name: String, _ title: String, touchesBackups: Bool = false,
        _ body: @escaping @Sendable (CheckRun) async throws -> Void
    ) -> Check {
        Check("switch.\(name)", title, section: "network.switch", touchesBackups: touchesBackups, body)
    }
}

extension CheckRun {
    /// Commands a switch to a missing network, and follows it to its outcome.
    fileprivate func goNowhere(confirmWithin: Int? = nil) async throws -> (home: SSID, Journey) {
        let wire = try await open()
        let position = try await wire.subscribe()
        let home = try await online(wire)
        var entry = entry(try fresh())
        if let confirmWithin { entry = entry.with(["confirmWithin": .integer(confirmWithin)]) }
        let accepted = try await command(entry, on: wire)
        return (try home.name, try await follow(accepted, on: wire, stream: position.stream, to: nil))
    }
}

extension NetworkStatus {
    /// SSID of the current network. Throws if there is none, so check the state first.
    var name: SSID {
        get throws(Obstacle) {
            guard let ssid else { throw Obstacle("the device is in no network") }
            return ssid
        }
    }
}

extension Check {
    static let journeys = [
        to("committed", "a switch by name and password ends on the new network") { check in
            let (network, home, wire, position) = try await check.switchSetup()
            let accepted = try await check.command(check.entry(network.asCheckNetwork), on: wire)
            let journey = try await check.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .committed)
            try await check.waitUntilOnline(in: network.ssid, on: network)
            try await check.goHome(to: home)
        },
        to("byHash", "a switch by hash ends on the stored network", touchesBackups: true) { check in
            let (network, home, wire, position) = try await check.switchSetup()
            let hash = try await check.store(network, on: wire)
            let accepted = try await check.command(["hash": .text(hash.base64)], on: wire)
            let journey = try await check.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .committed)
            try await check.waitUntilOnline(in: network.ssid, on: network)
            try await check.goHome(to: home)
        },
        to("events", "a switch publishes its progress, its decision and the network") { check in
            let (network, home, wire, position) = try await check.switchSetup()
            let accepted = try await check.command(check.entry(network.asCheckNetwork), on: wire)
            let journey = try await check.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("joining among the phases", journey.phases.contains(.joining), got: "\(journey.phases)")
            try await check.waitUntilOnline(in: network.ssid, on: network)
            let listener = try await check.open()
            try await listener.subscribe(since: position.seq, stream: position.stream)
            var missing: Set = ["network.changed", "switch.progress", "decision"]
            let deadline = ContinuousClock.now + .seconds(5)
            while !missing.isEmpty, let event = try await listener.nextEvent(within: deadline - .now) {
                missing.remove(event.body.name)
            }
            try expect("an event of each kind", missing.isEmpty, got: "no \(missing.sorted().joined(separator: ", "))")
            try await check.goHome(to: home)
        },
        to("confirmed", "a switch that is confirmed over the new network is committed") { check in
            let (network, home, wire, position) = try await check.switchSetup()
            let entry = check.entry(network.asCheckNetwork).with(["confirmWithin": 60])
            let accepted = try await check.command(entry, on: wire)
            let arrival = try await check.follow(
                accepted, on: wire, stream: position.stream, to: network, until: .waitingForConfirmation)
            try expect("the phase", arrival.outcome.phase, is: .waitingForConfirmation)
            let id: JSONValue = ["switchId": .text(accepted.switchId)]
            let confirmed: SwitchStatus = try await arrival.wire.get(.confirmSwitch, id)
            try expect(
                "committed or a later phase", [.committed, .validating, .waitingForAddress].contains(confirmed.phase),
                got: confirmed.phase.rawValue)
            let journey = try await check.follow(accepted, on: arrival.wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .committed)
            try await check.waitUntilOnline(in: network.ssid, on: network)
            let again: SwitchStatus = try await check.open().get(.confirmSwitch, id)
            try expect("the same answer to a second confirmation", again.phase, is: .committed)
            try await check.goHome(to: home)
        },
        to("unconfirmed", "a switch without confirmation is rolled back") { check in
            let (network, home, wire, position) = try await check.switchSetup()
            let entry = check.entry(network.asCheckNetwork).with(["confirmWithin": 5])
            let accepted = try await check.command(entry, on: wire)
            let journey = try await check.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .rolledBack)
            try expect("the reason", journey.outcome.reason, is: ReasonCode(.unconfirmed))
            try await check.waitUntilOnline(in: try home.name, on: nil)
        },
        to("wrongKey", "a switch with a wrong password is rolled back as wrongKey") { check in
            let (network, home, wire, position) = try await check.switchSetup()
            guard network.password != nil else { throw Obstacle("\(network.name) has no password") }
            let wrong = CheckNetwork(ssid: network.ssid, password: check.freshPassword())
            let accepted = try await check.command(check.entry(wrong), on: wire)
            let journey = try await check.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .rolledBack)
            try expect("the reason", journey.outcome.reason, is: ReasonCode(.wrongKey))
            try await check.waitUntilOnline(in: try home.name, on: nil)
        },
        to("joinOnce", "a network that is joined once is not stored", touchesBackups: true) { check in
            try check.needsFeature("joinOnce")
            let (network, home, wire, position) = try await check.switchSetup()
            try await check.remove(network, on: wire)
            let entry = check.entry(network.asCheckNetwork).with(["joinOnce": true])
            let accepted = try await check.command(entry, on: wire)
            let journey = try await check.follow(accepted, on: wire, stream: position.stream, to: network)
            try expect("the outcome", journey.outcome.phase, is: .committed)
            try await check.waitUntilOnline(in: network.ssid, on: network)
            try await check.goHome(to: home)
            let hash = NetworkHash(
                localKey: try check.key().localKey, ssid: network.ssid, password: network.password)
            try await check.open().ask(.switchNetwork, ["hash": .text(hash.base64)]).expectRefusal(.unknownNetwork)
        },
    ]

    static let accessPoints = [
        Check("accessPoints.gone", "a network whose access point is off is notFound", section: "switch.get") { check in
            let (network, home, wire, position) = try await check.switchSetup()
            try await check.withAccessPoint(network, on: false) {
                let accepted = try await check.command(
                    check.entry(network.asCheckNetwork), on: wire)
                let journey = try await check.follow(accepted, on: wire, stream: position.stream, to: nil)
                try expect("the outcome", journey.outcome.phase, is: .rolledBack)
                try expect("the reason", journey.outcome.reason, is: ReasonCode(.notFound))
                try await check.waitUntilOnline(in: try home.name, on: nil)
            }
        },
        Check(
            "accessPoints.failover", "a device that loses its access point joins a stored network",
            section: "history.get",
            touchesBackups: true
        ) { check in
            let (network, home, wire, position) = try await check.switchSetup()
            guard let own = check.bench.network(try home.name) else {
                throw Obstacle("needs the network that the device is in among --networks")
            }
            _ = try await check.store(network, on: wire)
            try await check.withAccessPoint(own, on: false) {
                try await check.waitUntilOnline(in: network.ssid, on: network)
                let listener = try await check.open()
                try await listener.subscribe(since: position.seq, stream: position.stream)
                _ = try await listener.event("the decision to join \(network.name)") { event in
                    if case .decision(let decision) = event.body {
                        decision.to?.ssid == network.ssid ? true : nil
                    } else {
                        nil
                    }
                }
            }
            try await check.goHome(to: home)
        },
    ]
}

extension CheckRun {
    typealias SwitchSetup = (network: BenchNetwork, home: NetworkStatus, wire: Wire, position: Subscribed)

    /// Returns a network to switch to, the current status, and a subscribed connection with its position.
    fileprivate func switchSetup() async throws -> SwitchSetup {
        let wire = try await open()
        let position = try await wire.subscribe()
        let home = try await online(wire)
        guard home.hash != nil else { throw Obstacle("the device has not stored its current network") }
        let others = bench.networks.filter { $0.ssid != home.ssid }
        // Prefer a network outside the device's list, because a switch to it leaves no trace.
        let stored = Set(baseline.backups.networks.map(\.ssid))
        guard let network = others.first(where: { !stored.contains($0.ssid) }) ?? others.first else {
            throw Obstacle("needs another network in --networks")
        }
        return (network, home, wire, position)
    }

    /// Stores a network unless it is already in the list.
    fileprivate func store(_ network: BenchNetwork, on wire: Wire) async throws -> NetworkHash {
        if let stored = baseline.backups.networks.first(where: { $0.ssid == network.ssid }) { return stored.hash }
        guard let stored = try await update([network.asCheckNetwork], on: wire).networks.last else {
            throw Deviation("the stored network", got: "an empty list")
        }
        return stored.hash
    }

    /// Removes a network from the list during the check.
    fileprivate func remove(_ network: BenchNetwork, on wire: Wire) async throws {
        guard let others = try entries(without: network) else { return }
        let after: BackupList = try await wire.get(.updateBackups, .networks(others))
        try expect("\(network.name) in the list", after.networks.contains { $0.ssid == network.ssid }, is: false)
    }

    /// Returns the device's list without a network; nil if the network is not stored.
    ///
    /// This function is not inlined: within `remove` it crashes the optimiser (Swift 6.3.1, LLVM's CoroSplit).
    @inline(never)
    private func entries(without network: BenchNetwork) throws(Obstacle) -> [JSONValue]? {
        guard let stored = baseline.backups.networks.first(where: { $0.ssid == network.ssid }) else { return nil }
        guard isDestructive || baseline.passwordKnown(of: stored.hash) != nil else {
            throw Obstacle("\(network.name) is stored, and could not be stored again: give its password and --key-file")
        }
        return baseline.backups.networks.filter { $0.ssid != network.ssid }.map { ["hash": .text($0.hash.base64)] }
    }

    /// Sends the device back to its earlier network. Tries up to three times, because lost frames must not fail the
    /// check.
    func goHome(to home: NetworkStatus) async throws {
        guard let hash = home.hash else { return }
        var outcome = SwitchPhase.committed
        for _ in 1...3 {
            let wire = try await open()
            let now: NetworkStatus = try await wire.get(.getNetwork)
            guard now.ssid != home.ssid else { return }
            let position = try await wire.subscribe()
            let answer = try await wire.ask(.switchNetwork, ["hash": .text(hash.base64)])
            // The device has already returned.
            if answer.code == .alreadyAssociated {
                outcome = .committed
                break
            }
            let accepted: SwitchStatus = try answer.body(of: .switchNetwork)
            outcome = try await follow(accepted, on: wire, stream: position.stream, to: nil).outcome.phase
            if outcome == .committed { break }
        }
        try expect("the outcome of the switch back", outcome, is: .committed)
        try await waitUntilOnline(in: try home.name, on: nil)
    }

    fileprivate func withAccessPoint(
        _ network: BenchNetwork, on isOn: Bool, _ body: () async throws -> Void
    ) async throws {
        guard let accessPoints = bench.accessPoints, try await accessPoints.names().contains(network.name) else {
            throw Obstacle("needs --hook for the access point \(network.name)")
        }
        transcript.remark("\(network.name) is turned \(isOn ? "on" : "off")")
        try await accessPoints.turn(network.name, on: isOn)
        do {
            try await body()
        } catch {
            try await accessPoints.turn(network.name, on: !isOn)
            throw error
        }
        transcript.remark("\(network.name) is turned \(isOn ? "off" : "on")")
        try await accessPoints.turn(network.name, on: !isOn)
    }
}

extension BenchNetwork {
    fileprivate var asCheckNetwork: CheckNetwork {
        CheckNetwork(ssid: ssid, password: password?.withBytes { String(decoding: $0, as: UTF8.self) })
    }
}
