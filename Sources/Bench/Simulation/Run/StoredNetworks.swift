import AgentCore
import AgentModel
import KeyFile

extension StoredState {
    /// Creates the state of a device that has already used the scenario's networks. It knows their last frequencies and
    /// verified access points. All networks are backups, and the preferred network is selected.
    /// - Parameter derive: derives a network's key. Simulated joins do not use the key.
    init(of world: World, derive: (Secret, SSID) -> Secret = StoredNetwork.noKey) {
        let scenario = world.scenario
        let networks = scenario.networks.map { StoredNetwork($0, derive: derive) }
        self.init(chosen: zip(scenario.networks, networks).first { $0.0.isPreferred }?.1, backups: networks)
        for (index, network) in scenario.networks.enumerated() {
            var known = NetworkStatistics()
            known.lastFrequency = scenario.accessPoints.first { $0.ssid == network.ssid }?.frequency
            if network.password != nil { known.verifiedAccessPoints = world.openedAtBeginning(of: index) }
            statistics[network.ssid] = known
        }
    }

    /// Whether passwords or the preferred network differ from the scenario's start.
    func hasChanged(since world: World) -> Bool {
        let first = StoredState(of: world)
        return backups.map(\.credential) != first.backups.map(\.credential)
            || preferred?.ssid != first.preferred?.ssid
    }

    /// Returns the state with the scenario's initial networks. Keeps the statistics of unchanged networks.
    func reset(to world: World) -> StoredState {
        let first = StoredState(of: world)
        var new = self
        (new.home, new.chosen, new.backups) = (first.home, first.chosen, first.backups)
        new.pendingSwitch = nil
        for network in new.backups where !holds(network) { new.forgetExperience(with: network.ssid) }
        return new
    }

    func update(telling password: String?, of ssid: SSID, localKey: Secret) -> PreparedUpdate {
        let entries = backups.map { network -> PreparedUpdate.Entry in
            guard network.ssid == ssid else { return .stored(network.hash(localKey: localKey)) }
            return .new(StoredNetwork(ssid: ssid, password: password, isHidden: network.isHidden))
        }
        return PreparedUpdate(entries: entries, ifRevision: nil)
    }

    /// Stores the frequency on which a network was last seen or joined.
    mutating func recordFrequency(_ frequency: Frequency, of ssid: SSID) { statistics[ssid]?.lastFrequency = frequency }

    mutating func opened(_ bssid: BSSID, of ssid: SSID) {
        guard backups.contains(where: { $0.ssid == ssid && $0.credential != .none }) else { return }
        let others = statistics[ssid]?.verifiedAccessPoints.filter { $0 != bssid } ?? []
        statistics[ssid]?.verifiedAccessPoints = Array(
            ([bssid] + others).prefix(NetworkStatistics.maximumAccessPoints))
    }
}

extension StoredNetwork {
    /// Stands for a derived key of a simulated network.
    static func noKey(_ password: Secret, _ ssid: SSID) -> Secret { Secret(repeatElement(0, count: 32)) }

    /// Whether the network has this password; nil for none.
    func hasPassword(_ password: String?) -> Bool {
        guard case .passphrase(let own, _) = credential else { return password == nil }
        return own == password.map { Secret(text: $0) }
    }

    fileprivate init(_ network: Scenario.Network, derive: (Secret, SSID) -> Secret) {
        self.init(ssid: network.ssid, password: network.password, isHidden: network.isHidden, derive: derive)
    }

    fileprivate init(
        ssid: SSID, password: String?, isHidden: Bool, derive: (Secret, SSID) -> Secret = StoredNetwork.noKey
    ) {
        let password = password.map { Secret(text: $0) }
        self.init(
            ssid: ssid, credential: password.map { .passphrase($0, psk: derive($0, ssid)) } ?? .none,
            security: password == nil ? .open : .wpa2, isHidden: isHidden)
    }
}

extension World {
    /// Returns the access points of a network that are on at the start and accept its password. Returns at most as many
    /// as the key file stores.
    fileprivate func openedAtBeginning(of network: Int) -> [BSSID] {
        let opened = tracks.indices.filter { index in
            let state = span(of: index, at: 0).state
            return tracks[index].network == network && state.isOn && state.admission == .admitted
        }
        return opened.prefix(NetworkStatistics.maximumAccessPoints).map { tracks[$0].bssid }
    }

    func network(named ssid: SSID) -> Int? { scenario.networks.firstIndex { $0.ssid == ssid } }
}
