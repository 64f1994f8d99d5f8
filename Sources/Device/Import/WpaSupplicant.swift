import AgentModel

/// wpa_supplicant's configuration (wpa_supplicant.conf(5)).
public enum WpaSupplicantSource {
    public static func read(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            try contents.addSupplicantNetworks(text.lines, from: source, interface: interface(of: source))
        }
    }

    /// The interface in the name of a file such as wpa_supplicant-wlan0.conf.
    static func interface(of path: String) -> String? {
        var name = path.split(separator: "/").last.map(String.init) ?? ""
        guard name.hasPrefix("wpa_supplicant-"), name.hasSuffix(".conf") else { return nil }
        name = String(name.dropFirst("wpa_supplicant-".count).dropLast(".conf".count))
        for driver in ["nl80211-", "wired-", "wext-"] where name.hasPrefix(driver) {
            name = String(name.dropFirst(driver.count))
        }
        return name.isEmpty ? nil : name
    }
}

extension SourceContents {
    /// What is outside of `network={...}` is not of interest.
    mutating func addSupplicantNetworks(
        _ lines: [(number: Int, text: SourceText)], from source: String, interface: String?
    ) throws(MalformedSource) {
        var block: (line: Int, fields: [String: SourceText])?
        var isInOther = false
        for (number, line) in lines {
            // As wpa_passphrase(8) leaves it beside the key.
            if let comment = Self.commentedPassphrase(line) { block?.fields["#psk"] = comment }
            let line = Self.withoutComment(line)
            guard !line.isEmpty else { continue }
            if line.isEqual(to: "}") {
                if let ended = block { addSupplicantNetwork(ended.fields, Place(source, line: ended.line), interface) }
                (block, isInOther) = (nil, false)
            } else if block == nil, !isInOther {
                if line.isEqual(to: "network={") {
                    block = (number, [:])
                } else if line.last == UInt8(ascii: "{") {
                    isInOther = true
                }
            } else if let (key, value) = line.split(at: UInt8(ascii: "=")) {
                if value.isEqual(to: "{") {
                    throw MalformedSource("a block begins before the one before it ends", line: number)
                }
                block?.fields[key.trimmed.text ?? key.name] = value.trimmed
            } else {
                // wpa_supplicant refuses the file.
                block?.fields["line \(number)"] = line
            }
        }
        if let block { throw MalformedSource("the network's block does not end", line: block.line) }
    }

    /// As hostap's wpa_config_get_line: a number sign behind the last quote begins a comment.
    private static func withoutComment(_ line: SourceText) -> SourceText {
        let line = line.trimmed
        guard line.first != UInt8(ascii: "#") else { return line.prefix(0) }
        let quote = UInt8(ascii: "\"")
        let start = line.lastIndex(of: quote).flatMap { last in line.firstIndex(of: quote) == last ? nil : last }
        let tail = line[(start ?? line.startIndex)...]
        guard let mark = tail.firstIndex(of: UInt8(ascii: "#")) else { return line }
        return line[..<mark].trimmed
    }

    private mutating func addSupplicantNetwork(_ fields: [String: SourceText], _ place: Place, _ interface: String?) {
        var draft = NetworkDraft(place)
        draft.name = fields["ssid"].flatMap(Self.bytes)
        if draft.name == nil, fields["ssid"] != nil {
            return findings.append(Finding(place, .malformed("the SSID is neither quoted nor hexadecimal digits")))
        }
        draft.interface = interface
        draft.isHidden = fields["scan_ssid"]?.isEqual(to: "1") ?? false
        draft.isAutomatic = fields["disabled"].map { $0.isEqual(to: "0") } ?? true
        draft.priority = fields["priority"]?.number ?? 0
        switch fields["mode"]?.number ?? 0 {
        case 0: break
        case 1: draft.mode = .adHoc
        case 5: draft.mode = .mesh
        default: draft.mode = .accessPoint
        }
        draft.security = Self.security(fields)
        draft.password = Self.password(fields, draft.security)
        draft.user = Self.user(fields)
        draft.doubt = fields.keys.sorted().first { !Self.harmless.contains($0) }.map { .unknownSetting($0) }
        add(draft)
    }

    /// Settings that say nothing about a credential. wpa_supplicant has some 150 settings of a network: one that is not
    /// here makes no open network and no enterprise network.
    private static let harmless: Set = [
        "ssid", "scan_ssid", "bssid", "bssid_hint", "bssid_blacklist", "bssid_whitelist", "bssid_ignore",
        "bssid_accept",
        "id_str", "priority", "disabled", "mode", "key_mgmt", "proto", "pairwise", "group", "group_mgmt", "auth_alg",
        "ieee80211w", "ocv", "frequency", "freq_list", "scan_freq", "fixed_freq", "bgscan", "mac_addr",
        "rand_addr_lifetime", "proactive_key_caching", "okc", "peerkey", "wpa_ptk_rekey", "group_rekey", "wps_disabled",
        "disable_ht", "disable_ht40", "disable_vht", "disable_he", "beacon_int", "dtim_period", "ft_eap_pmksa_caching",
        "owe_group", "owe_only", "owe_ptk_workaround", "transition_disable", "update_identifier",
    ]
    /// Settings of a user that are read, and those that weaken or restrict nothing that altnet checks.
    private static let ofUser: Set = [
        "eap", "identity", "anonymous_identity", "password", "ca_cert", "ca_path", "client_cert", "private_key",
        "private_key_passwd", "phase1", "phase2", "domain_match", "domain_suffix_match", "altsubject_match",
        "eapol_flags", "eap_workaround", "fragment_size",
    ]

    private static func user(_ fields: [String: SourceText]) -> EnterpriseDraft {
        var user = EnterpriseDraft()
        user.unknownSetting = fields.keys.sorted().first { !harmless.contains($0) && !ofUser.contains($0) }
        func text(_ key: String) -> String? {
            fields[key].flatMap(bytes).flatMap { String(validating: $0, as: UTF8.self) }
        }
        user.method = fields["eap"]?.list(\.isBlank).first?.text
        user.inner = text("phase2")
        user.identity = text("identity")
        user.anonymousIdentity = text("anonymous_identity")
        if let password = fields["password"] {
            // The hash of one, or a program that is asked for it.
            user.isPasswordElsewhere = password.starts(with: "hash:") || password.starts(with: "ext:")
            if !user.isPasswordElsewhere {
                user.password = quoted(password).map { Secret($0) } ?? Secret(hexDigits: password)
            }
        }
        user.setAuthority(text("ca_cert") ?? text("ca_path"))
        user.clientCertificate = EnterpriseDraft.file(text("client_cert"))
        user.privateKey = EnterpriseDraft.file(text("private_key"))
        /// What is no text is no name of a host, and refused.
        func condition(_ key: String) -> String? {
            fields[key].map { value in bytes(value).map { String(decoding: $0, as: UTF8.self) } ?? value.name }
        }
        user.requireServerName(condition("domain_suffix_match"))
        user.requireServerName(condition("domain_match"))
        user.requireAlternativeName(condition("altsubject_match"), "altsubject_match")
        return user
    }

    private static func security(_ fields: [String: SourceText]) -> NetworkDraft.Security {
        let hasWEP = fields.keys.contains { $0.hasPrefix("wep_key") }
        guard let words = fields["key_mgmt"]?.list(\.isBlank).compactMap(\.text), !words.isEmpty else {
            // The default is both WPA-PSK and WPA-EAP.
            return fields["psk"] == nil && fields["eap"] != nil ? .enterprise : .psk
        }
        let psk: Set = ["WPA-PSK", "WPA-PSK-SHA256", "FT-PSK"]
        let sae: Set = ["SAE", "FT-SAE", "SAE-EXT-KEY", "FT-SAE-EXT-KEY"]
        if words.contains(where: psk.contains), fields["psk"] != nil || fields["sae_password"] != nil { return .psk }
        if words.contains(where: sae.contains) { return words.contains(where: psk.contains) ? .psk : .sae }
        if words.contains(where: psk.contains), fields["eap"] == nil { return .psk }
        if words.contains("OWE") { return .owe }
        if words.contains(where: { $0.contains("EAP") || $0.hasPrefix("FILS") }) { return .enterprise }
        if words.contains("IEEE8021X") { return .wep }
        if words.contains("NONE") { return hasWEP ? .wep : .open }
        return .unknown(words.joined(separator: " "))
    }

    private static func password(
        _ fields: [String: SourceText], _ security: NetworkDraft.Security
    ) -> NetworkDraft.Password {
        if case .sae = security, let password = fields["sae_password"] {
            return quoted(password).map { .passphrase(Secret($0)) } ?? .passphrase(Secret(password))
        }
        guard let psk = fields["psk"] else {
            guard let password = fields["sae_password"] else { return .missing }
            return .passphrase(Secret(quoted(password) ?? password))
        }
        if let text = quoted(psk) { return .passphrase(Secret(text)) }
        if psk.isHexKey {
            let comment = fields["#psk"].map { Secret($0) }
            return Secret(hexDigits: psk).map { .derivedKey($0, comment: comment) } ?? .missing
        }
        return psk.starts(with: "ext:") ? .elsewhere : .passphrase(Secret(psk))
    }

    private static func commentedPassphrase(_ line: SourceText) -> SourceText? {
        let line = line.trimmed
        return line.starts(with: "#psk=") ? quoted(line.dropFirst(5)) : nil
    }

    /// From the first quote to the last.
    private static func quoted(_ value: SourceText) -> SourceText? {
        let quote = UInt8(ascii: "\"")
        guard value.count > 1, value.first == quote, value.last == quote else { return nil }
        return value.dropFirst().dropLast()
    }

    /// Quoted, with escapes (`P"..."`), or hexadecimal digits.
    private static func bytes(_ value: SourceText) -> [UInt8]? {
        if let text = quoted(value) { return Array(text) }
        if value.first == UInt8(ascii: "P"), let text = quoted(value.dropFirst())?.text {
            return SSID.bytes(printedBySupplicant: text)
        }
        return value.text.flatMap { Hex.bytes($0) }
    }
}
