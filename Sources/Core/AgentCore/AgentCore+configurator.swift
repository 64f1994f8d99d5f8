import Failover

// Wi-Fi Easy Connect: a device without a network listens for a configurator.
extension AgentCore {
    /// Listens for an Easy Connect configurator while no network is stored or being joined, and no switch is in
    /// progress.
    mutating func reviewConfigurator() {
        let isWanted =
            settings.listensForConfigurator && state.namedNetworks.isEmpty && policy.phase == .offline
            && current.isSupplicantAvailable && switches.ledger.current == nil
        guard isWanted != lastPublished.isListening else { return }
        lastPublished.isListening = isWanted
        emit(.listenForConfigurator(inUse, isWanted))
    }

    /// Handles the end of listening: wpa_supplicant received a network, or the exchange failed.
    mutating func configuratorLeft() {
        lastPublished.isListening = false
        reviewConfigurator()
    }
}
