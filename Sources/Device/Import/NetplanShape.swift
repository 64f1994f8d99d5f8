/// Allowed content of a node in a netplan file. netplan refuses files with other content (parse.c).
indirect enum NetplanShape: Sendable {
    case nothing
    case text
    /// A text that the function accepts.
    case value(@Sendable (String) -> Bool)
    case list(NetplanShape)
    /// A mapping. The function returns the shape of a key's value; nil for an unknown key.
    case mapping(@Sendable (String) -> NetplanShape?)
    case either(NetplanShape, NetplanShape)
    case anything

    /// Returns the line of the first misplaced node; nil if there is none.
    /// - Parameter line: line of the node's key.
    func misfit(in node: YAMLNode, at line: Int) -> Int? {
        switch (self, node) {
        case (.anything, _), (.nothing, .null), (.text, .scalar): return nil
        case (.value(let isValue), .scalar(let scalar)):
            return isValue(scalar.text ?? "") ? nil : scalar.line
        case (.list(let item), .sequence(let nodes)):
            for node in nodes {
                if let line = item.misfit(in: node, at: line) { return line }
            }
            return nil
        case (.mapping(let shape), .mapping(let entries)):
            for (key, value) in entries {
                guard let known = shape(key.text ?? "") else { return key.line }
                if let line = known.misfit(in: value, at: key.line) { return line }
            }
            return nil
        case (.either(let first, let second), _):
            return first.misfit(in: node, at: line) == nil ? nil : second.misfit(in: node, at: line)
        default: return line
        }
    }

    private static func keys(_ texts: String, _ others: [String: NetplanShape] = [:]) -> NetplanShape {
        let texts = Set(words: texts)
        return .mapping { key in others[key] ?? (texts.contains(key) ? NetplanShape.text : nil) }
    }

    private static let texts = NetplanShape.list(.text)

    static let file = NetplanShape.mapping { $0 == "network" ? networkAlone : nil }

    /// Content below `network:`, which may be empty. Some files of cloud-init have this content without `network:`.
    static let networkAlone = NetplanShape.either(.nothing, network)

    private static let network = NetplanShape.mapping { key in
        switch key {
        case "version", "renderer", "config": .text
        case "wifis": devices(wireless)
        case "ethernets", "bonds", "bridges", "vlans", "vrfs", "dummy-devices", "virtual-ethernets", "nm-devices":
            devices(wired)
        case "tunnels", "modems", "openvswitch": .anything
        default: nil
        }
    }

    private static func devices(_ device: NetplanShape) -> NetplanShape {
        .mapping { $0 == "renderer" ? .text : device }
    }

    private static let ofDevice = """
        renderer dhcp4 dhcp6 accept-ra activation-mode critical ignore-carrier dhcp-identifier gateway4 gateway6 \
        ipv6-address-generation ipv6-address-token ipv6-mtu ipv6-privacy macaddress mtu optional hairpin \
        port-mac-learning neigh-suppress set-name wakeonlan emit-lldp receive-checksum-offload \
        transmit-checksum-offload tcp-segmentation-offload tcp6-segmentation-offload generic-segmentation-offload \
        generic-receive-offload large-receive-offload
        """

    private static let others: [String: NetplanShape] = [
        "addresses": .list(.either(.text, .mapping { _ in keys("label lifetime") })),
        "optional-addresses": texts, "link-local": texts, "wakeonwlan": texts,
        "nameservers": keys("", ["search": texts, "addresses": texts]),
        "routes": .list(
            keys(
                """
                from on-link scope table to type via metric mtu congestion-window advertised-receive-window \
                advertised-mss
                """)),
        "routing-policy": .list(keys("from mark priority table to type-of-service")),
        "dhcp4-overrides": overrides, "dhcp6-overrides": overrides, "ra-overrides": overrides,
        "match": keys("macaddress name", ["driver": .either(.text, texts)]),
        "networkmanager": networkManager,
    ]

    private static let overrides = keys(
        "hostname route-metric send-hostname use-dns use-domains use-hostname use-mtu use-ntp use-routes table")

    private static let networkManager = keys(
        "name uuid stable-id device",
        [
            "passthrough": .mapping { key in
                let parts = key.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
                let isKnown = parts.count == 2 && NetworkManagerSource.isKnown(String(parts[0]), String(parts[1]))
                return isKnown ? .text : nil
            }
        ])

    private static let wired = keys(
        ofDevice + """
             id link peer table virtual-function-count embedded-switch-mode delay-virtual-functions-rebind \
            infiniband-mode
            """,
        others.merging([
            "interfaces": texts, "openvswitch": .anything,
            "parameters": .mapping { _ in .either(.text, .either(texts, .mapping { _ in .text })) },
        ]) { $1 })

    private static let wireless = keys(
        ofDevice + " regulatory-domain",
        others.merging([
            // Refuse the settings of an access point as SSIDs: they are probably one level too high.
            "access-points": .mapping { ofAccessPoint.contains($0) ? nil : accessPoint }
        ]) { $1 })

    static let ofAccessPoint: Set = [
        "auth", "password", "key-management", "mode", "bssid", "band", "channel", "hidden", "networkmanager",
    ]

    /// A password without a value makes the network one without a password.
    private static let password = NetplanShape.either(.text, .nothing)

    private static let accessPoint = keys(
        "",
        [
            "password": password,
            "mode": .value { ["infrastructure", "ap", "adhoc", "mesh"].contains($0) },
            "band": .value { ["5GHz", "5G", "2.4GHz", "2.4G"].contains($0) },
            "channel": .value { Int($0) != nil },
            "bssid": .value { text in
                text.utf8.count == 17 && text.utf8.allSatisfy { $0.isHexDigit || $0 == UInt8(ascii: ":") }
            },
            "hidden": .value { YAMLNode.flag($0) != nil },
            "auth": keys(
                """
                key-management method identity anonymous-identity ca-certificate client-certificate client-key \
                client-key-password phase2-auth
                """, ["password": password]),
            "networkmanager": networkManager,
        ])
}
