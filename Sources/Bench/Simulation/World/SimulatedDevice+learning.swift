import AgentModel

// What a device in a scenario joins is told beforehand. One that apps talk to learns it as they tell it.
extension SimulatedDevice {
    /// wpa_supplicant is given this network: from now on the device knows it, under this password.
    mutating func learn(_ request: JoinRequest) {
        let password = request.credential.simulated
        guard let network = world.network(named: request.ssid) else {
            return learn(Scenario.Network(ssid: request.ssid, password: password))
        }
        guard world.password(of: network) != password else { return }
        let change = Scenario.Change.newPassword(network: request.ssid, password)
        // The agent knows it: what was told does not happen again.
        meet(world.changed(by: [change], at: now).world, coming: 0)
    }

    /// A network that no access point has takes the place of another such one, of which nothing is left.
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
    /// What the device takes for a network's password now; nil for an open one.
    fileprivate func password(of network: Int) -> String? {
        let known = scenario.networks[network]
        for case .newPassword(known.ssid, let password) in scenario.happenings.reversed().map(\.change) {
            return password
        }
        return known.password
    }
}

extension JoinRequest.Credential {
    /// As access points of scenarios have passwords. No such access point takes a user's name.
    fileprivate var simulated: String? {
        switch self {
        case .none: nil
        case .passphrase(let password, _): password.withBytes { String(decoding: $0, as: UTF8.self) }
        case .enterprise: ""
        }
    }
}
