import AgentModel

public struct MetricsSettings: Sendable, Equatable {
    /// File in the Prometheus text format, replaced every ``interval``.
    public var file: String?
    public var endpoint: Endpoint?
    /// StatsD server that gets the metrics every ``interval``.
    public var statsD: SocketPlace?

    public static let interval = Duration.seconds(30)

    public enum Endpoint: Sendable, Equatable {
        case file(String)
        case loopback(SocketPlace)
    }

    /// IP address and port from 1 to 65535, such as `127.0.0.1:8125` or `[::1]:8125`.
    public struct SocketPlace: Sendable, Equatable {
        public let address: IPAddress
        public let port: Int

        init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
                (1...65_535).contains(port)
            else { return nil }
            var host = text[..<colon]
            let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
            if isBracketed { host = host.dropFirst().dropLast() }
            guard let address = IPAddress(host), address.isIPv4 != isBracketed else { return nil }
            (self.address, self.port) = (address, port)
        }
    }

    init(from reader: inout SettingsReader) {
        file = reader.optionalPath(.metricsFile)
        endpoint = reader.other(.metricsListen) { text in
            if text.hasPrefix("/") { return text.utf8.contains(0) ? nil : .file(text) }
            return SocketPlace(text).flatMap { $0.address.isLoopback ? .loopback($0) : nil }
        }
        statsD = reader.other(.metricsStatsD) { SocketPlace($0) }
    }
}

extension Setting {
    static let metricsFile = Setting(
        "METRICS_FILE", .path, .implied("none", example: "/run/altnet/altnet.prom"), .onRestart,
        "A file for node_exporter's textfile collector, written every 30 s. Use /run to save flash.")
    static let metricsListen = Setting(
        "METRICS_LISTEN",
        .other("a path that begins with /, for a Unix socket, or an address of the loopback with a port"),
        .implied("none", example: "127.0.0.1:9799"), .onRestart,
        "Where Prometheus reads the metrics by HTTP, at /metrics.")
    static let metricsStatsD = Setting(
        "METRICS_STATSD", .other("an address with a port"), .implied("none", example: "127.0.0.1:8125"), .onRestart,
        "A StatsD server to send the metrics to every 30 s, with Memfault's names if it has any.")
}
