import AgentCore
import AgentModel
import Connectivity
import Linux
import Netlink
import Supplicant

@AgentLoop
final class Station {
    nonisolated let id: StationID
    nonisolated let controlSocket: String
    let radio: WirelessRadio
    let supplicant: Supplicant
    let network: InterfaceNetwork
    /// Addresses of the station; nil if another program obtains them.
    let addresses: StationAddresses?
    /// Number of joins and leaves so far. A delayed order is skipped if the number has changed.
    var linkOrders: UInt64 = 0
    /// Timer after a join without a check of the certificate's dates. Runs until the device knows the time.
    var certificateTimes: LoopTimer?
    /// Number of signal watches so far, to recognise the latest.
    var signalWatches: UInt64 = 0

    /// Last network that the station was sent to or found in.
    var ssid: SSID?
    /// Watcher that sets power save by traffic; nil unless the settings require it.
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
