import AgentModel

/// Condition under which the device listens for a configurator of Wi-Fi Easy Connect (DPP).
public enum EasyConnectChoice: String, Sendable, CaseIterable {
    case off
    case unprovisioned
}

extension Setting {
    static let easyConnect = Setting(
        "DPP", .oneOf(EasyConnectChoice.allCases.map(\.rawValue)), .value(EasyConnectChoice.off.rawValue), .onRestart,
        "Accept a network by Wi-Fi Easy Connect from a phone that has read the device's code: never (off), or while "
            + "no network is stored (unprovisioned). 'altnet pair --show --easy-connect' shows the code.")
}
