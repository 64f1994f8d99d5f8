import FuzzDriver
import KeyFile
import KeyFileSimulation
import Randomness

@_cdecl("keyfile_fuzz_main")
public func start(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    FuzzDriver.fuzz(count, arguments, with: fuzz)
}

/// What libFuzzer calls with each of its inputs. An input says what is in the file or on the chip, and what then happens
/// to the store. Whatever that is, the store opens or says why not, what it holds was committed, and what it has
/// acknowledged is there after a restart.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(UnsafeBufferPointer(start: start, count: count))
    do {
        var life = try Life(&input)
        try life.run(&input)
    } catch {
        // A key file that is not to be touched, or an accident that the input asked for.
    }
    return 0
}

/// The bytes of an input, read from the front.
struct FuzzInput {
    private var rest: Slice<UnsafeBufferPointer<UInt8>>

    init(_ bytes: UnsafeBufferPointer<UInt8>) { rest = bytes[...] }

    var isEmpty: Bool { rest.isEmpty }

    /// - Returns: 0 at the end.
    mutating func byte() -> Int { Int(rest.popFirst() ?? 0) }

    mutating func number(below limit: Int) -> Int { (byte() << 16 | byte() << 8 | byte()) % limit }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
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
        let isFile = input.byte() % 2 == 0
        let sample = isFile ? Sample.file : Sample.flash
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
        walk = StateWalk(seed: seed)
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
