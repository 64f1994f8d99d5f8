import AgentCore
import AgentModel
import Connectivity
import Linux
import Netlink
import Supplicant

/// One of the device's station interfaces, with its radio, its wpa_supplicant and its network.
@AgentLoop
final class Station {
    nonisolated let id: StationID
    /// The control socket of its wpa_supplicant.
    nonisolated let controlSocket: String
    let radio: WirelessRadio
    let supplicant: Supplicant
    let network: InterfaceNetwork
    /// Nil where another program gets the addresses.
    let addresses: StationAddresses?
    /// Counts joins and leaves: one that had to wait is not done any more after the next.
    var linkOrders: UInt64 = 0
    /// Waits for the time to be known, while the link's server has shown a certificate whose times did not count.
    var certificateTimes: LoopTimer?
    /// Counts the watches over the signal, to know the last one by.
    var signalWatches: UInt64 = 0

    /// The network that it was sent to last, or was found in.
    var ssid: SSID?
    /// Lets the radio sleep by the traffic, where that is wanted.
    var powerSave: PowerSaveWatcher?

    nonisolated var interface: String { id.interface }

    init(
        _ settings: AgentSettings, interface: String, radio: WirelessRadio, network: InterfaceNetwork,
        addresses: StationAddresses?,
        onEvent: @escaping @AgentLoop @Sendable (SupplicantEvent) -> Void
    ) {
        id = StationID(interface)
        self.radio = radio
        self.network = network
        self.addresses = addresses
        controlSocket = settings.controlSocket(of: interface)
        supplicant = Supplicant(
            controlSocket: controlSocket, replyDirectory: settings.socketFolder,
            timing: .init(settings.policy), country: settings.country, onEvent: onEvent)
    }
}
