import AgentModel
import AppProtocol
import JSONValues

// The way back to what the device was.
extension CheckRun {
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
                    entry(
                        CheckNetwork(ssid: network.ssid, password: password, isHidden: network.isHidden)))
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

    /// The connection that is there, if it still works, or one wherever the device answers, tried for as long as a
    /// switch may take.
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

/// The device as the harness found it, to which every check brings it back.
struct Baseline: Sendable {
    let capabilities: Capabilities
    private(set) var backups: BackupList
    let network: NetworkStatus
    /// Networks whose passwords are known, so that they can be stored again, by their hash.
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

    /// Networks that cannot be stored again if the device loses them.
    var irreplaceable: [BackupNetwork] { backups.networks.filter { known[$0.hash] == nil } }

    /// The entries that stay in the list while others are tried.
    /// - Parameters:
    ///   - room: how many others there have to be place for.
    ///   - mayLose: whether entries that cannot be stored again may go, too.
    /// - Returns: nil where there is no place.
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

    /// The same device without the entries that were lost, as it was said that they may be.
    func without(lostFrom list: BackupList) -> Baseline {
        var baseline = self
        baseline.backups = list
        return baseline
    }

    func passwordKnown(of hash: NetworkHash) -> BenchNetwork? { known[hash] }

    /// Whether the list is as it was: the same networks with the same passwords in the same order.
    func isKept(in list: BackupList) -> Bool {
        list.networks.map(\.identity) == backups.networks.map(\.identity)
    }
}

extension BackupNetwork {
    fileprivate var identity: [String] { [hash.base64, "\(isHidden)", "\(ssid)"] }
}
