import FoundationEssentials

/// One run of one trial: a line of the file of results.
public struct Run: Codable, Equatable, Sendable {
    /// Which time was measured in (Docs/lab.md).
    public enum Time: String, Codable, CaseIterable, Sendable { case virtual, clock }

    public let trial: String
    public let stack: String
    public let time: Time
    public let readings: [Reading]
    /// Why there are no readings, in words.
    public let failure: String?
    /// Which program was measured, where there are several builds of one: altnet's.
    public var build: String?

    public init(trial: String, stack: String, time: Time, readings: [Reading] = [], failure: String? = nil) {
        self.trial = trial
        self.stack = stack
        self.time = time
        self.readings = readings
        self.failure = failure
    }

    public var line: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    /// The runs in a file of results; a line that was not written to its end is none.
    public static func runs(in text: String) -> [Run] {
        let decoder = JSONDecoder()
        return text.split(separator: "\n").compactMap { try? decoder.decode(Run.self, from: Data($0.utf8)) }
    }
}

/// What one run says about one figure.
public struct Reading: Codable, Equatable, Sendable {
    public let figure: Figure
    /// In the figure's unit; nil where it never came.
    public let value: Double?
    /// How long was waited for it where it never came, in seconds.
    public let waited: Double?

    init(_ figure: Figure, _ measured: Measured) {
        self.figure = figure
        switch measured {
        case .value(let value): (self.value, waited) = (value, nil)
        case .never(let limit): (value, waited) = (nil, limit / .seconds(1))
        }
    }
}
