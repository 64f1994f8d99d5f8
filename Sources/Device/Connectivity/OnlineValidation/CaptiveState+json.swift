import AgentModel

extension CaptiveState {
    /// Reads the answer to the API (RFC 8908, 5). Keys that are not known are passed over, as it demands.
    ///
    /// - Throws: `malformed` for what is no such answer. A URL that cannot be used is no reason: the rest still holds.
    public init(json: [UInt8]) throws(CaptivePortalFailure) {
        guard json.count <= CaptivePortalAPI.bodyLimit else { throw .malformed("it is too long") }
        let fields: Fields
        do {
            fields = try OutsideJSON.decode(Fields.self, from: json, nesting: Self.nesting)
        } catch {
            throw .malformed(error.reason)
        }
        guard [fields.secondsRemaining, fields.bytesRemaining].allSatisfy({ $0.map(Self.amounts.contains) ?? true })
        else { throw .malformed("what remains is out of range") }
        self.init(
            isCaptive: fields.captive, userPortal: fields.userPortal.flatMap { try? WebAddress($0) },
            venueInfo: fields.venueInfo.flatMap { try? WebAddress($0) }, canExtendSession: fields.canExtendSession,
            secondsRemaining: fields.secondsRemaining, bytesRemaining: fields.bytesRemaining)
        // "MUST be accessed over TLS": otherwise anybody in range could put his own page there.
        if userPortal?.scheme == .http { userPortal = nil }
    }

    /// What is known is flat; what is to come may be less so.
    private static let nesting = 16
    /// What every reader of JSON can tell apart (RFC 8259, 6).
    private static let amounts = 0...(1 << 53) - 1

    private struct Fields: Decodable {
        let captive: Bool
        let userPortal: String?
        let venueInfo: String?
        let canExtendSession: Bool?
        let secondsRemaining: Int?
        let bytesRemaining: Int?

        enum CodingKeys: String, CodingKey {
            case captive
            case userPortal = "user-portal-url"
            case venueInfo = "venue-info-url"
            case canExtendSession = "can-extend-session"
            case secondsRemaining = "seconds-remaining"
            case bytesRemaining = "bytes-remaining"
        }
    }
}

extension Error {
    /// In words, without anything of what the network sent but names that are known here.
    fileprivate var reason: String {
        switch self as? JSONFault {
        case .notUTF8: "it is not UTF-8 text"
        case .nestsTooDeep: "it nests too deep"
        case .notJSON, nil: (self as? DecodingError)?.reason ?? "it is not a JSON object"
        }
    }
}

extension DecodingError {
    fileprivate var reason: String {
        switch self {
        case .keyNotFound(let key, _): "\(key.stringValue) is missing"
        case .typeMismatch(_, let context) where !context.codingPath.isEmpty,
            .valueNotFound(_, let context) where !context.codingPath.isEmpty,
            .dataCorrupted(let context) where !context.codingPath.isEmpty:
            "\(context.codingPath.map(\.stringValue).joined(separator: ".")) is not what it should be"
        default: "it is not a JSON object"
        }
    }
}
