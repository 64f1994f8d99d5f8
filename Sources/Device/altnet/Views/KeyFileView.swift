import AgentModel
import AppProtocol
import KeyFile

/// What the key file holds, as facts and a table of its networks.
struct KeyFileView {
    let document: KeyFileDocument
    let state: StoredState
    let now: Timestamp

    func render(_ style: Style) -> String {
        let networks = rows.isEmpty ? style.paint("No network is stored.", .dim) : table.render(style)
        let remarks = document.findings.map { finding in
            style.paint(finding.serious ? "! " : "- ", finding.serious ? .red : .yellow) + finding.text.printable
        }
        let parts = [style.heading(document.keyfile.path.printable), facts.render(style), "", networks]
        return (parts + (remarks.isEmpty ? [] : [""] + remarks)).joined(separator: "\n")
    }

    private var facts: FactList {
        let file = document.keyfile
        var facts = FactList()
        facts.add("Size", "\(file.bytes) bytes in \(file.sectors) sectors")
        if let generation = file.generation {
            let written = file.written.map { ", written \(Wording.ago($0, now: now))" } ?? ""
            facts.add("Generation", "\(generation)\(written)")
        }
        facts.add("In use", file.inUse ? "yes, an agent has it open" : "no")
        facts.add("Revision", "\(state.backupsRevision) of the backup list")
        if let pending = state.pendingSwitch {
            let origin = pending.cameFrom.map { ", from \($0)" } ?? ""
            let target = pending.target.map { " to \($0.ssid)" } ?? ""
            facts.add("Switch", "\(pending.id.printable)\(target)\(origin), not ended")
        }
        for (name, last) in state.replayCounters.sorted(by: { $0.key < $1.key }) {
            facts.add("Counter", "\(name.printable) \(last)")
        }
        return facts
    }

    private var table: Table {
        Table(
            columns: [
                .init(title: "NETWORK"), .init(title: "SSID", minimum: 12),
                .init(title: "SECURITY", minimum: 6, rank: 2), .init(title: "HIDDEN", rank: 1),
                .init(title: "PASSWORD", rank: 5), .init(title: "LAST SEEN", minimum: 10, rank: 3),
                .init(title: "LAST FAILURE", minimum: 8, rank: 4),
            ], rows: rows)
    }

    private var rows: [[Table.Cell]] {
        let roles = [
            ("home", state.home), ("chosen", state.chosen), ("current", state.current), ("previous", state.previous),
        ]
        let backups = state.backups.enumerated().map { ("backup \($0 + 1)", $1) }
        return roles.compactMap { role, network in network.map { row(role, $0) } } + backups.map(row)
    }

    private func row(_ role: String, _ network: StoredNetwork) -> [Table.Cell] {
        let statistics = state.statistics[network.ssid]
        let seen = statistics?.lastSeen.map { seconds in
            let signal = statistics?.lastSignal.map { "\($0) dBm, " } ?? ""
            return signal + Wording.ago(Timestamp(seconds: seconds), now: now)
        }
        return [
            .init(role), .init("\(network.ssid)"), .init(network.security.map(Wording.security) ?? ""),
            .init(network.isHidden ? "yes" : ""), .init(network.credential == .none ? "none" : "stored"),
            .init(seen ?? "never"), .init(statistics?.lastFailure.map(Wording.failure) ?? "", .red),
        ]
    }
}
