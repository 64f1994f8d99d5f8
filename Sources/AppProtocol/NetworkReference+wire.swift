import AgentModel

/// An entry of an update and the target of a switch: `hash`, or `ssid` with `password` or with `security` "open".
///
/// A password makes the entry a new one even where a hash stands beside it, as app SDKs send their models.
extension NetworkReference: Codable {
    private enum CodingKeys: String, CodingKey {
        case hash, password, security, hidden
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let password = try container.decodeIfPresent(String.self, forKey: .password)
        let security = try container.decodeIfPresent(Security.self, forKey: .security)
        if let security, !security.isOpenToAll, !security.usesPassphrase {
            throw ProtocolError(
                .unsupported, "networks with this security cannot be joined",
                details: ["field": .text(ProtocolError.fieldName(decoder.codingPath + [CodingKeys.security]))])
        }
        let isOpen = security?.isOpenToAll ?? false
        if password == nil, !isOpen, let hash = try container.decodeIfPresent(NetworkHash.self, forKey: .hash) {
            self = .stored(hash)
            return
        }
        self = .new(
            NewNetwork(
                ssid: try decoder.ssid(), password: try Self.checked(password, isOpen: isOpen, decoder),
                isHidden: try container.decodeIfPresent(Bool.self, forKey: .hidden) ?? false))
    }

    private static func checked(_ password: String?, isOpen: Bool, _ decoder: any Decoder) throws -> Secret? {
        let field = ProtocolError.fieldName(decoder.codingPath + [CodingKeys.password])
        switch password {
        case nil where isOpen, "" where isOpen: return nil
        case nil:
            throw ProtocolError(.passwordMissing, "the network has no password", details: ["field": .text(field)])
        case _? where isOpen:
            throw ProtocolError(.invalidPassword, "an open network has no password", details: ["field": .text(field)])
        case let password?:
            let secret = Secret(text: password)
            do {
                try Passphrase.validate(secret)
            } catch {
                throw ProtocolError(.invalidPassword, "\(error)", details: ["field": .text(field)])
            }
            return secret
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .stored(let hash):
            try container.encode(hash, forKey: .hash)
        case .new(let network):
            try encoder.encode(network.ssid)
            if let password = network.password {
                try container.encode(password.withBytes { String(decoding: $0, as: UTF8.self) }, forKey: .password)
            } else {
                try container.encode(Security.open, forKey: .security)
            }
            if network.isHidden { try container.encode(true, forKey: .hidden) }
        }
    }
}

extension BackupsUpdate: Codable {
    private enum CodingKeys: String, CodingKey {
        case networks, ifRevision
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let networks = try container.decode([NetworkReference].self, forKey: .networks)
        guard networks.count <= ProtocolLimits.updateEntries else {
            throw ProtocolError(
                .tooManyNetworks, "an update names at most \(ProtocolLimits.updateEntries) networks",
                details: ["max": .number(ProtocolLimits.updateEntries)])
        }
        self.init(networks: networks, ifRevision: try container.decodeIfPresent(Int.self, forKey: .ifRevision))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(networks, forKey: .networks)
        try container.encodeIfPresent(ifRevision, forKey: .ifRevision)
    }
}

/// The target's members with the conditions beside them; of these, one that this version knows and refuses.
extension SwitchRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case joinOnce, confirmWithin
    }

    /// A switch that silently ignored a condition of its sender would be worse than none.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if try container.decodeIfPresent(Bool.self, forKey: .joinOnce) == true {
            let field = ProtocolError.fieldName(decoder.codingPath + [CodingKeys.joinOnce])
            throw ProtocolError(.unsupported, "\(field) is not supported", details: ["field": .text(field)])
        }
        let confirmWithin = try container.decodeIfPresent(Int.self, forKey: .confirmWithin)
        if let confirmWithin, !ProtocolLimits.confirmWithin.contains(confirmWithin) {
            let (least, most) = (ProtocolLimits.confirmWithin.lowerBound, ProtocolLimits.confirmWithin.upperBound)
            throw ProtocolError.malformed(
                at: decoder.codingPath + [CodingKeys.confirmWithin], "is \(least) to \(most) seconds")
        }
        self.init(target: try NetworkReference(from: decoder), confirmWithin: confirmWithin)
    }

    public func encode(to encoder: any Encoder) throws {
        try target.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(confirmWithin, forKey: .confirmWithin)
    }
}
