import AgentModel

/// NetworkManager's connections: its key files (nm-settings-keyfile(5)), and what `nmcli` says.
public enum NetworkManagerSource {
    /// When each connection was last up, by its UUID, in seconds since 1970: /var/lib/NetworkManager/timestamps.
    public typealias Timestamps = [String: UInt64]

    /// A damaged file knows no times.
    public static func timestamps(_ bytes: UnsafeRawBufferPointer) -> Timestamps {
        guard bytes.count <= ImportLimits.sourceLength, let text = try? GroupedText(SourceText(bytes)) else {
            return [:]
        }
        return (text.groups["timestamps"] ?? [:]).compactMapValues { $0.word.flatMap { UInt64($0) } }
    }

    /// Reads a key file. One of another kind of connection has no networks.
    public static func keyFile(
        _ bytes: UnsafeRawBufferPointer, from source: String, timestamps: Timestamps = [:]
    ) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            try contents.add(GroupedText(text), from: source, timestamps: timestamps)
        }
    }

    /// The UUIDs of the wireless connections in the answer to `nmcli --terse --escape no --fields UUID,TYPE connection
    /// show`. Nothing else is taken for one.
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
            for (number, line) in text.lines {
                guard let (property, value) = line.split(at: UInt8(ascii: ":")),
                    let (setting, key) = property.split(at: UInt8(ascii: ".")), let name = setting.text,
                    let key = key.text,
                    !value.isEmpty
                else { continue }
                groups[name, default: [:]][key] = GroupedText.Value(text: value, line: number)
            }
            try contents.add(GroupedText(groups: groups), from: source, timestamps: [:], isAnswer: true)
        }
    }

    static func isWireless(_ type: String?) -> Bool { type == "wifi" || type == "802-11-wireless" }
}

/// Reads a source that fits the limits; where it ends in an error, what was read before it counts.
func reading(
    _ bytes: UnsafeRawBufferPointer, from source: String,
    _ read: (SourceText, inout SourceContents) throws(MalformedSource) -> Void
) -> SourceContents {
    guard bytes.count <= ImportLimits.sourceLength else { return SourceContents(Finding(Place(source), .tooLong)) }
    var contents = SourceContents()
    do throws(MalformedSource) { try read(SourceText(bytes), &contents) } catch {
        contents.findings.append(Finding(Place(source, line: error.line), .malformed(error.problem)))
    }
    return contents
}

extension SourceContents {
    /// - Parameter isAnswer: nmcli writes texts as they are.
    fileprivate mutating func add(
        _ text: GroupedText, from source: String, timestamps: NetworkManagerSource.Timestamps, isAnswer: Bool = false
    ) throws(MalformedSource) {
        let connection = text.groups["connection"] ?? [:]
        guard NetworkManagerSource.isWireless(connection["type"]?.word) else { return }
        let wireless = (text.groups["802-11-wireless"] ?? [:]).merging(text.groups["wifi"] ?? [:]) { $1 }
        var draft = NetworkDraft(Place(source, line: isAnswer ? nil : wireless["ssid"]?.line))
        if let name = wireless["ssid"] { draft.name = isAnswer ? Array(name.text) : try Self.ssid(name) }
        draft.isHidden = wireless["hidden"]?.isTrue ?? false
        switch wireless["mode"]?.word {
        case nil, "infrastructure": break
        case "adhoc": draft.mode = .adHoc
        case "mesh": draft.mode = .mesh
        default: draft.mode = .accessPoint
        }
        draft.isAutomatic = connection["autoconnect"]?.isTrue ?? true
        draft.priority = connection["autoconnect-priority"]?.number ?? 0
        draft.interface = connection["interface-name"]?.word
        let time = connection["timestamp"]?.number.flatMap { $0 > 0 ? UInt64($0) : nil }
        draft.lastConnected = time ?? connection["uuid"]?.word.flatMap { timestamps[$0] }
        let security = (text.groups["802-11-wireless-security"] ?? [:])
            .merging(text.groups["wifi-security"] ?? [:]) { $1 }
        draft.security = Self.security(security, is8021X: text.groups["802-1x"] != nil)
        draft.password = try Self.password(security, isAnswer: isAnswer)
        draft.doubt = text.firstSetting { group, key in
            guard !key.hasSuffix("-flags") else { return false }
            return Self.securityGroups.contains(group)
                ? !Self.harmless.contains(key) : isNameOfCredential(group) || isNameOfCredential(key)
        }.map { .unknownSetting($0) }
        // As libnm-glib wrote it: the name of the group that has the security.
        if security.isEmpty, wireless["security"] != nil { draft.doubt = .unknownSetting("wifi.security") }
        if let user = text.groups["802-1x"] { draft.user = try Self.user(user, isAnswer: isAnswer) }
        draft.address = Self.address(text.groups["ipv4"] ?? [:])
        add(draft)
    }

    /// nm-settings-keyfile(5), `802-1x`. A certificate may be in the file itself, as no editor writes it: that is left
    /// out as a file that cannot be read.
    private static func user(
        _ settings: [String: GroupedText.Value], isAnswer: Bool
    ) throws(MalformedSource) -> EnterpriseDraft {
        var user = EnterpriseDraft()
        func text(_ key: String) throws(MalformedSource) -> String? {
            guard let value = settings[key] else { return nil }
            if isAnswer { return value.text.text }
            return String(validating: try value.bytes(), as: UTF8.self)
        }
        /// What is no text is no name of a host, and refused.
        func condition(_ key: String) throws(MalformedSource) -> String? { try text(key) ?? settings[key]?.text.name }
        user.method = settings["eap"]?.word?.split(whereSeparator: { ";, ".contains($0) }).first.map(String.init)
        user.inner = settings["phase2-auth"]?.word ?? settings["phase2-autheap"]?.word
        user.identity = try text("identity")
        user.anonymousIdentity = try text("anonymous-identity")
        if let value = settings["password"] { user.password = isAnswer ? Secret(value.text) : try value.secret() }
        let flags = settings["password-flags"].map { $0.text.trimmed.prefix(while: \.isDigit).number ?? 0 } ?? 0
        user.isPasswordElsewhere = flags & 3 != 0 || settings["password-raw"] != nil
        user.setAuthority(try text("ca-cert"))
        if settings["system-ca-certs"]?.isTrue ?? false { user.usesSystemAuthorities = true }
        user.clientCertificate = EnterpriseDraft.file(try text("client-cert"))
        user.privateKey = EnterpriseDraft.file(try text("private-key"))
        user.requireServerName(try condition("domain-suffix-match"))
        user.requireServerName(try condition("domain-match"))
        user.requireAlternativeName(try condition("altsubject-matches"), "altsubject-matches")
        if user.unknownSetting == nil {
            user.unknownSetting = unknownSetting(ofUser: settings.filter { !$0.value.text.trimmed.isEmpty }.map(\.key))
        }
        return user
    }

    /// The first of these settings of `802-1x` that may say what the server has to show, and is not read.
    static func unknownSetting(ofUser names: [String]) -> String? {
        let known: Set = [
            "eap", "identity", "anonymous-identity", "password", "password-raw", "phase2-auth", "phase2-autheap",
            "ca-cert", "system-ca-certs", "client-cert", "private-key", "private-key-password", "domain-suffix-match",
            "domain-match", "altsubject-matches", "optional", "auth-timeout", "phase1-peapver", "phase1-peaplabel",
            "phase1-fast-provisioning",
        ]
        return names.sorted().first { !known.contains($0) && !$0.hasSuffix("-flags") }
    }

    private static let securityGroups: Set = ["802-11-wireless-security", "wifi-security"]
    /// Of a network's security, and no credential.
    private static let harmless: Set = [
        "key-mgmt", "pmf", "fils", "proto", "pairwise", "group", "auth-alg", "wps-method", "wep-tx-keyidx",
        "wep-key-type",
    ]

    /// A text, or the bytes as decimal numbers with a semicolon behind each.
    private static func ssid(_ value: GroupedText.Value) throws(MalformedSource) -> [UInt8] {
        let bytes = try value.bytes()
        let separator = UInt8(ascii: ";")
        if bytes.contains(separator), bytes.allSatisfy({ $0.isDigit || $0 == separator || $0.isBlank }) {
            let numbers = bytes.split(separator: separator).map { part in
                UInt8(String(decoding: part.filter(\.isDigit), as: UTF8.self))
            }
            if numbers.allSatisfy({ $0 != nil }) { return numbers.compactMap(\.self) }
        }
        var name: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            // A semicolon of a text has a backslash before it.
            if byte == UInt8(ascii: "\\"), rest.first == separator { continue }
            name.append(byte)
        }
        return name
    }

    private static func security(
        _ security: [String: GroupedText.Value], is8021X: Bool
    ) -> NetworkDraft.Security {
        switch security["key-mgmt"]?.word.flatMap({ $0.isEmpty ? nil : $0 }) {
        case nil where is8021X: .enterprise
        case nil where security.isEmpty: .open
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

    private static func password(
        _ security: [String: GroupedText.Value], isAnswer: Bool
    ) throws(MalformedSource) -> NetworkDraft.Password {
        // 1 is a user's keyring, 2 is asked for each time (nm-settings-keyfile(5), "secret flags").
        let flags = security["psk-flags"].map { $0.text.trimmed.prefix(while: \.isDigit).number ?? 0 } ?? 0
        guard let value = security["psk"] else { return flags & 3 == 0 ? .missing : .elsewhere }
        let secret = isAnswer ? Secret(value.text) : try value.secret()
        return secret.count == 0 ? .missing : secret.keyOrPassphrase
    }

    private static func address(_ settings: [String: GroupedText.Value]) -> AddressDraft? {
        guard settings["method"]?.word == "manual" else { return nil }
        var draft = AddressDraft()
        let keys = settings.keys.filter { $0.starts(with: "address") && !$0.hasSuffix("-data") }
        for key in keys.sorted(by: { ($0.utf8.count, $0) < ($1.utf8.count, $1) }) {
            guard let text = settings[key]?.word else { continue }
            let parts = text.split(whereSeparator: { ",; ".contains($0) }).map(String.init)
            if parts.count >= 2, !parts[0].contains("/"), Int(parts[1]) != nil {
                // As it was written before 2013: address;prefix;gateway.
                draft.addresses.append(parts[0] + "/" + parts[1])
                if parts.count > 2 { draft.gateway = draft.gateway ?? parts[2] }
                continue
            }
            for part in parts {
                if part.contains("/") { draft.addresses.append(part) } else { draft.gateway = draft.gateway ?? part }
            }
        }
        if let gateway = settings["gateway"]?.word { draft.gateway = gateway }
        draft.servers =
            settings["dns"]?.word?.split(whereSeparator: { ",; ".contains($0) }).map { server in
                String(server.prefix { $0 != "#" })
            } ?? []
        return draft
    }
}
