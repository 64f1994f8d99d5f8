import AgentModel

/// Netplan's YAML, and cloud-init's network configuration of version 2, which is the same with or without `network:`
/// around it.
public enum NetplanSource {
    public static func read(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            let root = try YAMLNode(text)
            let wireless = (root["network"] ?? root)["wifis"]
            let stray = strayCredential(in: root)
            for (name, interface) in wireless?.entries ?? [] {
                // What NetworkManager has written is named after its connection.
                let name = name.text.flatMap { $0.hasPrefix("NM-") ? nil : $0 }
                contents.add(interface, named: name, stray: stray, from: source)
            }
        }
    }

    /// The line of a credential that belongs to no network, so that any open network of the file may be the one that it is
    /// for.
    private static func strayCredential(in root: YAMLNode) -> Int? {
        let network = root["network"] ?? root
        let outer = [root, network].lazy.compactMap { $0.entries.first { $0.key.isOfCredential }?.key.line }
        if let line = outer.first { return line }
        for (name, interface) in network["wifis"]?.entries ?? [] {
            if name.isOfCredential, !interface.isMapping { return name.line }
            for (key, value) in interface.entries {
                if key.text == "access-points" {
                    // A network without its keys, or a key that stands beside its network.
                    if let point = value.entries.first(where: { !$0.value.isMapping }) {
                        return point.key.line
                    }
                } else if let line = key.isOfCredential ? key.line : value.lineOfCredential {
                    return line
                }
            }
        }
        return nil
    }
}

extension YAMLScalar {
    fileprivate var isOfCredential: Bool { text.map(isNameOfCredential) ?? false }
}

extension YAMLNode {
    fileprivate var isMapping: Bool { if case .mapping = self { true } else { false } }

    /// The line of the first key of a credential at any depth.
    fileprivate var lineOfCredential: Int? {
        for (key, value) in entries {
            if let line = key.isOfCredential ? key.line : value.lineOfCredential { return line }
        }
        return items.lazy.compactMap(\.lineOfCredential).first
    }
}

extension SourceContents {
    fileprivate mutating func add(_ interface: YAMLNode, named name: String?, stray: Int?, from source: String) {
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
            draft.doubt = Self.doubt(about: point) ?? stray.map { .strayCredential(line: $0) }
            draft.security = Self.security(
                (passthrough?[Self.keyManagement]?.text).map { $0 == "none" ? "ieee8021x" : $0 }
                    ?? auth?["key-management"]?.text,
                hasPassword: (point["password"] ?? auth?["password"]) != nil, isOfUser: auth?["method"] != nil)
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
        let passed = (passthrough?.entries ?? []).compactMap { key, value -> (name: String, value: String)? in
            guard let key = key.text, key.hasPrefix("802-1x.") else { return nil }
            // What is no text is no name of a host, and refused.
            return (String(key.dropFirst("802-1x.".count)), value.scalar.map { $0.text ?? $0.name } ?? "?")
        }
        .filter { !$0.value.isEmpty }
        for (name, value) in passed {
            switch name {
            case "domain-suffix-match", "domain-match": user.requireServerName(value)
            case "altsubject-matches": user.requireAlternativeName(value, name)
            default: break
            }
        }
        if passthrough?["802-1x.system-ca-certs"]?.flag ?? false { user.usesSystemAuthorities = true }
        let unknown = auth.entries.first { !ofAuth.contains($0.key.text ?? "") || $0.value.scalar == nil }
        user.unknownSetting =
            user.unknownSetting ?? unknown?.key.name
            ?? Self.unknownSetting(ofUser: passed.map(\.name))
        return user
    }

    private static let ofAuth: Set = [
        "key-management", "password", "method", "identity", "anonymous-identity", "ca-certificate",
        "client-certificate", "client-key", "client-key-password", "phase2-auth",
    ]

    /// Why a network without a password may have one all the same: netplan refuses a file with a key that it does not
    /// know, so that one is spelled or indented otherwise than its author thinks.
    private static func doubt(about point: YAMLNode) -> Finding.Reason? {
        guard case .mapping(let entries) = point else { return .noMapping }
        let known: Set = ["auth", "mode", "bssid", "band", "channel", "hidden", "networkmanager"]
        let passed = point["networkmanager"]?["passthrough"]?.entries ?? []
        if let auth = point["auth"], !auth.isMapping { return .noMapping }
        let unknown =
            entries.first { !known.contains($0.key.text ?? "") }
            ?? point["auth"]?.entries.first { $0.key.text != "key-management" }
            ?? passed.first { $0.key.isOfCredential && $0.key.text != keyManagement }
        if let unknown { return .unknownSetting(unknown.key.name) }
        let inner = entries.filter { $0.key.text != "auth" }.flatMap(\.value.entries)
        return inner.lazy.compactMap { key, value in
            key.isOfCredential ? key.line : key.text == "passthrough" ? nil : value.lineOfCredential
        }
        .first.map { .strayCredential(line: $0) }
    }

    /// In NetworkManager's words, of which `none` is WEP.
    private static let keyManagement = "wifi-security.key-mgmt"

    /// Missing also where the key is there without a value.
    private static func password(_ node: YAMLNode?) -> NetworkDraft.Password {
        guard let secret = node?.scalar?.secret, secret.count > 0 else { return .missing }
        return secret.keyOrPassphrase
    }

    private static func security(_ name: String?, hasPassword: Bool, isOfUser: Bool) -> NetworkDraft.Security {
        switch name {
        case nil where isOfUser: .unknown("(none)")
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
