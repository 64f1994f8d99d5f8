import AgentModel

/// Reads NetworkManager's connections from key files (nm-settings-keyfile(5)) and answers of `nmcli`.
public enum NetworkManagerSource {
    /// Times at which connections were last up, by UUID, in seconds since 1970 (/var/lib/NetworkManager/timestamps).
    public typealias Timestamps = [String: UInt64]

    /// - Returns: an empty dictionary if the file is damaged.
    public static func timestamps(_ bytes: UnsafeRawBufferPointer) -> Timestamps {
        guard bytes.count <= ImportLimits.sourceLength, let text = try? GroupedText(SourceText(bytes)) else {
            return [:]
        }
        return (text.groups["timestamps"] ?? [:]).compactMapValues { $0.word.flatMap { UInt64($0) } }
    }

    public static func keyFile(
        _ bytes: UnsafeRawBufferPointer, from source: String, timestamps: Timestamps = [:]
    ) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            try contents.add(GroupedText(text), from: source, timestamps: timestamps)
        }
    }

    /// Returns the UUIDs of wireless connections in the answer to `nmcli --terse --escape no --fields UUID,TYPE
    /// connection show`. Ignores malformed lines.
    public static func uuids(inListOf bytes: UnsafeRawBufferPointer) -> [String] {
        guard bytes.count <= ImportLimits.sourceLength else { return [] }
        return SourceText(bytes).lines.compactMap { _, line in
            guard let (uuid, type) = line.split(at: UInt8(ascii: ":")), isWireless(type.text), uuid.count == 36,
                uuid.allSatisfy({ $0.isHexDigit || $0 == UInt8(ascii: "-") })
            else { return nil }
            return uuid.text
        }
    }

    /// Reads the answer to `nmcli --terse --escape no --show-secrets connection show uuid UUID`.
    public static func answer(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            var groups: [String: [String: GroupedText.Value]] = [:]
            for (number, line) in text.lines where !line.trimmed.isEmpty {
                guard let (property, value) = line.split(at: UInt8(ascii: ":")),
                    let (setting, key) = property.split(at: UInt8(ascii: ".")), let name = setting.text,
                    let key = key.text
                else {
                    contents.report(unknown: ImportLocation(source, line: number))
                    continue
                }
                guard !ofActiveConnection.contains(name) else { continue }
                // Keep the group of a setting without a value.
                groups[name, default: [:]][key] =
                    value.isEmpty ? nil : GroupedText.Value(text: value, line: number)
            }
            try contents.add(GroupedText(groups: groups), from: source, timestamps: [:], isAnswer: true)
        }
    }

    static func isWireless(_ type: String?) -> Bool { type == "wifi" || type == "802-11-wireless" }

    private static let ofActiveConnection: Set = ["GENERAL", "IP4", "IP6", "DHCP4", "DHCP6"]

    // MARK: Known settings

    /// Known settings of a wireless connection, by group (nm-settings-keyfile(5)). A word that ends with a hyphen or a
    /// dot is a prefix.
    private static let settings: [String: Set<String>] = [
        "connection": Set(
            words: """
                id uuid stable-id type interface-name autoconnect autoconnect-priority autoconnect-retries \
                autoconnect-ports autoconnect-slaves multi-connect auth-retries timestamp permissions zone master \
                controller slave-type port-type secondaries gateway-ping-timeout ip-ping-addresses \
                ip-ping-addresses-require-all ip-ping-timeout metered lldp mdns llmnr dns-over-tls dnssec mptcp-flags \
                wait-device-timeout wait-activation-delay mud-url down-on-poweroff read-only
                """),
        "wifi": Set(
            words: """
                ssid mode band channel channel-width bssid rate tx-power mac-address cloned-mac-address \
                assigned-mac-address generate-mac-address-mask mac-address-blacklist mac-address-denylist \
                mac-address-randomization mtu seen-bssids hidden powersave wake-on-wlan ap-isolation
                """),
        "wifi-security": harmless.union(
            Set(
                words: """
                    psk psk-flags wep-key0 wep-key1 wep-key2 wep-key3 wep-key-flags leap-username leap-password \
                    leap-password-flags
                    """)),
        "ipv4": ofAddresses, "ipv6": ofAddresses,
        "proxy": ["method", "browser-only", "pac-url", "pac-script"],
        "match": ["driver", "interface-name", "kernel-command-line", "path"],
        "hostname": ["from-dhcp", "from-dns-lookup", "only-from-default", "priority"],
        "link": ["gro-max-size", "gso-max-segments", "gso-max-size", "tx-queue-length"],
        "ethtool": ["channels-", "coalesce-", "eee-", "feature-", "fec-", "pause-", "ring-"],
        "tc": ["qdisc.", "qdiscs", "tfilter.", "tfilters"],
        ".nmmeta": ["nm-generated", "volatile", "external", "shadowed-storage"],
    ]
    private static let ofAddresses = Set(
        words: """
            address addresses addr-gen-mode auto-route-ext-gw clat dad-timeout dhcp- dns dns- forwarding gateway \
            ignore-auto-dns ignore-auto-routes ip6-privacy link-local may-fail method mtu never-default ra-timeout \
            replace-local-rule required-timeout route route- routed-dns routes routing-rule routing-rules shared- \
            temp- token
            """)
    private static let harmless: Set = [
        "key-mgmt", "pmf", "fils", "proto", "pairwise", "group", "auth-alg", "wps-method", "wep-tx-keyidx",
        "wep-key-type",
    ]
    /// Settings whose values may contain an equals sign.
    private static let texts: Set = [
        "id", "stable-id", "zone", "permissions", "mud-url", "ssid", "psk", "wep-key0", "wep-key1", "wep-key2",
        "wep-key3", "leap-username", "leap-password",
    ]

    static let wirelessGroups: Set = [
        "wifi", "wifi-security", "802-11-wireless", "802-11-wireless-security",
    ]

    /// Whether a connection may have this group, or this setting in it.
    /// - Parameters:
    ///   - key: name of the setting; nil for the group itself.
    ///   - value: value of the setting; nil to check only the name.
    static func isKnown(_ group: String, _ key: String?, _ value: SourceText? = nil) -> Bool {
        // `unknownSetting(ofUser:flags:)` checks the settings of this group.
        if group == "802-1x" { return true }
        if group == "user" {
            let key = key?.lowercased() ?? ""
            return !["pass", "psk", "key", "secret"].contains { key.contains($0) }
        }
        let name = group.hasPrefix("802-11-wireless") ? "wifi" + group.dropFirst("802-11-wireless".count) : group
        guard let known = settings[name] else { return false }
        // libnetplan writes `_` for an empty group.
        guard let key, key != "_" else { return true }
        if wirelessGroups.contains(group) || group == "connection", !texts.contains(key), let value,
            value.contains(UInt8(ascii: "="))
        {
            return false
        }
        // Addresses and routes are numbered: `address1`, `route1_options`.
        let stem = name.hasPrefix("ipv") ? String(key.prefix { !$0.isNumber }) : key
        return known.contains(key) || known.contains(stem)
            || known.contains { "-.".contains($0.last ?? " ") && key.hasPrefix($0) }
    }

    static func isOfCredential(_ setting: String) -> Bool {
        !harmless.contains(setting) && !setting.hasSuffix("-flags")
    }

    static func requiresManagementFrames(_ pmf: String?) -> Bool {
        guard let pmf else { return false }
        let word = pmf.split(separator: " ").first ?? ""
        return word.numberOfAnyBase == 3 || word == "required"
    }
}

extension SourceContents {
    /// - Parameter isAnswer: whether the text is an answer of `nmcli`, which does not escape values.
    fileprivate mutating func add(
        _ text: GroupedText, from source: String, timestamps: NetworkManagerSource.Timestamps, isAnswer: Bool = false
    ) throws(MalformedSource) {
        let connection = text.groups["connection"] ?? [:]
        let type = connection["type"]?.word
        let group = text.group("802-11-wireless", or: "wifi")
        guard NetworkManagerSource.isWireless(type) || type == nil && group != nil else {
            let lines = NetworkManagerSource.wirelessGroups.compactMap { text.headers[$0] }
            if let line = lines.min() { report(unknown: ImportLocation(source, line: line)) }
            return
        }
        let wireless = group ?? [:]
        var draft = NetworkDraft(ImportLocation(source, line: isAnswer ? nil : wireless["ssid"]?.line))
        if let name = wireless["ssid"] { draft.name = isAnswer ? Array(name.text) : try Self.ssid(name) }
        draft.isHidden = wireless["hidden"]?.flag(isAnswer: isAnswer) ?? false
        switch wireless["mode"]?.word {
        case nil, "infrastructure": break
        case "adhoc": draft.mode = .adHoc
        case "mesh": draft.mode = .mesh
        default: draft.mode = .accessPoint
        }
        draft.isAutomatic = connection["autoconnect"]?.flag(isAnswer: isAnswer) ?? true
        draft.priority = connection["autoconnect-priority"]?.number ?? 0
        draft.interface = connection["interface-name"]?.word
        let time = connection["timestamp"]?.number.flatMap { $0 > 0 ? UInt64($0) : nil }
        draft.lastConnected = time ?? connection["uuid"]?.word.flatMap { timestamps[$0] }
        let securityGroup = text.group("802-11-wireless-security", or: "wifi-security")
        let security = securityGroup ?? [:]
        let is8021X = text.groups["802-1x"] != nil
        draft.security = Self.security(securityGroup, is8021X: is8021X)
        draft.password = Self.password(security, isAnswer: isAnswer)
        draft.hasCredential =
            is8021X || security.keys.contains(where: NetworkManagerSource.isOfCredential)
        draft.requiresManagementFrames = NetworkManagerSource.requiresManagementFrames(security["pmf"]?.word)
        let unknown = text.firstUnknown { group, key, value in
            // libnm-glib wrote the name of the security group into this setting.
            if key == "security", securityGroup != nil, NetworkManagerSource.wirelessGroups.contains(group) {
                return true
            }
            return NetworkManagerSource.isKnown(group, key, value)
        }
        if let unknown { doubt(ImportLocation(source, line: unknown)) }
        if let user = text.groups["802-1x"] { draft.user = try Self.user(user, isAnswer: isAnswer) }
        draft.address = Self.address(text.groups["ipv4"] ?? [:], isAnswer: isAnswer)
        draft.decidesAddress = true
        add(draft)
    }

    /// Reads the group `802-1x` (nm-settings-keyfile(5)). A certificate inside the source counts as an unreadable file;
    /// editors do not write such certificates.
    private static func user(
        _ settings: [String: GroupedText.Value], isAnswer: Bool
    ) throws(MalformedSource) -> EnterpriseDraft {
        var user = EnterpriseDraft()
        func text(_ key: String) throws(MalformedSource) -> String? {
            guard let value = settings[key] else { return nil }
            if isAnswer { return value.text.text }
            return String(validating: try value.bytes(), as: UTF8.self)
        }
        user.method = settings["eap"]?.word?.split(whereSeparator: { ";, ".contains($0) }).first.map(String.init)
        user.inner = settings["phase2-auth"]?.word ?? settings["phase2-autheap"]?.word
        user.identity = try text("identity")
        user.anonymousIdentity = try text("anonymous-identity")
        if let value = settings["password"] { user.password = isAnswer ? Secret(value.text) : try value.secret() }
        switch flags(settings["password-flags"]) {
        case 0: user.obstacle = .noPassword
        case 2: user.obstacle = .passwordAsked
        default: user.obstacle = .passwordElsewhere
        }
        user.setAuthority(try text("ca-cert"))
        if settings["system-ca-certs"]?.flag(isAnswer: isAnswer) ?? false { user.usesSystemAuthorities = true }
        user.clientCertificate = EnterpriseDraft.file(try text("client-cert"))
        user.privateKey = EnterpriseDraft.file(try text("private-key"))
        user.serverName =
            try text("domain-suffix-match")
            // Text that is not UTF-8 becomes an invalid host name, which is refused.
            ?? settings["domain-suffix-match"]?.text.name
        let set = settings.filter { !$0.value.text.trimmed.isEmpty }.map { $0.key }
        user.unknownSetting = unknownSetting(ofUser: set, flags: settings["phase1-auth-flags"]?.word)
        return user
    }

    /// Returns an unsupported setting of `802-1x` that may restrict the server's certificate; nil if there is none. An
    /// exact server name is unsupported, as altnet compares only domains.
    /// - Parameter flags: value of `phase1-auth-flags`, which nmcli shows even if none is set.
    static func unknownSetting(ofUser names: [String], flags: String?) -> String? {
        let hasFlags = flags.map { !["0", "0x0 (none)"].contains($0) } ?? false
        return names.filter { $0 == "phase1-auth-flags" ? hasFlags : !ofUser.contains($0) }.min()
    }

    private static let ofUser = Set(
        words: """
            eap identity anonymous-identity password password-flags password-raw-flags phase2-auth \
            phase2-autheap ca-cert ca-cert-password-flags system-ca-certs client-cert client-cert-password-flags \
            private-key private-key-password private-key-password-flags phase2-ca-cert-password-flags \
            phase2-client-cert-password-flags phase2-private-key-password-flags pin-flags domain-suffix-match optional \
            auth-timeout phase1-peapver phase1-peaplabel phase1-fast-provisioning
            """)

    /// Reads an SSID: a text, or bytes as decimal numbers with a semicolon after each.
    private static func ssid(_ value: GroupedText.Value) throws(MalformedSource) -> [UInt8] {
        let bytes = try value.bytes()
        let separator = UInt8(ascii: ";")
        let parts = bytes.split(separator: separator, omittingEmptySubsequences: false).map { part in
            part.split(whereSeparator: \.isBlank)
        }
        if parts.count > 1, parts.last?.isEmpty ?? false {
            let numbers = parts.dropLast().map { words in
                words.count == 1 && words[0].count <= 3 && words[0].allSatisfy(\.isDigit)
                    ? UInt8(String(decoding: words[0], as: UTF8.self)) : nil
            }
            if numbers.allSatisfy({ $0 != nil }) { return numbers.compactMap(\.self) }
        }
        var name: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            // A backslash escapes a semicolon in a text.
            if byte == UInt8(ascii: "\\"), rest.first == separator { continue }
            name.append(byte)
        }
        return name
    }

    private static func security(
        _ security: [String: GroupedText.Value]?, is8021X: Bool
    ) -> NetworkDraft.Security {
        guard let security else { return is8021X ? .enterprise : .open }
        return switch security["key-mgmt"]?.word.flatMap({ $0.isEmpty ? nil : $0.lowercased() }) {
        case nil where is8021X: .enterprise
        case nil where security["psk"] != nil: .psk
        case nil: security.keys.contains { $0.hasPrefix("wep-key") } ? .wep : .unknown("(none)")
        case "wpa-psk": .psk
        case "sae": .sae
        case "owe": .owe
        case "none", "ieee8021x": .wep
        case "wpa-eap": .enterprise
        case let other?: .unknown(other)
        }
    }

    /// Returns the secret's flags. Flag 1: the password is in a user's keyring. Flag 2: NetworkManager asks for it each
    /// time (nm-settings-keyfile(5), "secret flags").
    private static func flags(_ value: GroupedText.Value?) -> Int {
        (value?.text.trimmed.prefix(while: \.isDigit).number ?? 0) & 3
    }

    private static func password(
        _ security: [String: GroupedText.Value], isAnswer: Bool
    ) -> NetworkDraft.Password {
        guard let value = security["psk"], !value.text.trimmed.isEmpty else {
            switch flags(security["psk-flags"]) {
            case 0: return .missing
            case 2: return .asked
            default: return .elsewhere
            }
        }
        if isAnswer { return Secret(value.text).keyOrPassphrase }
        do throws(MalformedSource) { return try value.secret().keyOrPassphrase } catch {
            return .malformed("psk: \(error.problem)")
        }
    }

    private static func address(_ settings: [String: GroupedText.Value], isAnswer: Bool) -> AddressDraft? {
        guard settings["method"]?.word == "manual" else { return nil }
        var draft = AddressDraft()
        let keys = settings.keys.filter { $0.starts(with: "address") && !$0.hasSuffix("-data") }
        for key in keys.sorted(by: { ($0.utf8.count, $0) < ($1.utf8.count, $1) }) {
            guard let text = settings[key]?.word else { continue }
            if isAnswer {
                draft.addresses += text.split(whereSeparator: { ", ".contains($0) }).map(String.init)
                continue
            }
            // Address, prefix length, gateway (read_one_ip_address_or_route in NetworkManager).
            var fields = text.split(whereSeparator: { "/;, \t".contains($0) })[...]
            guard let address = fields.popFirst(), !address.contains(":") else { continue }
            let length = fields.first.flatMap { Int($0) }
            if length != nil { fields.removeFirst() }
            draft.addresses.append("\(address)/\(length.flatMap { (0...32).contains($0) ? $0 : nil } ?? 24)")
            if let gateway = fields.first { draft.gateway = draft.gateway ?? String(gateway) }
        }
        if let gateway = settings["gateway"]?.word { draft.gateway = gateway }
        if settings["never-default"]?.flag(isAnswer: isAnswer) ?? false { draft.gateway = nil }
        draft.servers =
            settings["dns"]?.word?.split(whereSeparator: { ",; ".contains($0) }).map { server in
                String(server.prefix { $0 != "#" })
            } ?? []
        return draft
    }
}
