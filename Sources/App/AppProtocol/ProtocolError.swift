/// A refusal: the `error` of an answer.
public struct ProtocolError: Error, Sendable, Equatable {
    public let code: ErrorCode
    /// One sentence for a user, without passwords.
    public let message: String
    /// Values for programs: `max`, `revision`, `field`, `switchId`.
    public let details: [String: Detail]

    public init(_ code: ErrorCode, _ message: String, details: [String: Detail] = [:]) {
        self.code = code
        self.message = message
        self.details = details
    }

    public enum Detail: Sendable, Equatable {
        case number(Int)
        case text(String)
    }
}

extension ProtocolError: CustomStringConvertible {
    public var description: String { "\(message) [\(code.rawValue)]" }
}

extension ProtocolError.Detail: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int) { self = .number(value) }
}

extension ProtocolError.Detail: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        }
    }
}

extension ProtocolError: Codable {
    private enum CodingKeys: String, CodingKey {
        case code, message, details
    }

    /// Reads unknown codes of newer devices as `internalError`, with the code in the message.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let name = try container.decode(String.self, forKey: .code)
        let message = try container.decodeIfPresent(String.self, forKey: .message) ?? ""
        let known = ErrorCode(rawValue: name)
        self.init(
            known ?? .internalError, known == nil ? "\(name): \(message)" : message,
            details: (try? container.decodeIfPresent([String: Detail].self, forKey: .details)) ?? [:])
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code.rawValue, forKey: .code)
        try container.encode(message, forKey: .message)
        if !details.isEmpty { try container.encode(details, forKey: .details) }
    }
}

/// Reason of a refusal, for programs.
public enum ErrorCode: String, Sendable, CaseIterable {
    case malformed
    case unsupportedVersion
    case unknownType
    case lineTooLong
    case tooManyNetworks
    case duplicateNetwork
    case unknownNetwork
    case passwordMissing
    case invalidSsid
    case invalidPassword
    case invalidAddress
    case invalidEnterprise
    case sealRequired
    case sealInvalid
    case sealUsed
    case keyRotated
    case proofRequired
    case keyRefused
    case keyExpired
    case keyRevoked
    case unknownKey
    case duplicateKey
    case tooManyKeys
    case revisionConflict
    case alreadyAssociated
    case switchInProgress
    case cannotSwitch
    case unknownSwitch
    case notWaiting
    case unknownPortal
    case storageFailed
    case radioFailed
    case interfaceMissing
    case scanBusy
    case notPermitted
    case tooManyRequests
    case busy
    case unsupported
    case internalError

    /// The remedy, as one sentence for a user or an app's developer.
    public var remedy: String {
        switch self {
        case .malformed:
            "Correct the member at fault: each line is one JSON object, with v, id, type and the body of that type."
        case .unsupportedVersion: "Update the older side, or send version \(ProtocolLimits.version)."
        case .unknownType: "Update the device, or leave this request out; capabilities.get has the device's features."
        case .lineTooLong: "Keep each line within \(ProtocolLimits.lineLength) bytes."
        case .tooManyNetworks: "Remove a network first."
        case .duplicateNetwork: "Name each network once."
        case .unknownNetwork: "Read the list of networks again, or send the network with its password."
        case .passwordMissing: "Give the network's password, or mark the network as open if it has none."
        case .invalidSsid: "Give a network name of 1 to 32 bytes."
        case .invalidPassword:
            "Give a password of 8 to 63 printable ASCII characters, or for a network with WPA3 only 1 to 128 bytes of "
                + "text."
        case .invalidAddress:
            "Give an address with its prefix length, such as 192.168.1.20/24 (in ipv6: 2001:db8::20/64). The gateway "
                + "must be another host in the same network, or a link-local IPv6 address for ipv6."
        case .invalidEnterprise:
            "Give the method and the identity, a password or a certificate with its key, and the network's authority "
                + "or, with the system's authorities, the name of its server."
        case .sealRequired:
            "Seal the password with the key of key.agree: only programs on the device may send it unsealed."
        case .sealInvalid:
            "Seal the password for this request with the key of key.agree, and prove it with the app's key."
        case .sealUsed: "Seal the password again: each box is accepted once."
        case .keyRotated: "Get the device's current key with key.agree, and seal the password again."
        case .proofRequired: "Prove an app's key: with session.open over the network, with request.prove over a broker."
        case .keyRefused: "Scan the device's pairing code again: the device has another key, or none with this name."
        case .keyExpired: "Ask the device's owner for another key: this one has expired."
        case .keyRevoked: "Ask the device's owner for another key: this one was revoked."
        case .unknownKey: "Use a name from the list of app keys."
        case .duplicateKey: "Choose another name, or revoke the key with this name first."
        case .tooManyKeys: "Revoke a key first."
        case .revisionConflict: "Another client changed the list: read it again, redo the change, send it again."
        case .alreadyAssociated: "Do nothing: the device is already connected to that network."
        case .switchInProgress: "Wait until the running switch has ended."
        case .cannotSwitch:
            "To switch Wi-Fi anyway, set besideUplink in the request, or --beside-uplink in the altnet command."
        case .unknownSwitch: "Use the ID of a switch that the agent has started since its own start."
        case .notWaiting: "Confirm a switch only while it waits for confirmation."
        case .unknownPortal: "Read the open sign-in again: this one was answered, or is no longer needed."
        case .storageFailed: "Check that the disk of the key file is writable and not full; the old list is kept."
        case .radioFailed: "Try again; if it fails again, look for the driver's error in the agent's log."
        case .interfaceMissing: "Check that the Wi-Fi interface exists, is not blocked by rfkill and has its driver."
        case .scanBusy: "Wait until the running scan has ended, and read its results."
        case .notPermitted:
            "On the device, run as root or as a member of the socket's group; over the network, use a key whose role "
                + "permits this."
        case .tooManyRequests: "Wait as long as the error says (retryAfterMs, in milliseconds), and repeat the request."
        case .busy: "Try again later: the agent is at its limit of requests or connections."
        case .unsupported: "Leave out what the device does not support, or update the device."
        case .internalError: "Report this as a bug, with the agent's log."
        }
    }

    public var matterStatus: MatterStatus {
        switch self {
        case .tooManyNetworks, .tooManyKeys: .boundsExceeded
        case .invalidSsid, .invalidPassword, .invalidAddress, .invalidEnterprise, .passwordMissing, .sealInvalid,
            .malformed, .lineTooLong:
            .outOfRange
        case .duplicateNetwork: .duplicateNetworkID
        case .unknownNetwork, .unknownSwitch: .networkIDNotFound
        case .alreadyAssociated: .success
        case .radioFailed, .interfaceMissing, .cannotSwitch, .switchInProgress: .otherConnectionFailure
        case .unsupportedVersion, .unknownType, .revisionConflict, .notWaiting, .unknownPortal, .storageFailed,
            .scanBusy, .notPermitted, .sealRequired, .sealUsed, .keyRotated, .tooManyRequests, .busy, .unsupported,
            .internalError, .proofRequired, .keyExpired, .keyRevoked, .unknownKey, .duplicateKey:
            .unknownError
        case .keyRefused: .authFailure
        }
    }

    public var kind: Kind {
        switch self {
        case .malformed, .lineTooLong, .tooManyNetworks, .duplicateNetwork, .unknownNetwork, .passwordMissing,
            .invalidSsid, .invalidPassword, .invalidAddress, .invalidEnterprise, .sealRequired, .sealInvalid, .sealUsed,
            .unknownSwitch, .unknownKey, .duplicateKey, .tooManyKeys, .proofRequired:
            .badData
        case .unsupportedVersion, .unknownType, .unsupported: .unsupported
        case .revisionConflict, .switchInProgress, .scanBusy, .keyRotated, .tooManyRequests, .busy: .tryLater
        case .alreadyAssociated: .alreadySo
        case .cannotSwitch, .notWaiting, .unknownPortal: .refused
        case .storageFailed, .radioFailed, .interfaceMissing: .deviceFailure
        case .notPermitted, .keyRefused, .keyExpired, .keyRevoked: .notPermitted
        case .internalError: .defect
        }
    }

    /// Category of an error, which determines a program's exit status.
    public enum Kind: Sendable, CaseIterable {
        /// The request is wrong and fails every time.
        case badData
        case unsupported
        /// A repeated request can succeed later.
        case tryLater
        /// The requested state is already present.
        case alreadySo
        /// The device's present state does not allow the request.
        case refused
        case deviceFailure
        case notPermitted
        case defect
    }
}

/// Status of Matter's Network Commissioning cluster (Matter core specification 1.4, 11.9.5.3,
/// NetworkCommissioningStatusEnum).
public enum MatterStatus: UInt8, Sendable, CaseIterable {
    case success = 0
    case outOfRange = 1
    case boundsExceeded = 2
    case networkIDNotFound = 3
    case duplicateNetworkID = 4
    case networkNotFound = 5
    case regulatoryError = 6
    case authFailure = 7
    case unsupportedSecurity = 8
    case otherConnectionFailure = 9
    case ipv6Failed = 10
    case ipBindFailed = 11
    case unknownError = 12
}
