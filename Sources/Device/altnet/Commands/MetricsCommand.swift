import AppClient
import AppProtocol
import ArgumentParser

struct MetricsCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics", abstract: "Show the device's metrics since its agent started.",
        discussion: """
            Shows connected time, outages by cause, the gap of each move, the signal, scans, and how many stored \
            networks gave internet access, in the text format of Prometheus. ALTNET_METRICS_FILE writes the same to a \
            file.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Flag(name: .customLong("openmetrics"), help: "Use the OpenMetrics format.")
    var isOpenMetrics = false

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let metrics = try await device.metrics()
        if connection.json { return console.print(json: metrics) }
        console.print(verbatim: String(metrics.text(isOpenMetrics ? .openMetrics : .prometheus).dropLast()))
    }
}
