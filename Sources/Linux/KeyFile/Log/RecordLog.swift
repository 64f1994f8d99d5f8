import AgentModel

/// Cells on a medium, as an append-only log of encrypted records: small, always complete, safe against power loss at
/// any moment. Docs/key-file.md describes it.
///
/// Every sector begins with a snapshot of all cells, so each of them is a complete store; a commit appends what it
/// changes to the newest one. When that is full the next one is erased and begun, while the one before stays as it is.
/// Cells that are too many for one sector have a snapshot that spans several, and count when the last of them is begun.
///
/// Not `Sendable`: it belongs to one isolation domain, whose thread a commit blocks until the medium has the data.
package final class RecordLog {
    /// The cells of the last commit.
    package private(set) var cells: Cells
    /// Problems found when the log was opened.
    package private(set) var report: [Finding]
    /// How often bytes were made durable, and how many were written, since the log was opened.
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
        /// How often the sector that was erased most was erased since it was made.
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
    /// The sector that was begun last, or that a begin was attempted for.
    private var lastBegun: Int?
    private var mustMoveOn: Bool
    /// A failed commit may have left something behind, so the medium may not hold `cells`.
    private var isInDoubt = false
    /// The sectors that were begun for the last snapshot.
    private var begun: [Int] = []
    /// The version that sectors are begun in.
    private let version: UInt16
    /// The process that wrote the data found on the medium may not have made it durable.
    private var isUnsynchronised: Bool
    /// The sectors under a root key that is not in use any more.
    private var formerKeySectors: [Int]
    /// The sectors that could not be read when the log was opened: the last to be written over.
    private let failing: [Int]
    /// Something that is no store is in the way, and could not be set aside.
    private var isObstructed = false
    /// The position of the log when it was opened, before anything was repaired.
    package let foundPosition: StorePosition?

    /// Opens what is on the medium.
    /// - Parameters:
    ///   - roots: the root keys that may open it, the current one first. With none, only a medium without a store
    ///     opens, and the first key is given by `useFirstRoot`.
    ///   - path: what messages call the medium.
    ///   - now: the clock, in seconds since 1970.
    ///   - version: 2 for what an altnet from before would write, in tests.
    package init(
        medium: any Medium, roots: [Secret], path: String, random: any RandomNumberGenerator,
        now: @escaping () -> UInt32, version: UInt16 = currentVersion
    ) throws(KeyFileError) {
        // First of all: what a killed process has left in memory only must reach the medium before it is believed.
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
        // If a header cannot be read, its sector counts as erased about as often as the others.
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
            // Should it be read again one day, what it holds must be older than all that is written from now on.
            lastSequence += UInt64(medium.geometry.sectorCount)
            lastGeneration += 1 << 16
        }
        if recovery.isUnusable { giveUp(isForeign: recovery.isForeign) }
        if let doubt {
            (mustMoveOn, isInDoubt) = (true, recovery.active != nil)
            report.append(.postponed(doubt))
        } else {
            // An unreadable sector may be the newest: it is not superseded before it must be.
            bringInOrder(repairing: recovery.needsRepair && failing.isEmpty)
        }
    }

    /// The highest of numbers that only a checksum vouches for, as far as accidents can have brought them beyond one
    /// that is authenticated. Others are forged.
    private static func highest(_ numbers: [UInt64], since known: UInt64) -> UInt64 {
        numbers.filter { $0 > known && $0 - known <= 1 << 20 }.max() ?? known
    }

    /// The version of the format that is written.
    package static let currentVersion = SectorHeader.version

    /// The position of the last record, or nil if nothing was ever committed.
    package var position: StorePosition? { active?.position }

    /// The one of `roots` that the newest sector is under.
    package var activeRoot: Secret? { active?.root }

    /// Whether there is a key to commit under.
    package var hasRoot: Bool { root != nil }

    /// The first key of a medium without a store.
    package func useFirstRoot(_ root: Secret) { self.root = self.root ?? root }

    /// Sees to it that the next commit is later than `generation`.
    package func skip(to generation: UInt64) { lastGeneration = max(lastGeneration, generation) }

    // MARK: Bringing in order

    private func giveUp(isForeign: Bool) {
        do {
            // A device's own remains are written over: there is only one place.
            let kept = try isForeign || !medium.isNewWhenBlank ? medium.setAside() : nil
            report.append(.unreadable(keptAs: kept))
            beginAnew()
        } catch {
            report.append(.unreadable(keptAs: nil))
            isObstructed = true
        }
    }

    /// The next sector is the first of a medium that is not there yet.
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

    /// Makes durable what a process that was killed may have left in memory only: what the agent acts upon must not be
    /// gone after the next power cut. Then the memory is forgotten, for after a failed write it may say what the medium
    /// does not.
    /// - Returns: why that was not possible.
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

    /// Whether what counts is known to be on the medium, and all of that could be read.
    var isSettled: Bool { !isUnsynchronised && !isInDoubt && failing.isEmpty }

    // MARK: Committing

    /// Replaces the cells, all or none. When it returns, they survive a power cut; when it throws, the old ones stand.
    /// Nothing is written if nothing is different.
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
            // It is unknown which part of it a power cut would leave: bring the old state back, as something newer.
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

    private func write(_ new: Cells) throws(KeyFileError) {
        guard !mustMoveOn, let active else { return try moveOn(with: new) }
        var body = WipedBuffer(capacity: Record.maximumBody)
        // A change of everything can be larger than everything.
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
            // Another place may do where this one has worn out. This one is not written again: on flash that is
            // impossible.
            self.active?.isAppendable = false
            try moveOn(with: new)
        }
    }

    /// Whether a record of `size` leaves room for the closing record.
    private func fits(_ size: Int, behind end: Int) -> Bool {
        let geometry = medium.geometry
        return end + geometry.aligned(size) + geometry.aligned(Record.closingSize) <= geometry.sectorSize
    }

    /// Makes it plain that what was behind there before does not count: with a blank unit, where not all is blank.
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

    /// Goes on in another sector, which begins with all cells.
    private func moveOn(with new: Cells) throws(KeyFileError) {
        guard let root else { throw .noRootKey(source: path) }
        // Until it is done: a sector that was begun in vain may still be the newest on the medium.
        mustMoveOn = true
        begun = []
        let successor = try beginSnapshot(of: new, under: root)
        try medium.synchronise()
        // None where the medium was replaced.
        let former = active
        active = successor
        formerKeySectors.removeAll(where: successor.span.contains)
        (mustMoveOn, isInDoubt, isUnsynchronised) = (false, false, false)
        written.sectorsBegun += successor.span.count
        if let former, former.root == root { close(former, successor: successor) }
    }

    /// Good sectors in number: a snapshot can have half of them, so that a whole one is always there beside the one
    /// that is being written.
    private func goodSectors(of geometry: Geometry) -> Int { geometry.sectorCount - medium.badSectors.count }

    private func requireRoom(for cells: Cells) throws(KeyFileError) {
        let size = CellChanges.size(of: cells)
        let geometry = medium.geometry(holding: Geometry.sectorCounts.upperBound) ?? medium.geometry
        let maximum = SnapshotPlan.largestState(sectors: goodSectors(of: geometry), of: geometry, version: version)
        guard size <= maximum else { throw .stateTooLarge(bytes: size, maximum: maximum) }
    }

    /// Writes all cells to sectors that are not in use, the last of them the one that the log goes on in. The ones
    /// before are durable when that is begun: so a snapshot whose end is there is there as a whole.
    private func beginSnapshot(of cells: Cells, under root: Secret) throws(KeyFileError) -> LogRecovery.Active {
        var body = WipedBuffer(capacity: Record.tagSize + CellChanges.size(of: cells))
        body.append(active?.tag ?? Record.noTag)
        try CellChanges.encode(CellChanges.between([:], cells), into: &body)
        let plan = SnapshotPlan(bodySize: body.count, medium.geometry)
        let isTooSmall = 2 * plan.sectors.count > goodSectors(of: medium.geometry)
        // A store that is made anew, since there is none yet or it is too small.
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
        // The sector that was active is not there any more.
        active = nil
        eraseCounts = (0..<geometry.sectorCount).map { sectors[$0] == nil ? 0 : 1 }
        begun = sectors.keys.sorted()
        lastBegun = begun.last
        written.bytesWritten += geometry.size
    }

    /// A snapshot that is being written.
    private struct Begun {
        let root: Secret
        var span: [Int] = []
        /// The sector that was begun last, and where it ends.
        var last: LogRecovery.Active?
        /// How much of the body is written, in bytes and in records.
        var done = 0
        var parts = 0
    }

    /// Writes the records of the next sector that the medium can hold, in turn, but none that is in use.
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

    /// Makes the bytes that a sector begins with.
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

    /// Writes into a sector that it is not the last one. Not synchronised: the next commit does that.
    private func close(_ former: LogRecovery.Active, successor: LogRecovery.Active) {
        let room = medium.geometry.sectorSize - former.end
        guard former.isAppendable || medium.isRewritable, room >= medium.geometry.aligned(Record.closingSize) else {
            return
        }
        var body = WipedBuffer(capacity: Record.closingBody)
        body.append(bigEndian: successor.header.sequence)
        body.append(successor.tag)
        // Without it, all that is missed is the notice of a successor that vanishes.
        do { try append(try seal(.closing, body, in: former), to: former) } catch {}
    }

    /// Puts everything under another root key, in a sector of its own.
    ///
    /// The old state is still there, under the former key, until `eraseFormerKeySectors`.
    package func rekey(to new: Secret) throws(KeyFileError) {
        // Settles what a failed commit left in doubt.
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

    /// Erases what is still under a former root key.
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

    /// Makes the next record of a sector.
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
