package struct SectorReport: Sendable, Equatable {
    /// Index of the sector on the medium, from 0.
    package let index: Int
    package var state: State
    /// Header; nil if it is unreadable.
    package var header: Header?
    /// Number of complete records, including the snapshot.
    package var records = 0
    /// Number of records that are parts of a snapshot before its last record.
    package var parts = 0
    package var generations: ClosedRange<UInt64>?
    /// True if the sector ends with a closing record, which names a successor.
    package var isClosed = false
    /// Bytes up to the end of the last complete record.
    package var used = 0
    /// Bytes up to the end of the snapshot, written when the sector is begun.
    package var usedByBeginning = 0
    package let size: Int
    package var problems: [SectorProblem] = []

    package init(index: Int, state: State, size: Int) {
        self.index = index
        self.state = state
        self.size = size
    }

    package enum State: Sendable, Equatable {
        /// The sector is the newest, or has an earlier part of its snapshot.
        case current
        /// The sector has an earlier state, or a part of one.
        case older
        case blank
        /// The erasure or first write of the sector was interrupted, so the sector was never used.
        case unfinished
        case damaged
        /// The format version is not supported.
        case otherVersion(UInt16)
        /// The sector has another root key than the given ones.
        case otherKey
    }

    package struct Header: Sendable, Equatable {
        package let eraseCount: UInt32
        /// Sequence number, one higher for each begun sector.
        package let sequence: UInt64
        /// Time when the sector was begun, in seconds since 1970 by the device's clock.
        package let begun: UInt32
    }
}

package enum SectorProblem: Sendable, Equatable {
    // Problems after a power loss or by ageing, without loss of data.

    /// Number of wrong bits in header and records. Reading corrects them.
    case bitsCorrected(Int)
    /// The content after the last complete record is not a record.
    case incompleteRecord
    /// An unfinished change of the root key has not reached this sector.
    case formerKey

    // Problems that mean damage.

    case unreadableHeader
    /// The medium cannot read all of the sector.
    case unread(KeyFileError)
    /// The sector's first record is missing, so the other records are useless.
    case noSnapshot
    /// Number of complete changes that are unreachable behind damage.
    case changesBehindDamage(Int)
    /// A record, counted from 1, has a valid checksum but is not authentic.
    case notAuthentic(record: Int)
    /// The content was written to sector `from` and moved here.
    case moved(from: Int)
    /// The sector's snapshot does not continue the sector begun before it.
    case linkBroken(predecessor: Int)
    /// The following sector is not the named successor.
    case successorReplaced(Int)
    case successorMissing

    package var isDamage: Bool {
        switch self {
        case .bitsCorrected, .incompleteRecord, .formerKey: false
        case .unreadableHeader, .unread, .noSnapshot, .changesBehindDamage, .notAuthentic, .moved, .linkBroken,
            .successorReplaced, .successorMissing:
            true
        }
    }
}

extension SectorProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .bitsCorrected(let count): "bit errors in \(count) places, corrected when read"
        case .incompleteRecord: "an incomplete record at its end: a write was interrupted"
        case .formerKey: "still encrypted with the former root key: the agent erases it at its start"
        case .unreadableHeader: "its header cannot be read"
        case .unread(let error): "\(error)"
        case .noSnapshot: "its first record, with all or a part of the state, cannot be read"
        case .changesBehindDamage(let count): "\(count) later changes after the damage cannot be read"
        case .notAuthentic(let record): "record \(record) was changed"
        case .moved(let index): "it was written as sector \(index)"
        case .linkBroken(let predecessor): "it does not continue its predecessor, sector \(predecessor)"
        case .successorReplaced(let successor): "its successor, sector \(successor), was replaced"
        case .successorMissing: "its successor is missing"
        }
    }
}
