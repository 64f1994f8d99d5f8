import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import Terminal

struct ScanCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "Scan for networks in range.",
        discussion: """
            A scan of all channels takes seconds, and the link is slow meanwhile. Give frequencies for a shorter scan, \
            or an SSID to find a hidden network. The strongest network comes first.

            PROVIDERS lists the hotspot providers that may serve an open network. The device asks them after each \
            scan: the next scan shows their answers, or --no-scan. LOAD is the share of time in which the channel is \
            busy, if an access point announces it.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Scan only this frequency; can be repeated.", valueName: "MHz"))
    var frequency: [Int] = []

    @Option(
        help: ArgumentHelp("Search for this hidden network; can be repeated.", valueName: "ssid"),
        transform: SSIDArgument.init)
    var ssid: [SSIDArgument] = []

    @Flag(help: "Show the known networks in range without a scan.")
    var noScan = false

    func validate() throws {
        if noScan, !(frequency.isEmpty && ssid.isEmpty) {
            throw ValidationError("--no-scan excludes --frequency and --ssid")
        }
        guard frequency.allSatisfy({ (2000...8000).contains($0) }) else {
            throw ValidationError("--frequency must be 2000 to 8000 MHz, such as 2412 or 5180")
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
            throw CommandFailure(.tryLater, "the scan was aborted because the radio was needed: try again")
        case .failed: throw CommandFailure(.deviceFailure, "the radio could not scan: see 'journalctl -u altnet'")
        }
    }
}

struct ScanView {
    let results: ScanResults
    let current: BSSID?
    let stored: Set<SSID>

    func render(_ style: Style) -> String {
        guard !results.networks.isEmpty else { return "No network is in range." }
        var table = Table(columns: [
            .init(title: "SSID", minimum: 12), .init(title: "SIGNAL", rank: 2),
            .init(title: "dBm", isRightAligned: true), .init(title: "CH", isRightAligned: true, rank: 6),
            .init(title: "BAND", rank: 3), .init(title: "SECURITY", minimum: 6, rank: 5),
            .init(title: "BSSID", rank: 1),
        ])
        if saysAnyLoad { table.columns.insert(.init(title: "LOAD", isRightAligned: true, rank: 1), at: 5) }
        if isAnyClaimed { table.columns.append(.init(title: "PROVIDERS", minimum: 12, rank: 4)) }
        table.columns.append(.init(title: "NOTE", rank: 7))
        table.rows = results.networks.map { row($0, style) }
        let more = results.isTruncated ? "\nWeaker networks were left out." : ""
        return table.render(style) + more + advice
    }

    /// Remedies for refused access points of stored networks.
    private var advice: String {
        let refusals = Set(results.networks.compactMap(\.refusal))
        let lines = [
            refusals.contains(.lessSecure)
                ? "Refused: less secure than before. If you changed the router, repeat 'altnet backups add'."
                : nil,
            refusals.contains(.unsupportedSecurity)
                ? "Refused: insecure. Set the router to WPA3, or to WPA2 with AES only. If it cannot, allow TKIP with "
                    + "--allow-tkip." : nil,
        ]
        return lines.compactMap(\.self).map { "\n" + $0 }.joined()
    }

    private var isAnyClaimed: Bool { results.networks.contains { !$0.providers.isEmpty } }

    private var saysAnyLoad: Bool { results.networks.contains { $0.load != nil } }

    private func remark(_ network: ScannedNetwork, isStored: Bool) -> Table.Cell {
        if let refusal = network.refusal { return .init("refused: \(DisplayText.failure(refusal))", .red) }
        return .init(isStored ? "stored" : "")
    }

    private func row(_ network: ScannedNetwork, _ style: Style) -> [Table.Cell] {
        let isStored = network.ssid.map(stored.contains) ?? false
        let providers = network.providers.map(\.printable).joined(separator: ", ")
        let isWeak = network.security == .wep || network.security == .legacy
        var cells: [Table.Cell] = [
            .init(DisplayText.name(network.ssid), network.ssid == nil ? .dim : nil),
            .init(DisplayText.bars(network.signal, style), DisplayText.paint(network.signal)), "\(network.signal)",
            .init(network.frequency.channel.map(String.init) ?? "-"), .init(network.frequency.band.rawValue),
        ]
        if saysAnyLoad { cells.append(.init(network.load.map { "\($0) %" } ?? "")) }
        cells.append(.init(DisplayText.security(network.security), isWeak ? .red : nil))
        cells.append(.init("\(network.bssid)", .dim))
        if isAnyClaimed { cells.append(.init(providers)) }
        cells.append(network.bssid == current ? .init("in use", .green) : remark(network, isStored: isStored))
        return cells
    }
}
