/// The line of a request, in the app protocol and in that of hotspot providers:
/// `{"v":1,"id":"7","type":"network.get","body":{}}`.
package struct RequestLine<Content: RequestContent>: Sendable {
    package let id: String
    package let content: Content

    package init(id: String, content: Content) {
        self.id = id
        self.content = content
    }

    /// Reads one line, without its line feed. Where only its content is wrong, the id is known and the answer can carry it.
    package init(_ line: some Collection<UInt8>) throws(RejectedRequest) {
        let envelope: Envelope
        do {
            envelope = try Line.decode(Envelope.self, from: line)
        } catch {
            throw RejectedRequest(id: nil, error: error)
        }
        self.init(id: envelope.id, content: try envelope.content.get())
    }

    /// The line, without its line feed.
    package func encoded() throws(ProtocolError) -> [UInt8] {
        try Line.encode(Envelope(id: id, content: .success(content)))
    }

    private struct Envelope: Codable {
        let id: String
        let content: Result<Content, RejectedRequest>

        init(id: String, content: Result<Content, RejectedRequest>) {
            self.id = id
            self.content = content
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: RequestMember.self)
            let id = try members.decode(String.self, forKey: .id)
            guard (1...ProtocolLimits.idLength).contains(id.utf8.count) else {
                throw ProtocolError.malformed(at: [RequestMember.id], "has 1 to \(ProtocolLimits.idLength) bytes")
            }
            self.id = id
            do {
                guard try members.wholeNumber(forKey: .v) == Content.version else {
                    throw ProtocolError(
                        .unsupportedVersion, "this \(Content.reader) speaks version \(Content.version) of the protocol",
                        details: ["version": .number(Content.version)])
                }
                content = .success(try Content(type: try members.decode(String.self, forKey: .type), of: members))
            } catch let error as ProtocolError {
                content = .failure(RejectedRequest(id: id, error: error))
            } catch let error as DecodingError {
                content = .failure(RejectedRequest(id: id, error: ProtocolError(error)))
            }
        }

        func encode(to encoder: any Encoder) throws {
            let content = try content.get()
            var members = encoder.container(keyedBy: RequestMember.self)
            try members.encode(Content.version, forKey: .v)
            try members.encode(id, forKey: .id)
            try members.encode(content.typeName, forKey: .type)
            try content.encodeBody(into: &members)
        }
    }
}

/// What a request asks for, as one of the protocols has it.
package protocol RequestContent: Sendable {
    /// Of the protocol.
    static var version: Int { get }
    /// Who reads it: "device".
    static var reader: String { get }
    var typeName: String { get }

    /// - Throws: `unknownType`, or what is wrong with the body.
    init(type: String, of line: KeyedDecodingContainer<RequestMember>) throws
    func encodeBody(into line: inout KeyedEncodingContainer<RequestMember>) throws
}

extension RequestContent {
    package static func unknownType() -> ProtocolError {
        ProtocolError(.unknownType, "this \(reader) does not know this type of request")
    }
}

/// A member of a request's line.
package enum RequestMember: String, CodingKey {
    case v, id, type, body
}
