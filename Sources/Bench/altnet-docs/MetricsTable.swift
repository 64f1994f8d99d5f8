import AgentCore
import AppProtocol

enum MetricsTable {
    static var text: String {
        Markdown.table(
            ["metric", "kind", "labels", "says"],
            MetricsLedger.examples.map { metric in
                [Markdown.code(metric.name), metric.kind.rawValue, labels(of: metric), metric.help]
            })
    }

    private static func labels(of metric: Metric) -> String {
        var values: [String: Set<String>] = [:]
        for sample in metric.samples {
            for (label, value) in sample.labels { values[label, default: []].insert(value) }
        }
        return values.keys.sorted().map { label in
            let known = (values[label] ?? []).filter { !$0.isEmpty }.sorted()
            return known.isEmpty
                ? Markdown.code(label) : "\(Markdown.code(label)): \(known.joined(separator: ", "))"
        }.joined(separator: "; ")
    }
}
