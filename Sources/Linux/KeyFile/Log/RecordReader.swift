/// Reads the records of one sector in turn, without any key.
struct RecordReader: ~Copyable {
    private let medium: any Medium
    private let sector: Int
    private let mark: SectorHeader.Mark
    private let repairs: Bool
    /// A part of the sector, large enough for any record.
    private var window: WipedBuffer
    /// Where the window begins, from the sector's start; nil before anything was read.
    private var windowStart: Int?
    /// The last record's place in the window.
    private var found = 0..<0
    private var isClosed = false
    /// Where the next record begins, from the sector's start.
    private(set) var offset: Int
    /// What made `next` return nil.
    private(set) var end = End.blank

    enum End {
        /// Nothing more was written.
        case blank
        /// Something is there that is no record.
        case damaged
    }

    struct Found {
        let header: Record.Header
        /// Where it begins, from the sector's start.
        let offset: Int
        /// Whether a wrong bit was put right, in it or in the blank bytes behind it.
        let isRepaired: Bool
    }

    /// - Parameters:
    ///   - mark: of the sector's header. What other sectors in this place have left does not count as records.
    ///   - repairs: whether a single wrong bit in a record is put right.
    init(_ medium: any Medium, sector: Int, mark: SectorHeader.Mark, from offset: Int? = nil, repairs: Bool = true) {
        self.medium = medium
        self.sector = sector
        self.mark = mark
        self.repairs = repairs
        let geometry = medium.geometry
        self.offset = offset ?? geometry.headerSize
        window = WipedBuffer(size: max(Geometry.smallestSector, geometry.aligned(Record.maximumSize)))
    }

    /// - Returns: nil at the end; then `end` says what is there.
    mutating func next() throws(KeyFileError) -> Found? {
        let geometry = medium.geometry
        let room = geometry.sectorSize - offset
        guard !isClosed, room >= Record.headerSize else { return nil }
        var isRepaired = false
        guard let header = try readHeader(&isRepaired) else {
            if repairs { end = try isBlankFromHere() ? .blank : .damaged }
            return nil
        }
        let start = offset
        let end = min(start + geometry.aligned(header.recordSize), geometry.sectorSize)
        let isComplete = try header.recordSize <= room ? readRecord(header, until: end, &isRepaired) : false
        guard isComplete else {
            self.end = .damaged
            return nil
        }
        offset = end
        isClosed = header.kind == .closing
        return Found(header: header, offset: start, isRepaired: isRepaired)
    }

    /// Goes on behind something that is no record.
    mutating func skipUnit() { offset += medium.geometry.writeUnit }

    /// Whether nothing was written here. Where bytes can be written over, what is behind the next blank unit is left from
    /// another use of the sector.
    private mutating func isBlankFromHere() throws(KeyFileError) -> Bool {
        let geometry = medium.geometry
        let end = medium.isRewritable ? min(offset + geometry.writeUnit, geometry.sectorSize) : geometry.sectorSize
        return try isBlank(offset..<end)
    }

    private mutating func isBlank(_ range: Range<Int>) throws(KeyFileError) -> Bool {
        var start = range.lowerBound
        while start < range.upperBound {
            let part = start..<min(start + window.count, range.upperBound)
            let place = try load(part)
            guard window.withBytes({ UnsafeRawBufferPointer(rebasing: $0[place]).isBlank }) else { return false }
            start = part.upperBound
        }
        return true
    }

    /// Sees to it that a part of the sector is in the window.
    /// - Returns: where in the window.
    private mutating func load(_ range: Range<Int>) throws(KeyFileError) -> Range<Int> {
        let windowStart: Int
        if let start = self.windowStart, start <= range.lowerBound, range.upperBound <= start + window.count {
            windowStart = start
        } else {
            // Where the sector is no larger than the window, once for all.
            windowStart = min(range.lowerBound, medium.geometry.sectorSize - window.count)
            self.windowStart = windowStart
            let (medium, place) = (medium, medium.geometry.start(of: sector) + windowStart)
            try window.withMutableBytes { bytes throws(KeyFileError) in try medium.read(at: place, into: bytes) }
        }
        return (range.lowerBound - windowStart)..<(range.upperBound - windowStart)
    }

    private mutating func readHeader(_ isRepaired: inout Bool) throws(KeyFileError) -> Record.Header? {
        let place = try load(offset..<(offset + Record.headerSize))
        let (mark, repairs) = (mark, repairs)
        return window.withMutableBytes { window in
            let bytes = UnsafeMutableRawBufferPointer(rebasing: window[place])
            guard !UnsafeRawBufferPointer(bytes).isBlank else { return nil }
            let header = Record.Header(bytes, in: mark, isRepaired: &isRepaired)
            return repairs || !isRepaired ? header : nil
        }
    }

    /// - Parameter end: where the next record begins.
    /// - Returns: whether the checksum is right, perhaps after one bit was put right.
    private mutating func readRecord(
        _ header: Record.Header, until end: Int, _ isRepaired: inout Bool
    ) throws(KeyFileError) -> Bool {
        let place = try load(offset..<end)
        found = place.prefix(header.recordSize)
        let (mark, repairs, found) = (mark, repairs, found)
        return window.withMutableBytes { window in
            let bytes = UnsafeMutableRawBufferPointer(rebasing: window[found])
            // As it was put right, so that the checksum of the whole is right as well.
            bytes.copyBytes(from: header.bytes(in: mark))
            if !UnsafeRawBufferPointer(rebasing: window[found.endIndex..<place.endIndex]).isBlank { isRepaired = true }
            let checked = UnsafeMutableRawBufferPointer(rebasing: bytes[..<(bytes.count - Record.checksumSize)])
            let checksum = UnsafeRawBufferPointer(rebasing: bytes[checked.count...]).bigEndian(UInt32.self)
            if CRC32.checksum(UnsafeRawBufferPointer(checked)) == checksum { return true }
            guard repairs, CRC32.repairBit(of: checked, checksum: checksum) else { return false }
            isRepaired = true
            return true
        }
    }

    /// Decrypts the record that was read last.
    /// - Returns: nil if it is not what was written there.
    func open(_ record: Found, _ keys: SectorKeys, sector: SectorHeader, previousTag: [UInt8]) -> WipedBuffer? {
        let context = SectorKeys.Context(
            sector: sector, offset: record.offset, header: record.header, previousTag: previousTag)
        return window.withBytes { window in
            var reader = ByteReader(UnsafeRawBufferPointer(rebasing: window[found]))
            guard reader.bytes(Record.headerSize) != nil, let nonce = reader.bytes(Record.nonceSize),
                let ciphertext = reader.bytes(record.header.bodySize), let tag = reader.bytes(Record.tagSize)
            else { return nil }
            return keys.open(nonce: nonce, ciphertext: ciphertext, tag: tag, context)
        }
    }

    /// The authentication tag of the record that was read last.
    var tag: [UInt8] {
        window.withBytes { Array($0[found].dropLast(Record.checksumSize).suffix(Record.tagSize)) }
    }
}
