import AgentModel
import Linux

/// Runs an access point on an interface's wpa_supplicant: WPA2, and WPA3 if the radio supports it; never an open
/// network. Connects as soon as the control socket exists. The network is stored only in wpa_supplicant's memory.
/// Reports the loss of wpa_supplicant or of the access point, and does not retry.
@AgentLoop
public final class AccessPointSupplicant {
    public struct Configuration: Sendable {
        public var ssid: SSID
        public var passphrase: Secret
        /// Key of 256 bits that WPA2 derives from passphrase and SSID.
        public var psk: Secret
        public var frequency: Frequency
        /// True to offer SAE and management frame protection. Access point firmware may support neither: it writes the
        /// beacons, which must match the handshake.
        public var offersWPA3: Bool

        public init(ssid: SSID, passphrase: Secret, psk: Secret, frequency: Frequency, offersWPA3: Bool) {
            (self.ssid, self.passphrase, self.psk) = (ssid, passphrase, psk)
            (self.frequency, self.offersWPA3) = (frequency, offersWPA3)
        }
    }

    public enum Event: Sendable, Equatable {
        case opened
        /// The access point has failed or ended. The text is safe to print.
        case ended(String)
        /// Number of authenticated stations.
        case stations(Int)
    }

    private let connection: ControlConnection
    private let configuration: Configuration
    private let onEvent: @AgentLoop @Sendable (Event) -> Void
    private var deadline: LoopTimer?
    private var isOpen = false
    private var hasEnded = false
    private var stations: Set<HardwareAddress> = []
    /// Maximum number of associations of an access point (IEEE 802.11-2020, 9.4.1.8).
    private static let mostStations = 2007

    /// Limits with short pauses between attempts, because a user is waiting.
    private static let timing = ControlConnection.Timing(
        requestLimit: .seconds(2), retry: BackOff(first: .milliseconds(2), last: .milliseconds(200)))

    /// - Parameters:
    ///   - controlSocket: control socket of the interface; may appear later.
    ///   - replyDirectory: see ``Supplicant``.
    ///   - limit: maximum time until the access point is open.
    ///   - onEvent: called on the loop, never from within a call to this object; not after ``close()`` has started.
    public init(
        controlSocket: String, replyDirectory: String?, _ configuration: Configuration, within limit: Duration,
        onEvent: @escaping @AgentLoop @Sendable (Event) -> Void
    ) {
        connection = ControlConnection(path: controlSocket, replyDirectory: replyDirectory, timing: Self.timing)
        (self.configuration, self.onEvent) = (configuration, onEvent)
        deadline = LoopTimer(after: limit) { [weak self] in
            guard let self else { return }
            let isReached = connection.channel != nil
            end(isReached ? "wpa_supplicant did not open it" : "wpa_supplicant is not running on its interface")
        }
        connection.start { [weak self] in self?.handle($0) }
    }

    isolated deinit { letGo() }

    /// Ends the access point with a notice to its stations, and disconnects from wpa_supplicant.
    public func close() async {
        hasEnded = true
        if let channel = connection.channel, channel.isOpen { try? await channel.forgetNetworks() }
        letGo()
    }

    private func letGo() {
        hasEnded = true
        connection.stop()
        deadline = nil
    }

    private func end(_ problem: String) {
        guard !hasEnded else { return }
        letGo()
        onEvent(.ended(problem))
    }

    private func handle(_ event: ControlConnection.Event) {
        switch event {
        case .opened(let channel) where !isOpen: Task { await open(channel) }
        // A restarted wpa_supplicant does not keep the access point open.
        case .opened, .otherProcess, .lost: if isOpen { end("wpa_supplicant has ended") }
        case .received(let event, let line): handle(event, line)
        case .fileChanged: break
        }
    }

    private func open(_ channel: ControlChannel) async {
        do throws(SupplicantError) {
            try await channel.ask(.attach)
            try await channel.forgetNetworks()
            // Disables scans, which access point mode does not need.
            try await channel.ask(ControlCommand("AP_SCAN 2"))
            try await channel.askLeniently(ControlCommand("SET sae_pwe 2"))
            // Prevents traffic between stations.
            try await channel.askLeniently(ControlCommand("SET ap_isolate 1"))
            let number = try await channel.addNetwork()
            for setting in configuration.settings {
                try await channel.ask(ControlCommand(network: number, setting))
            }
            try await channel.ask(.selectNetwork(number))
        } catch {
            guard connection.channel === channel, channel.isOpen else { return }
            end("\(error)")
        }
    }

    private func handle(_ event: ControlEvent, _ line: Substring) {
        guard !hasEnded else { return }
        switch event {
        case .accessPointEnabled:
            guard !isOpen else { return }
            isOpen = true
            deadline = nil
            onEvent(.opened)
        case .accessPointDisabled: if isOpen { end("wpa_supplicant has closed it") }
        case .accessPointFailed: end("wpa_supplicant: \(PrintableLine.of(line))")
        case .stationJoined(let station):
            guard stations.count < Self.mostStations, stations.insert(station).inserted else { break }
            onEvent(.stations(stations.count))
        case .stationLeft(let station):
            if stations.remove(station) != nil { onEvent(.stations(stations.count)) }
        default: break
        }
    }
}

extension AccessPointSupplicant.Configuration {
    /// Variables of the `network` block, in the order to set them.
    var settings: [NetworkBlock.Setting] {
        func plain(_ name: String, _ value: String) -> NetworkBlock.Setting {
            NetworkBlock.Setting(name: name, value: .plain(value))
        }
        var settings = [
            plain("ssid", ssid.hex), plain("mode", "2"), plain("frequency", "\(frequency.megahertz)"),
            plain("key_mgmt", offersWPA3 ? "WPA-PSK SAE" : "WPA-PSK"), plain("proto", "RSN"), plain("pairwise", "CCMP"),
            plain("group", "CCMP"),
            // 1 makes management frame protection optional.
            plain("ieee80211w", offersWPA3 ? "1" : "0"),
            // Disables joins by WPS button or PIN.
            plain("wps_disabled", "1"),
            NetworkBlock.Setting(name: "psk", value: .secret(psk)),
        ]
        if offersWPA3 { settings.append(NetworkBlock.Setting(name: "sae_password", value: .secret(passphrase))) }
        return settings
    }
}
