/// Something that opening the store found amiss, in words for the log. The state that is there is one that was
/// committed, whole, whatever is found.
public enum Finding: Sendable, Equatable {
    // Harmless.

    /// The last record is incomplete: it was cut short before it was acknowledged. (Or it is badly damaged; an anchor
    /// can tell.) It does not count.
    case interruptedWrite
    /// A change of the root key was cut short, and was finished.
    case keyChangeFinished
    /// A change of the root key was cut short before it counted.
    case keyChangeAbandoned
    /// Other users could read this file.
    case readableByOthers(path: String, corrected: Bool)
    /// Single wrong bits were found and put right.
    case bitsCorrected(records: Int)
    /// A part that holds no current data is damaged; it is used again in its turn.
    case oldSectorDamaged(sector: Int)
    /// So many addresses of networks, static ones or leases, do not count: an altnet that does not know them has removed
    /// their networks, or no host can have them.
    case addressesDropped(Int)

    // Data is lost, or the store was tampered with.

    /// Nothing in the file could be read. The store starts empty; the file is kept for an examination,
    /// where that is possible.
    case unreadable(keptAs: String?)
    /// The file or device is erased, although it has been used before.
    case erased
    /// The file was cut off or extended.
    case wrongSize(bytes: Int, expected: Int)
    /// The medium does not give a sector back. The content of the others counts.
    case sectorUnreadable(sector: Int, KeyFileError)
    /// The newest records are damaged: the state before them stands, and at least so many changes are lost.
    case changesLost(atLeast: Int)
    /// The newest sector is gone: the state before it stands.
    case newestSectorLost
    /// Sectors are not where they were written: they were moved. Their order is known all the same.
    case sectorsMoved
    /// The anchor knows of a later state: an older image of the store was put back, or its newest records were erased.
    case rolledBack(generation: UInt64, anchor: UInt64)
    /// The anchor knows another state of the same age: the store was replaced by another image of it.
    case replaced(generation: UInt64)
    /// There is no anchor, although the store has been used before: it was removed, or is new itself. A new one is
    /// begun.
    case anchorMissing
    /// The stored cells are not a state that altnet writes.
    case impossibleContent

    // The medium refused.

    /// The state that was read is right, but could not be made durable, tidied up or noted in the anchor. The next
    /// commit tries again.
    case postponed(KeyFileError)
    case anchorUnusable(KeyFileError)
}

extension Finding {
    /// Whether the user should know: networks may be missing, or the store was tampered with.
    public var isSerious: Bool {
        switch self {
        case .interruptedWrite, .keyChangeFinished, .keyChangeAbandoned, .readableByOthers, .bitsCorrected,
            .oldSectorDamaged, .addressesDropped, .postponed:
            false
        case .unreadable, .erased, .wrongSize, .sectorUnreadable, .changesLost, .newestSectorLost, .sectorsMoved,
            .rolledBack, .replaced, .anchorMissing,
            .impossibleContent, .anchorUnusable:
            true
        }
    }
}

extension Finding: CustomStringConvertible {
    public var description: String {
        switch self {
        case .interruptedWrite: "the last record of the key file is incomplete, as a write that was cut short leaves it"
        case .keyChangeFinished: "a change of the root key was cut short, and was finished"
        case .keyChangeAbandoned: "a change of the root key was cut short before it counted: begin it again"
        case .readableByOthers(let path, let corrected):
            "other users could read \(path): \(corrected ? "its mode is 0600 now" : "set its mode to 0600")"
        case .bitsCorrected(let records):
            "single wrong bits in \(records) records of the key file were put right: the flash may be wearing out"
        case .oldSectorDamaged(let sector): "sector \(sector) of the key file, which holds nothing current, is damaged"
        case .addressesDropped(let count):
            "\(count) addresses or credentials in the key file are of no network in it, or of no host, and do not count"
        case .unreadable(let path):
            "nothing in the key file could be read\(path.map { "; it was kept aside as \($0)" } ?? ""): "
                + "provision the device again"
        case .erased: "the key file was erased: provision the device again"
        case .wrongSize(let bytes, let expected): "the key file has \(bytes) bytes instead of \(expected)"
        case .sectorUnreadable(let sector, let error): "sector \(sector) of the key file: \(error)"
        case .changesLost(let count):
            "the newest records of the key file are damaged: the state before them stands, "
                + "\(count) or more changes are lost"
        case .newestSectorLost: "the newest sector of the key file is gone: the state before it stands"
        case .sectorsMoved: "sectors of the key file are not where they were written: they were moved"
        case .rolledBack(let generation, let anchor):
            "the key file is older than it must be (generation \(generation), the anchor knows \(anchor)): an "
                + "old image was put back, or its newest records were erased"
        case .replaced(let generation):
            "the key file is not the one that the anchor knows (generation \(generation)): it was replaced"
        case .anchorMissing:
            "there is no anchor, although the key file has been in use: whether it was rolled back is unknown; a new anchor "
                + "is begun"
        case .impossibleContent: "the key file holds a state that altnet does not write: provision the device again"
        case .postponed(let error): "the key file is readable, but could not be tidied up: \(error)"
        case .anchorUnusable(let error): "\(error)"
        }
    }
}
