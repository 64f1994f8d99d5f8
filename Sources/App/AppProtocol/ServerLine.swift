/// A line from the device, as the app reads it.
public enum ServerLine: Sendable {
    /// Its body, where it is one, is read by whoever knows what was asked: `Answer`.
    case answer(id: String?, failure: ProtocolError?)
    case event(Event)
    /// Something that a newer device says and this version does not know.
    case unknown

    /// Reads one line, without its line feed.
    public init(line: some Collection<UInt8>) throws(ProtocolError) {
        self = try Line.decode(Envelope.self, from: line).line
    }

    /// Reads the body of an answer that succeeded.
    public static func body<Answer: Decodable>(_ type: Answer.Type, of line: some Collection<UInt8>)
        throws(ProtocolError) -> Answer
    {
        try Line.decode(AnswerEnvelope<Answer>.self, from: line).body
    }

    private struct Envelope: Decodable {
        let line: ServerLine

        private enum CodingKeys: String, CodingKey {
            case v, id, ok, error, event
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            guard try container.decode(Int.self, forKey: .v) == ProtocolLimits.version else {
                throw ProtocolError(.unsupportedVersion, "the device answers in another version of the protocol")
            }
            if container.contains(.event) {
                line = try Event.decode(from: decoder).map { .event($0) } ?? .unknown
            } else if container.contains(.ok) {
                let succeeded = try container.decode(Bool.self, forKey: .ok)
                line = .answer(
                    id: try container.decodeIfPresent(String.self, forKey: .id),
                    failure: succeeded ? nil : try container.decode(ProtocolError.self, forKey: .error))
            } else {
                line = .unknown
            }
        }
    }

    private struct AnswerEnvelope<Body: Decodable>: Decodable {
        let body: Body
    }
}
