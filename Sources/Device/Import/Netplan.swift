import AgentModel

/// Reads netplan's YAML, and cloud-init's network configuration version 2, which may omit the outer `network:`.
public enum NetplanSource {
    /// One of several files, before they are merged.
    public struct File {
        fileprivate(set) var contents: SourceContents
        fileprivate var devices: [Device] = []
    }

    public static func read(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        contents(of: [file(bytes, from: source)])
    }

    public static func file(_ bytes: UnsafeRawBufferPointer, from source: String) -> File {
        var devices: [Device] = []
        let contents = reading(bytes, from: source) { text, contents throws(MalformedSource) in
            let root = try YAMLNode(text)
            let network = root["network"] ?? root
            // Skip version 1, which is cloud-init's own format.
            if network["version"]?.text == "1", network["wifis"] == nil { return }
            devices = (network["wifis"]?.entries ?? []).map { Device($0.key, $0.value, from: source) }
            let shape = root["network"] == nil ? NetplanShape.networkAlone : .file
            if let line = shape.misfit(in: root, at: 1) {
                let place = ImportLocation(source, line: line)
                contents.doubt(place)
                let isAboutNetworks = text.firstIndex(of: "wifis") != nil || text.firstIndex(of: "access-points") != nil
                if isAboutNetworks, devices.allSatisfy({ $0.points.isEmpty }) { contents.report(unknown: place) }
            }
        }
        return File(contents: contents, devices: devices)
    }

    /// Merges files. A later value replaces an earlier one, and a later list continues it (netplan, "YAML
    /// configuration").
    /// - Parameter files: files in the order of their names.
    public static func contents(of files: [File]) -> SourceContents {
        var contents = SourceContents()
        var devices: [Device] = []
        for file in files {
            contents.findings += file.contents.findings
            contents.doubts += file.contents.doubts
            for device in file.devices {
                if let index = devices.firstIndex(where: { $0.id == device.id }) {
                    devices[index].merge(device)
                } else if devices.count < ImportLimits.networks {
                    devices.append(device)
                }
            }
        }
        for device in devices { contents.add(device) }
        return contents
    }

    fileprivate struct Device {
        let id: [UInt8]
        var name: String?
        var isDHCP: Bool?
        var address: AddressDraft
        var points: [(draft: NetworkDraft, gateway: String?)] = []

        init(_ key: YAMLScalar, _ node: YAMLNode, from source: String) {
            id = key.bytes()
            // NetworkManager writes `NM-` and the connection's UUID in place of an interface.
            name = key.text.flatMap { $0.hasPrefix("NM-") ? nil : $0 }
            if let match = node["match"] {
                let pattern = match["name"]?.text
                name = node["set-name"]?.text ?? (pattern?.contains { "*?[".contains($0) } ?? true ? nil : pattern)
            }
            isDHCP = node["dhcp4"]?.flag
            address = NetplanSource.address(node)
            let outer = node["networkmanager"]?["passthrough"]?.entries ?? []
            // Skip settings that are one level too high: they are not SSIDs.
            let entries = node["access-points"]?.entries.filter {
                !NetplanShape.ofAccessPoint.contains($0.key.text ?? "")
            }
            points = (entries ?? []).map { NetplanSource.draft($0.key, $0.value, outer, from: source) }
        }

        mutating func merge(_ other: Device) {
            isDHCP = other.isDHCP ?? isDHCP
            name = other.name ?? name
            address.addresses += other.address.addresses
            address.servers += other.address.servers
            address.gateway = other.address.gateway ?? address.gateway
            // A name without a credential does not replace one that has it.
            let names = Set(other.points.lazy.filter { !$0.draft.isOpen }.map(\.draft.name))
            points = points.filter { !names.contains($0.draft.name) } + other.points
        }
    }
}

extension NetworkDraft {
    fileprivate var isOpen: Bool { if case .open = security { true } else { false } }
}

extension SourceContents {
    fileprivate mutating func add(_ device: NetplanSource.Device) {
        for (var draft, gateway) in device.points {
            draft.interface = device.name
            draft.decidesAddress = true
            draft.addressIsOfInterface = device.points.count > 1
            if device.isDHCP != true {
                draft.address = device.address
                draft.address?.gateway = device.address.gateway ?? gateway
            }
            add(draft)
        }
    }
}

extension NetplanSource {
    fileprivate static func draft(
        _ ssid: YAMLScalar, _ point: YAMLNode, _ outer: [(key: YAMLScalar, value: YAMLNode)], from source: String
    ) -> (NetworkDraft, gateway: String?) {
        var draft = NetworkDraft(ImportLocation(source, line: ssid.line))
        draft.name = ssid.bytes()
        // Settings of the access point have priority.
        let passed = (point["networkmanager"]?["passthrough"]?.entries ?? []) + outer
        let passthrough = YAMLNode.mapping(passed)
        // NetworkManager has two names of a group, and the longer one has priority.
        func setting(_ name: String) -> String? {
            (passthrough["802-11-wireless" + name.dropFirst("wifi".count)] ?? passthrough[name])?.text
        }
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
            setting(Self.keyManagement).map { $0 == "none" ? "ieee8021x" : $0 }
                ?? (auth?["key-management"] ?? point["key-management"])?.text,
            hasPassword: password != nil && (auth == nil || auth?["password"] != nil),
            hasAuth: auth != nil, isOfUser: auth?["method"] != nil)
        draft.requiresManagementFrames = NetworkManagerSource.requiresManagementFrames(
            setting("wifi-security.pmf"))
        if case .missing = draft.password, let flags = setting("wifi-security.psk-flags"), flags != "0" {
            draft.password = flags == "2" ? .asked : .elsewhere
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
        return (draft, Self.gateway(of: passthrough))
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
        user.obstacle = .noPassword
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
        user.unknownSetting = user.unknownSetting ?? SourceContents.unknownSetting(ofUser: names, flags: flags)
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

    fileprivate static func address(_ interface: YAMLNode) -> AddressDraft {
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

    /// Returns the gateway from NetworkManager's passthrough settings, where it may follow the address.
    private static func gateway(of passthrough: YAMLNode) -> String? {
        passthrough["ipv4.gateway"]?.text
            ?? passthrough["ipv4.address1"]?.text.flatMap { text in
                let parts = text.split(separator: ",")
                return parts.count == 2 ? String(parts[1]) : nil
            }
    }
}

extension YAMLScalar {
    fileprivate var setting: (group: String, name: String) {
        let parts = (text ?? "").split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }
}
