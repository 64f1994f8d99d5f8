import AgentModel

/// A network as wpa_supplicant is told of it: the variables of a `network` block, in the order in which they are set.
struct NetworkBlock: Sendable {
    let settings: [Setting]

    struct Setting: Sendable, Equatable {
        let name: String
        let value: Value

        enum Value: Sendable, Equatable {
            case plain(String)
            /// Bytes that wpa_supplicant gets as hexadecimal digits.
            case secret(Secret)
        }
    }

    /// - Parameter keyManagement: what driver and supplicant can do, as `GET_CAPABILITY key_mgmt` names it.
    /// - Throws: `unsupported` where they cannot join such a network at all.
    init(_ request: JoinRequest, keyManagement: Set<String>) throws(SupplicantError) {
        var settings = [
            // Hexadecimal, because an SSID is any bytes.
            Setting(name: "ssid", value: .plain(Hex.string(request.ssid.bytes))),
            // Empty overrides what the configuration file may say: leaving for another access point is not its decision.
            Setting(name: "bgscan", value: .plain("\"\"")),
        ]
        if request.isHidden { settings.append(Setting(name: "scan_ssid", value: .plain("1"))) }
        if let bssid = request.bssid { settings.append(Setting(name: "bssid", value: .plain("\(bssid)"))) }
        if !request.frequencies.isEmpty {
            let list = request.frequencies.map { "\($0.megahertz)" }.joined(separator: " ")
            settings.append(Setting(name: "scan_freq", value: .plain(list)))
        }
        settings += try Self.security(request.credential, offer: request.offer, keyManagement)
        self.settings = settings
    }

    private static func security(
        _ credential: JoinRequest.Credential, offer: Security?, _ keyManagement: Set<String>
    ) throws(SupplicantError) -> [Setting] {
        switch credential {
        case .none:
            // OWE by itself takes open access points too, and encrypts where it can. Beside NONE it would not associate
            // with OWE at all (hostap 2.10, wpa_key_mgmt_wpa).
            guard let method = ["OWE", "NONE"].first(where: keyManagement.contains) else {
                throw .unsupported("open networks")
            }
            return chosen([method])
        case .passphrase(let passphrase, let psk):
            guard psk.count == 32 else { throw .unsupported("a pre-shared key of other than 32 bytes") }
            // All at once: the access point's offer decides, and SAE comes before PSK where both are offered. But where SAE is not
            // among it, wpa_supplicant would reckon SAE's password elements of three groups first, for nothing.
            let known = ["WPA-PSK", "WPA-PSK-SHA256"] + (offer == .wpa2 ? [] : ["SAE"])
            let methods = known.filter(keyManagement.contains)
            guard !methods.isEmpty else { throw .unsupported("networks with a password") }
            var settings = chosen(methods) + [Setting(name: "psk", value: .secret(psk))]
            if methods.contains("SAE") { settings.append(Setting(name: "sae_password", value: .secret(passphrase))) }
            return settings
        }
    }

    private static func chosen(_ methods: [String]) -> [Setting] {
        [
            Setting(name: "key_mgmt", value: .plain(methods.joined(separator: " "))),
            // Management frame protection where the access point can do it; SAE and OWE demand it.
            Setting(name: "ieee80211w", value: .plain("1")),
        ]
    }
}
