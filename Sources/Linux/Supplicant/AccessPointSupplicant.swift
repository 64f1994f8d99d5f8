import AgentModel
import Linux

/// The running wpa_supplicant of one interface that is an access point: WPA2 and, where the radio can, WPA3, never open.
///
/// It is reached as soon as its control socket is there, and is told one network, which exists in its memory only. Where it
/// goes away, or the access point ends by itself, that is an event, and nothing is tried again here.
@AgentLoop
public final class AccessPointSupplicant {
    public struct Configuration: Sendable {
        public var ssid: SSID
        public var passphrase: Secret
        /// The 256-bit key that WPA2 derives from passphrase and SSID.
        public var psk: Secret
        public var frequency: Frequency
        /// Whether devices may come by SAE too, and have management frames protected. Firmware that does the work of an access
        /// point may know neither, and writes the beacons, which have to say the same as the handshake.
        public var offersWPA3: Bool

        public init(ssid: SSID, passphrase: Secret, psk: Secret, frequency: Frequency, offersWPA3: Bool) {
            (self.ssid, self.passphrase, self.psk) = (ssid, passphrase, psk)
            (self.frequency, self.offersWPA3) = (frequency, offersWPA3)
        }
    }

    public enum Event: Sendable, Equatable {
        /// It beacons.
        case opened
        /// It could not be opened, or has ended. The text says why, and is safe to print.
        case ended(String)
        /// So many devices are associated, with the right password.
        case stations(Int)
    }

    private let connection: ControlConnection
    private let configuration: Configuration
    private let onEvent: @AgentLoop @Sendable (Event) -> Void
    private var deadline: LoopTimer?
    private var isOpen = false
    private var hasEnded = false
    private var stations: Set<HardwareAddress> = []
    /// The most associations of one access point (IEEE 802.11-2020, 9.4.1.8).
    private static let mostStations = 2007

    /// It is tried often: a user waits for it.
    private static let timing = ControlConnection.Timing(
        requestLimit: .seconds(2), retry: BackOff(first: .milliseconds(2), last: .milliseconds(200)))

    /// - Parameters:
    ///   - controlSocket: the control socket of the interface. It needs not be there yet.
    ///   - replyDirectory: as of ``Supplicant``.
    ///   - limit: until it is open.
    ///   - onEvent: called on the loop, never from within a call to this object; not after ``close()`` has begun.
    public init(
        controlSocket: String, replyDirectory: String?, _ configuration: Configuration, within limit: Duration,
        onEvent: @escaping @AgentLoop @Sendable (Event) -> Void
    ) {
        connection = ControlConnection(path: controlSocket, replyDirectory: replyDirectory, timing: Self.timing)
        (self.configuration, self.onEvent) = (configuration, onEvent)
        deadline = LoopTimer(after: limit) { [weak self] in
            guard let self else { return }
            let isReached = connection.channel != nil
            end(isReached ? "wpa_supplicant does not open it" : "wpa_supplicant does not run on its interface")
        }
        connection.start { [weak self] in self?.observe($0) }
    }

    isolated deinit { letGo() }

    /// Ends the access point, so that its devices are told, and lets go of wpa_supplicant.
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

    private func observe(_ event: ControlConnection.Event) {
        switch event {
        case .opened(let channel) where !isOpen: Task { await open(channel) }
        // A wpa_supplicant that was away has closed it.
        case .opened, .otherProcess, .lost: if isOpen { end("wpa_supplicant has ended") }
        case .told(let event, let line): handle(event, line)
        case .fileChanged: break
        }
    }

    private func open(_ channel: ControlChannel) async {
        do throws(SupplicantError) {
            try await channel.ask(.attach)
            try await channel.forgetNetworks()
            // No scan: what it opens needs not be looked for.
            try await channel.ask(ControlCommand("AP_SCAN 2"))
            try await channel.askLeniently(ControlCommand("SET sae_pwe 2"))
            // Its devices have nothing to say to each other.
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
    /// The variables of its `network` block, in the order in which they are set.
    var settings: [NetworkBlock.Setting] {
        func plain(_ name: String, _ value: String) -> NetworkBlock.Setting {
            NetworkBlock.Setting(name: name, value: .plain(value))
        }
        var settings = [
            plain("ssid", ssid.hex), plain("mode", "2"), plain("frequency", "\(frequency.megahertz)"),
            plain("key_mgmt", offersWPA3 ? "WPA-PSK SAE" : "WPA-PSK"), plain("proto", "RSN"), plain("pairwise", "CCMP"),
            plain("group", "CCMP"),
            // Management frames are protected where the device can do it.
            plain("ieee80211w", offersWPA3 ? "1" : "0"),
            // No way in by a button or a PIN of eight digits.
            plain("wps_disabled", "1"),
            NetworkBlock.Setting(name: "psk", value: .secret(psk)),
        ]
        if offersWPA3 { settings.append(NetworkBlock.Setting(name: "sae_password", value: .secret(passphrase))) }
        return settings
    }
}
