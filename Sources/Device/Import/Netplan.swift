import AgentModel

/// Reads netplan's YAML, and cloud-init's network configuration version 2, which may omit the outer `network:`.
public enum NetplanSource {
    public static func read(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            let root = try YAMLNode(text)
            let network = root["network"] ?? root
            // Skip version 1, which is cloud-init's own format.
            if network["version"]?.text == "1", network["wifis"] == nil { return }
            let shape = root["network"] == nil ? NetplanShape.networkAlone : .file
            if let line = shape.misfit(in: root, at: 1) {
                contents.doubt(ImportLocation(source, line: line))
            }
            for (name, interface) in network["wifis"]?.entries ?? [] {
                // NetworkManager writes `NM-` and the connection's UUID in place of an interface.
                let name = name.text.flatMap { $0.hasPrefix("NM-") ? nil : $0 }
                contents.add(interface, named: name, from: source)
            }
        }
    }
}

extension SourceContents {
    fileprivate mutating func add(_ interface: YAMLNode, named name: String?, from source: String) {
        let points = interface["access-points"]?.entries ?? []
        let address = Self.address(interface)
        let outer = interface["networkmanager"]?["passthrough"]?.entries ?? []
        for (ssid, point) in points {
            var draft = NetworkDraft(ImportLocation(source, line: ssid.line))
            draft.name = ssid.bytes()
            draft.interface = name
            // Settings of the access point have priority.
            let passed = (point["networkmanager"]?["passthrough"]?.entries ?? []) + outer
            let passthrough = YAMLNode.mapping(passed)
            draft.address = address
            draft.address?.addGateway(of: passthrough)
            draft.addressIsOfInterface = points.count > 1
            let auth = point["auth"]
            let password = point["password"] ?? auth?["password"]
            draft.password = Self.password(password)
            draft.hasCredential =
                auth?.entries.contains { $0.key.text != "key-management" } ?? false
                || passed.contains { key, value in
                    let (group, setting) = key.setting
                    return group == "802-1x"
                        || group.hasSuffix("-security") && NetworkManagerSource.isOfCredential(setting)
                }
            draft.security = Self.security(
                passthrough[Self.keyManagement]?.text.map { $0 == "none" ? "ieee8021x" : $0 }
                    ?? (auth?["key-management"] ?? point["key-management"])?.text,
                hasPassword: password != nil && (auth == nil || auth?["password"] != nil),
                hasAuth: auth != nil, isOfUser: auth?["method"] != nil)
            draft.requiresManagementFrames = NetworkManagerSource.requiresManagementFrames(
                passthrough["wifi-security.pmf"]?.text)
            if case .missing = draft.password, let flags = passthrough["wifi-security.psk-flags"]?.text, flags != "0" {
                draft.password = .elsewhere
            }
            if let auth { draft.user = Self.user(auth, passed) }
            draft.isHidden = point["hidden"]?.flag ?? passthrough["wifi.hidden"]?.flag ?? false
            draft.isAutomatic = passthrough["connection.autoconnect"]?.flag ?? true
            draft.priority = passthrough["connection.autoconnect-priority"]?.text.flatMap { Int($0) } ?? 0
            switch point["mode"]?.text ?? "infrastructure" {
            case "infrastructure": break
            case "adhoc": draft.mode = .adHoc
            case "mesh": draft.mode = .mesh
            default: draft.mode = .accessPoint
            }
            add(draft)
        }
    }

    /// - Parameter passed: NetworkManager's settings without an equivalent in netplan.
    private static func user(
        _ auth: YAMLNode, _ passed: [(key: YAMLScalar, value: YAMLNode)]
    ) -> EnterpriseDraft {
        var user = EnterpriseDraft()
        user.method = auth["method"]?.text
        user.inner = auth["phase2-auth"]?.text
        user.identity = auth["identity"]?.text
        user.anonymousIdentity = auth["anonymous-identity"]?.text
        user.password = auth["password"]?.scalar?.secret
        user.isPasswordElsewhere = user.password == nil
        user.setAuthority(auth["ca-certificate"]?.text)
        user.clientCertificate = EnterpriseDraft.file(auth["client-certificate"]?.text)
        user.privateKey = EnterpriseDraft.file(auth["client-key"]?.text)
        var names: [String] = []
        var flags: String?
        for (key, value) in passed {
            let (group, name) = key.setting
            guard group == "802-1x" else { continue }
            // Text that is not UTF-8 becomes an invalid host name, which is refused.
            let text = value.scalar.map { $0.text ?? $0.name } ?? "?"
            guard !text.isEmpty else { continue }
            switch name {
            case "domain-suffix-match" where user.serverName == nil || user.serverName == text: user.serverName = text
            case "domain-suffix-match": user.unknownSetting = name
            case "system-ca-certs": user.usesSystemAuthorities = value.flag ?? false
            case "phase1-auth-flags": flags = text
            default: break
            }
            names.append(name)
        }
        user.unknownSetting = user.unknownSetting ?? unknownSetting(ofUser: names, flags: flags)
        return user
    }

    private static let keyManagement = "wifi-security.key-mgmt"

    /// Returns the password; `missing` also for a key without a value.
    private static func password(_ node: YAMLNode?) -> NetworkDraft.Password {
        guard let secret = node?.scalar?.secret, secret.count > 0 else { return .missing }
        return secret.keyOrPassphrase
    }

    private static func security(
        _ name: String?, hasPassword: Bool, hasAuth: Bool, isOfUser: Bool
    ) -> NetworkDraft.Security {
        switch name {
        case nil where isOfUser || hasAuth && !hasPassword: .unknown("(none)")
        case nil: hasPassword ? .psk : .open
        case "none": .open
        case "psk", "psk-sha256", "wpa-psk": .psk
        case "sae": .sae
        case "owe": .owe
        case "ieee8021x": .wep
        case "802.1x", "eap", "eap-sha256", "wpa-eap": .enterprise
        case let other?: .unknown(other)
        }
    }

    /// Returns the static address; nil with DHCP.
    private static func address(_ interface: YAMLNode) -> AddressDraft? {
        guard interface["dhcp4"]?.flag != true else { return nil }
        var draft = AddressDraft()
        // An address with options is a mapping with the address as key.
        draft.addresses = interface["addresses"]?.items.compactMap { $0.text ?? $0.entries.first?.key.text } ?? []
        draft.gateway = interface["gateway4"]?.text
        for route in interface["routes"]?.items ?? [] {
            guard let to = route["to"]?.text, ["default", "0.0.0.0/0", "0/0"].contains(to) else { continue }
            if let via = route["via"]?.text, !via.contains(":") { draft.gateway = via }
        }
        draft.servers = interface["nameservers"]?["addresses"]?.items.compactMap(\.text) ?? []
        return draft
    }
}

extension YAMLScalar {
    fileprivate var setting: (group: String, name: String) {
        let parts = (text ?? "").split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }
}

extension AddressDraft {
    /// Adds the gateway from NetworkManager's passthrough settings, where it may follow the address.
    fileprivate mutating func addGateway(of passthrough: YAMLNode) {
        guard gateway == nil else { return }
        gateway =
            passthrough["ipv4.gateway"]?.text
            ?? passthrough["ipv4.address1"]?.text.flatMap { text in
                let parts = text.split(separator: ",")
                return parts.count == 2 ? String(parts[1]) : nil
            }
    }
}
