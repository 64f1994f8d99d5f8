import AgentModel

/// Netplan's YAML, and cloud-init's network configuration of version 2, which is the same with or without `network:`
/// around it.
public enum NetplanSource {
    public static func read(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            let root = try YAMLNode(text)
            let wireless = (root["network"] ?? root)["wifis"]
            for (name, interface) in wireless?.entries ?? [] {
                // What NetworkManager has written is named after its connection.
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
        for (ssid, point) in points {
            var draft = NetworkDraft(Place(source, line: ssid.line))
            draft.name = ssid.bytes()
            draft.interface = name
            let passthrough = point["networkmanager"]?["passthrough"]
            draft.address = address
            draft.address?.addGateway(of: passthrough ?? interface["networkmanager"]?["passthrough"])
            draft.addressIsOfInterface = points.count > 1
            let auth = point["auth"]
            draft.password = Self.password(point["password"] ?? auth?["password"])
            draft.security = Self.security(
                passthrough?["wifi-security.key-mgmt"]?.text ?? auth?["key-management"]?.text, draft.password)
            if case .missing = draft.password, let flags = passthrough?["wifi-security.psk-flags"]?.text, flags != "0" {
                draft.password = .elsewhere
            }
            if let auth { draft.user = Self.user(auth, passthrough) }
            draft.isHidden = point["hidden"]?.flag ?? passthrough?["wifi.hidden"]?.flag ?? false
            draft.isAutomatic = passthrough?["connection.autoconnect"]?.flag ?? true
            draft.priority = passthrough?["connection.autoconnect-priority"]?.text.flatMap { Int($0) } ?? 0
            switch point["mode"]?.text ?? "infrastructure" {
            case "infrastructure": break
            case "adhoc": draft.mode = .adHoc
            case "mesh": draft.mode = .mesh
            default: draft.mode = .accessPoint
            }
            add(draft)
        }
    }

    /// - Parameter passthrough: NetworkManager's settings that netplan has no words for.
    private static func user(_ auth: YAMLNode, _ passthrough: YAMLNode?) -> EnterpriseDraft {
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
        user.serverName = passthrough?["802-1x.domain-suffix-match"]?.text ?? passthrough?["802-1x.domain-match"]?.text
        if passthrough?["802-1x.system-ca-certs"]?.flag ?? false { user.usesSystemAuthorities = true }
        return user
    }

    private static func password(_ node: YAMLNode?) -> NetworkDraft.Password {
        guard let secret = node?.scalar?.secret, secret.count > 0 else { return .missing }
        return secret.keyOrPassphrase
    }

    private static func security(
        _ name: String?, _ password: NetworkDraft.Password
    ) -> NetworkDraft.Security {
        switch name {
        case nil: if case .missing = password { .open } else { .psk }
        case "none": .open
        case "psk", "psk-sha256", "wpa-psk": .psk
        case "sae": .sae
        case "owe": .owe
        case "ieee8021x": .wep
        case "802.1x", "eap", "eap-sha256", "wpa-eap": .enterprise
        case let other?: .unknown(other)
        }
    }

    /// Nil where a server gives the address.
    private static func address(_ interface: YAMLNode) -> AddressDraft? {
        guard interface["dhcp4"]?.flag != true else { return nil }
        var draft = AddressDraft()
        // An address with options is a mapping with it as the key.
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

extension AddressDraft {
    /// NetworkManager's settings that netplan has no words for hold the gateway beside the address.
    fileprivate mutating func addGateway(of passthrough: YAMLNode?) {
        guard gateway == nil, let passthrough else { return }
        gateway =
            passthrough["ipv4.gateway"]?.text
            ?? passthrough["ipv4.address1"]?.text.flatMap { text in
                let parts = text.split(separator: ",")
                return parts.count == 2 ? String(parts[1]) : nil
            }
    }
}
