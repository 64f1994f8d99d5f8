/// One sector, read without a key. Only its checksums are verified.
struct SectorScan {
    private(set) var index: Int
    var content: Content
    /// Number of complete records.
    var records = 0
    /// Number of corrected bits in records and header.
    var correctedBits = 0
    var generations: ClosedRange<UInt64>?
    /// True if a snapshot ends in this sector, in its first record or after its parts.
    var hasSnapshot = false
    /// Part numbers of the snapshot's records in this sector; nil if there are none.
    private(set) var parts: ClosedRange<Int>?
    /// True if the sector ends with a closing record, which names a successor.
    var isClosed = false
    /// Offset of the next record, in bytes from the sector's start.
    var end = 0
    var tail = Tail.blank

    enum Content: Equatable {
        case blank
        case sector(SectorHeader)
        case otherVersion(UInt16)
        case unreadable
    }

    enum Tail: Equatable {
        case blank
        /// The bytes after the last record are not a record. `behind` has the generations of complete changes after
        /// them.
        case damaged(behind: [UInt64])
    }

    /// Generations of complete changes behind damage.
    var behind: [UInt64] { if case .damaged(let behind) = tail { behind } else { [] } }

    func changesLost(since generation: UInt64) -> Int { behind.count { $0 > generation } }

    var header: SectorHeader? {
        guard case .sector(let header) = content else { return nil }
        return header
    }

    /// True if the first bytes are a header's prologue. On flash, an interrupted write of a prologue counts too.
    private(set) var mayBecomeHeader = false
    /// True if all bytes after the header are blank.
    private(set) var endsWithHeader = false
    /// Last read error of the medium.
    private(set) var failure: KeyFileError?

    init(_ index: Int, of medium: any Medium) {
        self.index = index
        content = .unreadable
        // Retry, because a single read error must not make an older sector current.
        for _ in 0..<3 {
            do {
                var scan = Self(unread: index)
                try scan.read(medium)
                self = scan
                return
            } catch {
                failure = error
            }
        }
    }

    private init(unread index: Int) {
        self.index = index
        content = .unreadable
    }

    private mutating func read(_ medium: any Medium) throws(KeyFileError) {
        let geometry = medium.geometry
        let start = geometry.start(of: index)
        var bytes = WipedBuffer(size: SectorHeader.size)
        let reading = try bytes.withMutableBytes { memory throws(KeyFileError) in
            try medium.read(at: start, into: memory)
            mayBecomeHeader = SectorHeader.readableVersions.contains { version in
                zip(memory, SectorHeader.prologue(of: version)).allSatisfy { found, ours in
                    medium.isRewritable ? found == ours : found & ours == ours
                }
            }
            return SectorHeader.read(memory)
        }
        switch reading {
        case .header(let header, let isRepaired) where header.geometry == geometry:
            content = .sector(header)
            correctedBits = isRepaired ? 1 : 0
            try readRecords(of: medium, mark: header.mark)
        case .otherVersion(let version): content = .otherVersion(version)
        case .header, .blank, .unreadable:
            let whole = start..<(start + geometry.sectorSize)
            let isErased = try medium.isBlank(whole)
            let isZero = try medium.isNewWhenBlank ? medium.isUniform(0, in: whole) : false
            content = isErased || isZero ? .blank : .unreadable
            guard content == .unreadable else { return }
            tail = .damaged(behind: [])
            endsWithHeader = try medium.isBlank((start + SectorHeader.size)..<whole.upperBound)
        }
    }

    private mutating func readRecords(of medium: any Medium, mark: SectorHeader.Mark) throws(KeyFileError) {
        var reader = SectorRecordReader(medium, sector: index, mark: mark)
        while let record = try reader.next() {
            records += 1
            correctedBits += record.isRepaired ? 1 : 0
            let generation = record.header.generation
            generations = min(generations?.lowerBound ?? generation, generation)...generation
            recordSnapshot(record.header)
            isClosed = record.header.kind == .closing
        }
        end = reader.offset
        guard reader.end == .damaged || (medium.isRewritable && !isClosed) else { return }
        // On rewritable media, search behind blank bytes too: these may have overwritten records.
        let behind = try medium.changes(in: index, mark, from: end + medium.geometry.writeUnit)
        if reader.end == .damaged || !behind.isEmpty { tail = .damaged(behind: behind) }
    }
}

extension SectorScan {
    private mutating func recordSnapshot(_ header: Record.Header) {
        guard header.kind.isOfSnapshot, !hasSnapshot else { return }
        if records == 1 {
            parts = header.part...header.part
        } else if let parts, header.part == parts.upperBound + 1, parts.count == records - 1 {
            self.parts = parts.lowerBound...header.part
        } else {
            return
        }
        hasSnapshot = header.kind == .snapshot
    }

    /// True if the sector holds only parts of a snapshot that ends in another sector.
    var isPartial: Bool { parts != nil && !hasSnapshot }
}

extension [SectorScan] {
    /// Returns the sectors of the snapshot that ends in `last`, in order; nil if one is missing. Verifies only
    /// checksums. Of several candidates for a part, takes the one begun last. Only the key can confirm it.
    func span(endingIn last: SectorScan) -> [SectorScan]? {
        var span = [last]
        var first = last
        while let part = first.parts?.lowerBound, part > 0 {
            guard let sequence = first.header?.sequence,
                let before = filter({ $0.isPartial && $0.failure == nil && $0.parts?.upperBound == part - 1 })
                    .filter({ $0.header.map { $0.sequence < sequence } ?? false })
                    .max(by: { $0.header?.sequence ?? 0 < $1.header?.sequence ?? 0 })
            else { return nil }
            span.insert(before, at: 0)
            first = before
        }
        return span
    }
}

extension Medium {
    fileprivate func isUniform(_ value: UInt8, in range: Range<Int>) throws(KeyFileError) -> Bool {
        var buffer = WipedBuffer(size: 512)
        for offset in stride(from: range.lowerBound, to: range.upperBound, by: 512) {
            let isUniform = try buffer.withMutableBytes { memory throws(KeyFileError) in
                let part = UnsafeMutableRawBufferPointer(rebasing: memory[..<min(512, range.upperBound - offset)])
                try read(at: offset, into: part)
                return part.allSatisfy { $0 == value }
            }
            guard isUniform else { return false }
        }
        return true
    }

    func isBlank(_ range: Range<Int>) throws(KeyFileError) -> Bool { try isUniform(0xff, in: range) }

    /// Searches every write unit from `first` on for complete changes, and returns their generations.
    fileprivate func changes(in sector: Int, _ mark: SectorHeader.Mark, from first: Int) throws(KeyFileError)
        -> [UInt64]
    {
        var changes: [UInt64] = []
        var reader = SectorRecordReader(self, sector: sector, mark: mark, from: first, repairs: false)
        while reader.offset < geometry.sectorSize {
            guard let record = try reader.next() else {
                reader.skipUnit()
                continue
            }
            if record.header.kind == .change { changes.append(record.header.generation) }
        }
        return changes
    }
}
