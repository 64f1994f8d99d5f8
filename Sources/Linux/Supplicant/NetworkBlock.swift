import AgentModel

/// Variables of wpa_supplicant's `network` block, in the order to set them.
struct NetworkBlock: Sendable {
    let settings: [Setting]

    struct Setting: Sendable, Equatable {
        let name: String
        let value: Value

        enum Value: Sendable, Equatable {
            case plain(String)
            /// Bytes that are sent as hexadecimal digits.
            case secret(Secret)
            /// Bytes stored in wpa_supplicant under a name, before the variable that refers to it. Avoids temporary
            /// files.
            case blob(Secret)
        }

        /// Returns the name of this network's blob; nil for other values.
        func blobName(ofNetwork network: Int) -> String? {
            if case .blob = value { "altnet-\(name)-\(network)" } else { nil }
        }
    }

    /// True if a link of this network may roam to an access point of `other`. For this, the network needs the same
    /// settings, and all key managements that `other` allows.
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

    /// Access point of the network. On a link, wpa_supplicant can change only this setting. After any other change, it
    /// drops the keys of SAE and enterprise networks and ends the link (hostap 2.10,
    /// wpa_supplicant_ctrl_iface_update_network).
    var accessPoint: Setting? { settings.first { $0.name == "bssid" } }

    /// True if a blob holds a private key. The blob remains when wpa_supplicant removes the network.
    var hasPrivateKey: Bool { settings.contains { $0.name == Self.privateKey } }
    static let privateKey = "private_key"

    /// - Parameters:
    ///   - keyManagement: capabilities of `GET_CAPABILITY key_mgmt`.
    ///   - ciphers: capabilities of `GET_CAPABILITY pairwise`.
    /// - Throws: `unsupported` if these capabilities do not suffice for the network.
    init(
        _ request: JoinRequest, keyManagement: Set<String>, ciphers: Set<String> = []
    ) throws(SupplicantError) {
        var settings = [
            Setting(name: "ssid", value: .plain(request.ssid.hex)),
            // The empty value overrides the configuration file, so that wpa_supplicant does not choose to roam.
            Setting(name: "bgscan", value: .plain("\"\"")),
        ]
        if request.isHidden { settings.append(Setting(name: "scan_ssid", value: .plain("1"))) }
        if let bssid = request.bssid { settings.append(Setting(name: "bssid", value: .plain("\(bssid)"))) }
        if !request.frequencies.isEmpty {
            let list = request.frequencies.map { "\($0.megahertz)" }.joined(separator: " ")
            settings.append(Setting(name: "scan_freq", value: .plain(list)))
        }
        // Checks the minimum security again: an access point may change its offer between scan and join.
        switch request.credential {
        case .none: settings += try Self.open(request, keyManagement, ciphers)
        case .passphrase(let passphrase, let psk):
            guard psk.count == 32 else { throw .unsupported("a pre-shared key that does not have 32 bytes") }
            settings += try Self.protected(passphrase, psk, request, keyManagement, ciphers)
        case .enterprise(let credential):
            settings += try Self.enterprise(credential, request, keyManagement, ciphers)
        }
        self.settings = settings
    }

    /// Returns true if wpa_supplicant supports a method. Its list of capabilities lacks two methods (hostap 2.10,
    /// `ctrl_iface_get_capability_key_mgmt`). A variant with SHA-256 is available if the method without it is; networks
    /// that require protected management frames may offer only this variant. FT-SAE is available if SAE and FT-PSK are.
    private static func isAvailable(_ method: String, _ keyManagement: Set<String>) -> Bool {
        if method == "FT-SAE", keyManagement.isSuperset(of: ["SAE", "FT-PSK"]) { return true }
        let suffix = "-SHA256"
        return keyManagement.contains(method.hasSuffix(suffix) ? String(method.dropLast(suffix.count)) : method)
    }

    private static let keyMethods = ["WPA-PSK", "WPA-PSK-SHA256", "FT-PSK"]
    /// Methods for passwords. A fast transition needs an initial association by the FT method.
    private static let passwordMethods = ["SAE", "FT-SAE"]

    /// Returns the methods to list in the block. Lists only the first one if the network was not seen in a scan.
    /// Otherwise, wpa_supplicant would choose the strongest one (hostap 2.10, wpa_supplicant_set_suites), and an access
    /// point without it would refuse. The same rule applies to ciphers.
    private static func chosen(
        _ methods: [String], _ request: JoinRequest, _ keyManagement: Set<String>
    ) -> [String] {
        let available = methods.filter { isAvailable($0, keyManagement) }
        return request.isUnseen ? Array(available.prefix(1)) : available
    }

    private static func open(
        _ request: JoinRequest, _ keyManagement: Set<String>, _ ciphers: Set<String>
    ) throws(SupplicantError) -> [Setting] {
        let floor = request.minimumSecurity
        // "OWE" alone also joins open access points, and encrypts if possible. If NONE is listed as well,
        // wpa_supplicant does not use OWE (hostap 2.10, wpa_key_mgmt_wpa).
        let isPlain = request.isUnseen && request.offer != .owe && floor.isEmpty
        if keyManagement.contains("OWE"), !isPlain {
            let only = floor.contains(.owe) ? [Setting(name: "owe_only", value: .plain("1"))] : []
            return secured(by: ["OWE"], request, ciphers) + only
        }
        guard keyManagement.contains("NONE"), floor.isEmpty else {
            throw .unsupported(floor.isEmpty ? "open networks" : "OWE, which this network requires")
        }
        return [Setting(name: "key_mgmt", value: .plain("NONE"))]
    }

    private static func protected(
        _ passphrase: Secret, _ psk: Secret, _ request: JoinRequest, _ keyManagement: Set<String>,
        _ ciphers: Set<String>
    ) throws(SupplicantError) -> [Setting] {
        // A network that requires SAE gets only SAE methods, which resist dictionary attacks. Others get all methods:
        // wpa_supplicant prefers SAE to PSK. Omit SAE if it is not offered, because wpa_supplicant would compute SAE's
        // password elements of three groups in vain.
        let known: [String]
        if request.minimumSecurity.contains(.sae) {
            known = passwordMethods
        } else {
            // SAE needs the password; the derived key is not enough.
            let isKey = Passphrase.isKey(passphrase)
            if isKey, request.offer == .wpa3 { throw .unsupported("WPA3 with a key instead of a password") }
            let isSAE =
                request.isUnseen ? request.offer == .wpa3 : !isKey && request.offer != .wpa2 && !request.usesTKIP
            known = request.isUnseen && isSAE ? passwordMethods : keyMethods + (isSAE ? passwordMethods : [])
        }
        let methods = chosen(known, request, keyManagement)
        guard !methods.isEmpty else {
            throw .unsupported(
                known == passwordMethods ? "WPA3, which this network requires" : "networks with a password")
        }
        guard !request.usesTKIP || ciphers.contains("TKIP") else {
            throw .unsupported("TKIP, which this access point requires")
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

    /// Returns the block of an enterprise network. Always requires a check of the server's certificate: without
    /// `ca_cert`, eap_tls_common.c accepts any certificate.
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
            // Prevents a second request for the password, because only the owner can give a new one.
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

    /// Enables or disables the check of validity dates. Other checks always apply (tls_openssl.c, tls_verify_cb).
    static func timeCheck(_ isOn: Bool) -> Setting {
        Setting(name: "phase1", value: .plain("\"\(isOn ? timesCount : timesDoNotCount)\""))
    }

    static let timesDoNotCount = "tls_disable_time_checks=1"
    private static let timesCount = "tls_disable_time_checks=0"

    /// Path of the system's authorities in Debian and its derivatives.
    private static let systemAuthorities = "/etc/ssl/certs/ca-certificates.crt"

    private static func secured(
        by methods: [String], _ request: JoinRequest, _ available: Set<String>
    ) -> [Setting] {
        let usable = Self.ciphers.filter { $0 == "CCMP" || !request.isUnseen && available.contains($0) }
        let ciphers = (usable + (request.usesTKIP ? ["TKIP"] : [])).joined(separator: " ")
        return [
            Setting(name: "key_mgmt", value: .plain(methods.joined(separator: " "))),
            // 1 makes management frame protection optional; 2 requires it, if an earlier link had it.
            Setting(name: "ieee80211w", value: .plain(request.minimumSecurity.contains(.pmf) ? "2" : "1")),
            // Excludes WPA and TKIP, for both unicast and broadcast, unless the owner permits them.
            Setting(name: "proto", value: .plain(request.usesTKIP ? "RSN WPA" : "RSN")),
            Setting(name: "pairwise", value: .plain(ciphers)),
            Setting(name: "group", value: .plain(ciphers)),
        ]
    }

    /// Pairwise ciphers. RSN requires CCMP (IEEE 802.11-2020, 12.5.1). wpa_supplicant chooses the strongest listed
    /// cipher even if the driver lacks it (hostap 2.10, wpa_pick_pairwise_cipher).
    private static let ciphers = ["CCMP", "GCMP", "CCMP-256", "GCMP-256"]
}

extension JoinRequest {
    /// Whether the block has WPA and TKIP: the owner permits them, and the access point offers nothing better. Without
    /// a scan, wpa_supplicant would use the strongest listed cipher, which such an access point may lack.
    fileprivate var usesTKIP: Bool { allowsTKIP && offer == .legacy && !isUnseen && !minimumSecurity.contains(.sae) }
}
