/// The answer to a request.
public struct Response: Sendable, Equatable {
    /// The request's ID; nil if the line had no readable one.
    public let id: String?
    public let result: Result<Body, ProtocolError>

    public init(id: String?, result: Result<Body, ProtocolError>) {
        self.id = id
        self.result = result
    }

    /// Body of a successful answer.
    public enum Body: Sendable, Equatable {
        case capabilities(Capabilities)
        /// Answers `network.get` and `name.set`.
        case network(NetworkStatus)
        /// Answers `backups.get`, `backups.update`, `password.stage` and `password.drop`.
        case backups(BackupList)
        /// Answers `network.switch` (phase `accepted`), `switch.get` and `switch.confirm`.
        case switchStatus(SwitchStatus)
        case scanStarted(ScanStarted)
        case scan(ScanResults)
        case history(History)
        case subscribed(Subscribed)
        case key(SealingKey)
        case diagnosis(Diagnosis)
        /// Answers `portal.get` and `portal.answer`.
        case portal(PortalStatus)
        /// Answers `targets.get` and `targets.update`.
        case targets(TargetList)
        /// Answers `providers.get` and `providers.set`.
        case providers(HotspotProviders)
        /// Answers `session.open`.
        case opened(SessionOpened)
        /// Answers `keys.get` and `keys.revoke`.
        case keys(AppKeyReport)
        /// Answers `keys.add` and `key.claim`.
        case handout(KeyHandout)
        /// Answers `rescue.open` and `rescue.close`.
        case rescue(SetupAccessPointStatus)
        case metrics(MetricsReport)
    }
}

extension Response {
    /// Returns the answer as a line without line feed. Removes the weakest or oldest entries of a long list, so that it
    /// fits.
    /// - Parameter names: replaces network hashes towards a relay.
    public func line(naming names: NetworkNames? = nil) -> [UInt8] {
        var result = result
        while true {
            let line: [UInt8]
            do {
                line = try Line.encode(ResponseEnvelope(id: id, result: result), naming: names)
            } catch {
                result = .failure(error)
                continue
            }
            if line.count <= ProtocolLimits.lineLength { return line }
            result =
                (try? result.get().shortened()).map { .success($0) }
                ?? .failure(ProtocolError(.internalError, "the answer is too long for a line"))
        }
    }
}

extension Response.Body {
    /// Returns the answer with half as many entries; nil if it cannot be shortened.
    fileprivate func shortened() -> Response.Body? {
        switch self {
        case .scan(let scan) where !scan.networks.isEmpty:
            .scan(
                ScanResults(
                    isScanning: scan.isScanning, lastScanId: scan.lastScanId,
                    networks: Array(scan.networks.prefix(scan.networks.count / 2)), isTruncated: true))
        case .history(let history) where !history.decisions.isEmpty:
            .history(
                History(decisions: history.decisions.suffix(history.decisions.count / 2), isTruncated: true))
        default: nil
        }
    }
}

private struct ResponseEnvelope: Encodable {
    let id: String?
    let result: Result<Response.Body, ProtocolError>

    private enum CodingKeys: String, CodingKey {
        case v, id, ok, body, error
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(ProtocolLimits.version, forKey: .v)
        try container.encode(id, forKey: .id)
        switch result {
        case .success(let body):
            try container.encode(true, forKey: .ok)
            switch body {
            case .capabilities(let body): try container.encode(body, forKey: .body)
            case .network(let body): try container.encode(body, forKey: .body)
            case .backups(let body): try container.encode(body, forKey: .body)
            case .switchStatus(let body): try container.encode(body, forKey: .body)
            case .scanStarted(let body): try container.encode(body, forKey: .body)
            case .scan(let body): try container.encode(body, forKey: .body)
            case .history(let body): try container.encode(body, forKey: .body)
            case .subscribed(let body): try container.encode(body, forKey: .body)
            case .key(let body): try container.encode(body, forKey: .body)
            case .diagnosis(let body): try container.encode(body, forKey: .body)
            case .portal(let body): try container.encode(body, forKey: .body)
            case .targets(let body): try container.encode(body, forKey: .body)
            case .providers(let body): try container.encode(body, forKey: .body)
            case .opened(let body): try container.encode(body, forKey: .body)
            case .keys(let body): try container.encode(body, forKey: .body)
            case .handout(let body): try container.encode(body, forKey: .body)
            case .rescue(let body): try container.encode(body, forKey: .body)
            case .metrics(let body): try container.encode(body, forKey: .body)
            }
        case .failure(let error):
            try container.encode(false, forKey: .ok)
            try container.encode(error, forKey: .error)
        }
    }
}

/// A line from the device.
public enum ServerLine: Sendable {
    case answer(id: String?, failure: ProtocolError?)
    case event(Event)
    /// Unknown line of a newer device.
    case unknown

    public init(line: some Collection<UInt8>) throws(ProtocolError) {
        self = try Line.decode(Envelope.self, from: line).line
    }

    /// Reads the body of a successful answer.
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
                throw ProtocolError(.unsupportedVersion, "the device uses another version of the protocol")
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
