import AgentModel

/// What a person sets on an access point.
struct AccessPointSettings {
    let ssid: SSID
    var security: NetworkSecurity
    var channel: Int
    var hidden: Bool
    /// How many stations may be associated at once.
    var maximumStations = 2007
    /// More lines of hostapd.conf, after all others.
    let more: [String]

    /// The configuration that hostapd reads (hostapd.conf).
    func hostapdConfiguration(interface: String, controlDirectory: String) -> String {
        let common = """
            interface=\(interface)
            driver=nl80211
            ctrl_interface=\(controlDirectory)
            ssid2=\(ssid.hex)
            hw_mode=\(channel > 14 ? "a" : "g")
            channel=\(channel)
            ignore_broadcast_ssid=\(hidden ? 1 : 0)
            max_num_sta=\(maximumStations)

            """
        return common + (securityLines + more).map { $0 + "\n" }.joined()
    }

    private var securityLines: [String] {
        switch security {
        case .open:
            []
        case .wpa2(let password):
            ["wpa=2", "rsn_pairwise=CCMP", "wpa_key_mgmt=WPA-PSK", "wpa_passphrase=\(password)"]
        case .wpa3(let password):
            ["wpa=2", "rsn_pairwise=CCMP", "wpa_key_mgmt=SAE", "ieee80211w=2", "sae_pwe=2", "sae_password=\(password)"]
        case .transition(let password):
            [
                "wpa=2", "rsn_pairwise=CCMP", "wpa_key_mgmt=WPA-PSK SAE", "ieee80211w=1", "sae_require_mfp=1",
                "sae_pwe=2", "wpa_passphrase=\(password)",
            ]
        }
    }
}
