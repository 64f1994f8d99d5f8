import AgentModel

/// What is on a medium, and which state counts. Changes nothing.
struct LogRecovery {
    /// The sector that the store goes on in.
    struct Active {
        let sector: Int
        let header: SectorHeader
        let root: Secret
        /// Where the next record begins, from the sector's start.
        var end: Int
        /// The last record's.
        var tag: [UInt8]
        var generation: UInt64
        /// Behind a write that was cut short nothing can be read.
        var isAppendable = true

        var position: StorePosition { StorePosition(generation: generation, tag: tag) }

        /// Derived each time, so that they do not lie in memory.
        var keys: SectorKeys { SectorKeys(root: root, salt: header.salt) }
    }

    let scans: [SectorScan]
    private(set) var active: Active?
    private(set) var cells: Cells = [:]
    private(set) var findings: [Finding] = []
    /// The active sector must not be appended to, or another one is not in order: the next commit begins a new sector.
    private(set) var mustMoveOn = false
    /// What counts should be written anew before anything else goes wrong.
    private(set) var needsRepair = false
    /// Nothing of what is there can be used.
    private(set) var isUnusable = false
    /// Nothing of what is there was ever a store of this device.
    private(set) var isForeign = true
    /// Whether the active sector's last record says that the store goes on elsewhere.
    private var isClosed = false
    /// Sectors that are still under the root key before the last change of it.
    private(set) var formerKeySectors: [Int] = []

    /// - Parameter roots: the keys that may open it, the current one first.
    /// - Throws: `wrongRootKey`, `otherVersion`, and errors of the medium.
    init(of medium: any Medium, roots: [Secret], path: String) throws(KeyFileError) {
        var scans: [SectorScan] = []
        if medium.isPresent {
            scans = (0..<medium.geometry.sectorCount).map { SectorScan($0, of: medium) }
        }
        self.scans = scans
        var newer: [Int] = []
        for (scan, header) in Self.newestFirst(scans) {
            guard let (root, keys) = Self.match(header, roots) else {
                // Half a sector under another key is a change of keys that never counted.
                guard !scan.hasSnapshot else { throw .wrongRootKey(path: path) }
                continue
            }
            if try scan.failure == nil ? replay(scan, of: medium, header, root, keys) : false { break }
            newer.append(scan.index)
        }
        if let active {
            try judge(active, newer: newer, path: path)
        } else {
            try judgeUnusable(roots, medium, path: path)
        }
        if !medium.isWhole { (needsRepair, mustMoveOn) = (true, true) }
    }

    /// Of two copies of one sector the one in its place is first.
    private static func newestFirst(_ scans: [SectorScan]) -> [(SectorScan, SectorHeader)] {
        func order(_ scan: SectorScan, _ header: SectorHeader) -> (UInt64, Int) {
            (header.sequence, header.index == scan.index ? 1 : 0)
        }
        return scans.compactMap { scan in scan.header.map { (scan, $0) } }.sorted {
            order($0.0, $0.1) > order($1.0, $1.1)
        }
    }

    private static func match(_ header: SectorHeader, _ roots: [Secret]) -> (Secret, SectorKeys)? {
        for root in roots {
            let keys = SectorKeys(root: root, salt: header.salt)
            if keys.check == header.keyCheck { return (root, keys) }
        }
        return nil
    }

    /// Reads a sector's state, up to its last record that is as it was written.
    /// - Returns: false if not even the snapshot is.
    private mutating func replay(
        _ scan: SectorScan, of medium: any Medium, _ header: SectorHeader, _ root: Secret, _ keys: SectorKeys
    ) throws(KeyFileError) -> Bool {
        var active = Active(
            sector: scan.index, header: header, root: root, end: medium.geometry.headerSize, tag: Record.noTag,
            generation: 0)
        var cells: Cells = [:]
        var opened = 0
        var isClosed = false
        var reader = RecordReader(medium, sector: scan.index, mark: header.mark)
        while let record = try reader.next() {
            guard record.header.kind == .snapshot ? opened == 0 : opened > 0,
                record.header.generation > active.generation,
                let body = reader.open(record, keys, sector: header, previousTag: active.tag)
            else { break }
            guard body.withBytes({ Self.apply($0, record.header.kind, to: &cells) }) else { break }
            active.tag = reader.tag
            active.generation = record.header.generation
            active.end = reader.offset
            opened += 1
            isClosed = record.header.kind == .closing
        }
        guard opened > 0 else { return false }
        self.active = active
        self.cells = cells
        self.isClosed = isClosed
        note(scan, opened: opened)
        return true
    }

    private static func apply(_ body: UnsafeRawBufferPointer, _ kind: Record.Kind, to cells: inout Cells) -> Bool {
        switch kind {
        case .snapshot:
            guard body.count >= Record.tagSize else { return false }
            return CellChanges.apply(UnsafeRawBufferPointer(rebasing: body[Record.tagSize...]), to: &cells)
        case .change: return CellChanges.apply(body, to: &cells)
        case .closing: return body.count == Record.closingBody
        }
    }

    /// What is amiss with the sector that counts.
    private mutating func note(_ scan: SectorScan, opened: Int) {
        if scan.correctedBits > 0 {
            findings.append(.bitsCorrected(records: scan.correctedBits))
            needsRepair = true
        }
        guard let active else { return }
        let lost = scan.records - opened + scan.changesLost(since: active.generation)
        if scan.tail != .blank || scan.records > opened {
            mustMoveOn = true
            self.active?.isAppendable = false
            if lost == 0 { findings.append(.interruptedWrite) }
        }
        if isClosed { self.active?.isAppendable = false }
        if lost > 0 { noteLoss(lost) }
    }

    private mutating func noteLoss(_ changes: Int) {
        findings.append(.changesLost(atLeast: changes))
        (needsRepair, mustMoveOn) = (true, true)
    }

    /// What the other sectors say about the one that counts.
    /// - Parameter newer: those that were begun later but hold no state.
    private mutating func judge(_ active: Active, newer: [Int], path: String) throws(KeyFileError) {
        var isLossNoted = false
        for scan in scans where scan.index != active.sector {
            let isNewer = newer.contains(scan.index)
            let lost = max(scan.changesLost(since: active.generation), isNewer && scan.hasSnapshot ? 1 : 0)
            switch scan.content {
            case .blank: break
            case .otherVersion(let version): throw .otherVersion(path: path, version: version)
            case .unreadable, .sector:
                if let failure = scan.failure {
                    findings.append(.sectorUnreadable(sector: scan.index, failure))
                    mustMoveOn = true
                } else if lost > 0 {
                    noteLoss(lost)
                    isLossNoted = true
                } else if isNewer || (isNext(scan, after: active) && scan.isDamaged) {
                    // What a power cut leaves of a sector that was being erased or begun.
                    mustMoveOn = true
                    if !isClosed { findings.append(.interruptedWrite) }
                } else {
                    noteOld(scan, active)
                }
            }
        }
        if scans.contains(where: { $0.header.map(\.index) ?? $0.index != $0.index }) {
            findings.append(.sectorsMoved)
            needsRepair = true
        }
        guard isClosed else { return }
        // Closed, but its successor does not count.
        (needsRepair, mustMoveOn) = (true, true)
        if !isLossNoted { findings.append(.newestSectorLost) }
    }

    private func isNext(_ scan: SectorScan, after active: Active) -> Bool {
        scan.index == (active.sector + 1) % scans.count
    }

    private mutating func noteOld(_ scan: SectorScan, _ active: Active) {
        if let header = scan.header, SectorKeys(root: active.root, salt: header.salt).check != header.keyCheck {
            formerKeySectors.append(scan.index)
        } else if scan.isDamaged {
            findings.append(.oldSectorDamaged(sector: scan.index))
        } else if scan.correctedBits > 0 {
            findings.append(.bitsCorrected(records: scan.correctedBits))
        }
    }

    private mutating func judgeUnusable(
        _ roots: [Secret], _ medium: any Medium, path: String
    ) throws(KeyFileError) {
        // A disk that cannot be read is not an empty store.
        if let failure = scans.lazy.compactMap(\.failure).first { throw failure }
        for scan in scans {
            switch scan.content {
            case .otherVersion(let version): throw .otherVersion(path: path, version: version)
            case .sector(let header) where Self.match(header, roots) == nil: throw .wrongRootKey(path: path)
            case .sector: isForeign = false
            case .unreadable: if scan.mayBecomeHeader { isForeign = false }
            case .blank: break
            }
        }
        let used = scans.filter { $0.content != .blank }
        if used.isEmpty {
            if medium.isPresent, !medium.isNewWhenBlank { findings.append(.erased) }
        } else if medium.isNewWhenBlank, used.count == 1, used[0].isFirstBeginning {
            // A device's very first write was cut short. A file is there as a whole or not at all.
            findings.append(.interruptedWrite)
        } else {
            isUnusable = true
        }
    }
}

extension SectorScan {
    /// Whether this, as a sector that is not written to any more, has lost something. Without a closing record it may
    /// have been left because a write was cut short at its end.
    fileprivate var isDamaged: Bool {
        switch content {
        case .blank, .otherVersion: false
        case .unreadable: true
        case .sector: !hasSnapshot || !behind.isEmpty
        }
    }
    /// Whether a write that was cut short can have left this on a new device: nothing of it is complete.
    fileprivate var isFirstBeginning: Bool {
        if let header {
            header.sequence == 1 && records == 0 && behind.isEmpty
        } else {
            mayBecomeHeader && endsWithHeader
        }
    }
}
