import AgentModel

/// Stores cells on a medium, as an append-only log of encrypted records. Survives a power loss at any time
/// (Docs/contributor/key-file.md). Not `Sendable`: a commit blocks its thread until the data is on the medium.
///
/// Each sector begins with a snapshot of all cells. A commit appends its changes to the newest sector. If that sector
/// is full, the log continues in the next one with a new snapshot, and the old sector stays. A large snapshot spans
/// several sectors. It becomes valid when the last of them is begun.
package final class RecordLog {
    package private(set) var cells: Cells
    package private(set) var report: [StoreFinding]
    /// Number of commits, begun sectors and written bytes since the log was opened.
    package var usage: Usage {
        var usage = written
        usage.mostErases = eraseCounts.max().map(Int.init) ?? 0
        return usage
    }
    private var written = Usage()

    package struct Usage: Sendable, Equatable {
        package var commits = 0
        package var bytesWritten = 0
        package var sectorsBegun = 0
        /// Highest number of erasures of a sector since its creation.
        package var mostErases = 0
    }

    private let medium: any Medium
    private let path: String
    private let now: () -> UInt32
    private var random: any RandomNumberGenerator
    private var active: LogRecovery.Active?
    private var root: Secret?
    private var eraseCounts: [UInt32]
    private var lastSequence: UInt64
    private var lastGeneration: UInt64
    /// Number of the sector that was begun last, even without success; nil if none was begun since opening.
    private var lastBegun: Int?
    private var mustMoveOn: Bool
    /// True if a failed commit may have left other content than `cells` on the medium.
    private var isInDoubt = false
    /// Numbers of the sectors begun for the latest snapshot.
    private var begun: [Int] = []
    private let version: UInt16
    /// True if the content found at opening may not be durable yet.
    private var isUnsynchronised: Bool
    /// Numbers of sectors under a former root key.
    private var formerKeySectors: [Int]
    /// Numbers of sectors that were unreadable at opening. They are overwritten last.
    private let failing: [Int]
    /// True if other content blocks the store and could not be set aside.
    private var isObstructed = false
    /// Position at opening, before repairs.
    package let foundPosition: StorePosition?

    /// - Parameters:
    ///   - roots: root keys that may open the log, current one first. If empty, only a medium without a store opens,
    ///     and `useFirstRoot` must set the first key.
    ///   - path: name of the medium in messages.
    ///   - now: returns the clock in seconds since 1970.
    ///   - version: format version to write. Tests pass 2 to write the older format.
    package init(
        medium: any Medium, roots: [Secret], path: String, random: any RandomNumberGenerator,
        now: @escaping () -> UInt32, version: UInt16 = currentVersion
    ) throws(KeyFileError) {
        // Synchronise before reading, because a killed process may have left content only in memory.
        let doubt = Self.settle(medium)
        let recovery = try LogRecovery(of: medium, roots: roots, path: path)
        self.medium = medium
        self.path = path
        self.now = now
        self.version = version
        self.random = random
        active = recovery.active
        root = recovery.active?.root ?? roots.first
        cells = recovery.cells
        report = recovery.findings
        mustMoveOn = recovery.mustMoveOn
        formerKeySectors = recovery.formerKeySectors
        let headers = recovery.scans.map(\.header)
        // The erase count of an unreadable header is unknown. Assume the highest count of the others.
        let most = headers.compactMap { $0?.eraseCount }.max() ?? 0
        eraseCounts =
            recovery.active == nil
            ? Array(repeating: 0, count: medium.geometry.sectorCount)
            : recovery.scans.map { $0.content == .blank ? max(most, 1) - 1 : $0.header?.eraseCount ?? most }
        lastSequence = Self.highest(headers.compactMap { $0?.sequence }, since: active?.header.sequence ?? 0)
        lastGeneration = Self.highest(
            recovery.scans.compactMap(\.generations?.upperBound) + recovery.scans.flatMap(\.behind),
            since: active?.generation ?? 0)
        isUnsynchronised = doubt != nil
        foundPosition = recovery.active?.position
        failing = recovery.scans.filter { $0.failure != nil }.map(\.index)
        if !failing.isEmpty {
            // If an unreadable sector becomes readable later, it must be older than all new writes. So skip numbers.
            lastSequence += UInt64(medium.geometry.sectorCount)
            lastGeneration += 1 << 16
        }
        if recovery.isUnusable { giveUp(isForeign: recovery.isForeign) }
        if let doubt {
            (mustMoveOn, isInDoubt) = (true, recovery.active != nil)
            report.append(.postponed(doubt))
        } else {
            // An unreadable sector may be the newest, so do not replace it by a repair.
            bringInOrder(repairing: recovery.needsRepair && failing.isEmpty)
        }
    }

    /// Returns the highest plausible number, at least `known`, which is authentic. The others are not authenticated, so
    /// numbers more than 2^20 above it are ignored as forged.
    private static func highest(_ numbers: [UInt64], since known: UInt64) -> UInt64 {
        numbers.filter { $0 > known && $0 - known <= 1 << 20 }.max() ?? known
    }

    package static let currentVersion = SectorHeader.version

    /// Position of the last record; nil before the first commit.
    package var position: StorePosition? { active?.position }

    /// Root key of the newest sector.
    package var activeRoot: Secret? { active?.root }

    package var hasRoot: Bool { root != nil }

    package func useFirstRoot(_ root: Secret) { self.root = self.root ?? root }

    /// Gives later commits a generation above `generation`.
    package func skip(to generation: UInt64) { lastGeneration = max(lastGeneration, generation) }

    // MARK: Bringing in order

    private func giveUp(isForeign: Bool) {
        do {
            // A file keeps its old content under another name, and a device with foreign content is refused. A device's
            // own unreadable store is overwritten.
            let kept = try isForeign || !medium.isNewWhenBlank ? medium.setAside() : nil
            report.append(.unreadable(keptAs: kept))
            beginAnew()
        } catch {
            report.append(.unreadable(keptAs: nil))
            isObstructed = true
        }
    }

    /// Resets the log to an empty medium, whose first sector is begun next.
    private func beginAnew() {
        active = nil
        eraseCounts = Array(repeating: 0, count: medium.geometry.sectorCount)
        isUnsynchronised = false
    }

    private func bringInOrder(repairing needsRepair: Bool) {
        do {
            if !medium.isWhole {
                _ = try medium.setAside()
                beginAnew()
            }
            if needsRepair { try moveOn(with: cells) }
            if !formerKeySectors.isEmpty {
                try eraseFormerKeySectors()
                report.append(.keyChangeFinished)
            }
        } catch {
            report.append(.postponed(error))
        }
    }

    /// Synchronises content that a killed process may have left only in memory. Then drops the system's cache, which
    /// may differ from the medium after a failed write.
    /// - Returns: the error of the synchronisation; nil if it succeeded.
    private static func settle(_ medium: any Medium) -> KeyFileError? {
        guard medium.isPresent else { return nil }
        do {
            try medium.requireWritable()
            try medium.synchronise()
        } catch {
            return error
        }
        medium.forgetCached()
        return nil
    }

    /// True if the current content is durable and was completely readable.
    var isSettled: Bool { !isUnsynchronised && !isInDoubt && failing.isEmpty }

    // MARK: Committing

    /// Replaces all cells atomically. Once this returns, the new cells survive a power loss. If this throws, the old
    /// cells stay. Writes nothing if the cells are unchanged.
    package func commit(_ new: Cells) throws(KeyFileError) {
        guard new != cells || isInDoubt || isUnsynchronised else { return }
        if isObstructed {
            _ = try medium.setAside()
            beginAnew()
            isObstructed = false
        }
        try requireRoom(for: new)
        try medium.requireWritable()
        do {
            try write(new)
        } catch {
            // Part of the failed write may survive a power loss, so write the old state again with a newer generation.
            (isInDoubt, mustMoveOn) = (true, true)
            let inVain = begun
            do {
                try moveOn(with: cells)
                for sector in inVain where !(active?.span.contains(sector) ?? false) {
                    try medium.erase(sector: sector)
                }
            } catch {}
            throw error
        }
        cells = new
        (isInDoubt, isUnsynchronised) = (false, false)
        written.commits += 1
    }

    func requireWritable() throws(KeyFileError) { try medium.requireWritable() }

    private func write(_ new: Cells) throws(KeyFileError) {
        guard !mustMoveOn, let active else { return try moveOn(with: new) }
        var body = WipedBuffer(capacity: Record.maximumBody)
        // If the changes exceed a record, write a snapshot to a new sector.
        do { try CellChanges.encode(CellChanges.between(cells, new), into: &body) } catch {
            return try moveOn(with: new)
        }
        guard fits(Record.overhead + body.count, behind: active.end) else { return try moveOn(with: new) }
        let record = try seal(.change, body, in: active)
        do {
            try append(record, to: active)
            try medium.synchronise()
            self.active?.add(record, aligned: medium.geometry)
        } catch {
            // The sector may be worn out, so try another. Do not append to this one again: flash cannot be written
            // twice at the same place.
            self.active?.isAppendable = false
            try moveOn(with: new)
        }
    }

    /// True if a record of `size` bytes leaves room for the closing record.
    private func fits(_ size: Int, behind end: Int) -> Bool {
        let geometry = medium.geometry
        return end + geometry.aligned(size) + geometry.aligned(Record.closingSize) <= geometry.sectorSize
    }

    /// Appends a blank write unit on rewritable media, to end the data.
    private func terminated(_ bytes: [UInt8], at offset: Int) -> [UInt8] {
        let geometry = medium.geometry
        guard medium.isRewritable else { return bytes }
        let size = min(geometry.aligned(bytes.count) + geometry.writeUnit, geometry.sectorSize - offset)
        return bytes + repeatElement(0xff, count: size - bytes.count)
    }

    private func append(_ record: Sealed, to sector: LogRecovery.Active) throws(KeyFileError) {
        let bytes = terminated(record.bytes, at: sector.end)
        written.bytesWritten += bytes.count
        let offset = medium.geometry.start(of: sector.sector) + sector.end
        try bytes.lend { bytes throws(KeyFileError) in try medium.append(bytes, at: offset) }
    }

    // MARK: Sectors

    /// Begins another sector with a snapshot of all cells.
    private func moveOn(with new: Cells) throws(KeyFileError) {
        guard let root else { throw .noRootKey(source: path) }
        // Stays true if this fails: an unfinished sector may be the newest on the medium.
        mustMoveOn = true
        begun = []
        let successor = try beginSnapshot(of: new, under: root)
        try medium.synchronise()
        // `active` is nil if the whole medium was replaced.
        let former = active
        active = successor
        formerKeySectors.removeAll(where: successor.span.contains)
        (mustMoveOn, isInDoubt, isUnsynchronised) = (false, false, false)
        written.sectorsBegun += successor.span.count
        if let former, former.root == root { close(former, successor: successor) }
    }

    /// Returns the number of good sectors. A snapshot may use half of them, so that the previous one stays complete
    /// while a new one is written.
    private func goodSectors(of geometry: Geometry) -> Int { geometry.sectorCount - medium.badSectors.count }

    private func requireRoom(for cells: Cells) throws(KeyFileError) {
        let size = CellChanges.size(of: cells)
        let geometry = medium.geometry(holding: Geometry.sectorCounts.upperBound) ?? medium.geometry
        let maximum = SnapshotPlan.largestState(sectors: goodSectors(of: geometry), of: geometry, version: version)
        guard size <= maximum else { throw .stateTooLarge(bytes: size, maximum: maximum) }
    }

    /// Writes all cells to unused sectors. The log continues in the last one. The others are durable before the last
    /// one is begun, so a snapshot with its last sector is complete.
    private func beginSnapshot(of cells: Cells, under root: Secret) throws(KeyFileError) -> LogRecovery.Active {
        var body = WipedBuffer(capacity: Record.tagSize + CellChanges.size(of: cells))
        body.append(active?.tag ?? Record.noTag)
        try CellChanges.encode(CellChanges.between([:], cells), into: &body)
        let plan = SnapshotPlan(bodySize: body.count, medium.geometry)
        let isTooSmall = 2 * plan.sectors.count > goodSectors(of: medium.geometry)
        // A new geometry means that the store is created, because it is missing or too small.
        let geometry =
            !medium.isPresent || isTooSmall ? medium.geometry(holding: 2 * plan.sectors.count) : nil
        var sectors: [Int: [UInt8]] = [:]
        var begun = Begun(root: root)
        for records in plan.sectors {
            let isLast = begun.span.count == plan.sectors.count - 1
            if isLast, !begun.span.isEmpty, geometry == nil { try medium.synchronise() }
            try body.withBytes { body throws(KeyFileError) in
                if let geometry {
                    let sector = begun.span.count
                    sectors[sector] = try fill(sector, of: geometry, erased: 1, records, body, &begun, isLast)
                } else {
                    try begin(records, body, &begun, isLast)
                }
            }
        }
        guard let successor = begun.last else { throw .encryptionFailed }
        if let geometry { try replaceMedium(with: sectors, as: geometry) }
        return successor
    }

    private func replaceMedium(with sectors: [Int: [UInt8]], as geometry: Geometry) throws(KeyFileError) {
        try medium.replace(with: sectors, as: geometry)
        // The active sector no longer exists.
        active = nil
        eraseCounts = (0..<geometry.sectorCount).map { sectors[$0] == nil ? 0 : 1 }
        begun = sectors.keys.sorted()
        lastBegun = begun.last
        written.bytesWritten += geometry.size
    }

    private struct Begun {
        let root: Secret
        var span: [Int] = []
        /// Newest sector of the snapshot, with the end of its data.
        var last: LogRecovery.Active?
        /// Number of bytes of the body, and of records, written so far.
        var done = 0
        var parts = 0
    }

    /// Writes the records to the next sector in turn. Skips sectors in use, and bad ones.
    private func begin(
        _ records: [Int], _ body: UnsafeRawBufferPointer, _ snapshot: inout Begun, _ isLast: Bool
    ) throws(KeyFileError) {
        let count = medium.geometry.sectorCount
        let used = snapshot.span + (active?.span ?? [])
        let first = (lastBegun ?? active?.sector ?? count - 1) + 1
        let others = (first..<(first + count)).map { $0 % count }.filter { !used.contains($0) }
        var candidates = others.filter { !failing.contains($0) } + others.filter(failing.contains)
        while !candidates.isEmpty {
            let sector = candidates.removeFirst()
            lastBegun = sector
            begun.append(sector)
            eraseCounts[sector] &+= 1
            var attempt = snapshot
            let bytes = try fill(
                sector, of: medium.geometry, erased: eraseCounts[sector], records, body, &attempt, isLast)
            written.bytesWritten += bytes.count
            do {
                try bytes.lend { bytes throws(KeyFileError) in try medium.begin(sector: sector, with: bytes) }
                snapshot = attempt
                return
            } catch {
                guard case .badSector = error, !candidates.isEmpty else { throw error }
            }
        }
        throw .stateTooLarge(bytes: body.count, maximum: 0)
    }

    private func fill(
        _ sector: Int, of geometry: Geometry, erased: UInt32, _ records: [Int], _ body: UnsafeRawBufferPointer,
        _ snapshot: inout Begun, _ isLast: Bool
    ) throws(KeyFileError) -> [UInt8] {
        lastSequence += 1
        let salt = randomBytes(SectorHeader.saltSize)
        let header = SectorHeader(
            version: version, geometry: geometry, index: sector, eraseCount: erased, sequence: lastSequence, salt: salt,
            keyCheck: SectorKeys(root: snapshot.root, salt: salt).check, begun: now())
        snapshot.span.append(sector)
        var active = LogRecovery.Active(
            sector: sector, header: header, root: snapshot.root, span: snapshot.span, end: geometry.headerSize,
            tag: snapshot.last?.tag ?? Record.noTag, generation: 0)
        var bytes = header.bytes
        for (index, size) in records.enumerated() {
            bytes += repeatElement(0xff, count: active.end - bytes.count)
            let isSnapshot = isLast && index == records.count - 1
            let part = UnsafeRawBufferPointer(rebasing: body[snapshot.done..<(snapshot.done + size)])
            let record = try seal(isSnapshot ? .snapshot : .part, part, part: snapshot.parts, in: active)
            bytes += record.bytes
            active.add(record, aligned: geometry)
            snapshot.done += size
            snapshot.parts += 1
        }
        snapshot.last = active
        return terminated(bytes, at: 0)
    }

    /// Appends a closing record that names the successor. The next commit synchronises it.
    private func close(_ former: LogRecovery.Active, successor: LogRecovery.Active) {
        let room = medium.geometry.sectorSize - former.end
        guard former.isAppendable || medium.isRewritable, room >= medium.geometry.aligned(Record.closingSize) else {
            return
        }
        var body = WipedBuffer(capacity: Record.closingBody)
        body.append(bigEndian: successor.header.sequence)
        body.append(successor.tag)
        // Ignore a failure: the closing record only helps to detect a lost successor.
        do { try append(try seal(.closing, body, in: former), to: former) } catch {}
    }

    /// Writes all cells under another root key to a new sector. The old state stays under the former key until
    /// `eraseFormerKeySectors`.
    package func rekey(to new: Secret) throws(KeyFileError) {
        // Rewrite the state first if a failed commit left it in doubt.
        try commit(cells)
        try medium.requireWritable()
        let former = root
        root = new
        do {
            try moveOn(with: cells)
        } catch {
            root = former
            (isInDoubt, mustMoveOn) = (true, true)
            try? moveOn(with: cells)
            throw error
        }
        let sectors = (0..<medium.geometry.sectorCount)
        formerKeySectors = sectors.filter { !(active?.span.contains($0) ?? false) }
    }

    /// Erases all sectors under a former root key.
    package func eraseFormerKeySectors() throws(KeyFileError) {
        guard !formerKeySectors.isEmpty else { return }
        for sector in formerKeySectors {
            written.bytesWritten += medium.geometry.sectorSize
            eraseCounts[sector] &+= 1
            do { try medium.erase(sector: sector) } catch {
                guard case .badSector = error else { throw error }
            }
        }
        try medium.synchronise()
        formerKeySectors = []
    }

    // MARK: Records

    fileprivate struct Sealed {
        let bytes: [UInt8]
        let tag: [UInt8]
        let generation: UInt64
    }

    private func seal(
        _ kind: Record.Kind, _ body: borrowing WipedBuffer, in sector: LogRecovery.Active
    ) throws(KeyFileError) -> Sealed {
        try body.withBytes { bytes throws(KeyFileError) in try seal(kind, bytes, in: sector) }
    }

    private func seal(
        _ kind: Record.Kind, _ body: UnsafeRawBufferPointer, part: Int = 0, in sector: LogRecovery.Active
    ) throws(KeyFileError) -> Sealed {
        lastGeneration += 1
        let header = Record.Header(kind: kind, bodySize: body.count, generation: lastGeneration, part: part)
        let context = SectorKeys.Context(
            sector: sector.header, offset: sector.end, header: header, previousTag: sector.tag)
        let random = randomBytes(Record.tagSize)
        let sealed = try sector.keys.seal(body, context, random: random)
        var bytes = header.bytes(in: sector.header.mark) + sealed.nonce + sealed.ciphertext + sealed.tag
        let checksum = bytes.withUnsafeBytes { CRC32.checksum($0) }
        withUnsafeBytes(of: checksum.bigEndian) { bytes.append(contentsOf: $0) }
        return Sealed(bytes: bytes, tag: sealed.tag, generation: lastGeneration)
    }

    private func randomBytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
}

extension LogRecovery.Active {
    fileprivate mutating func add(_ record: RecordLog.Sealed, aligned geometry: Geometry) {
        end += geometry.aligned(record.bytes.count)
        tag = record.tag
        generation = record.generation
    }
}
