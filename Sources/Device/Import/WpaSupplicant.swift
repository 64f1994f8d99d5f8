import AgentModel

/// Reads wpa_supplicant's configuration (wpa_supplicant.conf(5)).
public enum WpaSupplicantSource {
    public static func read(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            try contents.addSupplicantNetworks(text.lines, from: source, interface: interface(of: source))
        }
    }

    /// Returns the interface from the name of a file such as wpa_supplicant-wlan0.conf; nil if it has none.
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
    /// Adds the networks of a configuration. An unknown line becomes a finding, while wpa_supplicant would refuse the
    /// whole file.
    mutating func addSupplicantNetworks(
        _ lines: [(number: Int, text: SourceText)], from source: String, interface: String?
    ) throws(MalformedSource) {
        var block: (line: Int, kind: String, fields: [String: SourceText])?
        let requiresManagementFrames = lines.contains { line in
            let setting = Self.withoutComment(line.text)
            return setting.starts(with: "pmf=".utf8) && setting.dropFirst(4).trimmed.numberOfAnyBase ?? 2 == 2
        }
        for (number, line) in lines {
            // wpa_passphrase(8) writes the passphrase in a comment beside the key.
            if let comment = Self.commentedPassphrase(line) { block?.fields["#psk"] = comment }
            let line = Self.withoutComment(line)
            guard !line.isEmpty else { continue }
            let place = ImportLocation(source, line: number)
            let setting = line.split(at: UInt8(ascii: "="))
            let key = setting.map { $0.before.trimmed.text ?? $0.before.name } ?? ""
            let value = setting?.after.trimmed
            if line.isEqual(to: "}") {
                guard let ended = block else {
                    report(unknown: place)
                    continue
                }
                if ended.kind == "network" {
                    addSupplicantNetwork(
                        ended.fields, ImportLocation(source, line: ended.line), interface, requiresManagementFrames)
                }
                block = nil
            } else if line.last == UInt8(ascii: "{"), block == nil {
                let isKnown = ["network={", "cred={", "identity={"].contains { line.isEqual(to: $0) }
                if !isKnown, !line.starts(with: "blob-base64-") { report(unknown: place) }
                block = (number, isKnown ? key : "", [:])
            } else if let kind = block?.kind {
                if setting?.after.isEqual(to: "{") ?? false {
                    throw MalformedSource("a block begins inside another block", line: number)
                }
                let isRepeated = block?.fields.updateValue(value ?? line, forKey: key) != nil
                if kind == "network", isRepeated || !Self.isUnderstood(key, value) { doubt(place) }
                if kind == "cred", !Self.ofCred.contains(key) { doubt(place) }
            } else if !Self.globals.contains(key) && !key.hasPrefix("p2p_")
                || key != "ctrl_interface" && !Self.isSingle(value ?? line)
            {
                report(unknown: place)
            }
        }
        if let block { throw MalformedSource("the network's block does not end", line: block.line) }
    }

    private static func isUnderstood(_ key: String, _ value: SourceText?) -> Bool {
        guard let value else { return false }
        return credentials.contains(key) || ofUser.contains(key) || harmless.contains(key) && isSingle(value)
    }

    /// Whether the value is the only one on its line.
    private static func isSingle(_ value: SourceText) -> Bool {
        let text = value.first == UInt8(ascii: "P") ? value.dropFirst() : value
        if let quoted = quoted(text) { return quoted.firstIndex(of: "=\"") == nil }
        return !value.contains { "=\"".utf8.contains($0) }
    }

    /// Removes a comment, which begins with `#` outside of a pair of quotes (wpa_config_get_line in hostap).
    private static func withoutComment(_ line: SourceText) -> SourceText {
        let line = line.trimmed
        guard line.first != UInt8(ascii: "#") else { return line.prefix(0) }
        let quote = UInt8(ascii: "\"")
        var rest = line
        while let mark = rest.firstIndex(of: UInt8(ascii: "#")) {
            guard let start = rest.firstIndex(of: quote), start < mark,
                let end = rest[(start + 1)...].firstIndex(of: quote)
            else { return line[..<mark].trimmed }
            rest = rest[(end + 1)...]
        }
        return line
    }

    private mutating func addSupplicantNetwork(
        _ fields: [String: SourceText], _ place: ImportLocation, _ interface: String?, _ requiresManagementFrames: Bool
    ) {
        var draft = NetworkDraft(place)
        draft.name = fields["ssid"].flatMap { Self.isSingle($0) ? Self.bytes($0) : nil }
        if draft.name == nil, fields["ssid"] != nil {
            return findings.append(
                ImportFinding(place, .malformed("the SSID is neither quoted nor hexadecimal digits")))
        }
        draft.interface = interface
        draft.isHidden = fields["scan_ssid"]?.numberOfAnyBase == 1
        draft.isAutomatic = fields["disabled"].map { $0.isEqual(to: "0") } ?? true
        draft.priority = fields["priority"]?.numberOfAnyBase ?? 0
        switch fields["mode"].map({ $0.numberOfAnyBase ?? 2 }) ?? 0 {
        case 0: break
        case 1: draft.mode = .adHoc
        case 5: draft.mode = .mesh
        default: draft.mode = .accessPoint
        }
        draft.requiresManagementFrames =
            fields["ieee80211w"].map { $0.numberOfAnyBase ?? 2 == 2 } ?? requiresManagementFrames
        draft.security = Self.security(fields, draft.requiresManagementFrames)
        draft.password = Self.password(fields, draft.security)
        switch draft.security {
        case .sae where fields["sae_pk"]?.numberOfAnyBase ?? 0 == 1:
            draft.password = .malformed("altnet supports no sae_pk")
        case .psk where fields["sae_password_id"] != nil, .sae where fields["sae_password_id"] != nil:
            draft.password = .malformed("altnet supports no sae_password_id")
        default: break
        }
        draft.user = Self.user(fields)
        draft.hasCredential = !fields.keys.allSatisfy(Self.harmless.contains)
        add(draft)
    }

    private static let harmless = Set(
        words: """
            ssid scan_ssid bssid bssid_hint bssid_blacklist bssid_whitelist bssid_ignore bssid_accept id_str priority \
            disabled mode key_mgmt proto pairwise group group_mgmt auth_alg ieee80211w ocv frequency freq_list \
            scan_freq fixed_freq bgscan bg_scan_period mac_addr mac_value rand_addr_lifetime proactive_key_caching okc \
            peerkey wpa_ptk_rekey wpa_deny_ptk0_rekey group_rekey wps_disabled ht vht he ht40 disable_ht disable_ht40 \
            disable_sgi disable_ldpc disable_vht disable_he disable_eht disable_max_amsdu ht40_intolerant ht_mcs \
            tx_stbc rx_stbc ampdu_factor ampdu_density vht_capa vht_capa_mask max_oper_chwidth vht_center_freq1 \
            vht_center_freq2 acs enable_edmg edmg_channel pbss beacon_int dtim_period ap_max_inactivity max_idle \
            ignore_broadcast_ssid no_auto_peer mesh_fwding mesh_rssi_threshold mesh_basic_rates ft_eap_pmksa_caching \
            fils_dh_group beacon_prot owe_group owe_only owe_ptk_workaround transition_disable update_identifier \
            multi_ap_backhaul_sta multi_ap_profile enable_4addr_mode ssid_protection rsn_overriding mixed_cell \
            eapol_flags
            """)
    /// Enterprise settings that altnet reads, and ignored settings that do not restrict the server's certificate.
    private static let ofUser: Set = [
        "eap", "identity", "anonymous_identity", "password", "ca_cert", "ca_path", "client_cert", "private_key",
        "private_key_passwd", "phase1", "phase2", "domain_suffix_match", "eap_workaround", "fragment_size",
    ]
    /// Other settings of a credential. They may restrict the server's certificate, so enterprise networks with them are
    /// skipped.
    private static let credentials = Set(
        words: """
            psk mem_only_psk sae_password sae_password_id sae_pwe sae_pk wep_key0 wep_key1 wep_key2 wep_key3 \
            wep_tx_keyidx psk_list domain_match altsubject_match subject_match check_cert_subject ca_cert2 ca_path2 \
            client_cert2 private_key2 private_key2_passwd subject_match2 check_cert_subject2 altsubject_match2 \
            domain_match2 domain_suffix_match2 dh_file dh_file2 pin pin2 pcsc engine engine2 engine_id engine2_id \
            key_id key2_id cert_id cert2_id ca_cert_id ca_cert2_id machine_identity machine_password imsi_identity \
            imsi_privacy_cert imsi_privacy_attr sim_num pac_file ocsp ocsp2 erp openssl_ciphers dpp_connector \
            dpp_netaccesskey dpp_netaccesskey_expiry dpp_csign dpp_pp_key dpp_pfs dpp_connector_privacy \
            macsec_policy mka_cak mka_ckn mka_priority roaming_consortium_selection p2p_client_list p2p2_client_list \
            go_p2p_dev_addr go_dik_id
            """)
    private static let ofCred = Set(
        words: """
            temporary priority sp_priority pcsc eap password update_identifier min_dl_bandwidth_home \
            min_ul_bandwidth_home min_dl_bandwidth_roaming min_ul_bandwidth_roaming max_bss_load req_conn_capab ocsp \
            sim_num engine excluded_ssid roaming_consortium required_roaming_consortium realm username ca_cert \
            client_cert private_key private_key_passwd engine_id ca_cert_id cert_id key_id imsi milenage \
            domain_suffix_match domain phase1 phase2 home_ois required_home_ois roaming_consortiums roaming_partner \
            provisioning_sp imsi_privacy_cert imsi_privacy_attr
            """)
    private static let globals = Set(
        words: """
            ctrl_interface no_ctrl_interface ctrl_interface_group eapol_version ap_scan user_mpm max_peer_links \
            mesh_max_inactivity mesh_fwding disable_scan_offload fast_reauth opensc_engine_path pkcs11_engine_path \
            pkcs11_module_path openssl_ciphers pcsc_reader pcsc_pin external_sim driver_param update_config \
            load_dynamic_eap uuid auto_uuid device_name manufacturer model_name model_number serial_number device_type \
            sec_device_type os_version config_methods wps_cred_processing wps_cred_add_sae wps_vendor_ext_m1 \
            wps_priority wps_nfc_dev_pw_id wps_nfc_dh_pubkey wps_nfc_dh_privkey wps_nfc_dev_pw persistent_reconnect \
            ip_addr_go ip_addr_mask ip_addr_start ip_addr_end country bss_max_count bss_expiration_age \
            bss_expiration_scan_count filter_ssids filter_rssi max_num_sta ap_isolate disassoc_low_ack hs20 \
            interworking hessid access_network_type go_interworking go_access_network_type go_internet go_venue_group \
            go_venue_type pbc_in_m1 autoscan ext_password_backend auto_interworking okc pmf sae_check_mfp sae_groups \
            sae_pwe sae_pmkid_in_assoc dtim_period beacon_int ap_assocresp_elements ap_vendor_elements \
            ignore_old_scan_res initial_freq_list freq_list scan_cur_freq scan_res_valid_for_connect \
            sched_scan_interval sched_scan_start_delay sched_scan_plans tdls_external_control wowlan_triggers \
            wowlan_disconnect_on_deinit mac_addr rand_addr_lifetime preassoc_mac_addr key_mgmt_offload passive_scan \
            reassoc_same_bss_optim fst_group_id fst_priority fst_llt cert_in_cb wpa_rsc_relaxation non_pref_chan \
            mbo_cell_capa disassoc_imminent_rssi_threshold oce gas_address3 gas_rand_addr_lifetime gas_rand_mac_addr \
            ftm_responder ftm_initiator dpp_config_processing dpp_name dpp_mud_url coloc_intf_reporting disable_btm \
            extended_key_id rsn_overriding bgscan
            """)
    /// Words of `phase1` and `phase2` that do not restrict the server's certificate.
    private static let phaseWords = Set(
        words: """
            peapver=0 peapver=1 peaplabel=0 peaplabel=1 crypto_binding=0 crypto_binding=1 include_tls_length=1 \
            mschapv2_retry=0 tls_allow_md5=1 tls_disable_time_checks=0 tls_disable_time_checks=1 \
            tls_disable_session_ticket=0 tls_disable_session_ticket=1 fast_provisioning=0 fast_provisioning=1 \
            fast_provisioning=2
            """)

    private static func user(_ fields: [String: SourceText]) -> EnterpriseDraft {
        var user = EnterpriseDraft()
        user.unknownSetting = fields.keys.sorted().first { !harmless.contains($0) && !ofUser.contains($0) }
        func text(_ key: String) -> String? {
            guard let value = fields[key] else { return nil }
            let text = bytes(value).flatMap { String(validating: $0, as: UTF8.self) }
            if text == nil { user.unknownSetting = user.unknownSetting ?? key }
            return text
        }
        user.method = fields["eap"]?.list(\.isBlank).first?.text
        user.inner = text("phase2")
        user.identity = text("identity")
        user.anonymousIdentity = text("anonymous_identity")
        if let password = fields["password"] {
            if password.starts(with: "hash:") {
                user.obstacle = .passwordHashed
            } else if password.starts(with: "ext:") {
                user.obstacle = .passwordElsewhere
            } else {
                user.password = quoted(password).map { Secret($0) } ?? Secret(hexDigits: password)
            }
        }
        user.setAuthority(text("ca_cert") ?? text("ca_path"))
        user.clientCertificate = EnterpriseDraft.file(text("client_cert"))
        user.privateKey = EnterpriseDraft.file(text("private_key"))
        // Text that is not UTF-8 becomes an invalid host name, which is refused.
        user.serverName = fields["domain_suffix_match"].map { value in
            bytes(value).map { String(decoding: $0, as: UTF8.self) } ?? value.name
        }
        for phase in ["phase1", "phase2"] where fields[phase] != nil {
            let words = text(phase)?.split(separator: " ").map(String.init) ?? ["?"]
            if !words.allSatisfy({ phaseWords.contains($0) || $0.hasPrefix("auth=") || $0.hasPrefix("autheap=") }) {
                user.unknownSetting = user.unknownSetting ?? phase
            }
        }
        return user
    }

    /// - Parameter requiresManagementFrames: whether to restrict a WPA2 and WPA3 network to WPA3.
    private static func security(
        _ fields: [String: SourceText], _ requiresManagementFrames: Bool
    ) -> NetworkDraft.Security {
        let hasWEP = fields.keys.contains { $0.hasPrefix("wep_key") }
        guard let words = fields["key_mgmt"]?.list(\.isBlank).compactMap(\.text), !words.isEmpty else {
            // The default is WPA-PSK and WPA-EAP.
            return fields["psk"] == nil && fields["eap"] != nil ? .enterprise : .psk
        }
        let psk: Set = ["WPA-PSK", "WPA-PSK-SHA256", "FT-PSK"]
        let sae: Set = ["SAE", "FT-SAE", "SAE-EXT-KEY", "FT-SAE-EXT-KEY"]
        if words.contains(where: sae.contains), requiresManagementFrames { return .sae }
        if words.contains(where: psk.contains), fields["psk"] != nil || fields["sae_password"] != nil { return .psk }
        if words.contains(where: sae.contains) { return words.contains(where: psk.contains) ? .psk : .sae }
        if words.contains(where: psk.contains), fields["eap"] == nil { return .psk }
        if words == ["OWE"] { return .owe }
        if words.contains(where: ["WPA-EAP", "WPA-EAP-SHA256", "FT-EAP"].contains) { return .enterprise }
        if words.contains("IEEE8021X") { return .wep }
        if words == ["NONE"] { return hasWEP ? .wep : .open }
        return .unknown(words.joined(separator: " "))
    }

    private static func password(
        _ fields: [String: SourceText], _ security: NetworkDraft.Security
    ) -> NetworkDraft.Password {
        let sae = fields["sae_password"].map { bytes($0).map { Secret($0) } }
        if let sae, sae == nil { return .malformed("sae_password is neither quoted nor hexadecimal digits") }
        if case .sae = security, let sae = sae ?? nil { return .passphrase(sae) }
        guard let psk = fields["psk"] else { return (sae ?? nil).map { .passphrase($0) } ?? .missing }
        // wpa_supplicant ignores text behind the last quote.
        let quote = UInt8(ascii: "\"")
        if psk.first == quote, let end = psk.dropFirst().lastIndex(of: quote) {
            let text = psk[..<end].dropFirst()
            let passphrase = Secret(text)
            if let sae = sae ?? nil, sae != passphrase { return .several }
            return .passphrase(passphrase)
        }
        if psk.isHexKey {
            let candidates = [sae ?? nil, fields["#psk"].map { Secret($0) }].compactMap(\.self)
            return Secret(hexDigits: psk).map { .derivedKey($0, candidates: candidates) } ?? .missing
        }
        return psk.starts(with: "ext:") ? .elsewhere : .malformed("psk is neither quoted nor 64 hexadecimal digits")
    }

    private static func commentedPassphrase(_ line: SourceText) -> SourceText? {
        let line = line.trimmed
        return line.starts(with: "#psk=") ? quoted(line.dropFirst(5)) : nil
    }

    private static func quoted(_ value: SourceText) -> SourceText? {
        let quote = UInt8(ascii: "\"")
        guard value.count > 1, value.first == quote, value.last == quote else { return nil }
        return value.dropFirst().dropLast()
    }

    /// Reads a quoted text, a quoted text with escapes (`P"..."`), or hexadecimal digits.
    private static func bytes(_ value: SourceText) -> [UInt8]? {
        if let text = quoted(value) { return Array(text) }
        if value.first == UInt8(ascii: "P"), let text = quoted(value.dropFirst())?.text {
            return SSID.bytes(printedBySupplicant: text)
        }
        return value.text.flatMap { Hex.bytes($0) }
    }
}
