import AgentModel

/// Reads a store without taking the lock and without changing anything, even while an agent uses it.
package struct Examination: Equatable {
    package let geometry: Geometry
    /// True if there is content; false for a missing file or an unused device.
    package let isPresent: Bool
    package private(set) var sectors: [SectorReport]
    package private(set) var findings: [StoreFinding]
    package private(set) var content: Content

    package enum Content: Equatable {
        /// The content is encrypted, and no key was given.
        case sealed
        /// The store was never used, or has no readable content.
        case empty
        /// The last committed state and its record's generation.
        case state(StoredState, generation: UInt64)
        /// Opening the store would fail with this error.
        case refused(KeyFileError)
    }

    /// - Parameters:
    ///   - roots: keys that may open the store, current one first; nil to verify only checksums.
    ///   - findings: problems already found with the medium and the keys.
    ///   - path: name of the medium in messages.
    package init(
        of medium: any Medium, roots: [Secret]?, anchor: FileAnchor? = nil, findings: [StoreFinding] = [],
        path: String
    ) throws(KeyFileError) {
        geometry = medium.geometry
        self.findings = findings
        content = .sealed
        sectors = []
        var scans: [SectorScan] = []
        if medium.isPresent {
            for index in 0..<geometry.sectorCount { scans.append(SectorScan(index, of: medium)) }
        }
        isPresent = scans.contains { $0.content != .blank } || (medium.isPresent && !medium.isNewWhenBlank)
        var active: LogRecovery.Active?
        if let roots { active = try recover(medium, roots, anchor, path: path) }
        var walks: [Int: SectorWalk] = [:]
        for scan in scans.sorted(by: { $0.header?.sequence ?? 0 < $1.header?.sequence ?? 0 }) {
            // Without all parts of the snapshot, records cannot be verified against their predecessors.
            let span = scans.span(endingIn: scan)
            let keys = span.flatMap { _ in scan.header.flatMap { Self.keys(for: $0, roots ?? []) } }
            let before = span?.dropLast().last.flatMap { walks[$0.index]?.tags.last }
            walks[scan.index] = scan.header.map { SectorWalk(scan.index, $0, of: medium, keys, after: before) }
        }
        for scan in scans {
            sectors.append(SectorReport(scan, walks[scan.index], size: geometry.sectorSize))
            if let roots, let header = scan.header, Self.keys(for: header, roots) == nil {
                sectors[scan.index].state = .otherKey
            }
        }
        judge(scans, current: roots == nil ? Self.newest(scans) : active?.sector, active)
        if let active { judgeKeys(scans, active) }
        let breaks = ChainBreaks(sectors, walks)
        for (index, problem) in breaks.problems { sectors[index].problems.append(problem) }
    }

    /// - Returns: the active sector.
    private mutating func recover(
        _ medium: any Medium, _ roots: [Secret], _ anchor: FileAnchor?, path: String
    ) throws(KeyFileError) -> LogRecovery.Active? {
        let recovery: LogRecovery
        do { recovery = try LogRecovery(of: medium, roots: roots, path: path) } catch {
            // Report why the store would not open. An error of the medium ends the examination.
            if case .system = error { throw error }
            content = .refused(error)
            return nil
        }
        findings += recovery.findings
        if recovery.isUnusable { findings.append(.unreadable(keptAs: nil)) }
        let position = recovery.active.map { StorePosition(generation: $0.generation, tag: $0.tag) }
        findings += anchor.map { Self.compare($0, position, roots) } ?? []
        guard let position else {
            content = .empty
            return nil
        }
        if let state = StoredState(cells: recovery.cells, findings: &findings) {
            content = .state(state, generation: position.generation)
        } else {
            content = .empty
            findings.append(.impossibleContent)
        }
        return recovery.active
    }

    /// Compares the state with the anchor without changing the anchor.
    private static func compare(
        _ anchor: FileAnchor, _ position: StorePosition?, _ roots: [Secret]
    ) -> [StoreFinding] {
        do {
            return RollbackDetector.compare(found: position, with: try anchor.read(roots.map { AnchorKey(root: $0) }))
        } catch {
            return [.anchorUnusable(error)]
        }
    }

    private static func keys(for header: SectorHeader, _ roots: [Secret]) -> SectorKeys? {
        roots.lazy.map { SectorKeys(root: $0, salt: header.salt) }.first { $0.check == header.keyCheck }
    }

    /// Returns the index of the newest sector, based on checksums only.
    private static func newest(_ scans: [SectorScan]) -> Int? {
        scans.filter(\.hasSnapshot).max { $0.header?.sequence ?? 0 < $1.header?.sequence ?? 0 }?.index
    }
}

extension Examination {
    /// Sets each sector's state relative to the current sector.
    private mutating func judge(_ scans: [SectorScan], current: Int?, _ active: LogRecovery.Active?) {
        guard let current, let newest = scans[current].header?.sequence,
            let generation = active?.generation ?? scans[current].generations?.upperBound
        else { return }
        for scan in scans.span(endingIn: scans[current]) ?? [scans[current]] { sectors[scan.index].state = .current }
        for scan in scans where scan.isPartial && sectors[scan.index].state == .older {
            if let sequence = scan.header?.sequence, sequence > newest { sectors[scan.index].state = .unfinished }
        }
        let next = (1..<max(scans.count, 2)).map { (current + $0) % scans.count }
            .first { sectors[$0].state != .unfinished }
        for scan in scans where sectors[scan.index].state == .damaged && scan.parts == nil && scan.failure == nil {
            let isNewer = scan.header.map { $0.sequence > newest } ?? false
            guard isNewer || scan.index == next, scan.changesLost(since: generation) == 0 else { continue }
            sectors[scan.index].state = .unfinished
            sectors[scan.index].problems = []
        }
    }

    private mutating func judgeKeys(_ scans: [SectorScan], _ active: LogRecovery.Active) {
        for scan in scans {
            guard let header = scan.header,
                SectorKeys(root: active.root, salt: header.salt).check != header.keyCheck
            else { continue }
            sectors[scan.index].problems.append(.formerKey)
        }
    }
}

extension SectorReport {
    /// Reports on one sector, without comparing it with others.
    fileprivate init(_ scan: SectorScan, _ walk: SectorWalk?, size: Int) {
        self.init(index: scan.index, state: .damaged, size: size)
        switch scan.content {
        case .blank: state = .blank
        case .otherVersion(let version): state = .otherVersion(version)
        case .unreadable: problems = [.unreadableHeader]
        case .sector(let header): record(header, scan, walk)
        }
        if let record = walk?.forged { problems.append(.notAuthentic(record: record)) }
        if case .damaged(let behind) = scan.tail {
            if behind.count > 0 {
                problems.append(.changesBehindDamage(behind.count))
            } else if scan.parts != nil {
                problems.append(.incompleteRecord)
            }
        }
        if let failure = scan.failure { problems.append(.unread(failure)) }
        if scan.correctedBits > 0 { problems.append(.bitsCorrected(scan.correctedBits)) }
    }

    private mutating func record(_ header: SectorHeader, _ scan: SectorScan, _ walk: SectorWalk?) {
        self.header = Header(eraseCount: header.eraseCount, sequence: header.sequence, begun: header.begun)
        if scan.parts != nil, walk?.forged != 1 { state = .older }
        if scan.parts == nil { problems.append(.noSnapshot) }
        if header.index != scan.index { problems.append(.moved(from: header.index)) }
        records = scan.records
        parts = (scan.parts?.count ?? 0) - (scan.hasSnapshot ? 1 : 0)
        generations = scan.generations
        isClosed = scan.isClosed
        used = scan.end
        usedByBeginning = walk?.endOfSnapshot ?? 0
    }
}

extension Examination {
    package enum Verdict: String, Sendable {
        case inOrder
        /// The store shows traces of a power loss or of ageing, but no data is lost.
        case remarks
        /// Data is lost, or the store was manipulated.
        case damaged
    }

    package var verdict: Verdict {
        let problems = sectors.flatMap(\.problems)
        if case .refused = content { return .damaged }
        if findings.contains(where: \.isDamage) || problems.contains(where: \.isDamage) { return .damaged }
        if sectors.contains(where: { if case .otherVersion = $0.state { true } else { false } }) { return .damaged }
        return findings.isEmpty && problems.isEmpty ? .inOrder : .remarks
    }
}

extension StoreFinding {
    fileprivate var isDamage: Bool {
        if case .oldSectorDamaged = self { return true }
        return isSerious
    }
}

/// The records of one sector. If the key is known, each record is verified against its predecessor.
struct SectorWalk {
    /// Offset after the snapshot, in bytes from the sector's start.
    private(set) var endOfSnapshot = 0
    /// First record that is not authentic, counted from 1.
    private(set) var forged: Int?

    // Values known only with the key.

    /// Tag of the last record before this snapshot, stored in its first record; zeros if there was none.
    private(set) var link: [UInt8]?
    private(set) var tags: [[UInt8]] = []
    private(set) var snapshotTag: [UInt8]?
    /// Successor named by the closing record: its sequence number and its snapshot's tag.
    private(set) var successor: (sequence: UInt64, tag: [UInt8])?

    /// - Parameters:
    ///   - keys: nil to read only unencrypted data.
    ///   - before: last tag of the sector with the preceding part of the snapshot.
    init(
        _ index: Int, _ header: SectorHeader, of medium: any Medium, _ keys: SectorKeys?, after before: [UInt8]?
    ) {
        // The scan has already reported read errors.
        try? read(index, header, medium, keys, before)
    }

    private mutating func read(
        _ index: Int, _ header: SectorHeader, _ medium: any Medium, _ keys: SectorKeys?, _ before: [UInt8]?
    ) throws(KeyFileError) {
        var previousTag = before ?? Record.noTag
        var count = 0
        var reader = SectorRecordReader(medium, sector: index, mark: header.mark)
        while let record = try reader.next() {
            count += 1
            if record.header.kind.isOfSnapshot { endOfSnapshot = reader.offset }
            guard let keys else { continue }
            guard let body = reader.open(record, keys, sector: header, previousTag: previousTag) else {
                forged = count
                return
            }
            previousTag = reader.tag
            tags.append(previousTag)
            body.withBytes { addRecord(record.header, $0) }
        }
    }

    private mutating func addRecord(_ header: Record.Header, _ bytes: UnsafeRawBufferPointer) {
        var body = ByteReader(bytes)
        switch header.kind {
        case .snapshot, .part:
            if header.part == 0 { link = body.bytes(Record.tagSize).map { Array($0) } }
            if header.kind == .snapshot { snapshotTag = tags.last }
        case .change: break
        case .closing:
            guard let sequence = body.integer(UInt64.self), let tag = body.bytes(Record.tagSize) else { return }
            successor = (sequence, Array(tag))
        }
    }
}

/// Finds breaks in the chain of sectors. A snapshot names the record that it continues, and a closing record names its
/// successor. Uses only authentic records.
struct ChainBreaks {
    private(set) var problems: [(sector: Int, problem: SectorProblem)] = []

    /// - Parameters:
    ///   - sectors: reports on each sector alone.
    ///   - walks: records by sector, for sectors with a header.
    init(_ sectors: [SectorReport], _ walks: [Int: SectorWalk]) {
        func sector(_ sequence: UInt64) -> Int? {
            sectors.first { $0.header?.sequence == sequence && walks[$0.index]?.snapshotTag != nil }?.index
        }
        for report in sectors {
            guard let sequence = report.header?.sequence, let walk = walks[report.index] else { continue }
            // Search all sectors for the record, because sectors of a refused commit may lie between.
            if let link = walk.link, link != Record.noTag, sequence > 0, let before = sector(sequence - 1),
                !sectors[before].problems.contains(where: \.isDamage),
                !walks.values.contains(where: { $0.tags.contains(link) })
            {
                problems.append((report.index, .linkBroken(predecessor: before)))
            }
            // If another snapshot continues this closing record, the lost successor was already replaced by a repair.
            guard let successor = walk.successor, !walks.values.contains(where: { $0.link == walk.tags.last }) else {
                continue
            }
            if let after = sector(successor.sequence) {
                guard walks[after]?.snapshotTag != successor.tag else { continue }
                problems.append((report.index, .successorReplaced(after)))
            } else {
                problems.append((report.index, .successorMissing))
            }
        }
    }
}
