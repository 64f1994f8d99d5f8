/// A request: one line from an app or a program.
public struct Request: Sendable, Equatable {
    /// Request ID: 1 to 64 bytes, chosen by the app and repeated in the answer.
    public let id: String
    public let content: Content
    /// Expiry of the command; nil for none. Only relays require it.
    public let expires: Timestamp?
    /// Role that a relay grants to the original sender; nil for the client's own request. Programs on the device set
    /// the role when they pass on requests of others.
    public let relay: Role?

    public init(id: String, content: Content, expires: Timestamp? = nil, relay: Role? = nil) {
        self.id = id
        self.content = content
        self.expires = expires
        self.relay = relay
    }

    /// Content of a request. The cases differ in the part of the program that answers.
    public enum Content: Sendable, Equatable {
        /// Request that the device answers.
        case device(Body)
        /// Request that the connection answers. The connection then carries events.
        case subscribe(EventSubscription)
        /// Request that the server answers: the first one of a network connection.
        case open(SessionRequest)
        /// Request that the server unpacks after checking the proof.
        case prove(ProvedRequest)
    }

    /// A request to the device.
    public enum Body: Sendable, Equatable {
        case getCapabilities
        case getNetwork
        case getBackups
        case updateBackups(BackupsUpdate)
        case stagePassword(PasswordStaging)
        case dropPassword(StagedPasswordQuery)
        case switchNetwork(SwitchRequest)
        case getSwitch(SwitchQuery)
        case confirmSwitch(SwitchQuery)
        case startScan(ScanRequest)
        case getScan
        case getHistory(HistoryQuery)
        case agreeKey(SealingKeyQuery)
        case getDiagnosis
        case getPortal
        case answerPortal(PortalAnswer)
        case getTargets
        case updateTargets(TargetsUpdate)
        case getProviders
        case setProvider(ProviderSwitch)
        case setName(DeviceNameChange)
        case getKeys
        case addKey(KeyRequest)
        case revokeKey(KeyQuery)
        case claimKey(KeyClaim)
        case openRescue(SetupAccessPointRequest)
        case closeRescue
        case getMetrics
    }

    public var type: MessageType { content.type }
}

extension Request.Content {
    var type: MessageType {
        switch self {
        case .subscribe: .subscribe
        case .open: .openSession
        case .prove: .proveRequest
        case .device(let body): body.type
        }
    }
}

extension Request.Body {
    public var type: MessageType {
        switch self {
        case .getCapabilities: .getCapabilities
        case .getNetwork: .getNetwork
        case .getBackups: .getBackups
        case .updateBackups: .updateBackups
        case .stagePassword: .stagePassword
        case .dropPassword: .dropPassword
        case .switchNetwork: .switchNetwork
        case .getSwitch: .getSwitch
        case .confirmSwitch: .confirmSwitch
        case .startScan: .startScan
        case .getScan: .getScan
        case .getHistory: .getHistory
        case .agreeKey: .agreeKey
        case .getDiagnosis: .getDiagnosis
        case .getPortal: .getPortal
        case .answerPortal: .answerPortal
        case .getTargets: .getTargets
        case .updateTargets: .updateTargets
        case .getProviders: .getProviders
        case .setProvider: .setProvider
        case .setName: .setName
        case .getKeys: .getKeys
        case .addKey: .addKey
        case .revokeKey: .revokeKey
        case .claimKey: .claimKey
        case .openRescue: .openRescue
        case .closeRescue: .closeRescue
        case .getMetrics: .getMetrics
        }
    }
}

/// The `type` of a request.
public enum MessageType: String, Sendable, CaseIterable {
    case getCapabilities = "capabilities.get"
    case getNetwork = "network.get"
    case getBackups = "backups.get"
    case updateBackups = "backups.update"
    case stagePassword = "password.stage"
    case dropPassword = "password.drop"
    case switchNetwork = "network.switch"
    case getSwitch = "switch.get"
    case confirmSwitch = "switch.confirm"
    case startScan = "scan.start"
    case getScan = "scan.get"
    case subscribe = "events.subscribe"
    case getHistory = "history.get"
    case agreeKey = "key.agree"
    case getDiagnosis = "diagnosis.get"
    case getPortal = "portal.get"
    case answerPortal = "portal.answer"
    case getTargets = "targets.get"
    case updateTargets = "targets.update"
    case getProviders = "providers.get"
    case setProvider = "providers.set"
    case setName = "name.set"
    case openSession = "session.open"
    case proveRequest = "request.prove"
    case getKeys = "keys.get"
    case addKey = "keys.add"
    case revokeKey = "keys.revoke"
    case claimKey = "key.claim"
    case openRescue = "rescue.open"
    case closeRescue = "rescue.close"
    case getMetrics = "metrics.get"
}

extension MessageType {
    /// Whether the request changes something. False for queries and subscriptions.
    public var isCommand: Bool {
        switch self {
        case .updateBackups, .switchNetwork, .confirmSwitch, .startScan, .answerPortal, .updateTargets, .setProvider,
            .setName, .addKey, .revokeKey, .claimKey, .openRescue, .closeRescue, .stagePassword, .dropPassword:
            true
        case .getCapabilities, .getNetwork, .getBackups, .getSwitch, .getScan, .subscribe, .getHistory, .agreeKey,
            .getDiagnosis, .getPortal, .getTargets, .getProviders, .openSession, .proveRequest, .getKeys, .getMetrics:
            false
        }
    }

    /// Lowest role that may send this request. `key.claim` is only for invitations.
    public var role: Role {
        switch self {
        case .switchNetwork, .confirmSwitch, .startScan, .answerPortal, .openRescue, .closeRescue: .switch
        case .updateBackups, .stagePassword, .dropPassword, .updateTargets, .setProvider, .setName, .getKeys, .addKey,
            .revokeKey:
            .manage
        case .getCapabilities, .getNetwork, .getBackups, .getSwitch, .getScan, .subscribe, .getHistory, .agreeKey,
            .getDiagnosis, .getPortal, .getTargets, .getProviders, .openSession, .proveRequest, .claimKey, .getMetrics:
            .see
        }
    }
}

/// A line that is not a valid request, with the error to answer.
public struct RejectedRequest: Error, Sendable, Equatable {
    /// Request ID; nil if the line has no readable one.
    public let id: String?
    public let error: ProtocolError

    public init(id: String?, error: ProtocolError) {
        self.id = id
        self.error = error
    }
}

extension Request {
    public init(line: some Collection<UInt8>) throws(RejectedRequest) {
        let line = try RequestLine<Content>(line)
        self.init(id: line.id, content: line.content, expires: line.expires, relay: line.relay)
    }

    /// Returns the request as a line without line feed.
    /// - Throws: `internalError` if it cannot be encoded.
    public func line() throws(ProtocolError) -> [UInt8] {
        try RequestLine(id: id, content: content, expires: expires, relay: relay).encoded()
    }
}

extension Request.Content: RequestContent {
    package static var version: Int { ProtocolLimits.version }
    package static var reader: String { "device" }
    package var typeName: String { type.rawValue }

    package init(type: String, of line: KeyedDecodingContainer<RequestMember>) throws {
        guard let type = MessageType(rawValue: type) else { throw Self.unknownType() }
        func body<Body: Decodable>(_: Body.Type) throws -> Body { try line.decode(Body.self, forKey: .body) }
        func body<Body: Decodable>(otherwise standard: Body) throws -> Body {
            try line.decodeIfPresent(Body.self, forKey: .body) ?? standard
        }
        self =
            switch type {
            case .getCapabilities: .device(.getCapabilities)
            case .getNetwork: .device(.getNetwork)
            case .getBackups: .device(.getBackups)
            case .updateBackups: .device(.updateBackups(try body(BackupsUpdate.self)))
            case .stagePassword: .device(.stagePassword(try body(PasswordStaging.self)))
            case .dropPassword: .device(.dropPassword(try body(StagedPasswordQuery.self)))
            case .switchNetwork: .device(.switchNetwork(try body(SwitchRequest.self)))
            case .getSwitch: .device(.getSwitch(try body(SwitchQuery.self)))
            case .confirmSwitch: .device(.confirmSwitch(try body(SwitchQuery.self)))
            case .startScan: .device(.startScan(try body(otherwise: ScanRequest())))
            case .getScan: .device(.getScan)
            case .subscribe: .subscribe(try body(otherwise: EventSubscription()))
            case .getHistory: .device(.getHistory(try body(otherwise: HistoryQuery())))
            case .agreeKey: .device(.agreeKey(try body(otherwise: SealingKeyQuery())))
            case .getDiagnosis: .device(.getDiagnosis)
            case .getPortal: .device(.getPortal)
            case .answerPortal: .device(.answerPortal(try body(PortalAnswer.self)))
            case .getTargets: .device(.getTargets)
            case .updateTargets: .device(.updateTargets(try body(TargetsUpdate.self)))
            case .getProviders: .device(.getProviders)
            case .setProvider: .device(.setProvider(try body(ProviderSwitch.self)))
            case .setName: .device(.setName(try body(DeviceNameChange.self)))
            case .openSession: .open(try body(SessionRequest.self))
            case .proveRequest: .prove(try body(ProvedRequest.self))
            case .getKeys: .device(.getKeys)
            case .addKey: .device(.addKey(try body(KeyRequest.self)))
            case .revokeKey: .device(.revokeKey(try body(KeyQuery.self)))
            case .claimKey: .device(.claimKey(try body(otherwise: KeyClaim())))
            case .openRescue: .device(.openRescue(try body(otherwise: SetupAccessPointRequest())))
            case .closeRescue: .device(.closeRescue)
            case .getMetrics: .device(.getMetrics)
            }
    }

    package func encodeBody(into line: inout KeyedEncodingContainer<RequestMember>) throws {
        switch self {
        case .subscribe(let body): try line.encode(body, forKey: .body)
        case .open(let body): try line.encode(body, forKey: .body)
        case .prove(let body): try line.encode(body, forKey: .body)
        case .device(.agreeKey(let body)): try line.encode(body, forKey: .body)
        case .device(.addKey(let body)): try line.encode(body, forKey: .body)
        case .device(.revokeKey(let body)): try line.encode(body, forKey: .body)
        case .device(.claimKey(let body)): try line.encode(body, forKey: .body)
        case .device(.openRescue(let body)): try line.encode(body, forKey: .body)
        case .device(.updateBackups(let body)): try line.encode(body, forKey: .body)
        case .device(.stagePassword(let body)): try line.encode(body, forKey: .body)
        case .device(.dropPassword(let body)): try line.encode(body, forKey: .body)
        case .device(.switchNetwork(let body)): try line.encode(body, forKey: .body)
        case .device(.getSwitch(let body)), .device(.confirmSwitch(let body)): try line.encode(body, forKey: .body)
        case .device(.startScan(let body)): try line.encode(body, forKey: .body)
        case .device(.getHistory(let body)): try line.encode(body, forKey: .body)
        case .device(.answerPortal(let body)): try line.encode(body, forKey: .body)
        case .device(.updateTargets(let body)): try line.encode(body, forKey: .body)
        case .device(.setProvider(let body)): try line.encode(body, forKey: .body)
        case .device(.setName(let body)): try line.encode(body, forKey: .body)
        case .device(.getCapabilities), .device(.getNetwork), .device(.getBackups), .device(.getScan),
            .device(.getDiagnosis), .device(.getPortal), .device(.getTargets), .device(.getProviders),
            .device(.getKeys), .device(.closeRescue), .device(.getMetrics):
            break
        }
    }
}

/// A request's line in the app protocol and the provider protocol: `{"v":1,"id":"7","type":"network.get","body":{}}`.
package struct RequestLine<Content: RequestContent>: Sendable {
    package let id: String
    package let content: Content
    package let expires: Timestamp?
    package let relay: Role?

    package init(id: String, content: Content, expires: Timestamp? = nil, relay: Role? = nil) {
        self.id = id
        self.content = content
        self.expires = expires
        self.relay = relay
    }

    /// Reads a line without its line feed. The error has the request's ID if only the content is wrong.
    package init(_ line: some Collection<UInt8>) throws(RejectedRequest) {
        let envelope: Envelope
        do {
            envelope = try Line.decode(Envelope.self, from: line)
        } catch {
            throw RejectedRequest(id: nil, error: error)
        }
        self.init(
            id: envelope.id, content: try envelope.content.get(), expires: envelope.expires, relay: envelope.relay)
    }

    package func encoded() throws(ProtocolError) -> [UInt8] {
        try Line.encode(Envelope(self))
    }

    private struct Envelope: Codable {
        let id: String
        var expires: Timestamp?
        var relay: Role?
        let content: Result<Content, RejectedRequest>

        init(_ line: RequestLine) {
            (id, expires, relay, content) = (line.id, line.expires, line.relay, .success(line.content))
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: RequestMember.self)
            let id = try members.decode(String.self, forKey: .id)
            guard (1...ProtocolLimits.idLength).contains(id.utf8.count) else {
                throw ProtocolError.malformed(at: [RequestMember.id], "must have 1 to \(ProtocolLimits.idLength) bytes")
            }
            self.id = id
            do {
                guard try members.decode(Int.self, forKey: .v) == Content.version else {
                    throw ProtocolError(
                        .unsupportedVersion, "this \(Content.reader) speaks version \(Content.version) of the protocol",
                        details: ["version": .number(Content.version)])
                }
                expires = try members.decodeIfPresent(Timestamp.self, forKey: .expires)
                relay = try members.decodeIfPresent(Role.self, forKey: .relay)
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
            try members.encodeIfPresent(expires, forKey: .expires)
            try members.encodeIfPresent(relay, forKey: .relay)
            try content.encodeBody(into: &members)
        }
    }
}

package protocol RequestContent: Sendable {
    static var version: Int { get }
    /// Name of the reading program in errors, such as "device".
    static var reader: String { get }
    var typeName: String { get }

    /// - Throws: `unknownType`, or the body's error.
    init(type: String, of line: KeyedDecodingContainer<RequestMember>) throws
    func encodeBody(into line: inout KeyedEncodingContainer<RequestMember>) throws
}

extension RequestContent {
    package static func unknownType() -> ProtocolError {
        ProtocolError(.unknownType, "this \(reader) does not know this type of request")
    }
}

package enum RequestMember: String, CodingKey {
    case v, id, type, body, expires, relay
}
