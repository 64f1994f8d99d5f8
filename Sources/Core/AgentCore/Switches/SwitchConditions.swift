import AgentModel
import AppProtocol

/// Conditions for accepting a switch.
struct SwitchConditions {
    var running: SwitchLedger.Entry?
    /// Uplink other than Wi-Fi that carries the traffic, if any.
    var uplink: Uplink?
    var missingInterface: ProtocolError?
    /// Whether the device is already on the network.
    var isAssociated = false
    var besideUplink = false

    /// Returns the reason to refuse the switch, in the order of Docs/reference/protocol.md; nil to accept it.
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
        return isAssociated ? ProtocolError(.alreadyAssociated, "the device is already connected to \(ssid)") : nil
    }
}
