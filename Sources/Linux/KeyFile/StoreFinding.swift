/// A problem found when the store was opened. The opened state is always a complete commit.
public enum StoreFinding: Sendable, Equatable {

    /// The last record is incomplete and ignored: a write was interrupted before its acknowledgement. Only an anchor
    /// can detect that the record was damaged later instead.
    case interruptedWrite
    /// An interrupted change of the root key was finished.
    case keyChangeFinished
    /// A change of the root key was interrupted before it took effect.
    case keyChangeAbandoned
    case readableByOthers(path: String, corrected: Bool)
    /// Single wrong bits were corrected.
    case bitsCorrected(records: Int)
    /// A sector without current data is damaged. It will be reused.
    case oldSectorDamaged(sector: Int)
    /// Number of dropped entries of optional kinds, such as addresses and credentials. An older altnet has removed
    /// their network, or their values are impossible.
    case cellsDropped(Int)

    // Findings that mean lost data or manipulation.

    /// The file has no readable content. The store starts empty, and the file is kept under another name if possible.
    case unreadable(keptAs: String?)
    /// The file or device is erased although it was used before.
    case erased
    case wrongSize(bytes: Int, expected: Int)
    /// The medium cannot read a sector. The other sectors are used.
    case sectorUnreadable(sector: Int, KeyFileError)
    /// The newest records are damaged. The state before them is used; at least this many changes are lost.
    case changesLost(atLeast: Int)
    /// The newest sector is lost. The state before it is used.
    case newestSectorLost
    /// Sectors were moved. Their order is still known.
    case sectorsMoved
    /// The anchor holds a later state: an older image was restored, or the newest records were erased.
    case rolledBack(generation: UInt64, anchor: UInt64)
    /// The anchor holds another state of the same generation: the store was replaced.
    case replaced(generation: UInt64)
    /// The anchor is missing although the store was used before. It was removed, or it was configured only now. A new
    /// one is created.
    case anchorMissing
    /// The cells are not a state that altnet writes.
    case impossibleContent

    /// The state is valid, but could not be synchronised, repaired or stored in the anchor. The next commit tries
    /// again.
    case postponed(KeyFileError)
    case anchorUnusable(KeyFileError)
}

extension StoreFinding {
    /// True if the user must know: networks may be missing, or the store was manipulated.
    public var isSerious: Bool {
        switch self {
        case .interruptedWrite, .keyChangeFinished, .keyChangeAbandoned, .readableByOthers, .bitsCorrected,
            .oldSectorDamaged, .cellsDropped, .postponed:
            false
        case .unreadable, .erased, .wrongSize, .sectorUnreadable, .changesLost, .newestSectorLost, .sectorsMoved,
            .rolledBack, .replaced, .anchorMissing,
            .impossibleContent, .anchorUnusable:
            true
        }
    }
}

extension StoreFinding: CustomStringConvertible {
    public var description: String {
        switch self {
        case .interruptedWrite: "the last record of the key file is incomplete: a write was interrupted"
        case .keyChangeFinished: "an interrupted change of the root key was completed"
        case .keyChangeAbandoned: "a change of the root key was interrupted before it took effect: start it again"
        case .readableByOthers(let path, let corrected):
            "other users could read \(path): \(corrected ? "its mode is 0600 now" : "set its mode to 0600")"
        case .bitsCorrected(let records):
            "bit errors corrected in \(records) records of the key file: the flash may be wearing out"
        case .oldSectorDamaged(let sector): "an unused sector of the key file is damaged: \(sector)"
        case .cellsDropped(let count):
            "ignoring entries of the key file that are invalid or have no network: \(count)"
        case .unreadable(let path):
            "the key file is unreadable\(path.map { "; it was kept as \($0)" } ?? ""): "
                + "provision the device again"
        case .erased: "the key file was erased: provision the device again"
        case .wrongSize(let bytes, let expected): "the key file has \(bytes) bytes instead of \(expected)"
        case .sectorUnreadable(let sector, let error): "sector \(sector) of the key file: \(error)"
        case .changesLost(let count):
            "the newest records of the key file are damaged: using the state before them, "
                + "\(count) or more changes are lost"
        case .newestSectorLost: "the newest sector of the key file is missing: using the state before it"
        case .sectorsMoved: "sectors of the key file were moved from where they were written"
        case .rolledBack(let generation, let anchor):
            "the key file is outdated (generation \(generation), anchor \(anchor)): an "
                + "old image was restored, or its newest records were erased"
        case .replaced(let generation):
            "the key file does not match its anchor (generation \(generation)): it was replaced"
        case .anchorMissing:
            "the anchor is missing although the key file was in use: a rollback cannot be ruled out; starting a "
                + "new anchor"
        case .impossibleContent: "the key file contains an invalid state: provision the device again"
        case .postponed(let error): "the key file is readable, but its maintenance failed: \(error)"
        case .anchorUnusable(let error): "\(error)"
        }
    }
}
