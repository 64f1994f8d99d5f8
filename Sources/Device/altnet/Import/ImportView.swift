import AgentModel
import Import
import Terminal

/// Shows the found networks and their roles.
struct ImportView {
    let plan: ImportPlan
    /// Whether a running agent gets the networks over its socket.
    let isRunning: Bool
    /// Whether the command could ask for passwords.
    let asks: Bool

    func render(_ style: Style) -> String {
        var parts: [String] = []
        if plan.entries.isEmpty {
            parts.append(
                plan.findings.contains { $0.reason == .derivedKeyOnly }
                    ? "No network found that altnet can import without its password."
                    : "No network found that altnet can import.")
        } else {
            var table = Table(columns: [
                .init(title: "NETWORK", minimum: 12), .init(title: "SECURITY", minimum: 6, rank: 2),
                .init(title: "ROLE"), .init(title: "WHAT HAPPENS", minimum: 20),
                .init(title: "FROM", minimum: 12, rank: 3),
            ])
            table.rows = plan.entries.map(row)
            parts.append(table.render(style))
        }
        if !plan.findings.isEmpty {
            parts.append((["Not imported:"] + plan.findings.map { "  \($0)" }).joined(separator: "\n"))
        }
        let keyOnly = asks ? [] : plan.findings.filter { $0.reason == .derivedKeyOnly }.compactMap(\.ssid)
        if !keyOnly.isEmpty {
            let names = keyOnly.map(\.description).joined(separator: ", ")
            parts.append(
                "At a terminal and without --dry-run or --yes, 'altnet import' asks for the password of \(names).")
        }
        for ssid in plan.lost {
            parts.append(
                style.paint("The board uses \(ssid), which is not imported:", .red)
                    + " altnet would leave \(ssid) when it takes over the interface.")
        }
        return parts.joined(separator: "\n\n")
    }

    private func row(_ entry: ImportPlan.Entry) -> [Table.Cell] {
        [
            .init(entry.network.ssid.description), .init(DisplayText.security(entry.network.likelySecurity)),
            .init(entry.role == .home ? "home" : entry.role == .backup ? "backup" : "-"),
            .init(fate(entry), entry.role == .noRoom ? .yellow : entry.role == .kept ? .dim : nil),
            .init(entry.places.map { "\($0)" }.joined(separator: "; "), .dim),
        ]
    }

    private func fate(_ entry: ImportPlan.Entry) -> String {
        let address = entry.network.address.map { " with \($0.address)/\($0.prefixLength)" } ?? ""
        let now = entry.isConnected ? ", in use now" : ""
        return switch entry.role {
        case .home: (isRunning ? "stored, and the device switches to it" : "stored") + address + now
        case .backup: "stored" + address + now
        case .kept: "already stored, unchanged" + now
        case .noRoom: "skipped: too many networks, raise ALTNET_MAX_BACKUPS"
        }
    }

    func outcome(isStored: Bool, isDryRun: Bool) -> String {
        if isDryRun { return "Nothing was stored; these are the steps." }
        guard isStored else { return "There is nothing to store." }
        let backups = plan.backups.count
        let count = "\(backups) \(backups == 1 ? "backup" : "backups")"
        return plan.home.map { "\($0.ssid) is home now, with \(count)." } ?? "Stored \(count)."
    }
}

extension FoundNetwork {
    fileprivate var likelySecurity: Security { security ?? (credential == .none ? .open : .wpa2wpa3) }
}

struct ImportReport: Encodable {
    struct Network: Encodable {
        let ssid: String?
        let ssidHex: String?
        let security: Security
        let hidden: Bool
        let role: ImportPlan.Role
        let connected: Bool
        /// Static address; nil with DHCP.
        let address: String?
        let gateway: String?
        let nameServers: [String]?
        let sources: [Source]
    }

    struct Name: Encodable {
        let ssid: String?
        let ssidHex: String?
    }

    struct Source: Encodable {
        let path: String
        let line: Int?

        init(_ place: ImportLocation) { (path, line) = (place.source, place.line) }
    }

    struct Omission: Encodable {
        let ssid: String?
        let ssidHex: String?
        let extent: ImportFinding.Extent
        let reason: String
        let source: Source
    }

    let networks: [Network]
    let notTaken: [Omission]
    let lost: [Name]
    let agentRuns: Bool
    let stored: Bool

    init(_ done: ImportCommand.Done) {
        let plan = done.plan
        networks = plan.entries.map { entry in
            let name = SSID.JSONMembers(entry.network.ssid)
            let address = entry.network.address
            return Network(
                ssid: name.ssid, ssidHex: name.ssidHex, security: entry.network.likelySecurity,
                hidden: entry.network.isHidden, role: entry.role, connected: entry.isConnected,
                address: address.map { "\($0.address)/\($0.prefixLength)" },
                gateway: address?.gateway.map { "\($0)" }, nameServers: address?.nameServers.map { "\($0)" },
                sources: entry.places.map(Source.init))
        }
        notTaken = plan.findings.map { finding in
            let name = finding.ssid.map { SSID.JSONMembers($0) }
            return Omission(
                ssid: name?.ssid, ssidHex: name?.ssidHex, extent: finding.extent, reason: "\(finding.reason)",
                source: Source(finding.place))
        }
        lost = plan.lost.map { ssid in
            let name = SSID.JSONMembers(ssid)
            return Name(ssid: name.ssid, ssidHex: name.ssidHex)
        }
        agentRuns = done.isRunning
        stored = done.isStored
    }
}
