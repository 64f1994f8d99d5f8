import AgentModel
import AppProtocol

/// Networks in range as a table.
struct ScanView {
    let results: ScanResults
    /// The access point in use.
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
        if isAnyClaimed { table.columns.append(.init(title: "PROVIDERS", minimum: 12, rank: 4)) }
        table.columns.append(.init(title: "NOTE", rank: 7))
        table.rows = results.networks.map { row($0, style) }
        let more = results.isTruncated ? "\nWeaker networks were left out." : ""
        return table.render(style) + more + advice
    }

    /// What to do about access points that bear the name of a stored network and are refused.
    private var advice: String {
        let refusals = Set(results.networks.compactMap(\.refusal))
        let lines = [
            refusals.contains(.lessSecure)
                ? "Refused: it offers less than this network has had. If you have changed the router, send its password again."
                : nil,
            refusals.contains(.unsupportedSecurity)
                ? "Refused: it has what is not joined. Set the router to WPA3, or to WPA2 with AES alone." : nil,
        ]
        return lines.compactMap(\.self).map { "\n" + $0 }.joined()
    }

    private var isAnyClaimed: Bool { results.networks.contains { !$0.providers.isEmpty } }

    private func note(_ network: ScannedNetwork, isStored: Bool) -> Table.Cell {
        if let refusal = network.refusal { return .init("refused: \(Wording.failure(refusal))", .red) }
        return .init(isStored ? "stored" : "")
    }

    private func row(_ network: ScannedNetwork, _ style: Style) -> [Table.Cell] {
        let isStored = network.ssid.map(stored.contains) ?? false
        let providers = network.providers.map(\.printable).joined(separator: ", ")
        return [
            .init(Wording.name(network.ssid), network.ssid == nil ? .dim : nil),
            .init(Wording.bars(network.signal, style), Wording.paint(network.signal)), "\(network.signal)",
            .init(network.frequency.channel.map(String.init) ?? "-"), .init(network.frequency.band.rawValue),
            .init(
                Wording.security(network.security),
                network.security == .wep || network.security == .legacy ? .red : nil),
            .init("\(network.bssid)", .dim),
        ] + (isAnyClaimed ? [.init(providers)] : []) + [
            network.bssid == current ? .init("in use", .green) : note(network, isStored: isStored)
        ]
    }
}
