import AppProtocol

/// Converts metrics to StatsD: growth of counters and values of gauges. Omits histograms, because StatsD computes its
/// own from single values.
///
/// Uses the names of Memfault's fleet health for connected time, expected time and connections to the device's servers.
struct StatsDLines {
    /// Maximum size of a datagram in bytes, small enough for usual links.
    static let longestDatagram = 1200

    private var last: [String: Int] = [:]

    /// - Returns: datagrams of lines with line feeds between them.
    mutating func datagrams(_ report: MetricsReport) -> [String] {
        var datagrams: [String] = []
        for line in lines(report) {
            if let open = datagrams.last, open.utf8.count + 1 + line.utf8.count <= Self.longestDatagram {
                datagrams[datagrams.count - 1] = open + "\n" + line
            } else {
                datagrams.append(line)
            }
        }
        return datagrams
    }

    private mutating func lines(_ report: MetricsReport) -> [String] {
        var lines: [String] = []
        for metric in report.metrics {
            for sample in metric.samples {
                let name = Self.name(of: sample, of: metric)
                switch metric.kind {
                case .gauge: lines.append("\(name):\(sample.value)|g")
                case .counter:
                    // Counters and `last` both start at 0 with the agent.
                    let growth = sample.value.subtractingReportingOverflow(last[name] ?? 0).partialValue
                    last[name] = sample.value
                    if growth > 0 { lines.append("\(name):\(growth)|c") }
                case .histogram: break
                }
            }
        }
        return lines
    }

    private static func name(of sample: Metric.Sample, of metric: Metric) -> String {
        switch (metric.name, sample.labels["result"]) {
        case ("altnet_connected_seconds", _): "connectivity_connected_time_ms"
        case ("altnet_expected_seconds", _): "connectivity_expected_time_ms"
        case ("altnet_own_server_connections", "made"): "sync_successful"
        case ("altnet_own_server_connections", "failed"): "sync_failure"
        default: ordinaryName(of: sample, of: metric)
        }
    }

    /// Returns the name with the labels' values appended, because StatsD has no labels. In these values, replaces all
    /// characters except letters and digits with underscores.
    private static func ordinaryName(of sample: Metric.Sample, of metric: Metric) -> String {
        var name = metric.name
        if metric.kind == .counter, metric.unit == "seconds" {
            name = String(name.dropLast("seconds".count)) + "time_ms"
        }
        for label in sample.labels.sorted(by: { $0.key < $1.key }) {
            name += "_" + String(label.value.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        }
        return name
    }
}
