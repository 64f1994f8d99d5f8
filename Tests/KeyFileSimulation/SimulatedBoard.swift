import AgentModel
import KeyFile
import Randomness

/// A device's board: what the store is on, and the disk with the root key and the anchor, which is the same one where the
/// store is a file. All of it loses its power at the same time.
package final class SimulatedBoard {
    package let storage: any SimulatedStorage
    /// Where the root key is.
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
