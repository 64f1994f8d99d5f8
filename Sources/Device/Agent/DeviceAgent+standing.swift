import Failover
import Supplicant

/// How the device stands, in a line for whoever looks at the service.
struct Standing {
    /// What was told.
    var text = ""
    var onChange: (String) -> Void = { _ in }
    /// The signal as it is told, in dBm.
    var signal: Int?

    /// In dB: the service manager need not be woken for each measurement.
    private static let newsworthyChange = 5

    mutating func measured(_ reading: Int) {
        if let signal, abs(reading - signal) < Self.newsworthyChange { return }
        signal = reading
    }
}

extension DeviceAgent {
    func updateStanding() {
        let new = standingText
        guard new != standing.text else { return }
        standing.text = new
        standing.onChange(new)
    }

    /// Goes by other settings from now on, as far as they need no new start.
    public func apply(_ settings: AgentSettings) {
        for station in stations { station.supplicant.timing.joinLimit = Supplicant.Timing(settings.policy).joinLimit }
        handle(.settings(settings.policy))
    }

    var standingText: String {
        if let trouble = troubles.told { return trouble.summary }
        let name = policy.phase.network.flatMap { book[$0] }.map { "\"\($0.ssid)\"" } ?? "a network"
        let fault = wakeGuard.isRepeated ? "; slowed down by a fault of altnet's, see the log" : ""
        let uplink = (otherUplink == nil ? "" : "; the traffic goes another way than Wi-Fi") + fault
        switch policy.phase {
        case .offline:
            return (policy.networks.isEmpty ? "offline: no network is stored" : "offline, looking for a network")
                + uplink
        case .joining: return "joining \(name)" + uplink
        case .waitingForAddress: return "waiting for an address in \(name)" + uplink
        case .proving, .online: return "online in \(name)" + (standing.signal.map { ", \($0) dBm" } ?? "") + uplink
        }
    }
}

extension Supplicant.Timing {
    init(_ settings: PolicySettings) {
        self.init()
        // A little less than the policy's own limit, for wpa_supplicant can say better why it did not work.
        joinLimit = max(.seconds(1), settings.joinLimit - .seconds(1))
    }
}
