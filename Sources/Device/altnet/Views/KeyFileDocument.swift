import AgentModel
import AppProtocol
import Glibc
import KeyFile

/// What the key file holds, without anything secret: the answer of `altnet keyfile inspect --json`.
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

/// The key file as a whole.
struct KeyFileFacts: Encodable {
    let path: String
    let bytes: Int
    let sectors: Int
    /// The number of the last record. Absent where the state was not read.
    let generation: UInt64?
    /// Of a file, when it was written last.
    let written: Timestamp?
    /// Whether the agent has it open.
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
    /// Whether something is lost or somebody was at work.
    let serious: Bool

    init(_ finding: Finding) {
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
                id: pending.id, target: pending.target.map(document), cameFrom: pending.cameFrom.map(SSID.JSONMembers.init))
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
    /// The least that a link to it must have. Absent where that is nothing.
    let floor: String?
    let hidden: Bool
    let passwordStored: Bool
    let lastSeen: Timestamp?
    /// In dBm.
    let lastSignal: Int8?
    /// In MHz.
    let lastFrequency: Int?
    let lastFailure: String?

    init(_ network: StoredNetwork, _ statistics: NetworkStatistics?) {
        let name = SSID.JSONMembers(network.ssid)
        ssid = name.ssid
        ssidHex = name.ssidHex
        security = network.security?.rawValue
        floor = network.floor.isEmpty ? nil : "\(network.floor)"
        hidden = network.isHidden
        passwordStored = network.credential != .none
        lastSeen = statistics?.lastSeen.map(Timestamp.init(seconds:))
        lastSignal = statistics?.lastSignal
        lastFrequency = statistics?.lastFrequency?.megahertz
        lastFailure = statistics?.lastFailure?.rawValue
    }
}

extension Timestamp {
    init(seconds: UInt32) { self.init(millisecondsSince1970: Int64(seconds) * 1000) }
}
