import AgentModel

/// A newer password of a stored network, kept beside the one that it has until either is known to be right.
public struct StagedPassword: Sendable, Equatable {
    /// What has become of it. Its number is on disk, so it stays.
    public enum Phase: UInt8, Sendable, CaseIterable {
        /// Both passwords are stored.
        case staged = 0
        /// The network has let the device in with it: it has taken the old one's place.
        case committed = 1
        /// It was taken back, or another one took its place, or the network is stored no more.
        case dropped = 2
        /// Its time was over.
        case expired = 3
    }

    /// By which the same request is known when it comes again: 1 to 64 bytes of UTF-8.
    public let id: String
    public let ssid: SSID
    /// Passphrase and derived key; nil as soon as the phase is another one than `staged`.
    public private(set) var key: Key?
    public private(set) var phase: Phase
    /// In seconds since 1970.
    public let since: UInt32
    /// For how many seconds that the device is on it waits yet, as of the last write that was worth it; nil for as long as it
    /// takes. The clock of the day may be wrong, and jumps when it is set.
    public private(set) var remaining: UInt32?

    public struct Key: Sendable, Equatable {
        public let passphrase: Secret
        /// 32 bytes (IEEE 802.11-2020, annex J.4.1).
        public let psk: Secret

        public init(passphrase: Secret, psk: Secret) { (self.passphrase, self.psk) = (passphrase, psk) }
    }

    /// - Parameter keepFor: in seconds that the device is on, at most ``longest``; nil for as long as it takes.
    public init(id: String, ssid: SSID, key: Key, since: UInt32, keepFor: UInt32? = nil) {
        (self.id, self.ssid, self.key, phase) = (id, ssid, key, .staged)
        self.since = since
        remaining = keepFor.map { min(max($0, 1), Self.longest) }
    }

    /// A year.
    public static let longest: UInt32 = 31_536_000

    /// After how many seconds more that count is worth a write: what a power cut can lose of it.
    public static func countStep(at remaining: UInt32) -> UInt32 { min(max(remaining / 16, 60), 3600) }

    /// It is over, and the password is no more kept here.
    mutating func end(_ phase: Phase) {
        guard self.phase == .staged else { return }
        (self.phase, key, remaining) = (phase, nil, nil)
    }

    /// So many seconds are left. It is kept where that is worth a write.
    mutating func count(_ left: UInt32) {
        guard phase == .staged, let remaining, left < remaining, remaining - left >= Self.countStep(at: remaining)
        else { return }
        self.remaining = max(left, 1)
    }
}

extension StoredState {
    /// The most that are kept, those that are over among them.
    public static let maximumStaged = 4
    static let stagedIdentifierLength = 1...64

    /// The networks as they are with the passwords that are staged.
    public var stagedNetworks: [StoredNetwork] {
        staged.compactMap { staged in
            guard let key = staged.key else { return nil }
            return ownNetworks.first { $0.ssid == staged.ssid }.flatMap { $0.with(key) }
        }
    }

    /// The network as it is with the password that is staged for it.
    public func stagedNetwork(of ssid: SSID) -> StoredNetwork? { stagedNetworks.first { $0.ssid == ssid } }

    /// Those that the device is meant to be in.
    private var ownNetworks: [StoredNetwork] { [home, chosen].compactMap(\.self) + backups }

    /// Keeps a password beside the network's own. One that was staged for the network before is dropped.
    /// - Returns: false where there is no room, because as many wait for other networks.
    public mutating func stage(_ new: StagedPassword) -> Bool {
        for index in staged.indices where staged[index].ssid == new.ssid { staged[index].end(.dropped) }
        staged.removeAll { $0.id == new.id }
        if staged.count >= Self.maximumStaged {
            guard let oldest = staged.firstIndex(where: { $0.phase != .staged }) else { return false }
            staged.remove(at: oldest)
        }
        staged.append(new)
        reviewStaged()
        return true
    }

    /// Ends one that still waits. With `committed` its password takes the place of the network's own.
    public mutating func endStaged(_ id: String, _ phase: StagedPassword.Phase) {
        guard let index = staged.firstIndex(where: { $0.id == id }), let key = staged[index].key else { return }
        if phase == .committed {
            let ssid = staged[index].ssid
            func changed(_ network: StoredNetwork) -> StoredNetwork {
                network.ssid == ssid ? network.with(key) ?? network : network
            }
            (home, chosen, backups) = (home.map(changed), chosen.map(changed), backups.map(changed))
            statistics[ssid]?.lastFailure = nil
            statistics[ssid]?.provenAccessPoints = []
            backupsRevision &+= 1
        }
        staged[index].end(phase)
    }

    /// Takes over for how many seconds those of these identifiers wait yet, where that is worth a write.
    package mutating func countStaged(_ left: [String: UInt32]) {
        for index in staged.indices {
            if let left = left[staged[index].id] { staged[index].count(left) }
        }
    }

    /// Ends those whose network has the password by now, or is stored no more.
    package mutating func reviewStaged() {
        for index in staged.indices {
            guard let key = staged[index].key else { continue }
            let networks = ownNetworks.filter { $0.ssid == staged[index].ssid }
            if networks.allSatisfy({ $0.with(key) == nil }) {
                staged[index].end(.dropped)
            } else if networks.allSatisfy({ $0.with(key) == $0 }) {
                staged[index].end(.committed)
            }
        }
    }
}

extension StoredNetwork {
    /// The same with another password; nil where it has none now.
    fileprivate func with(_ key: StagedPassword.Key) -> StoredNetwork? {
        guard case .passphrase = credential else { return nil }
        var network = self
        network.credential = .passphrase(key.passphrase, psk: key.psk)
        return network
    }
}

// Each in a cell of a kind that an older altnet keeps as it is: for that one the network has its old password.
extension StoredState {
    func stagedCells() -> Cells {
        staged.enumerated().reduce(into: [:]) { cells, entry in
            cells[CellID(.staged, slot: UInt8(truncatingIfNeeded: entry.offset))] = entry.element.cell
        }
    }

    /// Takes those that can be read, in their order.
    mutating func readStaged(_ cells: Cells) {
        for (_, entry) in cells.values(of: .staged, StagedPassword.init(cell:)).sorted(by: { $0.key < $1.key }) {
            guard staged.count < Self.maximumStaged, !staged.contains(where: { $0.id == entry.id }) else { continue }
            if entry.phase == .staged, staged.contains(where: { $0.phase == .staged && $0.ssid == entry.ssid }) {
                continue
            }
            staged.append(entry)
        }
    }
}

extension StagedPassword {
    /// Phase, since, remaining seconds (0 for as long as it takes), identifier, SSID; passphrase and derived key where it waits.
    var cell: Secret {
        let most = 1 + 4 + 4 + 1 + StoredState.stagedIdentifierLength.upperBound + 1 + SSID.maximumLength
        return Secret(upTo: most + 1 + Passphrase.saeLength.upperBound + StoredState.pskLength) { cell in
            cell.append(phase.rawValue)
            cell.append(bigEndian: since)
            cell.append(bigEndian: remaining ?? 0)
            cell.append(counted: id.utf8)
            cell.append(counted: ssid.bytes)
            guard let key else { return }
            key.passphrase.withBytes { cell.append(counted: $0) }
            key.psk.withBytes { cell.append($0) }
        }
    }

    init?(cell: Secret) {
        guard let content = cell.withBytes({ StagedPassword($0) }) else { return nil }
        self = content
    }

    private init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let phase = reader.integer(UInt8.self).flatMap(Phase.init(rawValue:)),
            let since = reader.integer(UInt32.self), let seconds = reader.integer(UInt32.self),
            let id = reader.counted().flatMap({ String(validating: $0, as: UTF8.self) }),
            StoredState.stagedIdentifierLength.contains(id.utf8.count),
            let name = reader.counted(), let ssid = try? SSID(bytes: name)
        else { return nil }
        (self.id, self.ssid, self.phase, self.since) = (id, ssid, phase, since)
        remaining = seconds == 0 ? nil : min(seconds, Self.longest)
        if phase == .staged {
            guard let passphrase = reader.counted().map({ Secret($0) }),
                (try? Passphrase.validate(passphrase, for: .wpa3)) != nil
                    || (try? Passphrase.validate(passphrase, for: nil)) != nil,
                let psk = reader.bytes(StoredState.pskLength)
            else { return nil }
            key = Key(passphrase: passphrase, psk: Secret(psk))
        }
        guard reader.isAtEnd else { return nil }
    }
}
