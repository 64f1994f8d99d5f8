/// The findings of verifying in one sector.
package struct SectorReport: Sendable, Equatable {
    /// From 0, in the order on the medium.
    package let index: Int
    package var state: State
    /// Of a sector whose header can be read.
    package var header: Header?
    /// Complete records, the first of them the snapshot.
    package var records = 0
    /// How many of them are parts of a snapshot that ends behind them.
    package var parts = 0
    package var generations: ClosedRange<UInt64>?
    /// Whether its last record says that the store goes on elsewhere.
    package var isClosed = false
    /// Bytes up to the end of the last complete record.
    package var used = 0
    /// Bytes up to the end of the snapshot: what a sector has when it is begun.
    package var usedByBeginning = 0
    package let size: Int
    package var problems: [SectorProblem] = []

    package init(index: Int, state: State, size: Int) {
        self.index = index
        self.state = state
        self.size = size
    }

    package enum State: Sendable, Equatable {
        /// The newest one, which the store goes on in, or one with the beginning of its snapshot.
        case current
        /// A copy of the state at an earlier time, or a part of one.
        case older
        /// Erased, or never used.
        case blank
        /// It was being erased or begun when the power went: it never counted.
        case unfinished
        case damaged
        /// Written by an altnet that this one does not understand.
        case otherVersion(UInt16)
        /// Under a root key that was not given.
        case otherKey
    }

    package struct Header: Sendable, Equatable {
        package let eraseCount: UInt32
        /// Counts the sectors that were begun.
        package let sequence: UInt64
        /// When it was begun, in seconds since 1970 by the clock of that moment.
        package let begun: UInt32
    }
}

/// Something that verifying a sector found amiss.
package enum SectorProblem: Sendable, Equatable {
    // Left by a power cut or by the passage of time.

    /// So many records, or the header, had one wrong bit each, which is put right when they are read.
    case bitsCorrected(Int)
    /// Behind the last complete record is something that is none.
    case incompleteRecord
    /// A change of the root key has not got to this sector yet.
    case formerKey

    // Damage.

    case unreadableHeader
    /// The medium does not give all of it.
    case unread(KeyFileError)
    /// The first record, on which all others build, is not there.
    case noSnapshot
    /// Complete changes lie behind the damage, out of reach.
    case changesBehindDamage(Int)
    /// A record, counted from 1, with a good checksum that is not what was written there.
    case notAuthentic(record: Int)
    /// It was written as another sector.
    case moved(from: Int)
    /// Its snapshot does not continue the sector that was begun before it.
    case linkBroken(predecessor: Int)
    /// It says that another sector follows than the one that is there.
    case successorReplaced(Int)
    /// It says that another sector follows, and there is none.
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
        case .bitsCorrected(let count): "single wrong bits in \(count) places, put right when read"
        case .incompleteRecord: "an incomplete record at its end, as a write that was cut short leaves it"
        case .formerKey: "still under the former root key: it is erased when the agent starts"
        case .unreadableHeader: "its header cannot be read"
        case .unread(let error): "\(error)"
        case .noSnapshot: "its first record, which holds the state or a part of it, cannot be read"
        case .changesBehindDamage(let count): "\(count) later changes lie behind the damage, out of reach"
        case .notAuthentic(let record): "record \(record) is not what was written there"
        case .moved(let index): "it was written as sector \(index)"
        case .linkBroken(let predecessor): "it does not continue sector \(predecessor), which was begun before it"
        case .successorReplaced(let successor): "sector \(successor) is not the one that it says follows"
        case .successorMissing: "the sector that it says follows is gone"
        }
    }
}
