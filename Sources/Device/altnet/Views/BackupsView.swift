import AppProtocol

/// The stored networks as a table.
struct BackupsView {
    let list: BackupList
    let now: Timestamp

    func render(_ style: Style) -> String {
        let summary = style.paint("\(list.networks.count) of \(list.max) stored", .dim)
        guard !list.networks.isEmpty else { return summary }
        var table = Table(columns: [
            .init(title: "SSID", minimum: 12), .init(title: "HASH"), .init(title: "SECURITY", minimum: 6, rank: 2),
            .init(title: "HIDDEN", rank: 1), .init(title: "LAST SEEN", minimum: 10, rank: 3),
            .init(title: "LAST FAILURE", minimum: 8, rank: 4),
        ])
        table.rows = list.networks.map(row)
        return table.render(style) + "\n" + summary
    }

    private func row(_ network: BackupNetwork) -> [Table.Cell] {
        let seen = network.lastSeen.map { seen in
            let signal = network.lastSignal.map { "\($0) dBm, " } ?? ""
            return signal + Wording.ago(seen, now: now)
        }
        return [
            .init(network.ssid.description), .init(String(network.hash.base64.prefix(8)), .dim),
            .init(Wording.security(network.security)), .init(network.isHidden ? "yes" : ""), .init(seen ?? "never"),
            .init(network.lastFailure.map(Wording.failure) ?? "", .red),
        ]
    }
}
