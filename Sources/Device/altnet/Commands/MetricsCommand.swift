import AppClient
import AppProtocol
import ArgumentParser

struct MetricsCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics", abstract: "Show what the device has counted since its agent started.",
        discussion: """
            Connected time, outages by cause, the gap of each move, the signal, scans, and how many stored networks are a \
            proven way out: in the text format of Prometheus, as ALTNET_METRICS_FILE keeps it in a file.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Flag(name: .customLong("openmetrics"), help: "Show them as OpenMetrics.")
    var isOpenMetrics = false

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let metrics = try await device.metrics()
        if connection.json { return console.print(json: metrics) }
        console.print(String(metrics.text(isOpenMetrics ? .openMetrics : .prometheus).dropLast()))
    }
}
