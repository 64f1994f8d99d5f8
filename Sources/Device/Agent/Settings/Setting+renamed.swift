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
}
