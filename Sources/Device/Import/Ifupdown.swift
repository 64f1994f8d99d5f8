import AgentModel

/// Reads networks and static addresses of ifupdown (interfaces(5), and functions.sh of Debian's wpa_supplicant).
public enum IfupdownSource {
    public static func read(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            var stanza: Stanza?
            var lines = text.lines[...]
            while let (number, line) = lines.popFirst() {
                let line = line.trimmed
                guard let first = line.first, first != UInt8(ascii: "#") else { continue }
                if line.last == UInt8(ascii: "\\") {
                    throw MalformedSource("a line that continues on the next is not supported", line: number)
                }
                let end = line.firstIndex(where: \.isBlank) ?? line.endIndex
                let value = line[end...].trimmed
                // ifupdown passes `WPA_PSK` on like `wpa-psk`.
                let word = (line[..<end].text ?? "").lowercased().replacing("_", with: "-")
                switch word {
                case "iface":
                    contents.add(stanza)
                    stanza = Stanza(value.list(\.isBlank).compactMap(\.text), ImportLocation(source, line: number))
                case "auto", "mapping", "source", "source-directory", "no-auto-down", "no-scripts", "rename",
                    "template":
                    contents.add(stanza)
                    stanza = nil
                case let name where name.hasPrefix("allow-"):
                    contents.add(stanza)
                    stanza = nil
                case let name: stanza?.options[name] = (value, number)
                }
            }
            contents.add(stanza)
        }
    }

    fileprivate struct Stanza {
        let interface: String
        let isStatic: Bool
        let isIPv4: Bool
        let place: ImportLocation
        var options: [String: (value: SourceText, line: Int)] = [:]

        init(_ words: [String], _ place: ImportLocation) {
            // wpa_action(8) brings up `default` for a network of `wpa-roam` without a name.
            interface = words.first.map { $0 == "default" ? "wl*" : $0 } ?? ""
            isIPv4 = words.dropFirst().first == "inet"
            isStatic = isIPv4 && words.dropFirst(2).first == "static"
            self.place = place
        }

        /// Option with the password; a passphrase has priority.
        var key: (value: SourceText, line: Int)? { options["wpa-passphrase"] ?? options["wpa-psk"] }

        func text(_ name: String) -> String? { options[name]?.value.text }

        var isAccessPoint: Bool {
            options["hostapd"] != nil || ["master", "ap"].contains(text("wireless-mode")?.lowercased())
                || text("wpa-mode")?.numberOfAnyBase == 2
        }

        var address: AddressDraft? {
            guard isStatic, !isAccessPoint, let address = text("address") else { return nil }
            var draft = AddressDraft()
            draft.addresses = [AddressDraft.withPrefix(address, mask: text("netmask"))]
            draft.gateway = text("gateway")
            draft.servers = (text("dns-nameservers") ?? text("dns-nameserver") ?? "").split(separator: " ").map(
                String.init)
            return draft
        }
    }
}

extension SourceContents {
    fileprivate mutating func add(_ stanza: IfupdownSource.Stanza?) {
        guard let stanza else { return }
        if let path = stanza.text("wpa-conf") ?? stanza.text("wpa-roam"), path.hasPrefix("/") {
            references.append(path)
        }
        if let name = stanza.options["wpa-ssid"] ?? stanza.options["wpa-essid"] ?? stanza.options["wireless-essid"] {
            var draft = NetworkDraft(ImportLocation(stanza.place.source, line: name.line))
            draft.name = Array(Self.unquoted(name.value))
            draft.interface = stanza.interface
            draft.isHidden = ["1", "yes"].contains(stanza.text("wpa-scan-ssid"))
            draft.priority = stanza.options["wpa-priority"]?.value.number ?? 0
            draft.address = stanza.address
            draft.decidesAddress = stanza.isIPv4
            if stanza.isAccessPoint { draft.mode = .accessPoint }
            if stanza.text("wireless-mode")?.lowercased() == "ad-hoc" { draft.mode = .adHoc }
            draft.password = Self.password(stanza)
            draft.hasCredential = !stanza.options.keys.allSatisfy(Self.harmless.contains)
            draft.security = Self.security(stanza)
            return add(draft)
        }
        if stanza.key != nil {
            return findings.append(ImportFinding(stanza.place, .credentialWithoutName))
        }
        if let address = stanza.address {
            add(address, of: [InterfacePattern(names: [stanza.interface])], stanza.place)
        } else if stanza.isIPv4, !stanza.isAccessPoint, stanza.text("wpa-conf") != nil {
            add(AddressDraft(), of: [InterfacePattern(names: [stanza.interface])], isDHCP: true, stanza.place)
        }
    }

    /// Options that hold no credential. Others may, such as a command that sets a key.
    private static let harmless = Set(
        words: """
            address netmask gateway broadcast mtu metric hwaddress dns-nameservers dns-nameserver dns-search dns-domain \
            hostname accept-ra autoconf privext wpa-ssid wpa-essid wireless-essid wpa-key-mgmt wpa-scan-ssid \
            wpa-ap-scan wpa-driver wpa-priority wpa-bssid wireless-mode wireless-channel wireless-rate
            """)

    private static func unquoted(_ value: SourceText) -> SourceText {
        let quote = UInt8(ascii: "\"")
        return value.count > 1 && value.first == quote && value.last == quote ? value.dropFirst().dropLast() : value
    }

    private static func security(_ stanza: IfupdownSource.Stanza) -> NetworkDraft.Security {
        if stanza.options.keys.contains(where: { $0.hasPrefix("wireless-key") || $0.hasPrefix("wpa-wep-key") }) {
            return .wep
        }
        let words = (stanza.text("wpa-key-mgmt") ?? "").split(separator: " ")
        if words.isEmpty {
            if stanza.options["wpa-eap"] != nil { return .enterprise }
            return stanza.options["wireless-essid"] != nil && stanza.key == nil ? .open : .psk
        }
        if words == ["NONE"] { return .open }
        if words == ["SAE"] { return .sae }
        if words.allSatisfy({ ["WPA-PSK", "WPA-PSK-SHA256", "FT-PSK", "SAE"].contains($0) }) { return .psk }
        if words.contains("WPA-EAP") { return .enterprise }
        return .unknown(words.joined(separator: " "))
    }

    private static func password(_ stanza: IfupdownSource.Stanza) -> NetworkDraft.Password {
        guard stanza.options["wpa-psk-file"] == nil, stanza.options["wpa-passphrase-file"] == nil else {
            return .elsewhere
        }
        guard let value = stanza.key?.value, !value.isEmpty else { return .missing }
        if value.isHexKey { return Secret(hexDigits: value).map { .derivedKey($0) } ?? .missing }
        return .passphrase(Secret(unquoted(value)))
    }
}
