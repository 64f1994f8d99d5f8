import AgentModel

/// JSON of an address: `{"address":"192.168.1.20/24","gateway":"192.168.1.1","nameServers":["192.168.1.1"]}`.
extension StaticAddress: Encodable {
    fileprivate enum CodingKeys: String, CodingKey {
        case address, gateway, nameServers
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(text, forKey: .address)
        try container.encodeIfPresent(gateway?.description, forKey: .gateway)
        if !nameServers.isEmpty { try container.encode(nameServers.map(\.description), forKey: .nameServers) }
    }
}

extension KeyedDecodingContainer {
    /// Reads a static address.
    /// - Throws: `ProtocolError` with the code `invalidAddress`, also for an address of another family.
    func staticAddress(of family: AddressFamily, forKey key: Key) throws -> StaticAddress? {
        typealias Member = StaticAddress.CodingKeys
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        let container = try nestedContainer(keyedBy: Member.self, forKey: key)
        let path = codingPath + [key]
        let address = try container.decode(String.self, forKey: .address)
        let gateway = try container.decodeIfPresent(String.self, forKey: .gateway).map { text in
            try IPAddress(text, at: path + [Member.gateway])
        }
        let texts = try container.decodeIfPresent([String].self, forKey: .nameServers) ?? []
        guard texts.count <= StaticAddress.maximumServers else {
            throw ProtocolError(StaticAddressError.tooManyServers(texts.count), at: path + [Member.nameServers])
        }
        let nameServers = try texts.enumerated().map { index, text in
            try IPAddress(text, at: path + [Member.nameServers, ListIndex(index)])
        }
        do throws(StaticAddressError) {
            return try StaticAddress(address, family: family, gateway: gateway, nameServers: nameServers)
        } catch {
            let member: [any CodingKey] =
                switch error {
                case .address, .notation, .family, .prefixLength: [Member.address]
                case .gateway: [Member.gateway]
                case .nameServer(let server):
                    [Member.nameServers] + (nameServers.firstIndex(of: server).map { [ListIndex($0)] } ?? [])
                case .tooManyServers: [Member.nameServers]
                }
            throw ProtocolError(error, at: path + member)
        }
    }
}

extension IPAddress {
    /// Reads an address. Refuses addresses with a zone.
    fileprivate init(_ text: String, at path: [any CodingKey]) throws(ProtocolError) {
        guard !text.utf8.contains(UInt8(ascii: "%")), let address = IPAddress(text) else {
            throw .malformed(at: path, "is not an IP address such as 192.168.1.1")
        }
        self = address
    }
}

extension ProtocolError {
    fileprivate init(_ error: StaticAddressError, at path: [any CodingKey]) {
        self.init(.invalidAddress, "\(error)", details: ["field": .text(path.memberName)])
    }
}

/// JSON of a network's address configuration: the members `address` and `dhcp` of its object.
extension Addressing {
    private enum CodingKeys: String, CodingKey {
        case address, dhcp
    }

    /// - Returns: nil if the object has neither member.
    static func read(from decoder: any Decoder) throws -> Addressing? {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let address = try container.staticAddress(of: .ipv4, forKey: .address)
        guard try container.decodeIfPresent(Bool.self, forKey: .dhcp) ?? false else {
            return address.map { .fixed($0) }
        }
        guard address == nil else {
            throw ProtocolError.malformed(at: decoder.codingPath + [CodingKeys.dhcp], "and address exclude each other")
        }
        return .dhcp
    }

    func write(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .dhcp: try container.encode(true, forKey: .dhcp)
        case .fixed(let address): try container.encode(address, forKey: .address)
        }
    }
}
