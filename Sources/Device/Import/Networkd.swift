import AgentModel

/// Reads addresses of Wi-Fi interfaces from systemd-networkd's configuration (systemd.network(5)).
public enum NetworkdSource {
    public static func read(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            var settings: Settings = [:]
            var routes: [Settings] = []
            var section = ""
            for (number, line) in text.lines {
                let line = line.trimmed
                guard let first = line.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { continue }
                if first == UInt8(ascii: "[") {
                    section = line.text ?? "?"
                    if section == "[Route]" { routes.append([:]) }
                } else if let (key, value) = line.split(at: UInt8(ascii: "=")), let key = key.trimmed.text {
                    let setting = (value.trimmed.text ?? "?", number)
                    if section == "[Route]" {
                        routes[routes.count - 1][key, default: []].append(setting)
                    } else {
                        settings[section + key, default: []].append(setting)
                    }
                }
            }
            func values(_ name: String) -> [String] {
                // An empty value clears the list.
                (settings[name] ?? []).reduce(into: []) { list, entry in
                    if entry.value.isEmpty {
                        list = []
                    } else {
                        list += entry.value.split(separator: " ").map(String.init)
                    }
                }
            }
            let names = values("[Match]Name")
            let types = values("[Match]Type")
            let ssids = settings["[Match]SSID"]?.map(\.value) ?? []
            guard types.isEmpty || types.contains("wlan"), !names.isEmpty || !types.isEmpty || !ssids.isEmpty,
                values("[Match]WLANInterfaceType").allSatisfy({ $0 == "station" })
            else { return }
            // The address of an interface with a DHCP server is an access point's.
            let isServer = ["[Network]DHCPServer", "[Network]IPMasquerade"].contains { name in
                values(name).last.map { !["no", "false", "0", "off"].contains($0) } ?? false
            }
            guard !isServer else { return }
            let isDHCP = ["yes", "true", "1", "on", "ipv4", "both"].contains(values("[Network]DHCP").last)
            var draft = AddressDraft()
            draft.addresses = (values("[Network]Address") + values("[Address]Address"))
                .map { AddressDraft.withPrefix($0, mask: nil) }
            draft.gateway = values("[Network]Gateway").first(where: isAddress) ?? routes.lazy.compactMap(gateway).first
            draft.servers = values("[Network]DNS").map { String($0.prefix { $0 != "#" }) }
            let isNegated = names.first?.hasPrefix("!") ?? false
            let patterns = names.map { String($0.drop { $0 == "!" }) }
            let interfaces = patterns.isEmpty ? [] : [InterfacePattern(names: patterns, isNegated: isNegated)]
            let line = (settings["[Network]Address"] ?? settings["[Address]Address"])?.first?.line
            let place = ImportLocation(source, line: line)
            guard !ssids.isEmpty else { return contents.add(draft, of: interfaces, isDHCP: isDHCP, place) }
            for name in ssids.prefix(ImportLimits.networks) {
                guard let ssid = try? SSID(name) else { continue }
                contents.add(draft, of: interfaces, in: ssid, isDHCP: isDHCP, place)
            }
        }
    }

    /// Values with their lines, by section and key.
    private typealias Settings = [String: [(value: String, line: Int)]]

    /// Returns the gateway of the route for IPv4, if it is the default one.
    private static func gateway(_ route: Settings) -> String? {
        let destination = route["Destination"]?.last?.value ?? ""
        guard ["", "0.0.0.0/0", "0.0.0.0"].contains(destination) else { return nil }
        return route["Gateway"]?.last.map(\.value).flatMap { isAddress($0) ? $0 : nil }
    }

    private static func isAddress(_ text: String) -> Bool { !text.contains(":") && !text.hasPrefix("_") }
}
