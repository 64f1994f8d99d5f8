import AgentCore
import AppProtocol
import AppServer

extension AgentEvent {
    /// Creates the history entry for a command; nil for requests without a lasting effect.
    package init?(commanded request: Request.Body, by peer: Peer) {
        guard let deed = request.deed else { return nil }
        let author =
            switch peer.origin {
            case .process where peer.isRelay: peer.key.map { "\($0.text.printable), by a relay," } ?? "a relay"
            case .process, .network: peer.key.map(\.text.printable) ?? "a program of this device"
            case .page: peer.key.map { "\($0.text.printable), on the device page," } ?? "a user of the device page"
            }
        self = .commanded(request.type, by: peer.key, text: "\(author) \(deed)")
    }
}

extension Request.Body {
    /// Predicate of the sentence in the history entry; nil for requests without a lasting effect.
    fileprivate var deed: String? {
        switch self {
        case .updateBackups: "changed the stored networks"
        case .stagePassword(let staging): "stored a new password of \(staging.network.ssid)"
        case .dropPassword: "withdrew a new password"
        case .switchNetwork: "started a switch to another network"
        case .confirmSwitch: "confirmed the switch"
        case .answerPortal: "answered the sign-in of a hotspot"
        case .updateTargets: "changed the device's servers"
        case .setProvider(let change):
            "switched the hotspot provider \(change.provider.printable) \(change.isOn ? "on" : "off")"
        case .setName(let change): change.name.map { "named the device \($0)" } ?? "deleted the device's name"
        case .addKey(let request):
            (request.claimWithin == nil ? "made a key" : "invited an app")
                + (request.name.map { ", \($0.text.printable)" } ?? "")
        case .revokeKey(let query): "revoked the key \(query.name.text.printable)"
        case .claimKey: "claimed its own key"
        case .openRescue: "opened the setup access point"
        case .closeRescue: "closed the setup access point"
        case .getCapabilities, .getNetwork, .getBackups, .getSwitch, .startScan, .getScan, .getHistory, .agreeKey,
            .getDiagnosis, .getPortal, .getTargets, .getProviders, .getKeys, .getMetrics:
            nil
        }
    }
}
