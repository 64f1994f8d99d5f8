import AgentModel

/// Answer to `backups.get` and `backups.update`, body of `backups.changed`.
public struct BackupList: Sendable, Equatable {
    public let max: Int
    /// Number that increases with every change of the list.
    public let revision: Int
    public let networks: [BackupNetwork]
    /// Home network, set at provisioning or by an app; nil if there is none, or from an older device.
    public let home: BackupNetwork?
    /// Network of the last switch, preferred to `home`; nil if it is the home network.
    public let chosen: BackupNetwork?
    /// Staged passwords, newest last.
    public let staged: [StagedPasswordStatus]

    /// The home network, the chosen network and the list. May contain a network twice.
    package var stored: [BackupNetwork] { [home, chosen].compactMap(\.self) + networks }

    public init(
        max: Int, revision: Int, networks: [BackupNetwork], home: BackupNetwork? = nil, chosen: BackupNetwork? = nil,
        staged: [StagedPasswordStatus] = []
    ) {
        self.max = max
        self.revision = revision
        self.networks = networks
        self.home = home
        self.chosen = chosen
        self.staged = staged
    }

    public var preferred: BackupNetwork? { chosen ?? home }
}

/// A stored network: entry of `networks` in a ``BackupList``.
public struct BackupNetwork: Sendable, Equatable {
    public let ssid: SSID
    public let hash: NetworkHash
    /// Security seen last. Before the first sighting: `open` without a password, `wpa2wpa3` with one.
    public let security: Security
    public let isHidden: Bool
    public let lastSeen: Timestamp?
    /// Signal at `lastSeen`, in dBm.
    public let lastSignal: Int?
    /// Failure of the last join; nil if it succeeded.
    public let lastFailure: JoinFailure?
    /// The device's static address; nil for DHCP.
    public let address: StaticAddress?
    /// Options set by the owner. Needs the device's feature `options`.
    public let options: NetworkOptions

    public init(
        ssid: SSID, hash: NetworkHash, security: Security, isHidden: Bool, lastSeen: Timestamp? = nil,
        lastSignal: Int? = nil, lastFailure: JoinFailure? = nil, address: StaticAddress? = nil,
        options: NetworkOptions = .init()
    ) {
        self.ssid = ssid
        self.hash = hash
        self.security = security
        self.isHidden = isHidden
        self.lastSeen = lastSeen
        self.lastSignal = lastSignal
        self.lastFailure = lastFailure
        self.address = address
        self.options = options
    }
}

/// Body of `backups.update`. Replaces the stored list.
public struct BackupsUpdate: Sendable, Equatable {
    public let networks: [NetworkReference]
    /// Revision that the stored list must have; nil to replace a list of any revision.
    public let ifRevision: Int?
    /// New address configuration of stored networks in `networks`, by hash.
    public let addressing: [NetworkHash: Addressing]
    /// Changes of the options of stored networks in `networks`, by hash.
    public let options: [NetworkHash: NetworkOptions.Change]
    /// New home network; nil keeps the current one.
    public let home: HomeUpdate?

    public init(
        networks: [NetworkReference], ifRevision: Int? = nil, addressing: [NetworkHash: Addressing] = [:],
        options: [NetworkHash: NetworkOptions.Change] = [:], home: HomeUpdate? = nil
    ) {
        self.networks = networks
        self.ifRevision = ifRevision
        self.addressing = addressing
        self.options = options
        self.home = home
    }
}

/// A change of the home network.
public enum HomeUpdate: Sendable, Equatable {
    /// Replaces the home network and the network of the last switch.
    case replace(NetworkReference)
    /// Forgets both, and their passwords unless the list has them too.
    case forget

    public var network: NetworkReference? { if case .replace(let network) = self { network } else { nil } }
}

/// A network in a request: a stored one by its hash, or a new one with its credential.
public enum NetworkReference: Sendable, Equatable {
    /// A network that the device has stored: its password is not sent.
    case stored(NetworkHash)
    case new(NewNetwork)
}

/// A network with its credential, to store or to join.
public struct NewNetwork: Sendable, Equatable {
    public let ssid: SSID
    public let credential: NetworkCredential
    /// Security according to the sender; nil if unknown. The security of a scan takes precedence.
    public let security: Security?
    public let isHidden: Bool
    /// The device's static address; nil for DHCP.
    public let address: StaticAddress?
    public let options: NetworkOptions

    public init(
        ssid: SSID, credential: NetworkCredential, security: Security? = nil, isHidden: Bool = false,
        address: StaticAddress? = nil, options: NetworkOptions = .init()
    ) {
        self.ssid = ssid
        self.credential = credential
        self.security = security
        self.isHidden = isHidden
        self.address = address
        self.options = options
    }
}

extension NewNetwork {
    /// - Parameter password: nil for an open network.
    public init(
        ssid: SSID, password: Secret?, security: Security? = nil, isHidden: Bool = false, address: StaticAddress? = nil,
        options: NetworkOptions = .init()
    ) {
        self.init(
            ssid: ssid, credential: password.map { .password($0) } ?? .none, security: security, isHidden: isHidden,
            address: address, options: options)
    }

    /// Returns the network with another credential.
    public func with(_ credential: NetworkCredential) -> NewNetwork {
        NewNetwork(
            ssid: ssid, credential: credential, security: security, isHidden: isHidden, address: address,
            options: options)
    }
}

/// A password, a user's credential for an enterprise network, or none. Only the device can open sealed ones.
public enum NetworkCredential: Sendable, Equatable {
    case none
    /// A password, validated when the message was read.
    case password(Secret)
    case sealed(SealedPassword)
    /// A user's credential, for IEEE 802.1X.
    case enterprise(EnterpriseCredential)
    case sealedEnterprise(SealedEnterprise)

    /// Whether the credential has a secret that a relay could read.
    package var isPlain: Bool {
        switch self {
        case .password, .enterprise: true
        case .none, .sealed, .sealedEnterprise: false
        }
    }
}

extension BackupNetwork: Codable {
    private enum CodingKeys: String, CodingKey {
        case hash, security, hidden, lastSeen, lastSignal, lastFailure, address
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            ssid: try decoder.ssid(),
            hash: try container.decode(NetworkHash.self, forKey: .hash),
            security: try container.decode(Security.self, forKey: .security),
            isHidden: try container.decodeIfPresent(Bool.self, forKey: .hidden) ?? false,
            lastSeen: try container.decodeIfPresent(Timestamp.self, forKey: .lastSeen),
            lastSignal: try container.decodeIfPresent(Int.self, forKey: .lastSignal),
            lastFailure: try container.decodeIfPresent(JoinFailure.self, forKey: .lastFailure),
            address: try container.staticAddress(of: .ipv4, forKey: .address),
            options: NetworkOptions().changed(by: try .read(from: decoder)))
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(hash, forKey: .hash)
        try container.encode(security, forKey: .security)
        try container.encode(isHidden, forKey: .hidden)
        try container.encodeIfPresent(lastSeen, forKey: .lastSeen)
        try container.encodeIfPresent(lastSignal, forKey: .lastSignal)
        try container.encodeIfPresent(lastFailure, forKey: .lastFailure)
        try container.encodeIfPresent(address, forKey: .address)
        try NetworkOptions.Change(options).write(to: encoder)
    }
}

/// JSON of an entry in an update, and of the target of a switch: `hash`, or `ssid` with `password`, `sealed`,
/// `enterprise` or open `security`.
///
/// A credential takes precedence over a hash beside it, because app SDKs send both.
extension NetworkReference: Codable {
    private enum CodingKeys: String, CodingKey {
        case hash, password, sealed, enterprise, security, hidden
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let password = try container.decodeIfPresent(Secret.self, forKey: .password)
        let sealed = try container.decodeIfPresent(SealedPassword.self, forKey: .sealed)
        let enterprise = try container.decodeIfPresent(EnterpriseMessage.self, forKey: .enterprise)
        if password == nil, sealed == nil, enterprise == nil,
            let hash = try container.decodeIfPresent(NetworkHash.self, forKey: .hash)
        {
            self = .stored(hash)
            return
        }
        let security = try container.decodeIfPresent(Security.self, forKey: .security)
        let isOpen = security?.isOpenToAll ?? false
        let ssid = try decoder.ssid()
        if let enterprise {
            guard password == nil, sealed == nil else {
                throw ProtocolError.malformed(
                    at: decoder.codingPath + [CodingKeys.enterprise], "and password or sealed exclude each other")
            }
            guard security ?? .enterprise == .enterprise else {
                throw Self.error(
                    .unsupported, "a network with enterprise must have the security enterprise", at: .security,
                    of: decoder)
            }
            let credential: NetworkCredential =
                switch enterprise {
                case .plain(let credential): .enterprise(credential)
                case .sealed(let sealed): .sealedEnterprise(sealed)
                }
            self = .new(
                NewNetwork(
                    ssid: ssid, credential: credential, security: .enterprise,
                    isHidden: try container.decodeIfPresent(Bool.self, forKey: .hidden) ?? false,
                    address: try Addressing.read(from: decoder)?.address,
                    options: try NetworkOptions.read(from: decoder, canAllowTKIP: false)))
            return
        }
        if security == .enterprise {
            throw Self.error(
                .unsupported, "an enterprise network needs more than a password: send enterprise",
                at: .security, of: decoder)
        }
        if let security, !isOpen, !security.usesPassphrase {
            throw Self.error(
                .unsupported, "this security is not supported: set the router to WPA3, or to WPA2 with AES",
                at: .security, of: decoder)
        }
        let credential: NetworkCredential =
            switch (password, sealed) {
            case (nil, nil) where isOpen: .none
            case (let password?, nil) where isOpen && password.count == 0: .none
            case (nil, nil):
                throw Self.error(.passwordMissing, "the network has no password", at: .password, of: decoder)
            case (_?, _?):
                throw ProtocolError.malformed(
                    at: decoder.codingPath + [CodingKeys.password], "and sealed exclude each other")
            case (let password?, nil): .password(try Self.password(password, security, decoder))
            case (nil, _?) where isOpen:
                throw Self.error(.invalidPassword, "an open network has no password", at: .sealed, of: decoder)
            case (nil, let sealed?): .sealed(sealed)
            }
        self = .new(
            NewNetwork(
                ssid: ssid, credential: credential, security: security,
                isHidden: try container.decodeIfPresent(Bool.self, forKey: .hidden) ?? false,
                address: try Addressing.read(from: decoder)?.address,
                options: try .read(from: decoder, canAllowTKIP: credential != .none && security != .wpa3)))
    }

    private static func password(
        _ password: Secret, _ security: Security?, _ decoder: any Decoder
    ) throws(ProtocolError) -> Secret {
        if security?.isOpenToAll ?? false {
            throw error(.invalidPassword, "an open network has no password", at: .password, of: decoder)
        }
        do {
            try Passphrase.validate(password, for: security)
        } catch {
            throw Self.error(.invalidPassword, "\(error)", at: .password, of: decoder)
        }
        return password
    }

    private static func error(
        _ code: ErrorCode, _ message: String, at key: CodingKeys, of decoder: any Decoder
    ) -> ProtocolError {
        ProtocolError(
            code, message, details: ["field": .text((decoder.codingPath + [key]).memberName)])
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
            case .enterprise(let credential):
                try container.encode(EnterpriseMessage.plain(credential), forKey: .enterprise)
            case .sealedEnterprise(let sealed):
                try container.encode(EnterpriseMessage.sealed(sealed), forKey: .enterprise)
            }
            if network.credential != .none { try container.encodeIfPresent(network.security, forKey: .security) }
            if network.isHidden { try container.encode(true, forKey: .hidden) }
            if let address = network.address { try Addressing.fixed(address).write(to: encoder) }
            try NetworkOptions.Change(network.options).write(to: encoder)
        }
    }
}

extension BackupList: Codable {
    private enum CodingKeys: String, CodingKey { case max, revision, networks, home, chosen, staged }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            max: try container.decode(Int.self, forKey: .max),
            revision: try container.decode(Int.self, forKey: .revision),
            networks: try container.decode([BackupNetwork].self, forKey: .networks),
            home: try container.decodeIfPresent(BackupNetwork.self, forKey: .home),
            chosen: try container.decodeIfPresent(BackupNetwork.self, forKey: .chosen),
            staged: try container.decodeIfPresent([StagedPasswordStatus].self, forKey: .staged) ?? [])
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(max, forKey: .max)
        try container.encode(revision, forKey: .revision)
        try container.encode(networks, forKey: .networks)
        try container.encodeIfPresent(home, forKey: .home)
        try container.encodeIfPresent(chosen, forKey: .chosen)
        if !staged.isEmpty { try container.encode(staged, forKey: .staged) }
    }
}

extension BackupsUpdate: Codable {
    private enum CodingKeys: String, CodingKey {
        case networks, ifRevision, home
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let entries = try container.decode([Entry].self, forKey: .networks)
        let networks = entries.map(\.network)
        guard networks.count <= ProtocolLimits.updateEntries else {
            throw ProtocolError(
                .tooManyNetworks, "an update can have at most \(ProtocolLimits.updateEntries) networks",
                details: ["max": .number(ProtocolLimits.updateEntries), "count": .number(networks.count)])
        }
        var addressing: [NetworkHash: Addressing] = [:]
        var options: [NetworkHash: NetworkOptions.Change] = [:]
        for entry in entries {
            // The device refuses networks that occur twice, so an overwritten entry does not matter.
            guard case .stored(let hash) = entry.network else { continue }
            if let said = entry.addressing { addressing[hash] = said }
            if !entry.options.isEmpty { options[hash] = entry.options }
        }
        self.init(
            networks: networks, ifRevision: try container.decodeIfPresent(Int.self, forKey: .ifRevision),
            addressing: addressing, options: options,
            home: try container.decodeIfPresent(HomeUpdate.self, forKey: .home))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        let entries = networks.map { network in
            if case .stored(let hash) = network {
                Entry(network: network, addressing: addressing[hash], options: options[hash] ?? .init())
            } else {
                Entry(network: network, addressing: nil, options: .init())
            }
        }
        try container.encode(entries, forKey: .networks)
        try container.encodeIfPresent(ifRevision, forKey: .ifRevision)
        try container.encodeIfPresent(home, forKey: .home)
    }

    /// A network, with the new address configuration and the change of its options if it is a stored one.
    private struct Entry: Codable {
        let network: NetworkReference
        let addressing: Addressing?
        let options: NetworkOptions.Change

        init(network: NetworkReference, addressing: Addressing?, options: NetworkOptions.Change) {
            (self.network, self.addressing, self.options) = (network, addressing, options)
        }

        init(from decoder: any Decoder) throws {
            network = try NetworkReference(from: decoder)
            if case .stored = network {
                (addressing, options) = (try .read(from: decoder), try .read(from: decoder))
            } else {
                (addressing, options) = (nil, .init())
            }
        }

        func encode(to encoder: any Encoder) throws {
            try network.encode(to: encoder)
            try addressing?.write(to: encoder)
            try options.write(to: encoder)
        }
    }
}

/// JSON of a home update: `{"forget":true}`, or a network as in the list.
extension HomeUpdate: Codable {
    private enum CodingKeys: String, CodingKey {
        case forget
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if try container.decodeIfPresent(Bool.self, forKey: .forget) ?? false {
            self = .forget
        } else {
            self = .replace(try NetworkReference(from: decoder))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .replace(let network): try network.encode(to: encoder)
        case .forget:
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(true, forKey: .forget)
        }
    }
}

/// JSON of a switch request: one object with the members of the target and the options.
extension SwitchRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case joinOnce, confirmWithin, besideUplink
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let confirmWithin = try container.decodeIfPresent(Int.self, forKey: .confirmWithin)
        if let confirmWithin, !ProtocolLimits.confirmWithin.contains(confirmWithin) {
            let (least, most) = (ProtocolLimits.confirmWithin.lowerBound, ProtocolLimits.confirmWithin.upperBound)
            throw ProtocolError.malformed(
                at: decoder.codingPath + [CodingKeys.confirmWithin], "must be \(least) to \(most) seconds")
        }
        self.init(
            target: try NetworkReference(from: decoder), confirmWithin: confirmWithin,
            joinOnce: try container.decodeIfPresent(Bool.self, forKey: .joinOnce) ?? false,
            besideUplink: try container.decodeIfPresent(Bool.self, forKey: .besideUplink) ?? false)
    }

    public func encode(to encoder: any Encoder) throws {
        try target.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(confirmWithin, forKey: .confirmWithin)
        if joinOnce { try container.encode(true, forKey: .joinOnce) }
        if besideUplink { try container.encode(true, forKey: .besideUplink) }
    }
}
