import AgentModel

// The state as the log keeps it: one cell for each thing that changes by itself. Docs/key-file.md has the layout.
extension StoredState {
    /// The cells of a valid state. An empty one has none.
    /// - Parameter old: the cells that are stored now. What is in them and stays keeps its place.
    func cells(keepingSlotsOf old: Cells) -> Cells {
        let networks = Slots(of: networks, keeping: old.values(of: .network, StoredNetwork.init(cell:)))
        var cells: Cells = kept
        cells[CellID(.roles)] = rolesCell(networks)
        cells[CellID(.pendingSwitch)] = pendingSwitch.map { pendingSwitch in
            pendingSwitch.cell(target: pendingSwitch.target.flatMap { networks[$0] } ?? Slots<StoredNetwork>.none)
        }
        var rest = normalised().statistics
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

    /// - Returns: nil unless altnet writes a valid state as exactly these cells.
    init?(cells: Cells) {
        self.init()
        kept = cells.filter { CellID.keptKinds.contains($0.key.kind) }
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
        // Whatever could not be read above, refers to nothing, or is there twice makes a difference here.
        guard backups.count <= KeyFile.allowedMaximum.upperBound, self.cells(keepingSlotsOf: cells) == cells
        else { return nil }
    }

    /// The state as it is kept: without what is known of networks that are not in it, and without what no radio reports.
    func normalised() -> StoredState {
        let names = Set(networks.map(\.ssid))
        var state = self
        state.statistics = statistics.compactMapValues(\.normalised).filter { names.contains($0.key) }
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
