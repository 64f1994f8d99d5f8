/// One promise of the protocol that can be checked from outside.
public struct Check: Sendable {
    /// Stable, for people and for tools: `backups.update.tooMany`.
    public let id: String
    /// The promise, as half a sentence: `an update with too many networks is refused`.
    public let title: String
    /// The heading in Docs/reference/protocol.md under which it is promised.
    public let section: String
    /// Whether it sends lists that the device is to store, or that it would store if it had a defect.
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
    /// The suite, in the order in which it runs: what everything else rests on comes first.
    public static let all =
        lines + malformedLines + limits + questions + connectivity + lists + listRefusals + atomicity + hashes + sealing
        + keys
        + scans
        + events + switches + journeys + accessPoints + refusals + robustness

    /// - Parameters:
    ///   - only: patterns of ids to run; empty for all.
    ///   - skip: patterns of ids not to run.
    public static func selected(only: [Pattern], skip: [Pattern]) -> [Check] {
        all.filter { check in
            (only.isEmpty || only.contains { $0.matches(check.id) }) && !skip.contains { $0.matches(check.id) }
        }
    }
}

/// Ids of checks: a name with `*` for anything. One without it also stands for all whose ids begin with it and a dot.
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

/// The fault that a check found: the protocol's promise, and what the device did instead.
struct Deviation: Error, Equatable {
    let expected: String
    let got: String

    init(_ expected: String, got: String) {
        self.expected = expected
        self.got = got
    }
}

/// Why a check could not be made.
struct Obstacle: Error, Equatable {
    let why: String

    init(_ why: String) { self.why = why }
}

/// - Parameter got: what is reported where `isAsPromised` is false.
func expect(_ expected: String, _ isAsPromised: Bool, got: @autoclosure () -> String) throws(Deviation) {
    guard isAsPromised else { throw Deviation(expected, got: got()) }
}

func expect<Value: Equatable>(_ what: String, _ got: Value, is wanted: Value) throws(Deviation) {
    guard got == wanted else { throw Deviation("\(what): \(wanted)", got: "\(got)") }
}

/// Lets time pass, shorter where the task is cancelled.
func pause(_ time: Duration) async { try? await Task.sleep(for: time) }
