import AgentModel
import AppProtocol
import JSONValues

struct Journey: Sendable {
    /// All reported phases in order, including the outcome.
    let phases: [SwitchPhase]
    let outcome: SwitchStatus
    /// A subscribed connection that works at the end of the switch.
    let wire: Wire
}

extension CheckRun {
    /// Returns the status if the device is online over Wi-Fi and accepts a switch.
    func online(_ wire: Wire) async throws -> NetworkStatus {
        let status: NetworkStatus = try await wire.get(.getNetwork)
        guard status.state == .online, status.ssid != nil else { throw Obstacle("the device is not online over Wi-Fi") }
        guard status.flags.contains(.canSwitch) else {
            throw Obstacle("the device accepts no switch now: its flags are \(status.flags.rawValue)")
        }
        return status
    }

    func command(_ target: JSONValue, on wire: Wire) async throws -> SwitchStatus {
        let accepted: SwitchStatus = try await wire.get(.switchNetwork, target)
        try expect("the phase of the answer", accepted.phase, is: .accepted)
        return accepted
    }

    /// Follows a switch to its outcome or to `phase`. Reconnects if the connection breaks or stays silent for 3 s.
    /// - Parameters:
    ///   - wire: a subscribed connection.
    ///   - network: network to which the switch leads; nil if the device cannot join it.
    func follow(
        _ accepted: SwitchStatus, on wire: Wire, stream: String, to network: BenchNetwork?,
        until phase: SwitchPhase? = nil
    ) async throws -> Journey {
        let deadline = ContinuousClock.now + target.switchTime
        var wire = wire
        var phases: [SwitchPhase] = []
        while ContinuousClock.now < deadline {
            guard let event = try await wire.nextEvent(within: .seconds(3)) else {
                if let next = try await reopen(after: wire, stream: stream, on: network) {
                    // Close in the background: this takes seconds for a dead connection. Close at all, because the
                    // device limits connections.
                    Task { [wire] in await wire.close() }
                    wire = next
                }
                continue
            }
            var status = event.progress
            if event.gap != nil { status = try await wire.get(.getSwitch, ["switchId": .text(accepted.switchId)]) }
            guard let status, status.switchId == accepted.switchId else { continue }
            if status.phase != .accepted {
                try expect(
                    "a phase after \(phases.last?.rawValue ?? "accepted")", status.phase.follows(phases.last),
                    got: status.phase.rawValue)
                phases.append(status.phase)
            }
            if status.phase == phase || status.phase.isOutcome {
                return Journey(phases: phases, outcome: status, wire: wire)
            }
        }
        throw Deviation(
            "an outcome within \(target.switchTime)",
            got: "none; the last phase was \(phases.last?.rawValue ?? "accepted")")
    }

    /// Connects to the device at any of its addresses, and resumes the events.
    private func reopen(after wire: Wire, stream: String, on network: BenchNetwork?) async throws -> Wire? {
        for place in [network, nil] {
            follow(to: place)
            guard let next = try? await open(handshake: nil, patience: target.patienceWithOnePlace) else { continue }
            transcript.remark("connected again")
            do {
                try await next.subscribe(since: wire.lastSequence, stream: stream)
                return next
            } catch {
                await next.close()
            }
        }
        return nil
    }

    func waitUntilOnline(in ssid: SSID, on network: BenchNetwork?) async throws {
        let deadline = ContinuousClock.now + target.switchTime
        var last = "no answer"
        while ContinuousClock.now < deadline {
            for place in [network, nil] {
                follow(to: place)
                guard let wire = try? await open(handshake: nil, patience: target.patienceWithOnePlace) else {
                    continue
                }
                let status: NetworkStatus? = try? await wire.get(.getNetwork)
                // Close before the next attempt, because the device limits connections.
                await wire.close()
                guard let status else { continue }
                if status.state == .online, status.ssid == ssid { return }
                last = "\(status.state.rawValue) \(status.ssid?.description ?? "")"
            }
            await pause(.milliseconds(500))
        }
        throw Deviation("the device online in \(ssid) within \(target.switchTime)", got: last)
    }
}

extension SwitchPhase {
    /// Whether this phase can follow `phase`. Phases come in the documented order, each at most once.
    fileprivate func follows(_ phase: SwitchPhase?) -> Bool {
        guard let phase else { return true }
        guard let own = Self.allCases.firstIndex(of: self), let last = Self.allCases.firstIndex(of: phase) else {
            return false
        }
        return !phase.isOutcome && own > last
    }
}
