import AgentModel
import AppProtocol

public enum ProviderAnswer: Sendable, Equatable {
    case hello
    /// Access points of the request that the provider may serve.
    case serves([BSSID])
    case evaluated(Confidence)
    /// Answers `authenticate` and `answer`.
    case signIn(SignInResult)
    /// Answers `presentUI`.
    case presents(Dialogue)
    case maintained(MaintainResult)
    case loggedOff
}

/// A provider's confidence that it can sign in to a network.
public enum Confidence: String, Sendable, CaseIterable, Comparable {
    case none, low, high

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

public enum SignInResult: Sendable, Equatable {
    /// The device is signed in.
    /// - Parameters:
    ///   - maintainIn: seconds until maintenance; nil for the agent's own interval.
    ///   - session: data for the provider's later `maintain` and `logoff`.
    case success(maintainIn: Int?, session: Secret?)
    /// The agent must ask the user, then send `answer`. Without a dialogue, the agent sends `presentUI` first.
    case uiRequired(Dialogue?)
    /// - Parameter retryAfter: seconds until a retry; nil for the agent's own interval.
    case temporaryFailure(retryAfter: Int?)
    case failure(reason: String)
}

public enum MaintainResult: Sendable, Equatable {
    /// - Parameter next: seconds until the next maintenance; nil for the agent's own interval.
    case success(next: Int?)
    /// The device is no longer signed in.
    case authenticationRequired
}

extension ProviderAnswer {
    /// - Parameters:
    ///   - id: ID of the request.
    ///   - kind: kind of the request.
    /// - Throws: a fault without values of the line, or the provider's error.
    public init(line: some Collection<UInt8>, to id: String, of kind: ProviderRequest.Kind) throws(ProviderFault) {
        do {
            let envelope = try Line.decode(AnswerEnvelope.self, from: line)
            // The host answers without an ID if it cannot start the provider.
            if let failure = envelope.failure, envelope.id == nil || envelope.id == id {
                throw ProviderFault.refused(failure)
            }
            guard envelope.id == id else { throw ProviderFault.garbage("its answer has another id") }
            self = try Self.read(line, as: kind)
        } catch let fault as ProviderFault {
            throw fault
        } catch let error as ProtocolError {
            throw .garbage(error.message)
        } catch {
            throw .garbage("the line is not an answer")
        }
    }

    private static func read(_ line: some Collection<UInt8>, as kind: ProviderRequest.Kind) throws -> ProviderAnswer {
        func body<Body: Decodable>(_: Body.Type) throws -> Body {
            try Line.decode(Envelope<Body>.self, from: line).body
        }
        return switch kind {
        case .hello: .hello
        case .filterScanList: .serves(try body(ServesBody.self).bssids.map(\.bssid))
        case .evaluate: .evaluated(try body(ConfidenceBody.self).confidence)
        case .authenticate, .answer: .signIn(try body(SignInResult.self))
        case .presentUI: .presents(try body(Dialogue.self))
        case .maintain: .maintained(try body(MaintainResult.self))
        case .logoff: .loggedOff
        }
    }

    public func line(to id: String) throws(ProtocolError) -> [UInt8] {
        let line = try Line.encode(AnswerLine(id: id, answer: self))
        guard line.count <= ProtocolLimits.lineLength else { throw .lineTooLong }
        return line
    }
}

extension ProtocolError {
    /// - Parameter id: ID of the request; nil if it had none.
    func providerLine(to id: String?) -> [UInt8] { (try? Line.encode(ErrorLine(id: id, error: self))) ?? [] }
}

private enum AnswerKeys: String, CodingKey {
    case v, id, ok, body, error
}

private struct AnswerEnvelope: Decodable {
    let id: String?
    let failure: ProtocolError?

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnswerKeys.self)
        guard try container.decode(Int.self, forKey: .v) == ProviderLimits.version else {
            throw ProtocolError(.unsupportedVersion, "it uses another version of the protocol")
        }
        id = try container.decodeIfPresent(String.self, forKey: .id)
        let succeeded = try container.decode(Bool.self, forKey: .ok)
        failure = succeeded ? nil : try container.decode(ProtocolError.self, forKey: .error)
    }
}

private struct Envelope<Body: Decodable>: Decodable {
    let body: Body
}

private struct ErrorLine: Encodable {
    let id: String?
    let error: ProtocolError

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnswerKeys.self)
        try container.encode(ProviderLimits.version, forKey: .v)
        try container.encode(id, forKey: .id)
        try container.encode(false, forKey: .ok)
        try container.encode(error, forKey: .error)
    }
}

private struct AnswerLine: Encodable {
    let id: String
    let answer: ProviderAnswer

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnswerKeys.self)
        try container.encode(ProviderLimits.version, forKey: .v)
        try container.encode(id, forKey: .id)
        try container.encode(true, forKey: .ok)
        switch answer {
        case .hello, .loggedOff: break
        case .serves(let bssids):
            try container.encode(ServesBody(bssids: bssids.map(ServesBody.Entry.init)), forKey: .body)
        case .evaluated(let confidence):
            try container.encode(ConfidenceBody(confidence: confidence), forKey: .body)
        case .signIn(let result): try container.encode(result, forKey: .body)
        case .presents(let dialogue): try container.encode(dialogue, forKey: .body)
        case .maintained(let result): try container.encode(result, forKey: .body)
        }
    }
}

private struct ServesBody: Codable {
    struct Entry: Codable {
        let bssid: BSSID

        init(bssid: BSSID) { self.bssid = bssid }

        init(from decoder: any Decoder) throws {
            guard let bssid = BSSID(wire: try decoder.singleValueContainer().decode(String.self)) else {
                throw decoder.malformed(BSSID.complaint)
            }
            self.bssid = bssid
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(bssid.wire)
        }
    }

    let bssids: [Entry]
}

private struct ConfidenceBody: Codable {
    let confidence: Confidence
}

extension Confidence: Codable {}

extension SignInResult: Codable {
    private enum CodingKeys: String, CodingKey {
        case result, maintainIn, session, title, retryAfter, reason
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
        case .uiRequired: self = .uiRequired(container.contains(.title) ? try Dialogue(from: decoder) : nil)
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
            try dialogue?.encode(to: encoder)
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
    /// Reads seconds, clamped to ``ProviderLimits/seconds``.
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
            throw .malformed(at: codingPath + [key], "must have \(length.lowerBound) to \(length.upperBound) bytes")
        }
    }

    func textIfPresent(forKey key: Key, ofLength length: ClosedRange<Int>) throws -> String? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        return try text(forKey: key, ofLength: length)
    }
}

public enum ProviderFault: Error, Sendable, Equatable {
    /// The provider host does not listen at the socket.
    case noHost(errno: Int32)
    case ended
    case timedOut
    /// The reason why the line is not an answer.
    case garbage(String)
    /// The agent crashed while it read this provider's answer.
    case leftAlone
    /// The provider has answered with an error, or the host does not have this provider.
    case refused(ProtocolError)
}

extension ProviderFault: CustomStringConvertible {
    /// Description of the fault. It is printable, whatever the provider has sent.
    public var description: String {
        switch self {
        case .noHost(let errno): "the providers' host is not running (error \(errno))"
        case .ended: "it ended before it answered"
        case .timedOut: "it did not answer in time"
        case .garbage(let complaint): "its answer is malformed: \(complaint.shortened)"
        case .leftAlone: "it is skipped, because the agent crashed while reading its answer"
        case .refused(let error): "it refused: \(error.message.shortened) [\(error.code.rawValue)]"
        }
    }
}

extension String {
    /// Printable beginning of the text, at most ``ProviderLimits/titleLength`` bytes.
    var shortened: String {
        var result = ""
        var length = 0
        for scalar in unicodeScalars {
            let next = String(scalar).printable
            length += next.utf8.count
            guard length <= ProviderLimits.titleLength else { break }
            result += next
        }
        return result
    }
}
