extension Response {
    /// The answer as one line, without its line feed. What can be long loses its weakest or oldest entries until it fits.
    public func line() -> [UInt8] {
        var result = result
        while true {
            let line: [UInt8]
            do {
                line = try Line.encode(ResponseEnvelope(id: id, result: result))
            } catch {
                result = .failure(error)
                continue
            }
            if line.count <= ProtocolLimits.lineLength { return line }
            result =
                (try? result.get().shortened()).map { .success($0) }
                ?? .failure(ProtocolError(.internalError, "the answer does not fit a line"))
        }
    }
}

extension Response.Body {
    /// The same with half as many entries, or nil where nothing can be left out.
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
            }
        case .failure(let error):
            try container.encode(false, forKey: .ok)
            try container.encode(error, forKey: .error)
        }
    }
}
