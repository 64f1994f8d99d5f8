/// A record's place and form in a sector. Docs/key-file.md has the layout.
enum Record {
    enum Kind: UInt8 {
        /// All cells. The first record of every sector, and only that.
        case snapshot = 1
        /// The cells that one commit changed.
        case change = 2
        /// The sector is closed: the store goes on in the one that is named.
        case closing = 3
        /// The beginning of a snapshot, or what follows it, where one record is too small for all of it. From version 3 on.
        case part = 4

        var isOfSnapshot: Bool { self == .snapshot || self == .part }
    }

    static let headerSize = 16
    static let nonceSize = 12
    static let tagSize = 16
    static let checksumSize = 4
    /// Stands for the record before the first one.
    static let noTag = [UInt8](repeating: 0, count: tagSize)
    /// Everything around the encrypted body.
    static let overhead = headerSize + nonceSize + tagSize + checksumSize
    /// The largest record that fits, with header and closing record, into the smallest sector.
    static let maximumSize = Geometry.smallestSector - SectorHeader.size - closingSize
    static let maximumBody = maximumSize - overhead
    /// The largest number of parts that a snapshot has before its last record. That record may have nothing left to hold.
    static let maximumParts = (CellChanges.maximumSize + tagSize + maximumBody - 1) / maximumBody
    /// A closing record's body: the successor's sequence number and the tag of its snapshot.
    static let closingBody = 8 + tagSize
    /// Rounded up to the smallest write unit.
    static let closingSize = (overhead + closingBody + 15) & ~15

    /// The unencrypted head of a record.
    struct Header {
        let kind: Kind
        /// Bytes of the encrypted body.
        let bodySize: Int
        let generation: UInt64
        /// Of a snapshot's records: the number of records that hold what comes before.
        let part: Int

        /// Without the padding to the next write unit.
        var recordSize: Int { overhead + bodySize }

        /// - Parameter mark: of the sector that it is in.
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

        /// - Returns: nil if the bytes are no header in the sector with this mark, also not with one bit put right.
        init?(_ bytes: UnsafeMutableRawBufferPointer, in mark: SectorHeader.Mark, isRepaired: inout Bool) {
            let checked = UnsafeMutableRawBufferPointer(rebasing: bytes[..<(headerSize - checksumSize)])
            let checksum = UnsafeRawBufferPointer(rebasing: bytes[checked.count...]).bigEndian(UInt32.self)
            if CRC32.checksum(UnsafeRawBufferPointer(checked), after: mark.checksum) != checksum {
                guard CRC32.repairBit(of: checked, after: mark.checksum, checksum: checksum) else { return nil }
                isRepaired = true
            }
            // With the checksum put right as well, for it is authenticated with the rest.
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
