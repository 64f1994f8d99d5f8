import AgentModel
import Failover

// Wi-Fi Easy Connect: a device without a network listens for a configurator that has read its code.
extension AgentCore {
    /// Listens where there is nothing else to do: no network is stored, none is being joined, and no switch is under way.
    mutating func reviewConfigurator() {
        let isWanted =
            settings.listensForConfigurator && state.namedNetworks.isEmpty && policy.phase == .offline
            && current.isSupplicantAvailable && switches.ledger.current == nil
        guard isWanted != notes.isListening else { return }
        notes.isListening = isWanted
        order(.listenForConfigurator(inUse, isWanted))
    }

    /// wpa_supplicant listens no more: it has given a network, or the conversation has failed.
    mutating func configuratorLeft() {
        notes.isListening = false
        reviewConfigurator()
    }
}
