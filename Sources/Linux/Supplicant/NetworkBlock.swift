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

    /// - Parameters:
    ///   - keyManagement: what driver and supplicant can do, as `GET_CAPABILITY key_mgmt` names it.
    ///   - ciphers: the same of ciphers, as `GET_CAPABILITY pairwise` names it.
    /// - Throws: `unsupported` where they cannot join such a network at all.
    init(
        _ request: JoinRequest, keyManagement: Set<String>, ciphers: Set<String> = []
    ) throws(SupplicantError) {
        var settings = [
            Setting(name: "ssid", value: .plain(request.ssid.hex)),
            // Empty overrides what the configuration file may say: leaving for another access point is not its
            // decision.
            Setting(name: "bgscan", value: .plain("\"\"")),
        ]
        if request.isHidden { settings.append(Setting(name: "scan_ssid", value: .plain("1"))) }
        if let bssid = request.bssid { settings.append(Setting(name: "bssid", value: .plain("\(bssid)"))) }
        if !request.frequencies.isEmpty {
            let list = request.frequencies.map { "\($0.megahertz)" }.joined(separator: " ")
            settings.append(Setting(name: "scan_freq", value: .plain(list)))
        }
        // Here too, whatever was seen: an access point may change what it offers between the scan and the join.
        switch request.credential {
        case .none: settings += try Self.open(request.floor, keyManagement, ciphers)
        case .passphrase(let passphrase, let psk):
            guard psk.count == 32 else { throw .unsupported("a pre-shared key of other than 32 bytes") }
            settings += try Self.protected(passphrase, psk, request, keyManagement, ciphers)
        }
        self.settings = settings
    }

    private static func open(
        _ floor: LinkProtection, _ keyManagement: Set<String>, _ ciphers: Set<String>
    ) throws(SupplicantError) -> [Setting] {
        // OWE by itself takes open access points too, and encrypts where it can. Beside NONE it would not associate
        // with OWE at all (hostap 2.10, wpa_key_mgmt_wpa).
        if keyManagement.contains("OWE") {
            let only = floor.contains(.owe) ? [Setting(name: "owe_only", value: .plain("1"))] : []
            return secured(by: ["OWE"], floor, ciphers) + only
        }
        guard keyManagement.contains("NONE"), floor.isEmpty else {
            throw .unsupported(floor.isEmpty ? "open networks" : "OWE, which this network has had")
        }
        return [Setting(name: "key_mgmt", value: .plain("NONE"))]
    }

    private static func protected(
        _ passphrase: Secret, _ psk: Secret, _ request: JoinRequest, _ keyManagement: Set<String>,
        _ ciphers: Set<String>
    ) throws(SupplicantError) -> [Setting] {
        // With SAE alone nothing is sent that is of use to a dictionary. Below that all at once: the access point's
        // offer decides, and SAE comes before PSK where both are offered. But where SAE is not among it, wpa_supplicant
        // would reckon SAE's password elements of three groups first, for nothing.
        let known: [String]
        if request.floor.contains(.sae) {
            known = ["SAE"]
        } else {
            // SAE needs the password that a key was made of.
            let isKey = Passphrase.isKey(passphrase)
            if isKey, request.offer == .wpa3 { throw .unsupported("WPA3 with a key in place of the password") }
            known = ["WPA-PSK", "WPA-PSK-SHA256"] + (isKey || request.offer == .wpa2 ? [] : ["SAE"])
        }
        let methods = known.filter(keyManagement.contains)
        guard !methods.isEmpty else {
            throw .unsupported(known == ["SAE"] ? "WPA3, which this network has had" : "networks with a password")
        }
        var settings = secured(by: methods, request.floor, ciphers)
        if methods != ["SAE"] { settings.append(Setting(name: "psk", value: .secret(psk))) }
        if methods.contains("SAE") { settings.append(Setting(name: "sae_password", value: .secret(passphrase))) }
        return settings
    }

    private static func secured(
        by methods: [String], _ floor: LinkProtection, _ available: Set<String>
    ) -> [Setting] {
        let ciphers = Self.ciphers.filter { $0 == "CCMP" || available.contains($0) }.joined(separator: " ")
        return [
            Setting(name: "key_mgmt", value: .plain(methods.joined(separator: " "))),
            // Management frame protection where the access point can do it, and nothing less where it could.
            Setting(name: "ieee80211w", value: .plain(floor.contains(.pmf) ? "2" : "1")),
            // No WPA of the first generation and no TKIP, neither for this station nor for all.
            Setting(name: "proto", value: .plain("RSN")),
            Setting(name: "pairwise", value: .plain(ciphers)),
            Setting(name: "group", value: .plain(ciphers)),
        ]
    }

    /// Every station that has RSN has CCMP (IEEE 802.11-2020, 12.5.1); wpa_supplicant takes the strongest of those
    /// listed, whether the driver has it or not (hostap 2.10, wpa_pick_pairwise_cipher).
    private static let ciphers = ["CCMP", "GCMP", "CCMP-256", "GCMP-256"]
}
