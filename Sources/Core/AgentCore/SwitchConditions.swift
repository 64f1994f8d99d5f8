import AgentModel
import AppProtocol

/// What decides whether a switch is taken on.
struct SwitchConditions {
    /// The switch that has not ended.
    var running: SwitchLedger.Entry?
    /// What carries the traffic besides Wi-Fi.
    var uplink: Uplink?
    /// What is said where the Wi-Fi interface is missing.
    var missingInterface: ProtocolError?
    /// Whether the device is on the network, and nothing would change.
    var isAssociated = false
    /// Whether Wi-Fi is to move also where another uplink carries the traffic.
    var besideUplink = false

    /// Why it is not, in the order of Docs/protocol.md: what ends by itself, what another uplink forbids, what is
    /// missing, what is so already.
    /// - Parameter ssid: the network to go to.
    func refusal(of ssid: SSID) -> ProtocolError? {
        if let running {
            return ProtocolError(
                .switchInProgress, "a switch to \(running.name?.description ?? "another network") is under way",
                details: ["switchId": .text(running.status.switchId)])
        }
        let flags = NetworkFlags.allowed(uplink: uplink, radioPresent: true, switchInProgress: false)
        guard flags.contains(.canSwitch) || besideUplink else {
            return ProtocolError(
                .cannotSwitch, "the traffic goes over \(uplink?.words ?? "another uplink"), not over Wi-Fi")
        }
        if let missingInterface { return missingInterface }
        return isAssociated ? ProtocolError(.alreadyAssociated, "the device is on \(ssid) already") : nil
    }
}
