import AgentModel

// Adds networks to the world when a `RealTimeDevice` learns them from apps.
extension SimulatedDevice {
    mutating func learn(_ request: JoinRequest) {
        let password = request.credential.simulated
        guard let network = world.network(named: request.ssid) else {
            return learn(Scenario.Network(ssid: request.ssid, password: password))
        }
        guard world.password(of: network) != password else { return }
        let change = Scenario.Change.newPassword(network: request.ssid, password)
        // The agent already knows the password, so do not report it.
        meet(world.changed(by: [change], at: now).world, coming: 0)
    }

    /// Adds a network. A network without access points replaces an earlier network without access points.
    private mutating func learn(_ network: Scenario.Network) {
        var networks = world.scenario.networks
        let names = Set(world.scenario.accessPoints.map(\.ssid))
        if !names.contains(network.ssid), let place = networks.firstIndex(where: { !names.contains($0.ssid) }) {
            networks[place] = network
        } else {
            networks.append(network)
        }
        meet(world.knowing(networks), coming: 0)
    }
}

extension World {
    /// Returns the device's current password of a network; nil for an open network.
    fileprivate func password(of network: Int) -> String? {
        let known = scenario.networks[network]
        for case .newPassword(known.ssid, let password) in scenario.happenings.reversed().map(\.change) {
            return password
        }
        return known.password
    }
}

extension JoinRequest.Credential {
    /// Password as in a scenario; empty for enterprise authentication, which scenarios do not support.
    fileprivate var simulated: String? {
        switch self {
        case .none: nil
        case .passphrase(let password, _): password.withBytes { String(decoding: $0, as: UTF8.self) }
        case .enterprise: ""
        }
    }
}
