import AgentModel
import AppProtocol

// The way back to what the device was.
extension Trial {
    /// - Parameter baseline: what the device was before the check.
    /// - Returns: what the device is from here on: less than before where entries were lost that may be.
    /// - Throws: `Deviation` where the device is not what it was, and cannot be brought back.
    func restore(to baseline: Baseline) async throws -> Baseline {
        try await restoreNetwork()
        let wire = try await openPatiently()
        let now: BackupList = try await wire.get(.getBackups)
        guard !baseline.isKept(in: now) else { return baseline }
        let wanted = try await entries(of: baseline, over: now, on: wire)
        let body = JSONValue.networks(wanted).with(["ifRevision": .integer(now.revision)])
        let after: BackupList = try await wire.get(.updateBackups, body)
        if baseline.isKept(in: after) { return baseline }
        if isDestructive { return baseline.without(lostFrom: after) }
        let names = baseline.backups.networks.filter { lost in !after.networks.contains { $0.hash == lost.hash } }
        throw Deviation("the list that the device had before", got: "one without \(names.map(\.ssid.description))")
    }

    /// The entries of the list as it was: by their hashes where the device has them still, else with their passwords.
    private func entries(of baseline: Baseline, over now: BackupList, on wire: Wire) async throws -> [JSONValue] {
        var entries: [JSONValue] = []
        for network in baseline.backups.networks {
            let isThere = now.networks.contains { $0.hash == network.hash && $0.isHidden == network.isHidden }
            if !isThere, let known = baseline.passwordKnown(of: network.hash) {
                let password = known.password?.withBytes { String(decoding: $0, as: UTF8.self) }
                entries.append(
                    try await entry(
                        TrialNetwork(ssid: network.ssid, password: password, isHidden: network.isHidden), on: wire))
            } else if isThere || !isDestructive {
                entries.append(["hash": .text(network.hash.base64)])
            }
        }
        return entries
    }

    /// Sends the device back to the network in which it was found, once whatever runs has ended.
    private func restoreNetwork() async throws {
        guard let home = baseline.network.ssid, baseline.network.state == .online else { return }
        let deadline = ContinuousClock.now + target.switchTime
        while true {
            let status = try await whereItIs()
            if status.ssid == home, status.state == .online { return }
            if status.flags.contains(.canSwitch), status.ssid != home, status.state == .online {
                return try await goHome(to: baseline.network)
            }
            guard .now < deadline else { throw Deviation("the device back in \(home)", got: status.state.rawValue) }
            await pause(.seconds(1))
        }
    }

    private func whereItIs() async throws -> NetworkStatus {
        try await openPatiently().get(.getNetwork)
    }

    /// The connection that is there, if it still works, or one wherever the device answers, tried for as long as a switch
    /// may take.
    private func openPatiently() async throws -> Wire {
        if let wire = newestWire {
            if let answer = try? await wire.ask(.getCapabilities), answer.code == nil { return wire }
            await closeConnections()
        }
        let deadline = ContinuousClock.now + target.switchTime
        while true {
            for place in [nil] + bench.networks.filter({ $0.address != nil }) {
                follow(to: place)
                guard let wire = try? await open(handshake: nil, patience: .seconds(5)) else { continue }
                // One that is told busy, while the device notices that others have gone, is none.
                if let answer = try? await wire.ask(.getCapabilities), answer.code == nil { return wire }
                await closeConnections()
            }
            guard .now < deadline else { throw Deviation("a device that answers", got: "none") }
            await pause(.milliseconds(200))
        }
    }
}
