/// Counters since the agent's start: answer to `metrics.get`. Names and units follow Prometheus: base units, prefix
/// `altnet_`.
public struct MetricsReport: Sendable, Equatable, Codable {
    public let metrics: [Metric]

    public init(_ metrics: [Metric]) { self.metrics = metrics }
}

/// A metric with its samples.
public struct Metric: Sendable, Equatable {
    /// Kind of a metric, as in Prometheus.
    public enum Kind: String, Sendable, CaseIterable, Codable {
        /// Value that only increases, from 0 at the agent's start.
        case counter
        case gauge
        case histogram
    }

    /// Name without the suffix of its kind: `altnet_outages`.
    public let name: String
    public let kind: Kind
    /// Base unit, which also ends the name; nil for a count.
    public let unit: String?
    /// Divisor, at least 1. Values and bounds are integers; divide them by it to get the unit.
    public let scale: Int
    /// Help text of one sentence.
    public let help: String
    public let samples: [Sample]

    public init(
        _ name: String, _ kind: Kind, unit: String? = nil, scale: Int = 1, _ help: String, _ samples: [Sample]
    ) {
        (self.name, self.kind, self.unit, self.scale) = (name, kind, unit, max(1, scale))
        (self.help, self.samples) = (help, samples)
    }

    /// A value with its labels.
    public struct Sample: Sendable, Equatable, Codable {
        public let labels: [String: String]
        /// The value, or the sum of a histogram's observations.
        public let value: Int
        /// Buckets of a histogram, lowest bound first; otherwise nil.
        public let buckets: [Bucket]?
        /// Number of observations of a histogram; otherwise nil.
        public let count: Int?

        public init(_ labels: [String: String], _ value: Int) {
            (self.labels, self.value, buckets, count) = (labels, value, nil, nil)
        }

        public init(_ value: Int) { self.init([:], value) }

        /// Creates a histogram.
        /// - Parameters:
        ///   - sum: sum of all observations, in the unit divided by `scale`.
        ///   - buckets: lowest bound first.
        ///   - count: number of all observations.
        public init(_ labels: [String: String] = [:], sum: Int, buckets: [Bucket], count: Int) {
            (self.labels, value, self.buckets, self.count) = (labels, sum, buckets, count)
        }
    }

    /// A bucket of a histogram.
    public struct Bucket: Sendable, Equatable, Codable {
        public let atMost: Int
        public let count: Int

        public init(atMost: Int, count: Int) { (self.atMost, self.count) = (atMost, count) }
    }
}

extension Metric: Codable {
    private enum CodingKeys: String, CodingKey { case name, kind, unit, scale, help, samples }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let scale = try container.decodeIfPresent(Int.self, forKey: .scale) ?? 1
        guard scale >= 1 else {
            throw ProtocolError.malformed(at: decoder.codingPath + [CodingKeys.scale], "must be a whole number from 1")
        }
        self.init(
            try container.decode(String.self, forKey: .name), try container.decode(Kind.self, forKey: .kind),
            unit: try container.decodeIfPresent(String.self, forKey: .unit), scale: scale,
            try container.decode(String.self, forKey: .help), try container.decode([Sample].self, forKey: .samples))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(kind, forKey: .kind)
        try container.encodeIfPresent(unit, forKey: .unit)
        if scale != 1 { try container.encode(scale, forKey: .scale) }
        try container.encode(help, forKey: .help)
        try container.encode(samples, forKey: .samples)
    }
}

extension MetricsReport {
    /// Text format of an exposition.
    public enum TextFormat: Sendable, CaseIterable {
        /// Prometheus text format 0.0.4, read by node_exporter's textfile collector.
        case prometheus
        case openMetrics

        public var mediaType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    /// Returns all metrics in a text format, for a scraper.
    public func text(_ format: TextFormat) -> String {
        var text = ""
        for metric in metrics { metric.write(format, into: &text) }
        if format == .openMetrics { text += "# EOF\n" }
        return text
    }
}

extension Metric {
    fileprivate func write(_ format: MetricsReport.TextFormat, into text: inout String) {
        let suffix = kind == .counter ? "_total" : ""
        // Prometheus names the family with the suffix, OpenMetrics without it.
        let family = format == .prometheus ? name + suffix : name
        text += "# HELP \(family) \(Self.escaped(help, quotes: format == .openMetrics))\n"
        text += "# TYPE \(family) \(kind.rawValue)\n"
        if format == .openMetrics, let unit { text += "# UNIT \(family) \(unit)\n" }
        for sample in samples {
            guard let buckets = sample.buckets, let count = sample.count else {
                text += "\(name)\(suffix)\(Self.labels(sample.labels)) \(number(sample.value))\n"
                continue
            }
            for bucket in buckets {
                // OpenMetrics bounds always have a fraction.
                let bound = format == .openMetrics ? "\(Double(bucket.atMost) / Double(scale))" : number(bucket.atMost)
                text += "\(name)_bucket\(Self.labels(sample.labels, atMost: bound)) \(bucket.count)\n"
            }
            text += "\(name)_bucket\(Self.labels(sample.labels, atMost: "+Inf")) \(count)\n"
            // OpenMetrics 1.0 forbids sum and count if observations can be negative.
            if format == .openMetrics, buckets.contains(where: { $0.atMost < 0 }) { continue }
            text += "\(name)_sum\(Self.labels(sample.labels)) \(number(sample.value))\n"
            text += "\(name)_count\(Self.labels(sample.labels)) \(count)\n"
        }
    }

    private static func labels(_ labels: [String: String], atMost: String? = nil) -> String {
        var pairs = labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value, quotes: true))\"" }
        if let atMost { pairs.append("le=\"\(atMost)\"") }
        return pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    private func number(_ value: Int) -> String {
        value % scale == 0 ? "\(value / scale)" : "\(Double(value) / Double(scale))"
    }
}
