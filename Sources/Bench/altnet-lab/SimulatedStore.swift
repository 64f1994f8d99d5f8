import AppProtocol
import Glibc
import KeyFile
import KeyFileSimulation
import Randomness
import Simulation

/// A device's key file on simulated flash or on a simulated disk, through kills, power cuts and a full disk.
final class SimulatedStore: DeviceStore {
    private var board: SimulatedBoard
    private var keyFile: KeyFile
    private var random: SeededRandom
    /// Changes of the medium before the last opening.
    private var earlier = (writes: 0, erasures: [Int]())
    /// Promises that the store broke.
    private(set) var broken: [String] = []

    init(isFlash: Bool, seed: UInt64) throws(KeyFileError) {
        random = SeededRandom(seed: seed)
        board = (isFlash ? KeyFileSimulation.Scenario.smallFlash : .anchoredFile).board(seed: seed)
        keyFile = try board.open()
        // As at manufacture: a cut of a chip's first write asks for a user.
        try keyFile.commit(StoredState(backupsRevision: 1))
    }

    var state: StoredState { keyFile.state }

    var isFull = false {
        didSet { refuseWrites() }
    }

    private func refuseWrites() {
        // A full file system does not concern a flash chip.
        board.disk.refusesWrites = isFull ? ENOSPC : nil
    }

    func commit(_ new: StoredState) throws(ProtocolError) {
        do { try keyFile.commit(new) } catch { throw ProtocolError(.storageFailed, "\(error)") }
    }

    func reopen(afterPowerCut: Bool) {
        let acknowledged = keyFile.state
        earlier = (writes, erasures)
        board = afterPowerCut ? board.afterPowerCut(using: &random) : board.afterKill(using: &random)
        // A file opens on a full disk, which `refusesWrites` would prevent.
        defer { refuseWrites() }
        do throws(KeyFileError) {
            keyFile = try board.open()
            if keyFile.state != acknowledged { broken.append("an acknowledged state was lost") }
            broken += keyFile.report.map { "after a restart: \($0)" } + board.storage.violations
        } catch {
            broken.append("the key file did not open: \(error)")
        }
    }

    /// Number of operations that changed the medium.
    var writes: Int { earlier.writes + board.storage.writes }
    /// Number of times that each sector was erased; empty for a file.
    var erasures: [Int] {
        let counts = (board.storage as? SimulatedFlash)?.eraseCounts ?? []
        return earlier.erasures.isEmpty ? counts : zip(earlier.erasures, counts).map(+)
    }
}
