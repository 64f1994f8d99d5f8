/// One sector as it is found, read without any key: what its checksums say.
struct SectorScan {
    let index: Int
    var content: Content
    /// Complete records, and how many of them and of the header had one wrong bit.
    var records = 0
    var correctedBits = 0
    var generations: ClosedRange<UInt64>?
    /// Whether the first record is complete: everything else builds on it.
    var hasSnapshot = false
    /// Whether the last record says that the store goes on elsewhere.
    var isClosed = false
    /// Where the next record would begin, from the sector's start.
    var end = 0
    var tail = Tail.blank

    enum Content: Equatable {
        case blank
        case sector(SectorHeader)
        case otherVersion(UInt16)
        case unreadable
    }

    /// What follows the last complete record.
    enum Tail: Equatable {
        case blank
        /// Something that is no record, with complete changes of these generations behind it.
        case damaged(behind: [UInt64])
    }

    /// How many complete changes behind the damage are newer than `generation`.
    func changesLost(since generation: UInt64) -> Int {
        guard case .damaged(let behind) = tail else { return 0 }
        return behind.count { $0 > generation }
    }

    var header: SectorHeader? {
        guard case .sector(let header) = content else { return nil }
        return header
    }

    /// Whether the first bytes could become a header's without being erased: those of a write that was cut short.
    private(set) var mayBecomeHeader = false
    /// Why the medium did not give all of it.
    private(set) var failure: KeyFileError?

    init(_ index: Int, of medium: any Medium) {
        self.index = index
        content = .unreadable
        do { try read(medium) } catch { failure = error }
    }

    private mutating func read(_ medium: any Medium) throws(KeyFileError) {
        let geometry = medium.geometry
        let start = geometry.start(of: index)
        var bytes = WipedBuffer(size: SectorHeader.size)
        let reading = try bytes.withMutableBytes { memory throws(KeyFileError) in
            try medium.read(at: start, into: memory)
            mayBecomeHeader = SectorHeader.prologue.indices.allSatisfy { index in
                memory[index] & SectorHeader.prologue[index] == SectorHeader.prologue[index]
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
            if content == .unreadable { tail = .damaged(behind: []) }
        }
    }

    private mutating func readRecords(of medium: any Medium, mark: UInt32) throws(KeyFileError) {
        var reader = RecordReader(medium, sector: index, mark: mark)
        while let record = try reader.next() {
            records += 1
            correctedBits += record.isRepaired ? 1 : 0
            let generation = record.header.generation
            generations = min(generations?.lowerBound ?? generation, generation)...generation
            if records == 1 { hasSnapshot = record.header.kind == .snapshot }
            isClosed = record.header.kind == .closing
        }
        end = reader.offset
        guard reader.end == .damaged || (medium.isRewritable && !isClosed) else { return }
        // Also behind blank bytes, where bytes can be written over: they may have come over records.
        let behind = try medium.changes(in: index, mark, from: end + medium.geometry.writeUnit)
        if reader.end == .damaged || !behind.isEmpty { tail = .damaged(behind: behind) }
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

    /// The generations of the complete changes from `first` on, wherever they begin.
    fileprivate func changes(in sector: Int, _ mark: UInt32, from first: Int) throws(KeyFileError) -> [UInt64] {
        var changes: [UInt64] = []
        var reader = RecordReader(self, sector: sector, mark: mark, from: first, repairs: false)
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
