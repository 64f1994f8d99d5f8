import AgentModel
import KeyFile

/// Flips bits of a file in turn, each in a copy of its own: what the store says then must be what was committed last, or,
/// with a serious finding, an earlier state.
package struct BitFlips: Sendable {
    package struct Totals: Sendable {
        /// The newest state, and the damage was said.
        package var corrected = 0
        /// An earlier state, and the loss was said.
        package var fellBack = 0
        /// The newest state, and nothing to say: a bit that holds nothing.
        package var unused = 0

        package init() {}

        package static func += (sum: inout Totals, more: Totals) {
            sum.corrected += more.corrected
            sum.fellBack += more.fellBack
            sum.unused += more.unused
        }

        package var flips: Int { corrected + fellBack + unused }
    }

    package struct Failure: Error, CustomStringConvertible {
        package var bit: Int
        package var problem: String
        package var description: String { "bit \(bit): \(problem)" }
    }

    private let files: [String: [UInt8]]
    private let bytes: [UInt8]
    private let states: [StoredState]

    /// Of the store on a disk.
    /// - Parameter states: everything that was ever committed to it, in order.
    package init(of disk: SimulatedDisk, states: [StoredState]) {
        files = disk.files
        bytes = files[SimulatedDisk.storeName] ?? []
        self.states = states
    }

    /// Of a file that has been in use for several rounds over all of its sectors.
    package init(seed: UInt64) throws {
        let board = SimulatedBoard(SimulatedDisk(seed: seed), seed: seed)
        let store = try board.open()
        var walk = StateWalk(seed: seed)
        var states = [StoredState()]
        for _ in 0..<600 {
            try store.commit(walk.next())
            states.append(store.state)
        }
        self.init(of: board.disk, states: states)
    }

    package var bits: Range<Int> { 0..<bytes.count * 8 }

    /// - Throws: `Failure` where a state was never committed, or a loss is not said; `KeyFileError` if it does not open.
    package func flip(_ bits: some Sequence<Int>) throws -> Totals {
        var totals = Totals()
        for bit in bits {
            var files = files
            files[SimulatedDisk.storeName]?[bit / 8] ^= 1 << UInt8(bit % 8)
            let store = try SimulatedBoard(SimulatedDisk(files: files)).open()
            if store.state == states.last {
                if store.report.isEmpty { totals.unused += 1 } else { totals.corrected += 1 }
            } else if !states.contains(store.state) {
                throw Failure(bit: bit, problem: "a state that was never committed")
            } else if !store.report.contains(where: \.isSerious) {
                throw Failure(bit: bit, problem: "changes are lost, and nothing is said: \(store.report)")
            } else {
                totals.fellBack += 1
            }
        }
        return totals
    }
}
