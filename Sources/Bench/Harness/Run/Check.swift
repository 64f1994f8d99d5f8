/// One requirement of the protocol that can be checked from outside.
public struct Check: Sendable {
    /// Stable ID, such as `backups.update.tooManyNetworks`.
    public let id: String
    /// The requirement as a clause: `a list with one network more than the maximum is refused`.
    public let title: String
    public let section: String
    /// Whether the check sends lists that the device stores, or would store because of a defect.
    public let touchesBackups: Bool

    let body: @Sendable (CheckRun) async throws -> Void

    init(
        _ id: String, _ title: String, section: String, touchesBackups: Bool = false,
        _ body: @escaping @Sendable (CheckRun) async throws -> Void
    ) {
        self.id = id
        self.title = title
        self.section = section
        self.touchesBackups = touchesBackups
        self.body = body
    }
}

extension Check {
    /// All checks in order of execution, basic checks first.
    public static let all =
        lines + malformedLines + limits + questions + connectivity + targets + providers + lists + listRefusals
        + atomicity + hashes + sealing + keys + names + scans + events + switches + journeys + accessPoints + refusals
        + robustness

    /// Returns the checks whose ID matches the patterns.
    /// - Parameters:
    ///   - only: patterns of IDs to run; empty for all.
    ///   - skip: patterns of IDs to skip.
    public static func selected(only: [Pattern], skip: [Pattern]) -> [Check] {
        all.filter { check in
            (only.isEmpty || only.contains { $0.matches(check.id) }) && !skip.contains { $0.matches(check.id) }
        }
    }

    /// Returns the patterns that match no check.
    public static func unmatched(_ patterns: [String]) -> [String] {
        patterns.filter { pattern in !all.contains { Pattern(pattern).matches($0.id) } }
    }
}

/// A pattern of check IDs. `*` matches any text. A pattern without `*` matches an ID and all IDs below it.
public struct Pattern: Sendable {
    private let text: String

    public init(_ text: String) { self.text = text }

    public func matches(_ id: String) -> Bool {
        text.contains("*") ? Self.matches(text[...], id[...]) : id == text || id.hasPrefix(text + ".")
    }

    private static func matches(_ pattern: Substring, _ id: Substring) -> Bool {
        let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, id.hasPrefix(first) else { return false }
        var rest = id.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }
}

/// A violation of the protocol: the requirement and the observed behaviour.
struct Deviation: Error, Equatable {
    let expected: String
    let got: String

    init(_ expected: String, got: String) {
        self.expected = expected
        self.got = got
    }
}

struct Obstacle: Error, Equatable {
    let why: String

    init(_ why: String) { self.why = why }
}

/// Throws a `Deviation` unless `isAsPromised` is true.
/// - Parameter got: observed behaviour, for the report.
func expect(_ expected: String, _ isAsPromised: Bool, got: @autoclosure () -> String) throws(Deviation) {
    guard isAsPromised else { throw Deviation(expected, got: got()) }
}

func expect<Value: Equatable>(_ what: String, _ got: Value, is wanted: Value) throws(Deviation) {
    guard got == wanted else { throw Deviation("\(what): \(wanted)", got: "\(got)") }
}

/// Sleeps for this time, or until the task is cancelled.
func pause(_ time: Duration) async { try? await Task.sleep(for: time) }
