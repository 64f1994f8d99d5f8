import AgentModel

/// JSON of a network's options: members of its object, such as `"allowTkip":true,"metered":false,"band":"2.4"`.
/// A change restores defaults with `auto` for `metered`, `any` for `band` and `bssid`, and `"slaac":true`.
extension NetworkOptions.Change {
    fileprivate enum CodingKeys: String, CodingKey {
        case allowTkip, automatic, metered, band, bssid, ipv6, slaac
    }

    /// - Returns: an empty change if the object has none of the members.
    static func read(from decoder: any Decoder) throws -> NetworkOptions.Change {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        return NetworkOptions.Change(
            allowsTKIP: try container.decodeIfPresent(Bool.self, forKey: .allowTkip),
            isAutomatic: try container.decodeIfPresent(Bool.self, forKey: .automatic),
            isMetered: try container.isMetered(),
            band: try container.setting(.band, "must be 2.4, 5, 6 or any") { Band(gigahertz: $0) },
            bssid: try container.setting(.bssid, "must be an address such as 02:00:00:00:01:00, or any") {
                BSSID($0).flatMap { $0.isUnicast ? $0 : nil }
            },
            ipv6: try container.ipv6())
    }

    func write(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(allowsTKIP, forKey: .allowTkip)
        try container.encodeIfPresent(isAutomatic, forKey: .automatic)
        switch isMetered {
        case nil: break
        case .to(let isMetered): try container.encode(isMetered, forKey: .metered)
        case .unset: try container.encode("auto", forKey: .metered)
        }
        try container.encodeIfPresent(band.map { $0.value?.gigahertz ?? "any" }, forKey: .band)
        try container.encodeIfPresent(bssid.map { $0.value?.description ?? "any" }, forKey: .bssid)
        try container.encodeIfPresent(ipv6?.value, forKey: .ipv6)
        if ipv6 == .unset { try container.encode(true, forKey: .slaac) }
    }
}

extension KeyedDecodingContainer<NetworkOptions.Change.CodingKeys> {
    fileprivate func isMetered() throws -> NetworkOptions.Setting<Bool>? {
        if let text = try? decodeIfPresent(String.self, forKey: .metered), text == "auto" { return .unset }
        return try decodeIfPresent(Bool.self, forKey: .metered).map { .to($0) }
    }

    /// Reads an option with the default `any`.
    fileprivate func setting<Value>(
        _ key: Key, _ rule: String, _ value: (String) -> Value?
    ) throws -> NetworkOptions.Setting<Value>? {
        guard let text = try decodeIfPresent(String.self, forKey: key) else { return nil }
        if text == "any" { return .unset }
        guard let value = value(text) else { throw ProtocolError.malformed(at: codingPath + [key], rule) }
        return .to(value)
    }

    fileprivate func ipv6() throws -> NetworkOptions.Setting<StaticAddress>? {
        let address = try staticAddress(of: .ipv6, forKey: .ipv6)
        guard try decodeIfPresent(Bool.self, forKey: .slaac) ?? false else { return address.map { .to($0) } }
        guard address == nil else {
            throw ProtocolError.malformed(at: codingPath + [Key.slaac], "and ipv6 exclude each other")
        }
        return .unset
    }
}

extension Band {
    /// Number of the band in messages and on the command line: `2.4`, `5` or `6`.
    package var gigahertz: String { String(rawValue.dropLast(Self.unit.count)) }

    package init?(gigahertz: String) { self.init(rawValue: gigahertz + Self.unit) }

    private static let unit = " GHz"
}

extension NetworkOptions {
    /// Reads the options of a new network.
    /// - Parameter canAllowTKIP: whether the network has a password and does not require WPA3.
    /// - Throws: `ProtocolError` with the code `unsupported` if TKIP cannot be allowed.
    static func read(from decoder: any Decoder, canAllowTKIP: Bool) throws -> NetworkOptions {
        let options = NetworkOptions().changed(by: try .read(from: decoder))
        guard canAllowTKIP || !options.allowsTKIP else {
            let path = decoder.codingPath + [Change.CodingKeys.allowTkip]
            throw ProtocolError(
                .unsupported, "TKIP can be allowed only with a WPA2 password",
                details: ["field": .text(path.memberName)])
        }
        return options
    }
}
