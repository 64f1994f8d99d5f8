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
            /// Bytes that wpa_supplicant keeps under a name of its own, and gets before the variable that names them:
            /// files would have to be written and taken away again.
            case blob(Secret)
        }

        /// Under which this network has a blob; nil for another value.
        func blobName(ofNetwork network: Int) -> String? {
            if case .blob = value { "altnet-\(name)-\(network)" } else { nil }
        }
    }

    /// Whether a link of this network may go over to an access point that `other` would be joined by: what is asked of that
    /// is asked here, and nothing is allowed here that is less.
    func covers(_ other: NetworkBlock) -> Bool {
        let free: Set = ["bssid", "scan_freq", "key_mgmt"]
        guard other.settings.allSatisfy({ free.contains($0.name) || settings.contains($0) }) else { return false }
        return other.keyManagement.isSubset(of: keyManagement)
            && keyManagement.subtracting(other.keyManagement).isSubset(of: Self.passwordMethods)
    }

    private var keyManagement: Set<String> {
        guard case .plain(let methods)? = settings.first(where: { $0.name == "key_mgmt" })?.value else { return [] }
        return Set(methods.split(separator: " ").map(String.init))
    }

    /// The one of the settings that wpa_supplicant lets change under a link: with any other, the channel too, it forgets the
    /// keys that SAE and enterprise networks have made, and ends the link over them (hostap 2.10,
    /// wpa_supplicant_ctrl_iface_update_network).
    var accessPoint: Setting? { settings.first { $0.name == "bssid" } }

    /// Whether it has a key in a blob, which stays when wpa_supplicant forgets the network.
    var hasPrivateKey: Bool { settings.contains { $0.name == Self.privateKey } }
    static let privateKey = "private_key"

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
        case .none: settings += try Self.open(request, keyManagement, ciphers)
        case .passphrase(let passphrase, let psk):
            guard psk.count == 32 else { throw .unsupported("a pre-shared key of other than 32 bytes") }
            settings += try Self.protected(passphrase, psk, request, keyManagement, ciphers)
        case .enterprise(let credential):
            settings += try Self.enterprise(credential, request, keyManagement, ciphers)
        }
        self.settings = settings
    }

    /// Two kinds of methods are in no list of what wpa_supplicant can do (hostap 2.10, `ctrl_iface_get_capability_key_mgmt`): one
    /// with SHA-256, which it takes wherever it takes that without, and which networks that require protected management
    /// frames may offer alone; and the fast transition by SAE, which it takes where it has SAE and fast transitions.
    private static func isAvailable(_ method: String, _ keyManagement: Set<String>) -> Bool {
        if method == "FT-SAE", keyManagement.isSuperset(of: ["SAE", "FT-PSK"]) { return true }
        let suffix = "-SHA256"
        return keyManagement.contains(method.hasSuffix(suffix) ? String(method.dropLast(suffix.count)) : method)
    }

    private static let keyMethods = ["WPA-PSK", "WPA-PSK-SHA256", "FT-PSK"]
    /// A fast transition needs to have been begun by its own method.
    private static let passwordMethods = ["SAE", "FT-SAE"]

    /// Those that can be named to wpa_supplicant: the commonest alone where no scan tells it what the access point offers,
    /// for then it takes the strongest of them (hostap 2.10, wpa_supplicant_set_suites), and an access point without that
    /// refuses. The same goes for ciphers.
    private static func chosen(
        _ methods: [String], _ request: JoinRequest, _ keyManagement: Set<String>
    ) -> [String] {
        let available = methods.filter { isAvailable($0, keyManagement) }
        return request.isUnseen ? Array(available.prefix(1)) : available
    }

    private static func open(
        _ request: JoinRequest, _ keyManagement: Set<String>, _ ciphers: Set<String>
    ) throws(SupplicantError) -> [Setting] {
        let floor = request.floor
        // OWE by itself takes open access points too, and encrypts where it can. Beside NONE it would not associate
        // with OWE at all (hostap 2.10, wpa_key_mgmt_wpa).
        let isPlain = request.isUnseen && request.offer != .owe && floor.isEmpty
        if keyManagement.contains("OWE"), !isPlain {
            let only = floor.contains(.owe) ? [Setting(name: "owe_only", value: .plain("1"))] : []
            return secured(by: ["OWE"], request, ciphers) + only
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
            known = passwordMethods
        } else {
            // SAE needs the password that a key was made of.
            let isKey = Passphrase.isKey(passphrase)
            if isKey, request.offer == .wpa3 { throw .unsupported("WPA3 with a key in place of the password") }
            let isSAE = request.isUnseen ? request.offer == .wpa3 : !isKey && request.offer != .wpa2
            known = request.isUnseen && isSAE ? passwordMethods : keyMethods + (isSAE ? passwordMethods : [])
        }
        let methods = chosen(known, request, keyManagement)
        guard !methods.isEmpty else {
            throw .unsupported(
                known == passwordMethods ? "WPA3, which this network has had" : "networks with a password")
        }
        var settings = secured(by: methods, request, ciphers)
        if !methods.allSatisfy(passwordMethods.contains) {
            settings.append(Setting(name: "psk", value: .secret(psk)))
        }
        if methods.contains(where: passwordMethods.contains) {
            settings.append(Setting(name: "sae_password", value: .secret(passphrase)))
        }
        return settings
    }

    /// A server's certificate is checked in every case: `ca_cert` is never left out (eap_tls_common.c would then take
    /// any).
    private static func enterprise(
        _ credential: EnterpriseCredential, _ request: JoinRequest, _ keyManagement: Set<String>,
        _ ciphers: Set<String>
    ) throws(SupplicantError) -> [Setting] {
        let methods = chosen(["WPA-EAP", "WPA-EAP-SHA256"], request, keyManagement)
        guard !methods.isEmpty else { throw .unsupported("enterprise networks") }
        var settings = secured(by: methods, request, ciphers)
        func text(_ name: String, _ value: String) {
            settings.append(Setting(name: name, value: .secret(Secret(text: value))))
        }
        settings.append(Setting(name: "eap", value: .plain(credential.method.rawValue.uppercased())))
        text("identity", credential.identity)
        if let name = credential.anonymousIdentity { text("anonymous_identity", name) }
        if let certificate = credential.caCertificate {
            settings.append(Setting(name: "ca_cert", value: .blob(Secret(text: certificate))))
        } else {
            settings.append(Setting(name: "ca_cert", value: .plain("\"\(systemAuthorities)\"")))
        }
        if let name = credential.serverName { text("domain_suffix_match", name) }
        if let password = credential.password {
            settings.append(Setting(name: "password", value: .secret(password)))
            // Another password is the owner's to give, and not to be asked for in the middle of a join.
            let inner = credential.inner == .pap ? "auth=PAP" : "auth=MSCHAPV2 mschapv2_retry=0"
            settings.append(Setting(name: "phase2", value: .plain("\"\(inner)\"")))
        }
        if let certificate = credential.clientCertificate {
            settings.append(Setting(name: "client_cert", value: .blob(Secret(text: certificate))))
        }
        if let key = credential.privateKey { settings.append(Setting(name: privateKey, value: .blob(key))) }
        settings.append(timeCheck(request.checksCertificateTimes))
        return settings
    }

    /// Whether the times in a certificate count. All else of it does in any case (tls_openssl.c, tls_verify_cb).
    static func timeCheck(_ isOn: Bool) -> Setting {
        Setting(name: "phase1", value: .plain("\"\(isOn ? timesCount : timesDoNotCount)\""))
    }

    static let timesDoNotCount = "tls_disable_time_checks=1"
    private static let timesCount = "tls_disable_time_checks=0"

    /// Debian's, and of the systems that come from it.
    private static let systemAuthorities = "/etc/ssl/certs/ca-certificates.crt"

    private static func secured(
        by methods: [String], _ request: JoinRequest, _ available: Set<String>
    ) -> [Setting] {
        let usable = Self.ciphers.filter { $0 == "CCMP" || !request.isUnseen && available.contains($0) }
        let ciphers = usable.joined(separator: " ")
        return [
            Setting(name: "key_mgmt", value: .plain(methods.joined(separator: " "))),
            // Management frame protection where the access point can do it, and nothing less where it could.
            Setting(name: "ieee80211w", value: .plain(request.floor.contains(.pmf) ? "2" : "1")),
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
