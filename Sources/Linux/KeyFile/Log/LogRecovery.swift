import AgentModel

/// Reads a medium and finds the state that counts. Changes nothing.
struct LogRecovery {
    /// The sector that the store goes on in.
    struct Active {
        let sector: Int
        let header: SectorHeader
        let root: Secret
        /// The sectors that hold its snapshot, this one included.
        var span: [Int]
        /// Offset of the next record, in bytes from the sector's start.
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
    /// The state should be written anew before anything else goes wrong.
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
            try judge(active, newer: newer, bad: medium.badSectors, path: path)
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

    /// Reads the state that a sector ends with, up to its last record that is as it was written.
    /// - Returns: false if not even the snapshot is.
    private mutating func replay(
        _ scan: SectorScan, of medium: any Medium, _ header: SectorHeader, _ root: Secret, _ keys: SectorKeys
    ) throws(KeyFileError) -> Bool {
        guard scan.hasSnapshot, let span = scans.span(endingIn: scan) else { return false }
        var replay = Replay(parts: scan.parts?.upperBound ?? 0)
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
        note(scan, opened: replay.opened - earlier)
        // The first write of all brings the store to the present version: what an older altnet would misunderstand must
        // not be in a sector that it reads.
        if header.version < SectorHeader.version { mustMoveOn = true }
        return true
    }

    /// Notes the problems of the sector that counts.
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

    /// Compares the other sectors with the one that counts.
    /// - Parameters:
    ///   - newer: those that were begun later but hold no state.
    ///   - bad: those that are passed over.
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
                    noteLoss(lost)
                    isLossNoted = true
                } else if isNewer || (scan.index == next && scan.isDamaged) {
                    // The remains of a sector that was being erased or begun at a power cut.
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

    /// The sector that was being begun if one was: the next in turn.
    /// - Parameter others: the ones that were begun before it, and bad ones.
    private func next(after active: Active, passing others: Set<Int>) -> Int? {
        (1..<max(scans.count, 2)).lazy.map { (active.sector + $0) % scans.count }.first { !others.contains($0) }
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

    /// Whether this is what the first write of all leaves when it is cut short: some parts of a snapshot, and one
    /// sector of which nothing is complete.
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
        } else if medium.isNewWhenBlank, Self.areFirstBeginning(used) {
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
        case .sector: parts == nil || !behind.isEmpty
        }
    }
    /// Whether a write that was cut short can have left this on a new device: nothing of it is complete.
    fileprivate func isFirstBeginning(sequence: UInt64) -> Bool {
        if let header {
            header.sequence == sequence && records == 0 && behind.isEmpty
        } else {
            mayBecomeHeader && endsWithHeader
        }
    }
}

/// Puts a snapshot together of its records, and applies the changes behind it.
private struct Replay: ~Copyable {
    private(set) var cells: Cells = [:]
    /// The last record's.
    private(set) var tag = Record.noTag
    private(set) var generation: UInt64 = 0
    /// Offset of the next record, in bytes from the sector's start.
    private(set) var end = 0
    private(set) var opened = 0
    private(set) var hasSnapshot = false
    private(set) var isClosed = false
    private var snapshot: WipedBuffer

    /// - Parameter parts: the number of records of the snapshot before its last.
    init(parts: Int) { snapshot = WipedBuffer(capacity: (parts + 1) * Record.maximumBody) }

    /// Reads a sector up to its last record that is as it was written.
    mutating func read(
        _ sector: Int, _ header: SectorHeader, of medium: any Medium, _ keys: SectorKeys
    ) throws(KeyFileError) {
        var reader = RecordReader(medium, sector: sector, mark: header.mark)
        while let record = try reader.next() {
            guard isExpected(record.header),
                let body = reader.open(record, keys, sector: header, previousTag: tag),
                body.withBytes({ take($0, record.header.kind) })
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

    private mutating func take(_ body: UnsafeRawBufferPointer, _ kind: Record.Kind) -> Bool {
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
