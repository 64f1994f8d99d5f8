import KeyFile
import Randomness

/// A device's years in which the power may go at any moment, and does so at all of them.
///
/// At every operation that changes or synchronises something, copies are taken of the board as a power cut could leave
/// it: before the operation, after it, and torn in every way. Each copy is started again, with a second cut at every
/// operation of that, and must hold the last state that was acknowledged, or the one on its way.
package final class PowerCutRun {
    package struct Totals: Sendable, Equatable {
        /// Copies taken while the store was at work.
        package var cuts = 0
        /// Copies taken while such a copy was recovering or making its first commit.
        package var secondCuts = 0
        package var kills = 0
        package var commits = 0
        package var keyChanges = 0
        package var openings = 0

        package init() {}

        package static func += (sum: inout Totals, more: Totals) {
            sum.cuts += more.cuts
            sum.secondCuts += more.secondCuts
            sum.kills += more.kills
            sum.commits += more.commits
            sum.keyChanges += more.keyChanges
            sum.openings += more.openings
        }

        package var allCuts: Int { cuts + secondCuts + kills }
    }

    /// The fault, and how to see it again.
    package struct Failure: Error, CustomStringConvertible {
        package var scenario: Scenario
        package var seed: UInt64
        package var step: Int
        package var problem: String

        package var description: String { "\(scenario), seed \(seed), step \(step): \(problem)" }
    }

    package let scenario: Scenario
    package let seed: UInt64
    package private(set) var totals = Totals()
    private var failure: Failure?
    private var step = 0
    private var random: SeededRandom
    private var walk: StateWalk
    private var board: SimulatedBoard
    private var store: KeyFile

    package init(_ scenario: Scenario, seed: UInt64) throws {
        (self.scenario, self.seed) = (scenario, seed)
        random = SeededRandom(seed: seed)
        walk = StateWalk(seed: random.next(), ballast: scenario.ballast)
        board = scenario.board(seed: random.next())
        store = try board.open()
        // A chip's very first write, cut short, leaves something that is no key file's, so that opening it asks for a
        // user.
        if !(board.storage is SimulatedDisk) { try store.commit(StoredState(backupsRevision: 1)) }
        walk.resume(from: store.state)
        if scenario.isFormer { try beginInFormerVersion() }
    }

    /// Another device, which has been in use with the former version of the format and then gets this one.
    private func beginInFormerVersion() throws {
        board = scenario.board(seed: random.next())
        board.version = RecordLog.currentVersion - 1
        store = try board.open()
        try store.commit(StoredState(backupsRevision: 1))
        walk.resume(from: store.state)
        for _ in 0..<random.below(60) { try store.commit(walk.next()) }
        if random.below(2) == 0 {
            // The power goes in the middle of the last of its commits.
            let (former, old, new) = (board, store.state, walk.next())
            var survivor: SimulatedBoard?
            former.onOperation = { [self] in
                survivor = survivor ?? former.afterPowerCut(random.outcome(), using: &random)
            }
            try store.commit(new)
            former.onOperation = nil
            board = survivor ?? former
            board.version = RecordLog.currentVersion
            return try reopen(board, expecting: [old, new])
        }
        board.version = RecordLog.currentVersion
        try reopen(board, expecting: [store.state])
    }

    /// Goes on until there were so many cuts, or a little more.
    /// - Throws: `Failure`.
    package func run(cuts: Int) throws {
        while totals.allCuts < cuts {
            do { try countStep() } catch let error as KeyFileError { fail("\(error)") }
            if let failure { throw failure }
            step += 1
        }
    }

    private func fail(_ problem: String) {
        if failure == nil { failure = Failure(scenario: scenario, seed: seed, step: step, problem: problem) }
    }

    private func countStep() throws {
        if scenario.isFormer, step > 0, random.below(6) == 0 { try beginInFormerVersion() }
        switch random.below(40) {
        case 0...2: try reopen(board.afterPowerCut(using: &random), expecting: [store.state])
        case 3: try reopen(board.afterKill(using: &random), expecting: [store.state])
        case 4: try changeRootKey()
        default: try commit()
        }
        violations(of: board)
    }

    /// One commit, cut at every operation; now and then the device goes on from one of the cuts.
    private func commit() throws {
        let (old, new) = (store.state, walk.next())
        var survivor: SimulatedBoard?
        let goesOnFromCut = random.below(8) == 0
        board.onOperation = { [self] in
            cut(board, expecting: [old, new])
            kill(board, expecting: [old, new])
            if goesOnFromCut, survivor == nil || random.below(3) == 0 {
                survivor = board.afterPowerCut(random.outcome(), using: &random)
            }
        }
        try store.commit(new)
        board.onOperation = nil
        totals.commits += 1
        if store.state != new { fail("a commit that was acknowledged is not the state") }
        totals.cuts += 1
        reenter(board.afterPowerCut(using: &random), expecting: [new])
        if let survivor { try reopen(survivor, expecting: [old, new]) }
    }

    private func changeRootKey() throws {
        let state = store.state
        board.onOperation = { [self] in cut(board, expecting: [state]) }
        try store.changeRootKey(to: board.anotherRootKey())
        board.onOperation = nil
        totals.keyChanges += 1
        if store.state != state { fail("a change of the root key changed the state") }
    }

    /// The device goes on with this board.
    private func reopen(_ board: SimulatedBoard, expecting allowed: [StoredState]) throws {
        self.board = board
        board.onOperation = { [self] in cut(board, expecting: allowed) }
        store = try board.open()
        board.onOperation = nil
        totals.openings += 1
        check(store, allowed, "reopening")
        walk.resume(from: store.state)
    }

    private func cut(_ board: SimulatedBoard, expecting allowed: [StoredState]) {
        for outcome in CutOutcome.allCases where failure == nil {
            totals.cuts += 1
            reenter(board.afterPowerCut(outcome, using: &random), expecting: allowed)
        }
    }

    /// Starts a copy, with a second cut at every operation of that.
    private func reenter(_ board: SimulatedBoard, expecting allowed: [StoredState]) {
        let outcome = random.outcome()
        board.onOperation = { [self] in cutAgain(board, outcome, expecting: allowed) }
        guard let store = open(board, expecting: allowed, "re-entry") else { return }
        board.onOperation = nil
        let said = store.state
        switch random.below(4) {
        case 0:
            // A state that the store gave once it must give again.
            cutAgain(board, .before, expecting: [said])
        case 1: commitNext(to: store, on: board)
        default: break
        }
        violations(of: board)
    }

    private func commitNext(to store: KeyFile, on board: SimulatedBoard) {
        let said = store.state
        var next = said
        next.backupsRevision += 1
        let outcome = random.outcome()
        board.onOperation = { [self] in cutAgain(board, outcome, expecting: [said, next]) }
        do { try store.commit(next) } catch { fail("the next commit: \(error)") }
        board.onOperation = nil
        cutAgain(board, .before, expecting: [next])
    }

    private func cutAgain(_ board: SimulatedBoard, _ outcome: CutOutcome, expecting allowed: [StoredState]) {
        guard failure == nil else { return }
        totals.secondCuts += 1
        _ = open(board.afterPowerCut(outcome, using: &random), expecting: allowed, "after a second cut")
    }

    /// A process that is killed, and one that starts in its place; then the power goes. The state that was read stays.
    private func kill(_ board: SimulatedBoard, expecting allowed: [StoredState]) {
        guard failure == nil, random.below(2) == 0 else { return }
        totals.kills += 1
        let killed = board.afterKill(using: &random)
        guard let store = open(killed, expecting: allowed, "after a kill") else { return }
        cutAgain(killed, .before, expecting: [store.state])
        if random.below(4) == 0 { commitNext(to: store, on: killed) }
    }

    private func open(_ board: SimulatedBoard, expecting allowed: [StoredState], _ when: String) -> KeyFile? {
        do throws(KeyFileError) {
            totals.openings += 1
            let store = try board.open()
            check(store, allowed, when)
            return store
        } catch {
            fail("\(when): \(error)")
            return nil
        }
    }

    private func check(_ store: KeyFile, _ allowed: [StoredState], _ when: String) {
        if !allowed.contains(store.state) {
            let revisions = allowed.map(\.backupsRevision)
            fail(
                "\(when): not a state that may be: revision \(store.state.backupsRevision), not of \(revisions); \(store.report)"
            )
        }
        for finding in store.report {
            switch finding {
            case .interruptedWrite, .keyChangeFinished, .keyChangeAbandoned, .oldSectorDamaged, .bitsCorrected: break
            default: fail("\(when): \(finding)")
            }
        }
    }

    private func violations(of board: SimulatedBoard) {
        if let violation = board.storage.violations.first { fail(violation) }
    }
}

/// Flips bits of a file in turn, each in a copy of its own: what the store says then must be what was committed last,
/// or, with a serious finding, an earlier state.
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

    /// - Throws: `Failure` where a state was never committed, or a loss is not said; `KeyFileError` if it does not
    ///   open.
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
