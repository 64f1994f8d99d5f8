import AgentModel
import AppProtocol
import ArgumentParser
import Glibc
import KeyFile
import Terminal

struct KeyFileInspect: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show the contents of the key file.",
        discussion: """
            Shows the networks and their properties, but no password and nothing that helps to guess one. Changes \
            nothing and also works while the agent runs:

              altnet keyfile inspect
              altnet keyfile inspect --json | jq .state.backups
            """)

    @OptionGroup var options: KeyFileOptions

    func run(_ console: Console) throws {
        let place = try options.place()
        let (examination, state) = try place.readState()
        let document = KeyFileDocument(examination, state, place, isInUse: try place.isInUse())
        if options.json { return console.print(json: document) }
        console.print(KeyFileView(document: document, state: state, now: console.now()).render(console.style))
    }
}

/// Contents of the key file without secrets, for `altnet keyfile inspect --json`.
struct KeyFileDocument: Encodable {
    let keyfile: KeyFileFacts
    let state: StateDocument
    let findings: [FindingDocument]

    init(_ examination: Examination, _ state: StoredState, _ place: StorePlace, isInUse: Bool) {
        keyfile = KeyFileFacts(examination, place, isInUse: isInUse)
        self.state = StateDocument(state)
        findings = examination.findings.map(FindingDocument.init)
    }
}

struct KeyFileFacts: Encodable {
    let path: String
    let bytes: Int
    let sectors: Int
    /// Number of the last record; missing if the state was not read.
    let generation: UInt64?
    /// Modification time; missing for a partition.
    let written: Timestamp?
    let inUse: Bool

    init(_ examination: Examination, _ place: StorePlace, isInUse: Bool) {
        path = place.path
        bytes = examination.geometry.size
        sectors = examination.geometry.sectorCount
        generation = if case .state(_, let generation) = examination.content { generation } else { nil }
        written = Self.written(place.path)
        inUse = isInUse
    }

    private static func written(_ path: String) -> Timestamp? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Timestamp(seconds: UInt32(clamping: status.st_mtim.tv_sec))
    }
}

struct FindingDocument: Encodable {
    let text: String
    /// Whether the finding indicates a loss or manipulation.
    let serious: Bool

    init(_ finding: StoreFinding) {
        text = "\(finding)"
        serious = finding.isSerious
    }
}

struct StateDocument: Encodable {
    let home: NetworkDocument?
    let chosen: NetworkDocument?
    let current: NetworkDocument?
    let previous: NetworkDocument?
    let backups: [NetworkDocument]
    let backupsRevision: UInt64
    let pendingSwitch: PendingSwitchDocument?
    let replayCounters: [String: UInt64]

    init(_ state: StoredState) {
        func document(_ network: StoredNetwork) -> NetworkDocument {
            NetworkDocument(network, state.statistics[network.ssid])
        }
        home = state.home.map(document)
        chosen = state.chosen.map(document)
        current = state.current.map(document)
        previous = state.previous.map(document)
        backups = state.backups.map(document)
        backupsRevision = state.backupsRevision
        pendingSwitch = state.pendingSwitch.map { pending in
            PendingSwitchDocument(
                id: pending.id, target: pending.target.map(document),
                cameFrom: pending.cameFrom.map(SSID.JSONMembers.init))
        }
        replayCounters = state.replayCounters
    }
}

struct PendingSwitchDocument: Encodable {
    let id: String
    let target: NetworkDocument?
    let cameFrom: SSID.JSONMembers?
}

struct NetworkDocument: Encodable {
    let ssid: String?
    let ssidHex: String?
    let security: String?
    /// Minimum security of a link; missing if none is required.
    let floor: String?
    let hidden: Bool
    let passwordStored: Bool
    let lastSeen: Timestamp?
    /// Last signal in dBm.
    let lastSignal: Int8?
    /// Last frequency in MHz.
    let lastFrequency: Int?
    let lastFailure: String?
    /// Static address; missing with DHCP.
    let address: StaticAddress?
    /// True if the owner allows TKIP; otherwise missing.
    let allowTkip: Bool?
    /// False if only a command joins it; otherwise missing.
    let automatic: Bool?
    /// Whether the owner says that it is metered; missing if the DHCP server says.
    let metered: Bool?
    /// The only band in GHz: 2.4, 5 or 6; missing for all.
    let band: String?
    /// The only access point; missing for all.
    let bssid: BSSID?
    /// Static IPv6 address; otherwise missing.
    let ipv6: StaticAddress?
    /// Last lease of the network's DHCP server.
    let lease: LeaseDocument?

    init(_ network: StoredNetwork, _ statistics: NetworkStatistics?) {
        let name = SSID.JSONMembers(network.ssid)
        ssid = name.ssid
        ssidHex = name.ssidHex
        security = network.security?.rawValue
        let least = network.minimumSecurity.union(statistics?.learnedMinimumSecurity?.protection ?? [])
        floor = least.isEmpty ? nil : "\(least)"
        hidden = network.isHidden
        passwordStored = network.credential != .none
        lastSeen = statistics?.lastSeen.map(Timestamp.init(seconds:))
        lastSignal = statistics?.lastSignal
        lastFrequency = statistics?.lastFrequency?.megahertz
        lastFailure = statistics?.lastFailure?.rawValue
        address = network.staticAddress
        let options = NetworkOptions.Change(network.options)
        (allowTkip, automatic, metered) = (options.allowsTKIP, options.isAutomatic, network.options.isMetered)
        (band, bssid, ipv6) = (network.options.band?.gigahertz, network.options.bssid, network.options.ipv6)
        lease = statistics?.lease.map(LeaseDocument.init)
    }
}

struct LeaseDocument: Encodable {
    /// Address with its prefix length.
    let address: String
    let gateway: String?
    let gatewayHardware: String?
    let server: String
    let hardware: String
    let nameServers: [String]
    /// Expiry time of the lease when it was stored.
    let expiry: Timestamp

    init(_ lease: StoredLease) {
        address = "\(lease.address)/\(lease.prefixLength)"
        gateway = lease.gateway?.description
        gatewayHardware = lease.gatewayHardware?.description
        server = lease.server.description
        hardware = lease.hardware.description
        nameServers = lease.nameServers.map(\.description)
        expiry = Timestamp(seconds: lease.expiry)
    }
}

extension Timestamp {
    init(seconds: UInt32) { self.init(millisecondsSince1970: Int64(seconds) * 1000) }
}

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
            let written = file.written.map { ", written \(DisplayText.ago($0, now: now))" } ?? ""
            facts.add("Generation", "\(generation)\(written)")
        }
        facts.add("In use", file.inUse ? "yes, an agent has it open" : "no")
        facts.add("Revision", "\(state.backupsRevision) of the backup list")
        if let pending = state.pendingSwitch {
            let origin = pending.cameFrom.map { ", from \($0)" } ?? ""
            let target = pending.target.map { " to \($0.ssid)" } ?? ""
            facts.add("Switch", "\(pending.id.printable)\(target)\(origin), unfinished")
        }
        for (name, last) in state.replayCounters.sorted(by: { $0.key < $1.key }) {
            facts.add("Counter", "\(name.printable) \(last)")
        }
        return facts
    }

    private var table: Table {
        var columns: [Table.Column] = [
            .init(title: "NETWORK"), .init(title: "SSID", minimum: 12),
            .init(title: "SECURITY", minimum: 6, rank: 2), .init(title: "HIDDEN", rank: 1),
            .init(title: "PASSWORD", rank: 5),
        ]
        if hasAddresses { columns.append(.init(title: "ADDRESS", rank: 6)) }
        if hasOptions { columns.append(.init(title: "OPTIONS", rank: 7)) }
        columns += [
            .init(title: "LAST SEEN", minimum: 10, rank: 3), .init(title: "LAST FAILURE", minimum: 8, rank: 4),
        ]
        return Table(columns: columns, rows: rows)
    }

    private var rows: [[Table.Cell]] {
        let roles = [
            ("home", state.home), ("chosen", state.chosen), ("current", state.current), ("previous", state.previous),
        ]
        let backups = state.backups.enumerated().map { ("backup \($0 + 1)", $1) }
        return roles.compactMap { role, network in network.map { row(role, $0) } } + backups.map(row)
    }

    private var networks: [StoredNetwork] {
        [state.home, state.chosen, state.current, state.previous].compactMap(\.self) + state.backups
    }

    private var hasAddresses: Bool {
        networks.contains { $0.staticAddress != nil }
            || state.statistics.values.contains { $0.lease != nil }
    }

    private var hasOptions: Bool { networks.contains { !$0.options.isEmpty } }

    private func row(_ role: String, _ network: StoredNetwork) -> [Table.Cell] {
        let statistics = state.statistics[network.ssid]
        let seen = statistics?.lastSeen.map { seconds in
            let signal = statistics?.lastSignal.map { "\($0) dBm, " } ?? ""
            return signal + DisplayText.ago(Timestamp(seconds: seconds), now: now)
        }
        let address = network.staticAddress?.text ?? statistics?.lease.map { "\($0.address), by DHCP" } ?? "by DHCP"
        var cells: [Table.Cell] = [
            .init(role), .init("\(network.ssid)"), .init(network.security.map(DisplayText.security) ?? ""),
            .init(network.isHidden ? "yes" : ""), .init(network.credential == .none ? "none" : "stored"),
        ]
        if hasAddresses { cells.append(.init(address)) }
        if hasOptions { cells.append(.init(DisplayText.options(network.options))) }
        cells.append(.init(seen ?? "never"))
        cells.append(.init(statistics?.lastFailure.map(DisplayText.failure) ?? "", .red))
        return cells
    }
}

struct FactList {
    private var facts: [(name: String, value: String)] = []

    mutating func add(_ name: String, _ value: String) { facts.append((name, value)) }

    func render(_ style: Style) -> String {
        let width = facts.map(\.name.columns).max() ?? 0
        return facts.map { fact in
            let padding = String(repeating: " ", count: width - fact.name.columns)
            return "  " + style.paint(fact.name, .dim) + padding + "  " + fact.value
        }.joined(separator: "\n")
    }
}
