import AgentModel

/// iwd's files of known networks (iwd.network(5)).
public enum IwdSource {
    /// The endings of their names.
    public static let endings = ["psk", "open", "8021x"]

    /// - Parameters:
    ///   - name: the file's: the SSID, or its hexadecimal digits behind an equals sign.
    ///   - changed: when the file was last written, which iwd does with each connection; in seconds since 1970.
    public static func read(
        _ bytes: UnsafeRawBufferPointer, named name: some Collection<UInt8>, from source: String, changed: UInt64?
    ) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            guard let dot = name.indices.reversed().first(where: { name[$0] == UInt8(ascii: ".") }) else {
                throw MalformedSource("the name is none of iwd's", line: 1)
            }
            var draft = NetworkDraft(Place(source))
            draft.name = try ssid(Array(name[..<dot]))
            switch String(decoding: name[dot...].dropFirst(), as: UTF8.self) {
            case "psk": draft.security = .psk
            case "open": draft.security = .open
            case "8021x": draft.security = .enterprise
            case let other: draft.security = .unknown(other)
            }
            draft.lastConnected = changed
            let groups = try GroupedText(text)
            draft.isAutomatic = groups["Settings", "AutoConnect"]?.isTrue ?? true
            draft.isHidden = groups["Settings", "Hidden"]?.isTrue ?? false
            draft.password = try password(groups)
            draft.address = address(groups)
            contents.add(draft)
        }
    }

    private static func ssid(_ name: [UInt8]) throws(MalformedSource) -> [UInt8] {
        guard name.first == UInt8(ascii: "=") else { return name }
        guard let bytes = Hex.bytes(String(decoding: name.dropFirst(), as: UTF8.self)) else {
            throw MalformedSource("the name is not hexadecimal digits", line: 1)
        }
        return bytes
    }

    private static func password(_ groups: GroupedText) throws(MalformedSource) -> NetworkDraft.Password {
        if let value = groups["Security", "Passphrase"] { return .passphrase(try value.secret()) }
        if let value = groups["Security", "PreSharedKey"] {
            guard value.text.trimmed.isHexKey, let key = Secret(hexDigits: value.text.trimmed) else {
                throw MalformedSource("the key is not 64 hexadecimal digits", line: value.line)
            }
            return .derivedKey(key)
        }
        return groups["Security", "EncryptedSecurity"] == nil ? .missing : .elsewhere
    }

    private static func address(_ groups: GroupedText) -> AddressDraft? {
        guard let address = groups["IPv4", "Address"]?.word else { return nil }
        var draft = AddressDraft()
        let mask = groups["IPv4", "Netmask"]?.word
        let length = mask.map { AddressDraft.prefixLength(ofMask: $0).map(String.init) ?? $0 } ?? "24"
        draft.addresses = [address.contains("/") ? address : address + "/" + length]
        draft.gateway = groups["IPv4", "Gateway"]?.word
        draft.servers = groups["IPv4", "DNS"]?.word?.split(separator: " ").map(String.init) ?? []
        return draft
    }
}
