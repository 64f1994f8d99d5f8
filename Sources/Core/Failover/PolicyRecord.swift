import AgentModel

/// The record of one run of the agent, from its start to its end.
public struct RecordedRun: Sendable, Equatable {
    /// The agent's version.
    public let agent: String
    public let settings: PolicySettings
    public internal(set) var steps: [Step] = []
    /// Why the record is incomplete; nil if it is complete.
    public internal(set) var end: End?

    /// One event and what the policy wanted done.
    public struct Step: Sendable, Equatable {
        /// The event's place in the file, from 1.
        public let line: Int
        public let at: Instant
        public let event: PolicyEvent
        public let actions: [PolicyAction]
    }

    public enum End: Sendable, Equatable {
        /// The disk was too slow: so many steps are missing.
        case gap(line: Int, missed: Int)
        /// The file had reached its limit.
        case full
        /// The power was cut, or the agent killed, while this line was written.
        case cut(line: Int)
    }

    init(agent: String, settings: PolicySettings) {
        self.agent = agent
        self.settings = settings
    }
}

/// Why a record cannot be read or written.
public struct RecordError: Error, Equatable, CustomStringConvertible {
    public let file: String
    public let reason: Reason

    public init(file: String, reason: Reason) {
        self.file = file
        self.reason = reason
    }

    public enum Reason: Equatable, Sendable {
        case system(SystemError)
        /// It is a folder, a pipe or a device.
        case notAFile
        case tooLarge(maximum: Int)
        /// The line, and a sentence about the fault.
        case malformed(line: Int, String)
        /// A record of another version of the format.
        /// - Parameter agent: the version of the agent that recorded it, if stated.
        case unsupportedVersion(line: Int, String, agent: String?)
        /// The file has reached its limit.
        case full(limit: Int)
    }

    public var description: String {
        switch reason {
        case .system(let error): "\(file): \(error)"
        case .notAFile: "\(file) is not a regular file"
        case .tooLarge(let maximum): "\(file) is larger than \(maximum >> 20) MiB"
        case .malformed(let line, let problem): "\(file):\(line): \(problem)"
        case .unsupportedVersion(let line, let version, let agent):
            """
            \(file):\(line): version \(version) of the format, and this altnet-lab reads version \(RecordLine.format); replay \
            it with the altnet-lab of the altnet that recorded it\(agent.map { ", \($0)" } ?? "")
            """
        case .full(let limit): "\(file) has reached its limit of \(limit >> 20) MiB"
        }
    }
}

/// A line of a record: a JSON object with one member. Docs/contributor/simulator.md describes it.
package enum RecordLine: Codable, Equatable {
    /// The beginning of a run: version of the format, version of the agent, and the settings that it ran with.
    case run(format: Int = RecordLine.format, agent: String, settings: PolicySettings)
    case step(at: Instant, event: PolicyEvent, actions: [PolicyAction])
    /// The disk was too slow: so many steps are missing.
    case gap(missed: Int)
    /// The limit was reached.
    case full

    package static let format = 6
    /// Maximum length of a line in bytes.
    static let longest = 512 * 1024

    /// The line with its line feed. A step that cannot be written counts as missing.
    package var text: [UInt8] {
        let text = (try? OutsideJSON.encode(self)) ?? Array(#"{"gap":{"missed":1}}"#.utf8)
        return text + [UInt8(ascii: "\n")]
    }

    /// Reads a line without its line feed.
    init(_ text: ArraySlice<UInt8>) throws(Fault) {
        guard text.count <= Self.longest else { throw .malformed("the line is longer than \(Self.longest) bytes") }
        do {
            self = try OutsideJSON.decode(RecordLine.self, from: text, nesting: Self.nesting)
        } catch {
            if Self.isRetired(text) { throw .retired }
            throw Self.otherVersion(text) ?? .malformed(Self.sentence(error))
        }
        switch self {
        case .run(Self.format, _, _): break
        case .run(let format, let agent, _): throw .otherVersion(plain(format), agent: plain(agent))
        case .step(_, let event, _) where !event.hasPossibleSignal:
            throw .malformed("step.event.signal.dBm is not a signal in dBm")
        case .gap(let missed) where missed < 0: throw .malformed("gap.missed is negative")
        case .step, .gap, .full: break
        }
    }

    /// Why a line is not part of a record.
    enum Fault: Error, Equatable {
        /// A sentence about it.
        case malformed(String)
        case otherVersion(String, agent: String?)
        /// A step with an event that the policy no longer has.
        case retired
    }

    /// Depth of an SSID in an access point in a consideration of a decision, from the line's own object.
    private static let nesting = 12

    private static func sentence(_ error: any Error) -> String {
        switch error {
        case let fault as JSONFault: return "the line \(fault.problem)"
        case let error as DecodingError:
            let (member, problem) = error.fault
            // Foundation's decoder does not say which number does not fit.
            if member.isEmpty, case .dataCorrupted = error { return "the line has a number that is out of its range" }
            guard !member.isEmpty else { return "the line is not a run, step, gap or full" }
            // Member names come from the types, but those of settings from the file.
            let name = String(member.prefix(80)).printable
            switch error {
            case .typeMismatch(is PolicyEvent.Type, _): return "\(name) is not an event of the policy"
            case .typeMismatch(is PolicyAction.Type, _): return "\(name) is not an action of the policy"
            case .dataCorrupted(let context) where member.hasSuffix("settings"):
                return "\(name): \(context.debugDescription)"
            default: return "\(name) \(problem)"
            }
        default: return "the line cannot be read"
        }
    }

    /// Returns true for a step with an event of earlier agents: the wall clock, or losses by hour of the day.
    private static func isRetired(_ text: ArraySlice<UInt8>) -> Bool {
        struct Line: Decodable {
            let step: Step
            struct Step: Decodable { let event: Event }
            struct Event: Decodable { let wallClock, lostByHour: Content? }
            struct Content: Decodable {}
        }
        let event = try? OutsideJSON.decode(Line.self, from: text, nesting: nesting).step.event
        return event?.wallClock != nil || event?.lostByHour != nil
    }

    /// The version of a line that begins a run in another version of the format; nil for any other line.
    private static func otherVersion(_ text: ArraySlice<UInt8>) -> Fault? {
        // Formats 1 to 5 began with this word.
        if text.starts(with: "altnet-record ".utf8) {
            let words = String(decoding: text.prefix(100), as: UTF8.self).split(separator: " ")
            return words.count > 1 ? .otherVersion(plain(words[1]), agent: words.dropFirst(2).first.map(plain)) : nil
        }
        struct Heading: Decodable {
            let run: Run
            struct Run: Decodable {
                let format: Int
                let agent: String?
            }
        }
        guard let run = try? OutsideJSON.decode(Heading.self, from: text, nesting: nesting).run, run.format != format
        else { return nil }
        return .otherVersion(plain(run.format), agent: run.agent.map(plain))
    }
}

/// A version as it can be shown.
private func plain(_ version: some CustomStringConvertible) -> String {
    String(version.description.prefix(16).filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") })
}

extension PolicyEvent {
    /// Its name in a record.
    package var name: String { String("\(self)".prefix { $0 != "(" }) }

    /// Whether a signal cannot overflow in calculations. The range is far beyond any signal.
    fileprivate var hasPossibleSignal: Bool {
        if case .signal(let signal) = self { (-1_000_000...1_000_000).contains(signal) } else { true }
    }
}

// Durations in milliseconds, for the synthesized conformances of events and actions.

extension KeyedEncodingContainer {
    mutating func encode(_ duration: Duration, forKey key: Key) throws {
        try encode(duration.milliseconds, forKey: key)
    }

    mutating func encodeIfPresent(_ duration: Duration?, forKey key: Key) throws {
        try encodeIfPresent(duration?.milliseconds, forKey: key)
    }
}

extension KeyedDecodingContainer {
    /// Longest duration in milliseconds: far beyond any wait, and too short to overflow a moment.
    private static var longest: Int64 { 1 << 50 }

    func decode(_: Duration.Type, forKey key: Key) throws -> Duration {
        let milliseconds = try decode(Int64.self, forKey: key)
        guard (0...Self.longest).contains(milliseconds) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "no time in milliseconds")
        }
        return .milliseconds(milliseconds)
    }

    func decodeIfPresent(_ type: Duration.Type, forKey key: Key) throws -> Duration? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        return try decode(type, forKey: key)
    }
}
