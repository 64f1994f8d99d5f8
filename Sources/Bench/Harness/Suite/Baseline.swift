import AgentModel
import AppProtocol

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

    /// Those that nobody could store again if the device lost them.
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
