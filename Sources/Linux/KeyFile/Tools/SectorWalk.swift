import AgentModel

/// The records of one sector in turn, each checked against what it must follow if the key is there.
struct SectorWalk {
    /// Behind the first record, from the sector's start.
    private(set) var endOfSnapshot = 0
    /// The record that is not what was written there, counted from 1.
    private(set) var forged: Int?

    // What only the key shows.

    /// The tag of the last record before this snapshot was begun. Zeros if there was none. Its first record has it.
    private(set) var link: [UInt8]?
    /// Of each record, in order.
    private(set) var tags: [[UInt8]] = []
    /// Of the record that a snapshot ends with.
    private(set) var snapshotTag: [UInt8]?
    /// What the closing record says follows: its sequence number, and the tag of its snapshot.
    private(set) var successor: (sequence: UInt64, tag: [UInt8])?

    /// - Parameters:
    ///   - keys: nil to see only what needs none.
    ///   - before: the last record's tag of the sector that has the part of the snapshot before.
    init(
        _ index: Int, _ header: SectorHeader, of medium: any Medium, _ keys: SectorKeys?, after before: [UInt8]?
    ) {
        // Where the medium does not give all of it, the scan has said so.
        try? read(index, header, medium, keys, before)
    }

    private mutating func read(
        _ index: Int, _ header: SectorHeader, _ medium: any Medium, _ keys: SectorKeys?, _ before: [UInt8]?
    ) throws(KeyFileError) {
        var previousTag = before ?? Record.noTag
        var count = 0
        var reader = RecordReader(medium, sector: index, mark: header.mark)
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
            body.withBytes { note(record.header, $0) }
        }
    }

    private mutating func note(_ header: Record.Header, _ bytes: UnsafeRawBufferPointer) {
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
