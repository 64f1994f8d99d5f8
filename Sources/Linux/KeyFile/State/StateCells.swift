import AgentModel

// Conversion of the state to cells of the log. Parts that change independently have separate cells
// (Docs/reference/key-file-format.md).
extension StoredState {
    /// Returns the cells of a valid state. An empty state has no cells.
    /// - Parameter old: stored cells. Unchanged content keeps its slot.
    func cells(keepingSlotsOf old: Cells) -> Cells {
        let state = normalised()
        var bare = state
        bare.changeNetworks { network in
            network.staticAddress = nil
            network.options = .init()
            network = network.withStandIn
        }
        return bare.bareCells(keepingSlotsOf: old)
            .merging(state.addressCells(keepingSlotsOf: old)) { $1 }
            .merging(state.optionCells(keepingSlotsOf: old)) { $1 }
            .merging(state.learnedMinimumSecurityCells()) { $1 }
            .merging(state.enterpriseCells(keepingSlotsOf: old)) { $1 }
            .merging(state.stagedCells()) { $1 }
    }

    /// Requires a normalised state without static addresses and options, with stand-ins for enterprise credentials.
    private func bareCells(keepingSlotsOf old: Cells) -> Cells {
        let networks = Slots(of: networks, keeping: old.values(of: .network, StoredNetwork.init(cell:)))
        var cells: Cells = kept
        cells[CellID(.roles)] = rolesCell(networks)
        cells[CellID(.pendingSwitch)] = pendingSwitch.map { pendingSwitch in
            pendingSwitch.cell(target: pendingSwitch.target.flatMap { networks[$0] } ?? Slots<StoredNetwork>.none)
        }
        var rest = statistics.compactMapValues(\.withoutOwnCells)
        for (slot, network) in networks.values.sorted(by: { $0.key < $1.key }) {
            cells[CellID(.network, slot: slot)] = network.cell
            cells[CellID(.statistics, slot: slot)] = rest.removeValue(forKey: network.ssid)?.cell
        }
        let counters = Slots(
            of: replayCounters.keys.sorted(),
            keeping: old.values(of: .counter) { ReplayCounter(cell: $0)?.name })
        for (slot, name) in counters.values {
            cells[CellID(.counter, slot: slot)] = replayCounters[name].map { ReplayCounter(name: name, last: $0).cell }
        }
        return cells
    }

    /// - Returns: nil unless altnet writes exactly these cells for a valid state, apart from optional kinds.
    init?(cells: Cells) {
        self.init(cells: cells) { _ in }
    }

    /// - Parameter findings: receives a finding if cells were dropped.
    init?(cells: Cells, findings: inout [StoreFinding]) {
        var dropped = 0
        self.init(cells: cells) { dropped = $0 }
        if dropped > 0 { findings.append(.cellsDropped(dropped)) }
    }

    /// - Parameter drop: called with the number of invalid cells of optional kinds. Either an older altnet has removed
    ///   their network, or their values are impossible.
    private init?(cells: Cells, drop: (Int) -> Void) {
        self.init()
        kept = cells.filter {
            CellID.keptKinds.contains($0.key.kind) && !CellID.optionalKinds.contains($0.key.kind)
        }
        let networks = cells.values(of: .network, StoredNetwork.init(cell:))
        if let cell = cells[CellID(.roles)] {
            guard readRoles(cell, networks) else { return nil }
        }
        pendingSwitch = cells[CellID(.pendingSwitch)].flatMap { PendingSwitch(cell: $0, networks) }
        for (slot, value) in cells.values(of: .statistics, NetworkStatistics.init(cell:)) {
            if let network = networks[slot] { statistics[network.ssid] = value }
        }
        for counter in cells.values(of: .counter, ReplayCounter.init(cell:)).values {
            replayCounters[counter.name] = counter.last
        }
        do { try validate() } catch { return nil }
        readAddresses(cells)
        readOptions(cells)
        readLearnedMinimumSecurity(cells)
        readEnterprise(cells)
        readStaged(cells)
        self = normalised()
        let written = self.cells(keepingSlotsOf: cells)
        func known(_ cells: Cells) -> Cells { cells.filter { !CellID.optionalKinds.contains($0.key.kind) } }
        // Refuse unreadable cells, dangling references and duplicates.
        guard backups.count <= KeyFile.allowedMaximum.upperBound, known(written) == known(cells) else { return nil }
        drop(cells.count { $0.key.kind != CellID.retiredKind && written[$0.key] != $0.value })
    }

    /// Returns the state as stored, without data of other networks and without impossible values. All copies of a
    /// network share one static address and the same options.
    package func normalised() -> StoredState {
        let names = Set(networks.map(\.ssid))
        var state = self
        state.shareOwnerSettings()
        state.limitLeases()
        state.limitLearnedMinimumSecurity()
        state.reviewStaged()
        state.statistics = state.statistics.compactMapValues(\.normalised).filter { names.contains($0.key) }
        return state
    }

    /// Encodes the revision and the slot of each role; backups come last.
    private func rolesCell(_ networks: Slots<StoredNetwork>) -> Secret? {
        let roles = [home, chosen, current, previous] + backups
        guard backupsRevision > 0 || roles.contains(where: { $0 != nil }) else { return nil }
        return Secret(upTo: 8 + roles.count) { cell in
            cell.append(bigEndian: backupsRevision)
            cell.append(roles.map { $0.flatMap { networks[$0] } ?? Slots<StoredNetwork>.none })
        }
    }

    private mutating func readRoles(_ cell: Secret, _ networks: [UInt8: StoredNetwork]) -> Bool {
        cell.withBytes { bytes in
            var reader = ByteReader(bytes)
            guard let revision = reader.integer(UInt64.self), let roles = reader.bytes(4) else { return false }
            backupsRevision = revision
            home = networks[roles[0]]
            chosen = networks[roles[1]]
            current = networks[roles[2]]
            previous = networks[roles[3]]
            while let slot = reader.integer(UInt8.self) {
                guard let backup = networks[slot] else { return false }
                backups.append(backup)
            }
            return true
        }
    }
}

extension CellID {
    /// Type of a cell's content. The raw values are stored on disk: do not change them.
    enum Kind: UInt8 {
        /// Slots of all roles, and the list's revision; at most one cell.
        case roles = 1
        case network = 2
        /// Observations of a network, in the slot of the first network with its SSID.
        case statistics = 3
        /// Pending switch, at most one cell.
        case pendingSwitch = 4
        case counter = 5
        case address = 128
        /// Lease shared by all networks of an SSID.
        case lease = 129
        case options = 130
        case enterprise = 150
        case staged = 151
        /// Learned minimum security of all networks, in one cell.
        case learnedMinimumSecurity = 153
    }

    /// Kind of the cells with losses by hour of the day, which an older altnet wrote. They are ignored, and the next
    /// change of the state removes them. Reserved: do not use the number again.
    static let retiredKind: UInt8 = 152

    /// Known kinds from 128 on. An older altnet that does not know them keeps their cells.
    static let optionalKinds: Set<UInt8> = [
        Kind.address.rawValue, Kind.lease.rawValue, Kind.options.rawValue, Kind.enterprise.rawValue,
        Kind.staged.rawValue, retiredKind, Kind.learnedMinimumSecurity.rawValue,
    ]
    /// Kinds that are kept unread, except for known ones. Unknown kinds below 128 are invalid.
    package static let keptKinds: ClosedRange<UInt8> = 130...255

    init(_ kind: Kind, slot: UInt8 = 0) { self.init(kind: kind.rawValue, index: slot) }
}

extension Cells {
    /// Returns the readable cells of one kind, by slot.
    func values<Content>(of kind: CellID.Kind, _ read: (Secret) -> Content?) -> [UInt8: Content] {
        reduce(into: [:]) { values, cell in
            if cell.key.kind == kind.rawValue { values[cell.key.index] = read(cell.value) }
        }
    }
}

extension Secret {
    /// Creates a cell of at most `capacity` bytes.
    init(upTo capacity: Int, _ write: (inout WipedBuffer) -> Void) {
        var buffer = WipedBuffer(capacity: capacity)
        write(&buffer)
        self = buffer.withBytes { Secret($0) }
    }
}

extension WipedBuffer {
    /// Appends a count byte and at most 255 bytes.
    mutating func append(counted bytes: some Collection<UInt8>) {
        append(UInt8(bytes.count))
        append(bytes)
    }
}

extension ByteReader {
    /// Reads a count byte and that many bytes.
    mutating func counted() -> UnsafeRawBufferPointer? {
        guard let count = integer(UInt8.self) else { return nil }
        return bytes(Int(count))
    }
}

/// Assigns slots that values keep for their lifetime, to avoid writes when others change.
struct Slots<Value: Equatable> {
    private(set) var values: [UInt8: Value] = [:]

    /// Slot number for "no value".
    static var none: UInt8 { .max }

    /// - Parameter old: former slots, including removed values.
    init(of values: [Value], keeping old: [UInt8: Value]) {
        for (slot, value) in old.sorted(by: { $0.key < $1.key }) where values.contains(value) && self[value] == nil {
            self.values[slot] = value
        }
        for value in values where self[value] == nil {
            // A valid state has far fewer values than slots.
            guard let free = (0..<Self.none).first(where: { self.values[$0] == nil }) else { return }
            self.values[free] = value
        }
    }

    subscript(value: Value) -> UInt8? { values.first { $0.value == value }?.key }
}

extension PendingSwitch {
    /// Encodes identifier, target slot, and SSID of the former network (empty for none).
    func cell(target: UInt8) -> Secret {
        Secret(upTo: 1 + StoredState.identifierLength.upperBound + 1 + 1 + SSID.maximumLength) { cell in
            cell.append(counted: id.utf8)
            cell.append(target)
            cell.append(counted: cameFrom?.bytes ?? [])
        }
    }

    init?(cell: Secret, _ networks: [UInt8: StoredNetwork]) {
        guard let pending = cell.withBytes({ PendingSwitch($0, networks) }) else { return nil }
        self = pending
    }

    private init?(_ bytes: UnsafeRawBufferPointer, _ networks: [UInt8: StoredNetwork]) {
        var reader = ByteReader(bytes)
        guard let id = reader.counted().flatMap({ String(validating: $0, as: UTF8.self) }),
            let slot = reader.integer(UInt8.self), slot == Slots<StoredNetwork>.none || networks[slot] != nil,
            let origin = reader.counted()
        else { return nil }
        self.init(id: id, target: networks[slot], cameFrom: try? SSID(bytes: origin))
    }
}

/// Last accepted message number of a sender.
struct ReplayCounter {
    let name: String
    let last: UInt64

    /// Encodes the number, then the name.
    var cell: Secret {
        Secret(upTo: 8 + StoredState.counterNameLength.upperBound) { cell in
            cell.append(bigEndian: last)
            cell.append(name.utf8)
        }
    }
}

extension ReplayCounter: CellContent {
    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let last = reader.integer(UInt64.self),
            let name = String(validating: bytes.dropFirst(8), as: UTF8.self)
        else { return nil }
        self.init(name: name, last: last)
    }
}
