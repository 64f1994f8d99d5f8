import AgentModel
import KeyFile

/// The store that is measured: with its root key in a file beside it, and no anchor.
final class AltnetStore: Contestant {
    private let keyFile: KeyFile
    private var state: StoredState

    var networkCount: Int? { state.backups.count + (state.home == nil ? 0 : 1) }

    init(directory: String) throws {
        keyFile = try KeyFile.open(
            path: directory + "/keyfile", maximumBackups: KeyFile.allowedMaximum.upperBound,
            rootKey: RootKeyFile(path: directory + "/root-key"), anchor: nil)
        guard keyFile.report.isEmpty else { throw BenchmarkError("\(keyFile.report)") }
        state = keyFile.state
    }

    func setUp(_ networks: [Network]) throws {
        state.home = try StoredNetwork(networks[0])
        state.current = state.home
        try replaceBackups(by: networks.dropFirst())
        try keyFile.commit(state)
    }

    func make(_ change: Change) throws {
        switch change {
        case .password(let index, let passphrase, let psk):
            state.backups[index - 1].credential = .passphrase(Secret(text: passphrase), psk: Secret(psk))
        case .list(let backups): try replaceBackups(by: backups[...])
        case .statistics(let index, let lastSeen, let lastSignal):
            let ssid = state.backups[index - 1].ssid
            state.statistics[ssid]?.lastSeen = lastSeen
            state.statistics[ssid]?.lastSignal = lastSignal
        }
        try keyFile.commit(state)
    }

    private func replaceBackups(by networks: ArraySlice<Network>) throws {
        for backup in state.backups { state.statistics[backup.ssid] = nil }
        state.backups = try networks.map(StoredNetwork.init)
        state.backupsRevision += 1
        for network in networks {
            state.statistics[try SSID(network.ssid)] = NetworkStatistics(
                lastSeen: network.lastSeen, lastSignal: network.lastSignal, lastFrequency: Frequency(megahertz: 2437))
        }
    }
}

extension StoredNetwork {
    fileprivate init(_ network: Network) throws {
        self.init(
            ssid: try SSID(network.ssid),
            credential: .passphrase(Secret(text: network.passphrase), psk: Secret(network.psk)), security: .wpa2wpa3)
    }
}
