import AgentModel
import AppClient
import AppProtocol
import ArgumentParser

struct ScanCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "Scan for networks in range.",
        discussion: """
            A scan of every channel takes seconds, during which the link is slow. Naming frequencies makes it short; \
            naming an SSID finds a hidden network. The strongest network comes first.

            Hotspot providers are asked about open networks once a scan has ended. PROVIDERS names those that said of a \
            network that they may serve it; what they say of this scan is there with the next one, or with --no-scan.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Scan this frequency only; can be given several times.", valueName: "MHz"))
    var frequency: [Int] = []

    @Option(help: ArgumentHelp("Ask for this network by name; can be given several times.", valueName: "name"))
    var ssid: [SSIDArgument] = []

    @Flag(help: "Show what is known to be in range without scanning.")
    var noScan = false

    func validate() throws {
        if noScan, !(frequency.isEmpty && ssid.isEmpty) {
            throw ValidationError("--no-scan goes without --frequency and --ssid.")
        }
        guard frequency.allSatisfy({ (2000...8000).contains($0) }) else {
            throw ValidationError("A Wi-Fi frequency is between 2000 and 8000 MHz, such as 2412 or 5180.")
        }
    }

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let results = noScan ? try await device.scanResults() : try await scan(device, console)
        if connection.json { return console.print(json: results) }
        let view = ScanView(
            results: results, current: try await device.network().bssid,
            stored: Set(try await device.backups().networks.map(\.ssid)))
        console.print(view.render(console.style))
    }

    private func scan(_ device: DeviceClient, _ console: Console) async throws -> ScanResults {
        let request = ScanRequest(ssids: ssid.map(\.ssid), frequencies: frequency.map(Frequency.init(megahertz:)))
        let (finished, results) = try await console.showingProgress { progress in
            progress.show("scanning")
            return try await device.scan(request)
        }
        switch finished.outcome {
        case .finished: return results
        case .aborted:
            throw CommandFailure(.tryLater, "the scan was aborted, for the radio was needed: try again")
        case .failed: throw CommandFailure(.deviceFailure, "the radio could not scan: see the agent's log")
        }
    }
}
