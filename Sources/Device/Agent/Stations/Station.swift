import AgentModel
import Connectivity
import Failover
import Linux
import Netlink
import Supplicant

/// One of the device's station interfaces, with its radio, its wpa_supplicant and its network.
@AgentLoop
final class Station {
    nonisolated let interface: String
    /// Where its wpa_supplicant listens.
    nonisolated let controlSocket: String
    let radio: WirelessRadio
    let supplicant: Supplicant
    let network: InterfaceNetwork
    var gate = AddressGate()
    var isSupplicantAvailable = false
    /// How often wpa_supplicant was asked what it does: only the last answer counts.
    var supplicantQuestions: UInt64 = 0
    var supplicantRetry: LoopTimer?
    /// Counts joins and leaves: one that had to wait is not done any more after the next.
    var linkOrders: UInt64 = 0
    /// The network that the last link led to: joined again, its address still counts.
    var lastLinked: NetworkID?
    /// Whether its radio counts what tells a silent access point.
    var countsBeacons = true
    /// Whether its link was ended because the access point has fallen silent.
    var isSilent = false
    /// Which weaker ways in the network that it joined last has said are closed.
    var closedWays: TransitionDisable = []
    /// Until the link is left that was in use before.
    var grace: LoopTimer?

    init(
        _ settings: AgentSettings, interface: String, radio: WirelessRadio, network: InterfaceNetwork,
        onEvent: @escaping @AgentLoop @Sendable (SupplicantEvent) -> Void
    ) {
        self.interface = interface
        self.radio = radio
        self.network = network
        controlSocket = settings.controlSocket(of: interface)
        supplicant = Supplicant(
            controlSocket: controlSocket, replyDirectory: settings.socketFolder,
            timing: .init(settings.policy), country: settings.country, onEvent: onEvent)
    }
}
