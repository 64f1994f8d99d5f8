import AgentModel
import AppProtocol
import JSONValues

extension CheckRun {
    /// Restores the device's network and its list of networks.
    /// - Parameter baseline: state before the check.
    /// - Returns: the new baseline. A destructive run may lose entries of the list.
    /// - Throws: `Deviation` if the device cannot be restored.
    func restore(to baseline: Baseline) async throws -> Baseline {
        try await restoreNetwork()
        let wire = try await openPatiently()
        let now: BackupList = try await wire.get(.getBackups)
        guard !baseline.isKept(in: now) else { return baseline }
        let wanted = try await entries(of: baseline, over: now)
        let body = JSONValue.networks(wanted).with(["ifRevision": .integer(now.revision)])
        let after: BackupList = try await wire.get(.updateBackups, body)
        if baseline.isKept(in: after) { return baseline }
        if isDestructive { return baseline.without(lostFrom: after) }
        let names = baseline.backups.networks.filter { lost in !after.networks.contains { $0.hash == lost.hash } }
        throw Deviation("the earlier list", got: "one without \(names.map(\.ssid.description))")
    }

    /// Returns entries that restore the earlier list: by hash if the device still has the network, else by password.
    private func entries(of baseline: Baseline, over now: BackupList) async throws -> [JSONValue] {
        var entries: [JSONValue] = []
        for network in baseline.backups.networks {
            let isThere = now.networks.contains { $0.hash == network.hash && $0.isHidden == network.isHidden }
            if !isThere, let known = baseline.passwordKnown(of: network.hash) {
                let password = known.password?.withBytes { String(decoding: $0, as: UTF8.self) }
                entries.append(
                    entry(
                        CheckNetwork(ssid: network.ssid, password: password, isHidden: network.isHidden)))
            } else if isThere || !isDestructive {
                entries.append(["hash": .text(network.hash.base64)])
            }
        }
        return entries
    }

    /// Waits for running switches. Then sends the device back to its earlier network.
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

    /// Returns the newest connection if it works, else a new connection to any of the device's addresses. Retries for
    /// `target.switchTime`.
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
                // The device may still be busy: it serves new connections only after it has noticed the end of others.
                if let answer = try? await wire.ask(.getCapabilities), answer.code == nil { return wire }
                await closeConnections()
            }
            guard .now < deadline else { throw Deviation("a device that answers", got: "none") }
            await pause(.milliseconds(200))
        }
    }
}

/// State of the device before the checks, to which each check must return.
struct Baseline: Sendable {
    let capabilities: Capabilities
    private(set) var backups: BackupList
    let network: NetworkStatus
    /// Networks with known passwords, by hash. The harness can store them again.
    private let known: [NetworkHash: BenchNetwork]

    init(capabilities: Capabilities, backups: BackupList, network: NetworkStatus, bench: Bench, key: DeviceKey?) {
        self.capabilities = capabilities
        self.backups = backups
        self.network = network
        var known: [NetworkHash: BenchNetwork] = [:]
        for network in bench.networks {
            guard let key else { break }
            known[NetworkHash(localKey: key.localKey, ssid: network.ssid, password: network.password)] = network
        }
        self.known = known
    }

    var irreplaceable: [BackupNetwork] { backups.networks.filter { known[$0.hash] == nil } }

    /// Returns the entries to keep while a check adds others.
    /// - Parameters:
    ///   - room: required number of free entries.
    ///   - mayLose: whether to drop entries that cannot be stored again.
    /// - Returns: nil if there is not enough space.
    func kept(leaving room: Int, mayLose: Bool) -> [BackupNetwork]? {
        let surplus = backups.networks.count + room - backups.max
        guard surplus > 0 else { return backups.networks }
        guard room <= backups.max else { return nil }
        var kept = backups.networks
        for network in backups.networks.reversed() where kept.count + room > backups.max {
            if mayLose || known[network.hash] != nil { kept.removeAll { $0.hash == network.hash } }
        }
        return kept.count + room > backups.max ? nil : kept
    }

    /// Returns the baseline for a list that has lost entries with the user's permission.
    func without(lostFrom list: BackupList) -> Baseline {
        var baseline = self
        baseline.backups = list
        return baseline
    }

    func passwordKnown(of hash: NetworkHash) -> BenchNetwork? { known[hash] }

    /// Whether the list has the earlier networks in order, with the same passwords.
    func isKept(in list: BackupList) -> Bool {
        list.networks.map(\.identity) == backups.networks.map(\.identity)
    }
}

extension BackupNetwork {
    fileprivate var identity: [String] { [hash.base64, "\(isHidden)", "\(ssid)"] }
}
