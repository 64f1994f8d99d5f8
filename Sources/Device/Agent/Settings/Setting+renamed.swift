import AgentModel

extension Setting {
    /// New names of settings, by their names in the previous version. The next version refuses the old names.
    static var renamed: [String: String] {
        [
            "ALTNET_RESCUE": "ALTNET_SETUP_AP",
            "ALTNET_RESCUE_IDLE_S": "ALTNET_SETUP_AP_IDLE_S",
            "ALTNET_RESCUE_INTERFACE": "ALTNET_SETUP_AP_INTERFACE",
            "ALTNET_RESCUE_OPEN_S": "ALTNET_SETUP_AP_OPEN_S",
            "ALTNET_RESCUE_RADIO": "ALTNET_SETUP_AP_RADIO",
            "ALTNET_RESCUE_REFUSED_S": "ALTNET_SETUP_AP_REFUSED_S",
            "ALTNET_RESCUE_SSID": "ALTNET_SETUP_AP_SSID",
            "ALTNET_RESCUE_UNSEEN_S": "ALTNET_SETUP_AP_UNSEEN_S",
        ]
    }

    /// Settings of the previous version that have no effect any more. The next version refuses them.
    static var removed: Set<String> {
        ["ALTNET_CRITICAL_CONFIRM_S", "ALTNET_FADING_HORIZON_S", "ALTNET_WEAK_CONFIRM_S"]
    }
}
