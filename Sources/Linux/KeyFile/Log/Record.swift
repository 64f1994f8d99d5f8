/// Format of a record in a sector (Docs/reference/key-file-format.md).
enum Record {
    enum Kind: UInt8 {
        /// Last record of a snapshot of all cells. The following changes apply to this snapshot.
        case snapshot = 1
        /// Cells that one commit changed.
        case change = 2
        /// Closes the sector and names its successor.
        case closing = 3
        /// A part of a snapshot that is too large for one record; since version 3.
        case part = 4

        var isOfSnapshot: Bool { self == .snapshot || self == .part }
    }

    static let headerSize = 16
    static let nonceSize = 12
    static let tagSize = 16
    static let checksumSize = 4
    /// Placeholder for the previous tag if there is no previous record: zeros.
    static let noTag = [UInt8](repeating: 0, count: tagSize)
    /// Size of a record without its body, in bytes.
    static let overhead = headerSize + nonceSize + tagSize + checksumSize
    /// Maximum size of a record in bytes. The smallest sector has room for it, a header and a closing record.
    static let maximumSize = Geometry.smallestSector - SectorHeader.size - closingSize
    static let maximumBody = maximumSize - overhead
    /// Maximum number of parts before the last record of a snapshot. The last record may be empty.
    static let maximumParts = (CellChanges.maximumSize + tagSize + maximumBody - 1) / maximumBody
    /// Size of a closing record's body in bytes: the successor's sequence number and its snapshot's tag.
    static let closingBody = 8 + tagSize
    /// Size of a closing record in bytes, rounded up to the smallest write unit.
    static let closingSize = (overhead + closingBody + 15) & ~15

    struct Header {
        let kind: Kind
        /// Size of the encrypted body in bytes.
        let bodySize: Int
        let generation: UInt64
        /// Number of the snapshot's records before this one.
        let part: Int

        /// Size of the record in bytes, without padding.
        var recordSize: Int { overhead + bodySize }

        func bytes(in mark: SectorHeader.Mark) -> [UInt8] {
            var bytes = WipedBuffer(capacity: headerSize)
            bytes.append(kind.rawValue)
            bytes.append(UInt8(part))
            bytes.append(bigEndian: UInt16(bodySize))
            bytes.append(bigEndian: generation)
            bytes.append(bigEndian: bytes.withBytes { CRC32.checksum($0, after: mark.checksum) })
            return bytes.withBytes { Array($0) }
        }

        init(kind: Kind, bodySize: Int, generation: UInt64, part: Int = 0) {
            self.kind = kind
            self.bodySize = bodySize
            self.generation = generation
            self.part = part
        }

        /// - Returns: nil if the bytes are not a header of this sector, even after one bit was corrected.
        init?(_ bytes: UnsafeMutableRawBufferPointer, in mark: SectorHeader.Mark, isRepaired: inout Bool) {
            let checked = UnsafeMutableRawBufferPointer(rebasing: bytes[..<(headerSize - checksumSize)])
            let checksum = UnsafeRawBufferPointer(rebasing: bytes[checked.count...]).bigEndian(UInt32.self)
            if CRC32.checksum(UnsafeRawBufferPointer(checked), after: mark.checksum) != checksum {
                guard CRC32.repairBit(of: checked, after: mark.checksum, checksum: checksum) else { return nil }
                isRepaired = true
            }
            // The caller writes the header back with a correct checksum, because authentication covers the checksum
            // too.
            var reader = ByteReader(UnsafeRawBufferPointer(checked))
            guard let code = reader.integer(UInt8.self), let kind = Kind(rawValue: code),
                let part = reader.integer(UInt8.self), part <= maximumParts, part == 0 || kind.isOfSnapshot,
                mark.allowsParts || (part == 0 && kind != .part),
                let size = reader.integer(UInt16.self), size <= maximumBody,
                let generation = reader.integer(UInt64.self)
            else { return nil }
            self.init(kind: kind, bodySize: Int(size), generation: generation, part: Int(part))
        }
    }
}

/// Reads the records of one sector in order. Needs no key.
struct SectorRecordReader: ~Copyable {
    private let medium: any Medium
    private let sector: Int
    private let mark: SectorHeader.Mark
    private let repairs: Bool
    /// Buffer with the loaded part of the sector, large enough for any record.
    private var window: WipedBuffer
    /// Offset of the window, in bytes from the sector's start; nil before the first read.
    private var windowStart: Int?
    /// Range of the last read record in the window.
    private var found = 0..<0
    private var isClosed = false
    /// Offset of the next record, in bytes from the sector's start.
    private(set) var offset: Int
    /// Reason why `next` returned nil.
    private(set) var end = End.blank

    enum End {
        case blank
        /// The bytes are neither blank nor a record.
        case damaged
    }

    struct Found {
        let header: Record.Header
        /// Offset of the record, in bytes from the sector's start.
        let offset: Int
        /// True if a wrong bit was corrected, in the record or in the padding after it.
        let isRepaired: Bool
    }

    /// - Parameters:
    ///   - mark: mark of the sector's header. Remains of other sectors do not match it.
    ///   - repairs: true to correct single wrong bits.
    init(_ medium: any Medium, sector: Int, mark: SectorHeader.Mark, from offset: Int? = nil, repairs: Bool = true) {
        self.medium = medium
        self.sector = sector
        self.mark = mark
        self.repairs = repairs
        let geometry = medium.geometry
        self.offset = offset ?? geometry.headerSize
        window = WipedBuffer(size: max(Geometry.smallestSector, geometry.aligned(Record.maximumSize)))
    }

    /// - Returns: nil at the end. Then `end` has the reason.
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

    /// Skips one write unit, to search for a record behind it.
    mutating func skipUnit() { offset += medium.geometry.writeUnit }

    /// True if no data follows. On rewritable media, one blank write unit ends the data: later bytes are left from an
    /// earlier use of the sector.
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

    /// Loads a part of the sector into the window.
    /// - Returns: the part's range in the window.
    private mutating func load(_ range: Range<Int>) throws(KeyFileError) -> Range<Int> {
        let windowStart: Int
        if let start = self.windowStart, start <= range.lowerBound, range.upperBound <= start + window.count {
            windowStart = start
        } else {
            // Loads the whole sector if it fits in the window.
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

    /// - Parameter end: offset of the next record.
    /// - Returns: true if the checksum is right, perhaps after one bit was corrected.
    private mutating func readRecord(
        _ header: Record.Header, until end: Int, _ isRepaired: inout Bool
    ) throws(KeyFileError) -> Bool {
        let place = try load(offset..<end)
        found = place.prefix(header.recordSize)
        let (mark, repairs, found) = (mark, repairs, found)
        return window.withMutableBytes { window in
            let bytes = UnsafeMutableRawBufferPointer(rebasing: window[found])
            // Copy the corrected header, which the record's checksum covers.
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

    /// Decrypts the last record.
    /// - Returns: nil if it is not authentic.
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

    var tag: [UInt8] {
        window.withBytes { Array($0[found].dropLast(Record.checksumSize).suffix(Record.tagSize)) }
    }
}
