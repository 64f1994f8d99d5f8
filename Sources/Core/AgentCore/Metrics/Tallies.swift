import AgentModel
import AppProtocol

struct Tally: Sendable, Equatable {
    private(set) var count = 0
    private(set) var time = Duration.zero

    mutating func add(_ time: Duration) {
        count += 1
        self.time += max(.zero, time)
    }
}

struct Histogram: Sendable, Equatable {
    /// Upper bounds in ascending order.
    private let bounds: [Int]
    private var counts: [Int]
    private var sum = 0
    private(set) var count = 0

    init(_ bounds: [Int]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count)
    }

    mutating func observe(_ value: Int) {
        count += 1
        sum = sum.addingReportingOverflow(value).partialValue
        if let index = bounds.firstIndex(where: { value <= $0 }) { counts[index] += 1 }
    }

    func sample(_ labels: [String: String] = [:]) -> Metric.Sample {
        var total = 0
        let buckets = zip(bounds, counts).map { bound, count in
            total += count
            return Metric.Bucket(atMost: bound, count: total)
        }
        return Metric.Sample(labels, sum: sum, buckets: buckets, count: count)
    }
}

extension Metric {
    /// Creates a metric with values in ms, exported in seconds.
    static func time(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) -> Metric {
        Metric(name, kind, unit: "seconds", scale: 1000, help, samples)
    }
}

extension Duration {
    var metric: Int { Int(clamping: milliseconds) }
}
