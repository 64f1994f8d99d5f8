import AgentModel

// The state as the log keeps it: one cell for each thing that changes by itself. Docs/key-file.md has the layout.
extension StoredState {
    /// The cells of a valid state. An empty one has none.
    /// - Parameter old: the cells that are stored now. Content of them that stays keeps its place.
    func cells(keepingSlotsOf old: Cells) -> Cells {
        let state = normalised()
        var bare = state
        bare.changeNetworks { network in
            network.staticAddress = nil
            network = network.withStandIn
        }
        return bare.bareCells(keepingSlotsOf: old)
            .merging(state.addressCells(keepingSlotsOf: old)) { $1 }
            .merging(state.lossCells(keepingSlotsOf: old)) { $1 }
            .merging(state.learnedFloorCells()) { $1 }
            .merging(state.enterpriseCells(keepingSlotsOf: old)) { $1 }
            .merging(state.stagedCells()) { $1 }
    }

    /// - Note: of a normalised state whose networks have no static address, and a stand-in for an enterprise credential.
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

    /// - Returns: nil unless altnet writes a valid state as exactly these cells, but for optional kinds.
    init?(cells: Cells) {
        self.init(cells: cells) { _ in }
    }

    /// - Parameter findings: gets what was dropped.
    init?(cells: Cells, findings: inout [Finding]) {
        var dropped = 0
        self.init(cells: cells) { dropped = $0 }
        if dropped > 0 { findings.append(.addressesDropped(dropped)) }
    }

    /// - Parameter drop: is told how many cells of kinds from 128 on do not count: an altnet that does not know them has
    ///   removed their networks, or no host can have them.
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
        readLosses(cells)
        readLearnedFloors(cells)
        readEnterprise(cells)
        readStaged(cells)
        self = normalised()
        let written = self.cells(keepingSlotsOf: cells)
        func known(_ cells: Cells) -> Cells { cells.filter { !CellID.optionalKinds.contains($0.key.kind) } }
        // A cell that could not be read above, refers to nothing, or is there twice makes a difference here.
        guard backups.count <= KeyFile.allowedMaximum.upperBound, known(written) == known(cells) else { return nil }
        drop(cells.count { written[$0.key] != $0.value })
    }

    /// The state as it is kept: without what is known of networks that are not in it, and without what no radio and no
    /// server reports; each network with one static address.
    package func normalised() -> StoredState {
        let names = Set(networks.map(\.ssid))
        var state = self
        state.shareAddresses()
        state.limitLeases()
        state.limitLosses()
        state.limitLearnedFloors()
        state.reviewStaged()
        state.statistics = state.statistics.compactMapValues(\.normalised).filter { names.contains($0.key) }
        return state
    }

    /// The revision, then the slot of each network in its role, those of the backups at the end.
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
    /// The subject of a cell. The numbers are on disk, so they stay.
    enum Kind: UInt8 {
        /// The role of each network, and the list's revision. There is at most one.
        case roles = 1
        case network = 2
        /// The observations of a network, under the slot of the first that has its name.
        case statistics = 3
        /// There is at most one.
        case pendingSwitch = 4
        case counter = 5
        /// The static address of a network.
        case address = 128
        /// The lease of the networks of one name.
        case lease = 129
        /// The credential of an enterprise network.
        case enterprise = 150
        /// A newer password of a network.
        case staged = 151
        /// The losses of the networks of one name, by hour of the day.
        case losses = 152
        /// The security floors that were learned, all in one cell.
        case learnedFloors = 153
    }

    /// Those known here of the kinds from 128 on, which an altnet that does not know them keeps as they are.
    static let optionalKinds: Set<UInt8> = [
        Kind.address.rawValue, Kind.lease.rawValue, Kind.losses.rawValue, Kind.enterprise.rawValue,
        Kind.staged.rawValue, Kind.learnedFloors.rawValue,
    ]
    /// The kinds that stay as they are, but for those above. An unknown one below 128 is impossible content.
    package static let keptKinds: ClosedRange<UInt8> = 130...255

    init(_ kind: Kind, slot: UInt8 = 0) { self.init(kind: kind.rawValue, index: slot) }
}

extension Cells {
    /// The cells of one kind that can be read, by slot.
    func values<Content>(of kind: CellID.Kind, _ read: (Secret) -> Content?) -> [UInt8: Content] {
        reduce(into: [:]) { values, cell in
            if cell.key.kind == kind.rawValue { values[cell.key.index] = read(cell.value) }
        }
    }
}

extension Secret {
    /// A cell's content of at most so many bytes.
    init(upTo capacity: Int, _ write: (inout WipedBuffer) -> Void) {
        var buffer = WipedBuffer(capacity: capacity)
        write(&buffer)
        self = buffer.withBytes { Secret($0) }
    }
}

extension WipedBuffer {
    /// Appends at most 255 bytes behind their number.
    mutating func append(counted bytes: some Collection<UInt8>) {
        append(UInt8(bytes.count))
        append(bytes)
    }
}

extension ByteReader {
    /// Reads bytes behind their number.
    mutating func counted() -> UnsafeRawBufferPointer? {
        guard let count = integer(UInt8.self) else { return nil }
        return bytes(Int(count))
    }
}

/// Gives values places that each keeps for as long as it is there, so that nothing is written again because something
/// else came or went.
struct Slots<Value: Equatable> {
    private(set) var values: [UInt8: Value] = [:]

    /// Says in a cell that there is no value.
    static var none: UInt8 { .max }

    /// - Parameter old: where the values were before, those that are gone among them.
    init(of values: [Value], keeping old: [UInt8: Value]) {
        for (slot, value) in old.sorted(by: { $0.key < $1.key }) where values.contains(value) && self[value] == nil {
            self.values[slot] = value
        }
        for value in values where self[value] == nil {
            // A valid state has far fewer values than there are slots.
            guard let free = (0..<Self.none).first(where: { self.values[$0] == nil }) else { return }
            self.values[free] = value
        }
    }

    subscript(value: Value) -> UInt8? { values.first { $0.value == value }?.key }
}

extension PendingSwitch {
    /// Identifier, the slot of the target if it is stored, and the network that the device came from, empty for none.
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

/// The last number that was accepted of one sender.
struct ReplayCounter {
    let name: String
    let last: UInt64

    /// The number, and the name as the rest.
    var cell: Secret {
        Secret(upTo: 8 + StoredState.counterNameLength.upperBound) { cell in
            cell.append(bigEndian: last)
            cell.append(name.utf8)
        }
    }
}

extension ReplayCounter {
    init?(cell: Secret) {
        guard let counter = cell.withBytes({ ReplayCounter($0) }) else { return nil }
        self = counter
    }

    private init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let last = reader.integer(UInt64.self),
            let name = String(validating: bytes.dropFirst(8), as: UTF8.self)
        else { return nil }
        self.init(name: name, last: last)
    }
}
