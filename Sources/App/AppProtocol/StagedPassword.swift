import AgentModel

/// A newer password, stored beside a network's current one: body of `password.stage`.
public struct PasswordStaging: Sendable, Equatable {
    /// ID chosen by the app, ``ProtocolLimits/changeIdLength`` bytes. A repeated request with this ID has no further
    /// effect.
    public let changeId: String
    /// The network's name and newer password. Its other stored properties stay unchanged.
    public let network: NewNetwork
    /// Seconds of running time until the device deletes the password, in ``ProtocolLimits/keepFor``; nil for never.
    public let keepFor: Int?

    public init(changeId: String, network: NewNetwork, keepFor: Int? = nil) {
        (self.changeId, self.network, self.keepFor) = (changeId, network, keepFor)
    }
}

/// Body of `password.drop`.
public struct StagedPasswordQuery: Sendable, Equatable, Codable {
    public let changeId: String

    public init(changeId: String) { self.changeId = changeId }
}

/// State of a staged password: entry of `staged` in a ``BackupList``.
public struct StagedPasswordStatus: Sendable, Equatable {
    /// Phase of a staged password. Every phase except `staged` is an outcome.
    public enum Phase: String, Sendable, Codable, CaseIterable {
        case staged
        /// The network accepted the newer password, and the old one is deleted.
        case committed
        /// The newer password was withdrawn or replaced, or its network is no longer stored.
        case dropped
        case expired
    }

    public let changeId: String
    public let ssid: SSID
    public let phase: Phase
    /// Hash of the network with the newer password, while staged.
    public let hash: NetworkHash?
    public let since: Timestamp
    /// Time of expiry if the device stays on; nil if the password never expires, and after the end.
    public let until: Timestamp?

    public init(
        changeId: String, ssid: SSID, phase: Phase, hash: NetworkHash? = nil, since: Timestamp, until: Timestamp? = nil
    ) {
        (self.changeId, self.ssid, self.phase) = (changeId, ssid, phase)
        (self.hash, self.since, self.until) = (hash, since, until)
    }
}

extension PasswordStaging: Codable {
    private enum CodingKeys: String, CodingKey { case changeId, keepFor, password }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let changeId = try container.decode(String.self, forKey: .changeId)
        guard ProtocolLimits.changeIdLength.contains(changeId.utf8.count) else {
            let most = ProtocolLimits.changeIdLength.upperBound
            throw ProtocolError.malformed(
                at: decoder.codingPath + [CodingKeys.changeId], "must have 1 to \(most) bytes")
        }
        let keepFor = try container.decodeIfPresent(Int.self, forKey: .keepFor)
        if let keepFor, !ProtocolLimits.keepFor.contains(keepFor) {
            let (least, most) = (ProtocolLimits.keepFor.lowerBound, ProtocolLimits.keepFor.upperBound)
            throw ProtocolError.malformed(
                at: decoder.codingPath + [CodingKeys.keepFor], "must be \(least) to \(most) seconds")
        }
        guard case .new(let network) = try NetworkReference(from: decoder), network.credential.isPassword else {
            throw ProtocolError(
                .passwordMissing, "the new password is missing",
                details: ["field": .text((decoder.codingPath + [CodingKeys.password]).memberName)])
        }
        self.init(changeId: changeId, network: network, keepFor: keepFor)
    }

    public func encode(to encoder: any Encoder) throws {
        try NetworkReference.new(network).encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(changeId, forKey: .changeId)
        try container.encodeIfPresent(keepFor, forKey: .keepFor)
    }
}

extension NetworkCredential {
    fileprivate var isPassword: Bool {
        switch self {
        case .password, .sealed: true
        case .none, .enterprise, .sealedEnterprise: false
        }
    }
}

extension StagedPasswordStatus: Codable {
    private enum CodingKeys: String, CodingKey { case changeId, phase, hash, since, until }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            changeId: try container.decode(String.self, forKey: .changeId), ssid: try decoder.ssid(),
            phase: try container.decode(Phase.self, forKey: .phase),
            hash: try container.decodeIfPresent(NetworkHash.self, forKey: .hash),
            since: try container.decode(Timestamp.self, forKey: .since),
            until: try container.decodeIfPresent(Timestamp.self, forKey: .until))
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(changeId, forKey: .changeId)
        try container.encode(phase, forKey: .phase)
        try container.encodeIfPresent(hash, forKey: .hash)
        try container.encode(since, forKey: .since)
        try container.encodeIfPresent(until, forKey: .until)
    }
}
