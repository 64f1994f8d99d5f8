import KeyFile
import KeyFileSimulation
import Randomness

extension FuzzTarget {
    /// An input says what is in the file or on the chip, and what then happens to the store. Whatever that is, the
    /// store opens or says why not, what it holds was committed, and what it has acknowledged is there after a restart.
    static let keyFile = FuzzTarget(
        "keyfile", "a key file or a flash chip, and what happens to the store on it", longest: 256, goal: 1_000_000,
        seeds: { (0..<6).flatMap { medium in (0..<3).map { [1, medium, $0, 1, 4, 1, 4, 0, 9] } } }
    ) { bytes in
        var input = FuzzInput(bytes)
        do {
            var life = try Life(&input)
            try life.run(&input)
        } catch {
            // A key file that is not to be touched, or an accident that the input asked for.
        }
    }
}

/// One device, from what the input puts on it to the end of the input.
private struct Life {
    private var board: SimulatedBoard
    private var walk: StateWalk
    private var random: SeededRandom
    /// Every state that may be found.
    private var committed: [StoredState]

    /// Few, so that there are many lives.
    private static let mostEvents = 24

    init(_ input: inout FuzzInput) throws {
        let seed = UInt64(input.byte())
        random = SeededRandom(seed: seed)
        let medium = input.byte() % 6
        let isFile = medium % 2 == 0
        let sample: Sample =
            switch medium {
            case 0: .file
            case 2: .largeFile
            case 4: .formerFile
            case 5: .largeFlash
            default: .flash
            }
        var bytes = sample.bytes
        switch input.byte() % 3 {
        case 0: bytes = input.bytes(isFile ? input.number(below: 40_000) : bytes.count)
        case 1: Forgery(of: sample.geometry).apply(to: &bytes, &input, correctsChecksums: false)
        default: Forgery(of: sample.geometry).apply(to: &bytes, &input, correctsChecksums: true)
        }
        var files = sample.rootKey
        if isFile { files[SimulatedDisk.storeName] = bytes }
        let disk = SimulatedDisk(files: files, seed: seed)
        let isAnchored = input.byte() % 2 == 0
        if isFile {
            board = SimulatedBoard(disk, isAnchored: isAnchored, seed: seed)
        } else {
            bytes += Array(repeating: 0xff, count: sample.geometry.size - bytes.count)
            let flash = SimulatedFlash(sample.geometry, bytes: bytes, seed: seed)
            board = SimulatedBoard(flash, disk: disk, isAnchored: isAnchored, seed: seed)
        }
        committed = [StoredState()] + sample.states
        walk = StateWalk(seed: seed, ballast: medium == 2 || medium == 5 ? 12_000 : 0)
    }

    mutating func run(_ input: inout FuzzInput) throws {
        var store = try opened()
        for _ in 0..<Self.mostEvents where !input.isEmpty {
            switch input.byte() % 8 {
            case 0:
                board = board.afterPowerCut(.before, using: &random)
                store = try opened()
            case 1: store = try cutDuringCommit(of: store, input.byte())
            case 2:
                board.storage.accident = Accident(at: board.storage.operations + input.byte() % 16, errno: 5)
                do { try commit(to: store) } catch {}
                board.storage.accident = nil
            case 3: try store.changeRootKey(to: board.anotherRootKey())
            default: try commit(to: store)
            }
        }
        let last = store.state
        let again = try opened()
        precondition(again.state == last, "what was acknowledged is not there after a restart")
    }

    private func opened() throws -> KeyFile {
        let store = try board.open()
        precondition(committed.contains(store.state), "a state that was never committed")
        return store
    }

    private mutating func commit(to store: KeyFile) throws {
        walk.resume(from: store.state)
        let next = walk.next()
        committed.append(next)
        try store.commit(next)
        precondition(store.state == next, "what was acknowledged is not the state")
    }

    private mutating func cutDuringCommit(of store: KeyFile, _ number: Int) throws -> KeyFile {
        let outcome = CutOutcome.allCases[number % CutOutcome.allCases.count]
        let cut = number / CutOutcome.allCases.count
        var operation = 0
        var survivor: SimulatedBoard?
        let board = board
        var random = random
        board.onOperation = {
            if operation == cut { survivor = board.afterPowerCut(outcome, using: &random) }
            operation += 1
        }
        defer { board.onOperation = nil }
        try commit(to: store)
        guard let survivor else { return store }
        self.board = survivor
        return try opened()
    }
}
