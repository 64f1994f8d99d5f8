import AgentModel

/// A new password for a stored network, kept beside the current one until the network accepts it or the change ends.
public struct StagedPassword: Sendable, Equatable {
    /// Phase of a password change. The raw values are stored on disk: do not change them.
    public enum Phase: UInt8, Sendable, CaseIterable {
        case staged = 0
        /// The new password has worked and replaced the old one.
        case committed = 1
        /// The password was withdrawn or replaced, or its network was removed.
        case dropped = 2
        case expired = 3
    }

    /// Identifier of the change, which detects repeated requests: 1 to 64 bytes of UTF-8.
    public let id: String
    public let ssid: SSID
    /// Passphrase and derived key; nil except in phase `staged`.
    public private(set) var key: Key?
    public private(set) var phase: Phase
    /// Start of the change in seconds since 1970.
    public let since: UInt32
    /// Seconds of device uptime until the password expires, as last stored; nil for no limit. Uptime is counted,
    /// because the clock may be wrong or jump.
    public private(set) var remaining: UInt32?

    public struct Key: Sendable, Equatable {
        public let passphrase: Secret
        /// PSK of 32 bytes (IEEE 802.11-2020, annex J.4.1).
        public let psk: Secret

        public init(passphrase: Secret, psk: Secret) { (self.passphrase, self.psk) = (passphrase, psk) }
    }

    /// - Parameter keepFor: seconds of uptime until the password expires, 1 to ``longest``; nil for no limit.
    public init(id: String, ssid: SSID, key: Key, since: UInt32, keepFor: UInt32?) {
        (self.id, self.ssid, self.key, phase) = (id, ssid, key, .staged)
        self.since = since
        remaining = keepFor.map { min(max($0, 1), Self.longest) }
    }

    /// Maximum of `remaining`: one year in seconds.
    public static let longest: UInt32 = 31_536_000

    /// Returns the seconds of uptime, 60 to 3600, after which `remaining` is stored again. A power loss can lose the
    /// count of that time.
    public static func countStep(at remaining: UInt32) -> UInt32 { min(max(remaining / 16, 60), 3600) }

    /// Ends the change and removes the password.
    mutating func setOutcome(_ phase: Phase) {
        guard self.phase == .staged else { return }
        (self.phase, key, remaining) = (phase, nil, nil)
    }

    /// Stores the seconds left if they have changed enough for a write.
    mutating func count(_ left: UInt32) {
        guard phase == .staged, let remaining, left < remaining, remaining - left >= Self.countStep(at: remaining)
        else { return }
        self.remaining = max(left, 1)
    }
}

extension StoredState {
    /// Maximum number of entries, including ended ones.
    public static let maximumStaged = 4
    static let stagedIdentifierLength = 1...64

    /// Networks with a staged password, each with that password.
    public var stagedNetworks: [StoredNetwork] {
        staged.compactMap { staged in
            guard let key = staged.key else { return nil }
            return ownNetworks.first { $0.ssid == staged.ssid }.flatMap { $0.with(key) }
        }
    }

    public func stagedNetwork(of ssid: SSID) -> StoredNetwork? { stagedNetworks.first { $0.ssid == ssid } }

    /// Networks that the device may join permanently.
    private var ownNetworks: [StoredNetwork] { [home, chosen].compactMap(\.self) + backups }

    /// Stages a password. An earlier staged password for the network is dropped.
    /// - Returns: false if other networks already have `maximumStaged` staged passwords.
    public mutating func stage(_ new: StagedPassword) -> Bool {
        for index in staged.indices where staged[index].ssid == new.ssid { staged[index].setOutcome(.dropped) }
        staged.removeAll { $0.id == new.id }
        if staged.count >= Self.maximumStaged {
            guard let oldest = staged.firstIndex(where: { $0.phase != .staged }) else { return false }
            staged.remove(at: oldest)
        }
        staged.append(new)
        reviewStaged()
        return true
    }

    /// Ends a staged password. `committed` makes it the network's password.
    public mutating func endRotation(_ id: String, _ phase: StagedPassword.Phase) {
        guard let index = staged.firstIndex(where: { $0.id == id }), let key = staged[index].key else { return }
        if phase == .committed {
            let ssid = staged[index].ssid
            func changed(_ network: StoredNetwork) -> StoredNetwork {
                network.ssid == ssid ? network.with(key) ?? network : network
            }
            (home, chosen, backups) = (home.map(changed), chosen.map(changed), backups.map(changed))
            for index in backups.indices.reversed() where backups[..<index].contains(where: backups[index].hasSameKey) {
                backups.remove(at: index)
            }
            statistics[ssid]?.lastFailure = nil
            statistics[ssid]?.verifiedAccessPoints = []
            backupsRevision &+= 1
        }
        staged[index].setOutcome(phase)
    }

    /// Stores the seconds left, given by identifier, if they have changed enough for a write.
    package mutating func countStaged(_ left: [String: UInt32]) {
        for index in staged.indices {
            if let left = left[staged[index].id] { staged[index].count(left) }
        }
    }

    /// Ends entries whose network already has the password or was removed.
    package mutating func reviewStaged() {
        for index in staged.indices {
            guard let key = staged[index].key else { continue }
            let networks = ownNetworks.filter { $0.ssid == staged[index].ssid }
            if networks.allSatisfy({ $0.with(key) == nil }) {
                staged[index].setOutcome(.dropped)
            } else if networks.allSatisfy({ $0.with(key) == $0 }) {
                staged[index].setOutcome(.committed)
            }
        }
    }
}

extension StoredNetwork {
    /// Returns a copy with another password; nil if the network has no password.
    fileprivate func with(_ key: StagedPassword.Key) -> StoredNetwork? {
        guard case .passphrase = credential else { return nil }
        var network = self
        network.credential = .passphrase(key.passphrase, psk: key.psk)
        return network
    }
}

// An older altnet keeps these cells and uses the old password.
extension StoredState {
    func stagedCells() -> Cells {
        staged.enumerated().reduce(into: [:]) { cells, entry in
            cells[CellID(.staged, slot: UInt8(truncatingIfNeeded: entry.offset))] = entry.element.cell
        }
    }

    /// Reads valid entries in the order of their slots.
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

extension StagedPassword: CellContent {
    /// Encodes phase, start, remaining seconds (0: no limit), identifier and SSID; while staged, also passphrase and
    /// derived key.
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

    init?(_ bytes: UnsafeRawBufferPointer) {
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
