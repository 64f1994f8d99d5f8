import AgentModel

/// An entry of an update and the target of a switch: `hash`, or `ssid` with `password`, with `sealed` or with `security`
/// "open".
///
/// A password, plain or sealed, makes the entry a new one even where a hash stands beside it, as app SDKs send their models.
extension NetworkReference: Codable {
    private enum CodingKeys: String, CodingKey {
        case hash, password, sealed, security, hidden
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
        let sealed = try container.decodeIfPresent(SealedPassword.self, forKey: .sealed)
        let isOpen = security?.isOpenToAll ?? false
        if password == nil, sealed == nil, !isOpen,
            let hash = try container.decodeIfPresent(NetworkHash.self, forKey: .hash)
        {
            self = .stored(hash)
            return
        }
        let credential =
            if let sealed, password == nil, !isOpen { NetworkCredential.sealed(sealed) } else {
                try Self.plain(password, isSealed: sealed != nil, isOpen: isOpen, decoder)
            }
        self = .new(
            NewNetwork(
                ssid: try decoder.ssid(), credential: credential, security: security,
                isHidden: try container.decodeIfPresent(Bool.self, forKey: .hidden) ?? false))
    }

    private static func plain(
        _ password: String?, isSealed: Bool, isOpen: Bool, _ decoder: any Decoder
    ) throws -> NetworkCredential {
        let field = ProtocolError.fieldName(decoder.codingPath + [isSealed ? CodingKeys.sealed : .password])
        if isSealed {
            throw ProtocolError(
                .invalidPassword, "a sealed password stands by itself", details: ["field": .text(field)])
        }
        switch password {
        case nil where isOpen, "" where isOpen: return .none
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
            return .password(secret)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .stored(let hash):
            try container.encode(hash, forKey: .hash)
        case .new(let network):
            try encoder.encode(network.ssid)
            switch network.credential {
            case .none: try container.encode(network.security ?? .open, forKey: .security)
            case .password(let password):
                try container.encode(password.withBytes { String(decoding: $0, as: UTF8.self) }, forKey: .password)
            case .sealed(let sealed): try container.encode(sealed, forKey: .sealed)
            }
            if network.credential != .none { try container.encodeIfPresent(network.security, forKey: .security) }
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

/// The target's members with the conditions beside them.
extension SwitchRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case joinOnce, confirmWithin
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let confirmWithin = try container.decodeIfPresent(Int.self, forKey: .confirmWithin)
        if let confirmWithin, !ProtocolLimits.confirmWithin.contains(confirmWithin) {
            let (least, most) = (ProtocolLimits.confirmWithin.lowerBound, ProtocolLimits.confirmWithin.upperBound)
            throw ProtocolError.malformed(
                at: decoder.codingPath + [CodingKeys.confirmWithin], "is \(least) to \(most) seconds")
        }
        self.init(
            target: try NetworkReference(from: decoder), confirmWithin: confirmWithin,
            joinOnce: try container.decodeIfPresent(Bool.self, forKey: .joinOnce) ?? false)
    }

    public func encode(to encoder: any Encoder) throws {
        try target.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(confirmWithin, forKey: .confirmWithin)
        if joinOnce { try container.encode(true, forKey: .joinOnce) }
    }
}
