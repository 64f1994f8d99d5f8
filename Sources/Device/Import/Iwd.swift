import AgentModel

/// Reads iwd's files of known networks (iwd.network(5)).
public enum IwdSource {
    public static let endings = ["psk", "open", "8021x"]

    /// - Parameters:
    ///   - name: name of the file: the SSID, or `=` and its hexadecimal digits, with one of ``endings``.
    ///   - changed: modification time in seconds since 1970; iwd writes the file at each connection.
    public static func read(
        _ bytes: UnsafeRawBufferPointer, named name: some Collection<UInt8>, from source: String, changed: UInt64?
    ) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            guard let dot = name.indices.reversed().first(where: { name[$0] == UInt8(ascii: ".") }) else {
                throw MalformedSource("not a file name of iwd", line: 1)
            }
            var draft = NetworkDraft(ImportLocation(source))
            draft.name = try ssid(Array(name[..<dot]))
            switch String(decoding: name[dot...].dropFirst(), as: UTF8.self) {
            case "psk": draft.security = .psk
            case "open": draft.security = .open
            case "8021x": draft.security = .enterprise
            case let other: draft.security = .unknown(other)
            }
            draft.lastConnected = changed
            let groups = try GroupedText(text, .ell)
            draft.isAutomatic = groups["Settings", "AutoConnect"]?.flag() ?? true
            draft.isHidden = groups["Settings", "Hidden"]?.flag() ?? false
            draft.password = password(groups)
            draft.address = address(groups)
            if case .enterprise = draft.security {
                draft.user = try user(groups)
                draft.user.embedded = groups.embedded.reduce(into: [:]) { $0["embed:" + $1.key] = Secret($1.value) }
            }
            draft.hasCredential = groups.groups["Security"] != nil
            if groups["Settings", "TransitionDisable"]?.flag() ?? false {
                // iwd then requires management frame protection, and SAE or OWE in place of the disabled modes.
                let modes = groups["Settings", "DisabledTransitionModes"]?.word ?? ""
                draft.requiresManagementFrames = true
                if case .psk = draft.security, modes.contains("personal") { draft.security = .sae }
                if case .open = draft.security, modes.contains("open") { draft.security = .owe }
            }
            if let line = groups.firstUnknown(isKnown) { contents.doubt(ImportLocation(source, line: line)) }
            contents.add(draft)
        }
    }

    /// Whether iwd documents the setting for the group. Accepts all `EAP-` settings: `user(_:)` finds unknown ones.
    private static func isKnown(_ group: String, _ key: String?, _ value: SourceText?) -> Bool {
        guard let known = settings[group] else { return false }
        guard let key else { return true }
        if group == "Security" { return key.hasPrefix("EAP-") || known.contains(key) }
        return known.contains(key) && value?.contains(UInt8(ascii: "=")) != true
    }

    private static let settings: [String: Set<String>] = [
        "Settings": [
            "AutoConnect", "Hidden", "AlwaysRandomizeAddress", "AddressOverride", "TransitionDisable",
            "DisabledTransitionModes", "UseDefaultEccGroup",
        ],
        "Security": [
            "Passphrase", "PasswordIdentifier", "PreSharedKey", "SAE-PT-Group19", "SAE-PT-Group20", "EncryptedSalt",
            "EncryptedSecurity",
        ],
        "Network": ["MulticastDNS"],
        "IPv4": ["Address", "Netmask", "Gateway", "Broadcast", "DNS", "DomainName", "SendHostname"],
        "IPv6": ["Enabled", "Address", "Gateway", "DNS", "DomainName"],
    ]

    /// Reads the settings of an enterprise network (iwd.network(5), "802.1x settings"). `EAP-Identity` is the outer
    /// identity, `Phase2-Identity` the inner one.
    private static func user(_ groups: GroupedText) throws(MalformedSource) -> EnterpriseDraft {
        var user = EnterpriseDraft()
        func value(_ key: String) -> GroupedText.Value? { groups["Security", key] }
        func text(_ key: String) throws(MalformedSource) -> String? {
            guard let value = value(key) else { return nil }
            return String(validating: try value.bytes(), as: UTF8.self)
        }
        user.method = value("EAP-Method")?.word
        let prefix = "EAP-\(user.method?.uppercased() ?? "")-"
        user.inner = value(prefix + "Phase2-Method")?.word
        let outer = try text("EAP-Identity")
        let inside = try text(prefix + "Phase2-Identity")
        user.identity = inside ?? outer
        user.anonymousIdentity = user.identity == outer ? nil : outer
        if let password = value(prefix + "Phase2-Password") { user.password = try password.secret() }
        user.obstacle = .passwordAsked
        user.setAuthority(try text(prefix + "CACert"))
        user.clientCertificate = EnterpriseDraft.file(try text(prefix + "ClientCert"))
        user.privateKey = EnterpriseDraft.file(try text(prefix + "ClientKey"))
        var known =
            [
                "CACert", "ClientCert", "ClientKey", "ClientKeyPassphrase", "Phase2-Method", "Phase2-Identity",
                "Phase2-Password", "FastReauthentication",
            ].map { prefix + $0 } + ["EAP-Method", "EAP-Identity"]
        // The mask `*.example.com` allows any name in the domain, like `serverName`. Other masks are exact names, which
        // altnet does not support.
        if let mask = try text(prefix + "ServerDomainMask"), mask.hasPrefix("*.") {
            user.serverName = String(mask.dropFirst(2))
            known.append(prefix + "ServerDomainMask")
        }
        user.unknownSetting = groups.groups["Security"]?.keys.sorted().first { !known.contains($0) }
        return user
    }

    private static func ssid(_ name: [UInt8]) throws(MalformedSource) -> [UInt8] {
        guard name.first == UInt8(ascii: "=") else { return name }
        guard let bytes = Hex.bytes(String(decoding: name.dropFirst(), as: UTF8.self)) else {
            throw MalformedSource("the name is not hexadecimal digits", line: 1)
        }
        return bytes
    }

    private static func password(_ groups: GroupedText) -> NetworkDraft.Password {
        if groups["Security", "PasswordIdentifier"] != nil {
            return .malformed("altnet supports no PasswordIdentifier")
        }
        let passphrase: Secret?
        do throws(MalformedSource) { passphrase = try groups["Security", "Passphrase"]?.secret() } catch {
            return .malformed("Passphrase: \(error.problem)")
        }
        if let value = groups["Security", "PreSharedKey"] {
            // iwd derives the key again only if it is invalid.
            if let key = Secret(hexDigits: value.text.trimmed), key.count == 32 {
                return .derivedKey(key, candidates: passphrase.map { [$0] } ?? [])
            }
            if passphrase == nil { return .malformed("PreSharedKey is not 64 hexadecimal digits") }
        }
        if let passphrase { return .passphrase(passphrase) }
        return groups["Security", "EncryptedSecurity"] == nil ? .missing : .elsewhere
    }

    private static func address(_ groups: GroupedText) -> AddressDraft? {
        guard let address = groups["IPv4", "Address"]?.word else { return nil }
        var draft = AddressDraft()
        draft.addresses = [AddressDraft.withPrefix(address, mask: groups["IPv4", "Netmask"]?.word ?? "24")]
        draft.gateway = groups["IPv4", "Gateway"]?.word
        draft.servers = groups["IPv4", "DNS"]?.word?.split(separator: " ").map(String.init) ?? []
        return draft
    }
}
