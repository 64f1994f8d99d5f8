import AgentModel

/// Permissions of a key, each including the previous ones.
public enum Role: String, Sendable, CaseIterable, Codable, Comparable {
    /// Allows queries and events.
    case see
    /// Allows moving the device: switch, confirm, scan, sign in at a hotspot, open and close the setup access point.
    case `switch`
    /// Allows everything, such as changing stored networks, the device's servers and other apps' keys.
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

/// Name of a key: 1 to 64 bytes of text without control characters, such as `Anna's phone`.
public struct KeyName: Sendable, Hashable, Comparable {
    public let text: String

    /// Name of the key from provisioning. It cannot be revoked or reused.
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
            throw decoder.malformed("must have 1 to 64 bytes of text, without control characters and spaces around it")
        }
        self = name
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// Entry of `keys.get`, without the key itself.
public struct AppKeyStatus: Sendable, Equatable, Codable {
    public var name: KeyName
    public var role: Role
    /// Creation time on the device's clock; nil if the clock was not set.
    public var created: Timestamp?
    /// Expiry on the device's clock; nil for none.
    public var expires: Timestamp?
    public var state: State
    public var sessions: Int
    /// Seconds left to claim the key; set for an invitation only.
    public var claimableFor: Int?

    /// State of a key. Show unknown states as they are, since new ones may be added.
    public struct State: RawRepresentable, Sendable, Hashable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let valid = State(rawValue: "valid")
        /// The invitation has not been claimed.
        public static let invited = State(rawValue: "invited")
        public static let expired = State(rawValue: "expired")
        /// The key was revoked. Its entry stays for a while, so that the app receives the reason.
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

/// The keys of the device's apps, the owner's first: answer to `keys.get` and `keys.revoke`.
public struct AppKeyReport: Sendable, Equatable, Codable {
    /// Maximum number of keys in addition to the owner's.
    public var max: Int
    public var keys: [AppKeyStatus]

    public init(max: Int = ProtocolLimits.appKeys, keys: [AppKeyStatus]) { (self.max, self.keys) = (max, keys) }
}

/// A key for another app: body of `keys.add`.
public struct KeyRequest: Sendable, Equatable {
    /// Name of the key; nil to let the app choose it when it claims the invitation.
    public var name: KeyName?
    public var role: Role
    /// Validity in seconds on the device's clock, 1 to 315360000; nil for unlimited.
    public var expiresIn: Int?
    /// Seconds to claim the invitation, 30 to 86400. The app's first use exchanges the invitation for a lasting key.
    /// Nil if the code has a lasting key.
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
                    at: decoder.codingPath + [key], "must be \(range.lowerBound) to \(range.upperBound) seconds")
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

/// Pairing code for another app: answer to `keys.add` and `key.claim`. Keep it as secret as the key.
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

/// Body of `keys.revoke`.
public struct KeyQuery: Sendable, Equatable, Codable {
    public var name: KeyName

    public init(name: KeyName) { self.name = name }
}

/// Body of `key.claim`.
public struct KeyClaim: Sendable, Equatable, Codable {
    /// Name chosen by the app. A name in the invitation takes precedence.
    public var name: KeyName?

    public init(name: KeyName? = nil) { self.name = name }
}
