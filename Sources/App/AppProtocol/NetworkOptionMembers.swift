import AgentModel

/// JSON of a network's options: the members `allowTkip` and `automatic` of its object.
extension NetworkOptions.Change {
    fileprivate enum CodingKeys: String, CodingKey {
        case allowTkip, automatic
    }

    /// - Returns: an empty change if the object has neither member.
    static func read(from decoder: any Decoder) throws -> NetworkOptions.Change {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        return NetworkOptions.Change(
            allowsTKIP: try container.decodeIfPresent(Bool.self, forKey: .allowTkip),
            isAutomatic: try container.decodeIfPresent(Bool.self, forKey: .automatic))
    }

    func write(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(allowsTKIP, forKey: .allowTkip)
        try container.encodeIfPresent(isAutomatic, forKey: .automatic)
    }
}

extension NetworkOptions {
    /// Reads the options of a new network.
    /// - Parameter canAllowTKIP: whether the network has a password and does not require WPA3.
    /// - Throws: `ProtocolError` with the code `unsupported` if TKIP cannot be allowed.
    static func read(from decoder: any Decoder, canAllowTKIP: Bool) throws -> NetworkOptions {
        let options = NetworkOptions().changed(by: try .read(from: decoder))
        guard canAllowTKIP || !options.contains(.allowsTKIP) else {
            let path = decoder.codingPath + [Change.CodingKeys.allowTkip]
            throw ProtocolError(
                .unsupported, "TKIP can be allowed only with a WPA2 password",
                details: ["field": .text(path.memberName)])
        }
        return options
    }
}
