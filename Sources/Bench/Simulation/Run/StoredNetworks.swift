import AgentCore
import AgentModel
import KeyFile

// What a simulated device has in its key file.
extension StoredState {
    /// The device has a life before the scenario: it remembers where each network was, and was in what is there at the
    /// beginning. All its networks are in its list; the one that it belongs in it was once sent to.
    /// - Parameter derive: a network's key. Nothing joins with it in a simulation.
    init(of world: World, derive: (Secret, SSID) -> Secret = { _, _ in Secret([0]) }) {
        let scenario = world.scenario
        let networks = scenario.networks.map { StoredNetwork($0, derive: derive) }
        self.init(chosen: zip(scenario.networks, networks).first { $0.0.isPreferred }?.1, backups: networks)
        for (index, network) in scenario.networks.enumerated() {
            var known = NetworkStatistics()
            known.lastFrequency = scenario.accessPoints.first { $0.ssid == network.ssid }?.frequency
            if network.password != nil { known.provenAccessPoints = world.openedAtBeginning(of: index) }
            statistics[network.ssid] = known
        }
    }

    /// Whether networks or the preferred network are others than as the scenario begins.
    func hasChanged(since world: World) -> Bool {
        let first = StoredState(of: world)
        return backups.map(\.credential) != first.backups.map(\.credential)
            || preferred?.ssid != first.preferred?.ssid
    }

    /// Networks and preferred network as the scenario begins, with what was learnt of those that are as they were.
    func reset(to world: World) -> StoredState {
        let first = StoredState(of: world)
        var new = self
        (new.home, new.chosen, new.backups) = (first.home, first.chosen, first.backups)
        new.pendingSwitch = nil
        for network in new.backups where !holds(network) { new.forgetExperience(with: network.ssid) }
        return new
    }

    /// The list that the app sends to tell the device a network's password.
    func update(telling password: String?, of ssid: SSID, localKey: Secret) -> PreparedUpdate {
        let entries = backups.map { network -> PreparedUpdate.Entry in
            guard network.ssid == ssid else { return .stored(network.hash(localKey: localKey)) }
            return .new(StoredNetwork(ssid: ssid, password: password, isHidden: network.isHidden))
        }
        return PreparedUpdate(entries: entries, ifRevision: nil)
    }

    /// An access point of a network was seen, or joined, on this frequency.
    mutating func note(_ frequency: Frequency, of ssid: SSID) { statistics[ssid]?.lastFrequency = frequency }

    /// The network's password has opened an access point.
    mutating func opened(_ bssid: BSSID, of ssid: SSID) {
        guard backups.contains(where: { $0.ssid == ssid && $0.credential != .none }) else { return }
        let others = statistics[ssid]?.provenAccessPoints.filter { $0 != bssid } ?? []
        statistics[ssid]?.provenAccessPoints = Array(
            ([bssid] + others).prefix(NetworkStatistics.maximumAccessPoints))
    }
}

extension StoredNetwork {
    fileprivate init(_ network: Scenario.Network, derive: (Secret, SSID) -> Secret) {
        self.init(ssid: network.ssid, password: network.password, isHidden: network.isHidden, derive: derive)
    }

    fileprivate init(
        ssid: SSID, password: String?, isHidden: Bool, derive: (Secret, SSID) -> Secret = { _, _ in Secret([0]) }
    ) {
        let password = password.map { Secret(text: $0) }
        self.init(
            ssid: ssid, credential: password.map { .passphrase($0, psk: derive($0, ssid)) } ?? .none,
            security: password == nil ? .open : .wpa2, isHidden: isHidden)
    }
}

extension World {
    /// The access points of a network that are on at the beginning and take its password, as many as the key file
    /// keeps.
    fileprivate func openedAtBeginning(of network: Int) -> [BSSID] {
        let opened = tracks.indices.filter { index in
            let state = span(of: index, at: 0).state
            return tracks[index].network == network && state.isOn && state.admission == .admitted
        }
        return opened.prefix(NetworkStatistics.maximumAccessPoints).map { tracks[$0].bssid }
    }

    /// Index in the scenario's networks.
    func network(named ssid: SSID) -> Int? { scenario.networks.firstIndex { $0.ssid == ssid } }
}
