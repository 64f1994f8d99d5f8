import AppClient
import AppProtocol
import ArgumentParser
import Terminal

struct StatusCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the device's connection.",
        discussion: """
            The first line shows the network in use, whether it has internet access, and whether the device's servers \
            answer. The other lines show the signal, the addresses, the modem and the number of backup networks. \
            'altnet diagnose' finds faults and shows what to do.

            The exit status is 0 if the agent answered, even if the device is offline. To test that it is online, read \
            "state" with --json.
            """)

    @OptionGroup var connection: ConnectionOptions

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let status = StatusDocument(
            device: try await device.capabilities(), network: try await device.network(),
            backups: try await device.backups())
        if connection.json {
            console.print(json: status)
        } else {
            console.print(StatusView(status: status, now: console.now()).render(console.style))
        }
    }
}

struct StatusDocument: Encodable {
    let device: Capabilities
    let network: NetworkStatus
    let backups: BackupList
}

struct StatusView {
    let status: StatusDocument
    let now: Timestamp

    func render(_ style: Style) -> String {
        headline(style) + "\n" + facts(style).render(style)
    }

    /// Returns one sentence with the state of the connection, and a second one if the user must sign in.
    private func headline(_ style: Style) -> String {
        let parts = [DisplayText.connection(status.network)] + ConnectivityDisplayText.beyond(status.network, now: now)
        let sentence = parts.map { style.paint($0.text, $0.paint) }.joined(separator: "; ")
        guard let connectivity = status.network.connectivity, let portal = connectivity.portal,
            portal.wantsUser || portal.isUnclaimed && connectivity.internet == .captive
        else { return sentence }
        let wanted = ConnectivityDisplayText.wanted(portal)
        return sentence + "\n" + style.paint(wanted, .yellow)
    }

    private func facts(_ style: Style) -> FactList {
        let network = status.network
        var facts = FactList()
        facts.add("Changed", DisplayText.ago(network.since, now: now))
        if let signal = network.wifiSignal {
            let strength = style.paint(DisplayText.bars(signal, style), DisplayText.paint(signal))
            facts.add("Signal", "\(strength) \(signal) dBm, \(SignalQuality.percent(signal: signal)) %")
        }
        if let bssid = network.bssid {
            facts.add("Access point", ["\(bssid)", network.frequency.map(DisplayText.channel)].joined(", "))
        }
        if !network.addresses.isEmpty {
            facts.add("Addresses", network.addresses.map(\.printable).joined(separator: ", "))
        }
        facts.add("Uplink", network.uplink.map { DisplayText.uplink($0, over: network.carrier) } ?? "none")
        if let modem = network.modem {
            facts.add("Modem", "\(modem.interface.printable), \(DisplayText.modem(modem))")
        }
        if let radio = network.radio {
            facts.add("Radio", style.paint(DisplayText.radio(radio, now: now), .red))
        }
        if let point = network.rescue, point.why != nil {
            facts.add("Setup AP", style.paint(DisplayText.setupAccessPoint(point, now: now), .yellow))
        }
        if network.connectivity?.checksInternet == false {
            facts.add("Portals", "noticed only if the network announces them (see 'altnet provision --internet-check')")
        }
        for refused in network.refused {
            facts.add("Refused", style.paint("\(refused.ssid): \(refused.remedy.printable)", .yellow))
        }
        if network.flags.contains(.switchInProgress) { facts.add("Switch", "under way") }
        if let handover = network.handover { facts.add("Moves", "\(handover)") }
        if let standby = network.standby { facts.add("Standby", "\(standby.ssid)") }
        facts.add("Backups", "\(status.backups.networks.count) of \(status.backups.max) stored")
        if let preferred = status.backups.preferred { facts.add("Preferred", "\(preferred.ssid)") }
        if let name = network.deviceName { facts.add("Name", "\(name)") }
        facts.add("Device", "\(status.device.deviceId.printable), altnet \(status.device.firmware.printable)")
        return facts
    }
}

extension Portal {
    /// Whether no provider claims the network, so that it is used as it is.
    var isUnclaimed: Bool { state == .authenticated && provider == nil }

    fileprivate var wantsUser: Bool {
        switch state {
        case .inactive, .presentingUI: true
        case .evaluating, .authenticating, .authenticated, .maintaining: false
        }
    }
}

extension [String?] {
    fileprivate func joined(_ separator: String) -> String { compactMap(\.self).joined(separator: separator) }
}
