import AgentModel
import AppProtocol

extension SignInResult: Codable {
    private enum CodingKeys: String, CodingKey {
        case result, maintainIn, session, retryAfter, reason
    }

    private enum Name: String, Codable {
        case success, uiRequired, temporaryFailure, failure
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(Name.self, forKey: .result) {
        case .success:
            self = .success(
                maintainIn: try container.seconds(forKey: .maintainIn),
                session: try container.secretIfPresent(
                    forKey: .session, ofLength: 0...ProviderLimits.sessionLength))
        case .uiRequired: self = .uiRequired(try Dialogue(from: decoder))
        case .temporaryFailure: self = .temporaryFailure(retryAfter: try container.seconds(forKey: .retryAfter))
        case .failure:
            self = .failure(
                reason: try container.text(forKey: .reason, ofLength: 0...ProviderLimits.titleLength))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .success(let maintainIn, let session):
            try container.encode(Name.success, forKey: .result)
            try container.encodeIfPresent(maintainIn, forKey: .maintainIn)
            try container.encodeIfPresent(session?.text, forKey: .session)
        case .uiRequired(let dialogue):
            try container.encode(Name.uiRequired, forKey: .result)
            try dialogue.encode(to: encoder)
        case .temporaryFailure(let retryAfter):
            try container.encode(Name.temporaryFailure, forKey: .result)
            try container.encodeIfPresent(retryAfter, forKey: .retryAfter)
        case .failure(let reason):
            try container.encode(Name.failure, forKey: .result)
            try container.encode(reason, forKey: .reason)
        }
    }
}

extension MaintainResult: Codable {
    private enum CodingKeys: String, CodingKey {
        case result, next
    }

    private enum Name: String, Codable {
        case success, authenticationRequired
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self =
            switch try container.decode(Name.self, forKey: .result) {
            case .success: .success(next: try container.seconds(forKey: .next))
            case .authenticationRequired: .authenticationRequired
            }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .success(let next):
            try container.encode(Name.success, forKey: .result)
            try container.encodeIfPresent(next, forKey: .next)
        case .authenticationRequired: try container.encode(Name.authenticationRequired, forKey: .result)
        }
    }
}

extension KeyedDecodingContainer {
    /// A number of seconds, brought within ``ProviderLimits/seconds``.
    fileprivate func seconds(forKey key: Key) throws -> Int? {
        try decodeIfPresent(Int.self, forKey: key).map {
            min(max($0, ProviderLimits.seconds.lowerBound), ProviderLimits.seconds.upperBound)
        }
    }

    func text(forKey key: Key, ofLength length: ClosedRange<Int>) throws -> String {
        let text = try decode(String.self, forKey: key)
        try check(text.utf8.count, of: key, in: length)
        return text
    }

    fileprivate func secretIfPresent(forKey key: Key, ofLength length: ClosedRange<Int>) throws -> Secret? {
        let secret = try decodeIfPresent(Secret.self, forKey: key)
        if let secret { try check(secret.count, of: key, in: length) }
        return secret
    }

    private func check(_ count: Int, of key: Key, in length: ClosedRange<Int>) throws(ProtocolError) {
        guard length.contains(count) else {
            throw .malformed(at: codingPath + [key], "has \(length.lowerBound) to \(length.upperBound) bytes")
        }
    }

    func textIfPresent(forKey key: Key, ofLength length: ClosedRange<Int>) throws -> String? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        return try text(forKey: key, ofLength: length)
    }
}
