import AppProtocol

/// What StatsD is told of metrics: of a counter how much it has grown since the last time, of a gauge its value. Histograms are
/// left out: StatsD makes its own of single values.
///
/// Connected and expected time and what became of connections to the device's own servers have the names that Memfault
/// counts a fleet's health by.
struct StatsDLines {
    /// Fits a datagram that is not cut into fragments on any link.
    static let longestDatagram = 1200

    private var last: [String: Int] = [:]

    /// - Returns: datagrams, each of lines with line feeds between them.
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
                    // It begins again at 0 where the agent does, and then this does as well.
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

    /// StatsD has no labels: their values are in the name. What is not a letter, a digit or an underscore is none here.
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
