import AgentModel
import KeyFile
import Randomness

/// A device's board: what the store is on, and the disk with the root key and the anchor, which is the same one where
/// the store is a file. All of it loses its power at the same time.
package final class SimulatedBoard {
    package let storage: any SimulatedStorage
    /// The disk of the root key.
    package let disk: SimulatedDisk
    package let isAnchored: Bool
    /// The version of the format that the board's program writes.
    package var version = RecordLog.currentVersion
    private var random: SeededRandom

    package init(_ storage: any SimulatedStorage, disk: SimulatedDisk, isAnchored: Bool, seed: UInt64) {
        (self.storage, self.disk, self.isAnchored) = (storage, disk, isAnchored)
        random = SeededRandom(seed: seed)
    }

    /// With a disk of its own if the storage is none.
    package convenience init(_ storage: any SimulatedStorage, isAnchored: Bool = false, seed: UInt64 = 0) {
        let disk = storage as? SimulatedDisk ?? SimulatedDisk(seed: seed)
        self.init(storage, disk: disk, isAnchored: isAnchored, seed: seed)
    }

    /// Called in the middle of everything that lasts.
    package var onOperation: (() -> Void)? {
        didSet {
            storage.onOperation = onOperation
            disk.onOperation = onOperation
        }
    }

    package var rootKey: RootKeyFile {
        RootKeyFile(name: "root-key", files: disk, random: SeededRandom(seed: random.next()))
    }

    package var anchor: FileAnchor? { isAnchored ? FileAnchor(name: "anchor", files: disk) : nil }

    /// Opens the store, as an agent that starts does.
    package func open(maximumBackups: Int = 3) throws(KeyFileError) -> KeyFile {
        let medium = try storage.medium()
        return try KeyFile(
            on: medium, path: "/store/keyfile", findings: (medium as? FileMedium)?.findings ?? [],
            maximumBackups: maximumBackups, rootKey: rootKey, anchor: anchor,
            random: SeededRandom(seed: random.next()), now: { 1_700_000_000 }, version: version)
    }

    /// A root key that was never used.
    package func anotherRootKey() -> Secret {
        Secret((0..<RootKeys.size).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    }

    package func afterPowerCut(_ outcome: CutOutcome = .before, using random: inout SeededRandom) -> SimulatedBoard {
        copy { $0.afterPowerCut(outcome, using: &random) }
    }

    package func afterKill(using random: inout SeededRandom) -> SimulatedBoard {
        copy { $0.afterKill(using: &random) }
    }

    private func copy(_ copy: (any SimulatedStorage) -> any SimulatedStorage) -> SimulatedBoard {
        let newStorage = copy(storage)
        let newDisk = newStorage as? SimulatedDisk ?? copy(disk) as? SimulatedDisk ?? SimulatedDisk()
        let board = SimulatedBoard(newStorage, disk: newDisk, isAnchored: isAnchored, seed: random.next())
        board.version = version
        return board
    }
}

/// The storage of a store in a test: it can be copied as a power cut, or a kill, would leave it at any moment.
package protocol SimulatedStorage: AnyObject {
    /// The medium that the store opens. Each opening gets its own.
    func medium() throws(KeyFileError) -> any Medium
    /// Called in the middle of every operation that changes or synchronises something. The closure may take copies.
    var onOperation: (() -> Void)? { get set }
    /// Makes one operation fail.
    var accident: Accident? { get set }
    /// How many operations there were, reading included.
    var operations: Int { get }
    /// How many of them change or synchronise something.
    var writes: Int { get }
    /// Operations that real storage would not take, in words; empty if all is well.
    var violations: [String] { get }
    /// The storage as it may be when the power comes back.
    /// - Parameter outcome: what became of the operation that was under way, if one was.
    func afterPowerCut(_ outcome: CutOutcome, using random: inout SeededRandom) -> any SimulatedStorage
    /// The storage after the process was killed in the middle of the operation under way, if there is one: what the
    /// system has in its memory is not lost.
    func afterKill(using random: inout SeededRandom) -> any SimulatedStorage
}

/// The effect of a power cut on the operation under way.
package enum CutOutcome: CaseIterable, Sendable {
    /// It had not begun.
    case before
    /// It was done, but the program did not learn of it.
    case after
    /// Only its first part was done.
    case prefix
    /// Only its last part was done.
    case suffix
    /// Any part was done: bytes or bits here and there.
    case mixed
    /// A part of what it wrote is zeros.
    case zeroed
    /// A part of what it wrote is anything.
    case random
}

/// The operation with the number `at`, counted from 0, fails once.
package struct Accident: Sendable {
    package var at: Int
    package var errno: Int32

    package init(at: Int, errno: Int32) {
        self.at = at
        self.errno = errno
    }
}

extension SeededRandom {
    /// - Parameter limit: more than 0.
    package mutating func below(_ limit: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(limit)) }

    mutating func part(of count: Int) -> Range<Int> {
        let (one, other) = (below(count + 1), below(count + 1))
        return min(one, other)..<max(one, other)
    }

    mutating func outcome() -> CutOutcome { CutOutcome.allCases[below(CutOutcome.allCases.count)] }
}

/// The kind of storage in a run.
package enum Scenario: String, CaseIterable, Sendable, CustomStringConvertible {
    /// A file, and a file with an anchor beside it.
    case file
    case anchoredFile
    /// NOR flash of the smallest size, and larger.
    case smallestFlash
    case smallFlash
    case wideFlash
    /// NAND flash, whose pages can be written once.
    case pagedFlash
    /// NOR flash in which the second of four sectors is bad.
    case wornFlash
    /// A file, NOR flash with bad sectors, and NAND flash whose states take several sectors.
    case largeFile
    case largeFlash
    case largePagedFlash
    /// A file and flash that an altnet with version 2 of the format has written.
    case formerFile
    case formerFlash

    package var description: String { rawValue }

    private var geometry: Geometry? {
        switch self {
        case .file, .anchoredFile, .largeFile, .formerFile: .file
        case .smallestFlash: Geometry(sectorSize: 4096, sectorCount: 2, writeUnit: 16)
        case .smallFlash, .wornFlash, .formerFlash: Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16)
        case .largeFlash: Geometry(sectorSize: 4096, sectorCount: 14, writeUnit: 16)
        case .largePagedFlash: Geometry(sectorSize: 16384, sectorCount: 6, writeUnit: 2048)
        case .wideFlash: Geometry(sectorSize: 8192, sectorCount: 3, writeUnit: 16)
        case .pagedFlash: Geometry(sectorSize: 16384, sectorCount: 4, writeUnit: 2048)
        }
    }

    private var isFile: Bool { [.file, .anchoredFile, .largeFile, .formerFile].contains(self) }

    /// How many bytes a state can have beside networks and counters.
    package var ballast: Int {
        switch self {
        case .largeFile: 30_000
        case .largeFlash: 18_000
        case .largePagedFlash: 34_000
        default: 0
        }
    }

    /// Whether the store begins in the former version of the format.
    package var isFormer: Bool { self == .formerFile || self == .formerFlash }

    package func storage(seed: UInt64) -> any SimulatedStorage {
        guard !isFile, let geometry else { return SimulatedDisk(seed: seed) }
        let flash = SimulatedFlash(geometry, seed: seed)
        if self == .wornFlash { flash.badSectors = [1] }
        if self == .largeFlash { flash.badSectors = [3, 7] }
        return flash
    }

    package func board(seed: UInt64) -> SimulatedBoard {
        let isAnchored = [.anchoredFile, .smallFlash, .largeFlash, .formerFile].contains(self)
        return SimulatedBoard(storage(seed: seed), isAnchored: isAnchored, seed: seed)
    }
}
