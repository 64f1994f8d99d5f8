import AgentModel

/// What the app with a key may do. Each may do what those before it may.
public enum Role: String, Sendable, CaseIterable, Codable, Comparable {
    /// Ask, and listen to events.
    case see
    /// Move the device: switch, confirm, scan, sign in at a hotspot.
    case `switch`
    /// Everything: the stored networks, the device's servers, the keys of others.
    case manage

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .see: 0
        case .switch: 1
        case .manage: 2
        }
    }
}

/// The name of an app's key: 1 to 64 bytes of text without control characters, such as `Anna's phone`.
public struct KeyName: Sendable, Hashable, Comparable {
    public let text: String

    /// Of the key that the device was provisioned with. It cannot be revoked, and no other key has its name.
    public static let owner = KeyName(known: "owner")

    public init?(_ text: String) {
        guard ProtocolLimits.keyNameLength.contains(text.utf8.count), text.unicodeScalars.allSatisfy(\.isPlain),
            text.first != " ", text.last != " "
        else { return nil }
        self.text = text
    }

    private init(known text: String) { self.text = text }

    public static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}

extension KeyName: CustomStringConvertible {
    public var description: String { text }
}

extension KeyName: Codable {
    public init(from decoder: any Decoder) throws {
        guard let name = KeyName(try decoder.singleValueContainer().decode(String.self)) else {
            throw decoder.malformed("has 1 to 64 bytes of text, without control characters and spaces around it")
        }
        self = name
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// A key of an app, without its secret: an entry of `keys.get`.
public struct AppKeyStatus: Sendable, Equatable, Codable {
    public var name: KeyName
    public var role: Role
    /// When it was made, by the device's clock; absent where the device did not know the time.
    public var created: Timestamp?
    /// From when on it opens nothing, by the device's clock; absent where it does not expire.
    public var expires: Timestamp?
    public var state: State
    /// How many connections are open with it now.
    public var sessions: Int
    /// Seconds for which it can still be claimed; present for an invitation only.
    public var claimableFor: Int?

    /// The set can grow: show an unknown one as it is.
    public struct State: RawRepresentable, Sendable, Hashable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let valid = State(rawValue: "valid")
        /// A code that was given out and not been claimed yet.
        public static let invited = State(rawValue: "invited")
        public static let expired = State(rawValue: "expired")
        /// Kept for a while, so that its app is told so.
        public static let revoked = State(rawValue: "revoked")
    }

    public init(
        name: KeyName, role: Role, created: Timestamp? = nil, expires: Timestamp? = nil, state: State = .valid,
        sessions: Int = 0, claimableFor: Int? = nil
    ) {
        (self.name, self.role, self.created, self.expires) = (name, role, created, expires)
        (self.state, self.sessions, self.claimableFor) = (state, sessions, claimableFor)
    }
}

/// The keys of the device's apps: the answer to `keys.get` and `keys.revoke`. The owner's comes first.
public struct AppKeyReport: Sendable, Equatable, Codable {
    /// How many there may be beside the owner's.
    public var max: Int
    public var keys: [AppKeyStatus]

    public init(max: Int = ProtocolLimits.appKeys, keys: [AppKeyStatus]) { (self.max, self.keys) = (max, keys) }
}

/// A key for another app: the body of `keys.add`.
public struct KeyRequest: Sendable, Equatable {
    /// Absent where the app that claims an invitation names itself.
    public var name: KeyName?
    public var role: Role
    /// How long it opens the device, in seconds by the device's clock; absent for as long as it is not revoked.
    public var expiresIn: Int?
    /// For an invitation: how soon the code has to be used, in seconds. Its first use gives the app a key of its own,
    /// and ends it. Absent for a code that has the lasting key in it.
    public var claimWithin: Int?

    public init(name: KeyName?, role: Role, expiresIn: Int? = nil, claimWithin: Int? = nil) {
        (self.name, self.role, self.expiresIn, self.claimWithin) = (name, role, expiresIn, claimWithin)
    }
}

extension KeyRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, role, expiresIn, claimWithin
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func seconds(_ key: CodingKeys, _ range: ClosedRange<Int>) throws -> Int? {
            guard let seconds = try members.decodeIfPresent(Int.self, forKey: key) else { return nil }
            guard range.contains(seconds) else {
                throw ProtocolError.malformed(
                    at: decoder.codingPath + [key], "is \(range.lowerBound) to \(range.upperBound) seconds")
            }
            return seconds
        }
        self.init(
            name: try members.decodeIfPresent(KeyName.self, forKey: .name),
            role: try members.decode(Role.self, forKey: .role),
            expiresIn: try seconds(.expiresIn, ProtocolLimits.keyLifetime),
            claimWithin: try seconds(.claimWithin, ProtocolLimits.claimWithin))
        if name == nil, claimWithin == nil {
            throw ProtocolError.malformed(at: decoder.codingPath + [CodingKeys.name], "or claimWithin is missing")
        }
    }
}

/// A pairing code for another app: the answer to `keys.add` and `key.claim`. It is as secret as the key.
public struct KeyHandout: Sendable, Equatable {
    public var key: AppKeyStatus
    public var code: PairingCode

    public init(key: AppKeyStatus, code: PairingCode) { (self.key, self.code) = (key, code) }
}

extension KeyHandout: Codable {
    private enum CodingKeys: String, CodingKey {
        case key
        case code = "pairingCode"
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        key = try members.decode(AppKeyStatus.self, forKey: .key)
        let code = try members.decode(Secret.self, forKey: .code)
        do {
            self.code = try code.withBytes { bytes throws(PairingCodeError) in try PairingCode(reading: bytes) }
        } catch {
            throw ProtocolError.malformed(at: decoder.codingPath + [CodingKeys.code], "\(error)")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(key, forKey: .key)
        try members.encode(code.uri(), forKey: .code)
    }
}

/// Names a key: the body of `keys.revoke`.
public struct KeyQuery: Sendable, Equatable, Codable {
    public var name: KeyName

    public init(name: KeyName) { self.name = name }
}

/// How an app wants to be called that claims a key: the body of `key.claim`.
public struct KeyClaim: Sendable, Equatable, Codable {
    /// Absent where the invitation has a name, which counts in any case.
    public var name: KeyName?

    public init(name: KeyName? = nil) { self.name = name }
}
