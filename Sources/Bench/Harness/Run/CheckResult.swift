/// What became of one check.
public struct CheckResult: Sendable {
    public let id: String
    public let title: String
    /// The heading in Docs/protocol.md.
    public let section: String
    public let outcome: Outcome
    public let took: Duration
    /// The error codes that the device answered with.
    public let codes: Set<String>
    /// The device is not what it was before, and could not be brought back.
    public let isLeftChanged: Bool

    public enum Outcome: Sendable, Equatable {
        case passed
        /// - exchange: the last lines that went over the check's connections, without passwords.
        case failed(expected: String, got: String, exchange: [String])
        case skipped(why: String)

        public var isPassed: Bool { self == .passed }
        public var isFailed: Bool { if case .failed = self { true } else { false } }
    }

    init(
        _ check: Check, _ outcome: Outcome, took: Duration = .zero, codes: Set<String> = [],
        isLeftChanged: Bool = false
    ) {
        id = check.id
        title = check.title
        section = check.section
        self.outcome = outcome
        self.took = took
        self.codes = codes
        self.isLeftChanged = isLeftChanged
    }
}
