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
    /// Counts joins and leaves. A delayed order is skipped after the next one.
    var linkOrders: UInt64 = 0
    /// Timer that waits for the time, after a join without a check of the certificate's dates.
    var certificateTimes: LoopTimer?
    /// Counts signal watches, to identify the last one.
    var signalWatches: UInt64 = 0

    /// Last network that the station was sent to or found in.
    var ssid: SSID?
    /// Watcher that sets power save by traffic; nil unless configured.
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
