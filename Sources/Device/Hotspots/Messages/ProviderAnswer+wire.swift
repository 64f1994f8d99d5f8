import AgentModel
import AppProtocol

extension ProviderAnswer {
    /// Reads one line, without its line feed.
    /// - Parameters:
    ///   - id: of the request that was asked.
    ///   - kind: what was asked.
    /// - Throws: what is wrong with the line, without any part of its values; or the error that the provider answers with.
    public init(line: some Collection<UInt8>, to id: String, of kind: ProviderRequest.Kind) throws(ProviderFault) {
        do {
            let envelope = try Line.decode(AnswerEnvelope.self, from: line)
            // The host answers without an id where it cannot start the provider.
            if let failure = envelope.failure, envelope.id == nil || envelope.id == id {
                throw ProviderFault.refused(failure)
            }
            guard envelope.id == id else { throw ProviderFault.garbage("it answers what was not asked") }
            self = try Self.read(line, as: kind)
        } catch let fault as ProviderFault {
            throw fault
        } catch let error as ProtocolError {
            throw .garbage(error.message)
        } catch {
            throw .garbage("the line is no answer")
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
        case .maintain: .maintained(try body(MaintainResult.self))
        case .logoff: .loggedOff
        }
    }

    /// The answer as one line, without its line feed.
    public func line(to id: String) throws(ProtocolError) -> [UInt8] {
        let line = try Line.encode(AnswerLine(id: id, answer: self))
        guard line.count <= ProtocolLimits.lineLength else { throw .lineTooLong }
        return line
    }
}

extension ProtocolError {
    /// The error as one line that answers a request, without its line feed.
    /// - Parameter id: nil where the request had none.
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
            throw ProtocolError(.unsupportedVersion, "it answers in another version of the protocol")
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
