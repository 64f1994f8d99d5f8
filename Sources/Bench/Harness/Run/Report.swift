import AppProtocol

/// What a run found out about a device.
public struct Report: Sendable {
    public let deviceId: String
    public let firmware: String
    public let endpoint: String
    public let results: [CheckResult]
    public let took: Duration

    init(device: Capabilities, endpoint: String, results: [CheckResult], took: Duration) {
        deviceId = Redaction.printable(device.deviceId.utf8)
        firmware = Redaction.printable(device.firmware.utf8)
        self.endpoint = endpoint
        self.results = results
        self.took = took
    }

    public var passed: Int { results.count { $0.outcome.isPassed } }
    public var failed: Int { results.count { $0.outcome.isFailed } }
    public var skipped: Int { results.count - passed - failed }

    /// Whether every check that could be made passed, and there was one.
    public var isConforming: Bool { failed == 0 && passed > 0 }

    /// The error codes of the protocol that no check saw.
    public var unseenCodes: [String] {
        let seen = results.reduce(into: Set<String>()) { $0.formUnion($1.codes) }
        return ErrorCode.allCases.map(\.rawValue).filter { !seen.contains($0) }
    }
}
