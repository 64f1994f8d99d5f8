import AgentModel

/// Reads a medium and finds the current state. Changes nothing.
struct LogRecovery {
    struct Active {
        let sector: Int
        let header: SectorHeader
        let root: Secret
        /// Sectors of the snapshot in order. The last one is `sector`.
        var span: [Int]
        /// Offset of the next record, in bytes from the sector's start.
        var end: Int
        var tag: [UInt8]
        var generation: UInt64
        /// False after an interrupted write, because records appended after it could not be read.
        var isAppendable = true

        var position: StorePosition { StorePosition(generation: generation, tag: tag) }

        /// Keys of the sector, derived on each use, so that they do not stay in memory.
        var keys: SectorKeys { SectorKeys(root: root, salt: header.salt) }
    }

    let scans: [SectorScan]
    private(set) var active: Active?
    private(set) var cells: Cells = [:]
    private(set) var findings: [StoreFinding] = []
    /// True if the next commit must begin a new sector. Either the active sector is not appendable, or another sector
    /// has a problem.
    private(set) var mustMoveOn = false
    /// True if the state should be written again at once.
    private(set) var needsRepair = false
    /// True if the medium has content, but no usable state.
    private(set) var isUnusable = false
    /// True if no sector belongs to a store of this device.
    private(set) var isForeign = true
    /// True if the active sector ends with a closing record, which names a successor.
    private var isClosed = false
    /// Numbers of sectors under the former root key.
    private(set) var formerKeySectors: [Int] = []

    /// - Parameter roots: keys that may open the store, current one first.
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
                // Ignore an incomplete sector under another key: its key change never took effect.
                guard !scan.hasSnapshot else { throw .wrongRootKey(path: path) }
                continue
            }
            if try scan.failure == nil ? replay(scan, of: medium, header, root, keys) : false { break }
            newer.append(scan.index)
        }
        if let active {
            try judge(active, newer: newer, bad: medium.badSectors, path: path)
        } else {
            try judgeUnusable(roots, medium, path: path)
        }
        if !medium.isWhole { (needsRepair, mustMoveOn) = (true, true) }
    }

    /// Sorts by sequence number, newest first. Of two copies of a sector, the one at its own index precedes the other.
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

    /// Reads the state of a sector, up to its last authentic record.
    /// - Returns: false if the snapshot is incomplete or not authentic.
    private mutating func replay(
        _ scan: SectorScan, of medium: any Medium, _ header: SectorHeader, _ root: Secret, _ keys: SectorKeys
    ) throws(KeyFileError) -> Bool {
        guard scan.hasSnapshot, let span = scans.span(endingIn: scan) else { return false }
        var replay = SnapshotReplay(parts: scan.parts?.upperBound ?? 0)
        for part in span.dropLast() {
            guard let header = part.header else { return false }
            try replay.read(part.index, header, of: medium, SectorKeys(root: root, salt: header.salt))
        }
        let earlier = replay.opened
        try replay.read(scan.index, header, of: medium, keys)
        guard replay.hasSnapshot else { return false }
        active = Active(
            sector: scan.index, header: header, root: root, span: span.map(\.index), end: replay.end, tag: replay.tag,
            generation: replay.generation)
        cells = replay.cells
        isClosed = replay.isClosed
        for part in span.dropLast() where part.correctedBits > 0 {
            findings.append(.bitsCorrected(records: part.correctedBits))
            needsRepair = true
        }
        record(scan, opened: replay.opened - earlier)
        // Upgrade the format at the first write, so that an older altnet never misreads the content.
        if header.version < SectorHeader.version { mustMoveOn = true }
        return true
    }

    private mutating func record(_ scan: SectorScan, opened: Int) {
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
        if lost > 0 { recordLoss(lost) }
    }

    private mutating func recordLoss(_ changes: Int) {
        findings.append(.changesLost(atLeast: changes))
        (needsRepair, mustMoveOn) = (true, true)
    }

    /// Compares the other sectors with the active one.
    /// - Parameters:
    ///   - newer: sectors with a higher sequence number, but without a usable state.
    ///   - bad: unusable sectors of the medium.
    private mutating func judge(
        _ active: Active, newer: [Int], bad: Set<Int>, path: String
    ) throws(KeyFileError) {
        var isLossNoted = false
        let next = next(after: active, passing: bad.union(newer))
        for scan in scans where !active.span.contains(scan.index) {
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
                    recordLoss(lost)
                    isLossNoted = true
                } else if isNewer || (scan.index == next && scan.isDamaged) {
                    // The sector's erasure or first write was interrupted.
                    mustMoveOn = true
                    if !isClosed { findings.append(.interruptedWrite) }
                } else {
                    recordOld(scan, active)
                }
            }
        }
        if scans.contains(where: { $0.header.map(\.index) ?? $0.index != $0.index }) {
            findings.append(.sectorsMoved)
            needsRepair = true
        }
        guard isClosed else { return }
        // The active sector is closed, but its successor is lost.
        (needsRepair, mustMoveOn) = (true, true)
        if !isLossNoted { findings.append(.newestSectorLost) }
    }

    /// Returns the number of the sector in which the next snapshot begins.
    /// - Parameter others: sectors to skip: those already begun, and bad ones.
    private func next(after active: Active, passing others: Set<Int>) -> Int? {
        (1..<max(scans.count, 2)).lazy.map { (active.sector + $0) % scans.count }.first { !others.contains($0) }
    }

    private mutating func recordOld(_ scan: SectorScan, _ active: Active) {
        if let header = scan.header, SectorKeys(root: active.root, salt: header.salt).check != header.keyCheck {
            formerKeySectors.append(scan.index)
        } else if scan.isDamaged {
            findings.append(.oldSectorDamaged(sector: scan.index))
        } else if scan.correctedBits > 0 {
            findings.append(.bitsCorrected(records: scan.correctedBits))
        }
    }

    /// True if the sectors are the result of an interrupted first write: parts of a snapshot, and at most one
    /// incomplete sector.
    private static func areFirstBeginning(_ used: [SectorScan]) -> Bool {
        let parts = used.filter(\.isPartial)
        let rest = used.filter { !$0.isPartial }
        let sequences = Set(parts.compactMap { $0.header?.sequence })
        return sequences == Set(parts.indices.map { UInt64($0 + 1) })
            && (rest.isEmpty || rest.count == 1 && rest[0].isFirstBeginning(sequence: UInt64(parts.count + 1)))
    }

    private mutating func judgeUnusable(
        _ roots: [Secret], _ medium: any Medium, path: String
    ) throws(KeyFileError) {
        // Report a read error: an unreadable medium must not count as an empty store.
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
        } else if medium.isNewWhenBlank, Self.areFirstBeginning(used) {
            // The first write to the device was interrupted. This cannot happen to a file, which is created atomically.
            findings.append(.interruptedWrite)
        } else {
            isUnusable = true
        }
    }
}

extension SectorScan {
    /// True if an old sector has lost content. A missing closing record is normal after an interrupted write.
    fileprivate var isDamaged: Bool {
        switch content {
        case .blank, .otherVersion: false
        case .unreadable: true
        case .sector: parts == nil || !behind.isEmpty
        }
    }
    /// True if an interrupted first write can have left this sector: it has no complete record.
    fileprivate func isFirstBeginning(sequence: UInt64) -> Bool {
        if let header {
            header.sequence == sequence && records == 0 && behind.isEmpty
        } else {
            mayBecomeHeader && endsWithHeader
        }
    }
}

/// Assembles a snapshot from its records, and applies the later changes.
private struct SnapshotReplay: ~Copyable {
    private(set) var cells: Cells = [:]
    private(set) var tag = Record.noTag
    private(set) var generation: UInt64 = 0
    /// Offset of the next record, in bytes from the sector's start.
    private(set) var end = 0
    private(set) var opened = 0
    private(set) var hasSnapshot = false
    private(set) var isClosed = false
    private var snapshot: WipedBuffer

    /// - Parameter parts: number of the snapshot's records before its last one.
    init(parts: Int) { snapshot = WipedBuffer(capacity: (parts + 1) * Record.maximumBody) }

    /// Reads a sector up to its last authentic record.
    mutating func read(
        _ sector: Int, _ header: SectorHeader, of medium: any Medium, _ keys: SectorKeys
    ) throws(KeyFileError) {
        var reader = SectorRecordReader(medium, sector: sector, mark: header.mark)
        while let record = try reader.next() {
            guard isExpected(record.header),
                let body = reader.open(record, keys, sector: header, previousTag: tag),
                body.withBytes({ append($0, record.header.kind) })
            else { return }
            tag = reader.tag
            generation = record.header.generation
            end = reader.offset
            opened += 1
        }
    }

    private func isExpected(_ record: Record.Header) -> Bool {
        guard record.generation > generation else { return false }
        return record.kind.isOfSnapshot ? !hasSnapshot && record.part == opened : hasSnapshot
    }

    private mutating func append(_ body: UnsafeRawBufferPointer, _ kind: Record.Kind) -> Bool {
        switch kind {
        case .part, .snapshot:
            guard snapshot.remaining >= body.count else { return false }
            snapshot.append(body)
            guard kind == .snapshot else { return true }
            guard snapshot.count >= Record.tagSize else { return false }
            hasSnapshot = snapshot.withBytes { whole in
                CellChanges.apply(UnsafeRawBufferPointer(rebasing: whole[Record.tagSize...]), to: &cells)
            }
            return hasSnapshot
        case .change: return CellChanges.apply(body, to: &cells)
        case .closing:
            isClosed = body.count == Record.closingBody
            return isClosed
        }
    }
}
