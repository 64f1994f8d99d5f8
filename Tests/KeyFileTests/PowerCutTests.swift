import AgentModel
import Glibc
import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

/// A bounded share of what `altnet-lab torture` does.
@Suite struct PowerCutTests {
    // covers: seed/credentials-in-flash
    @Test(arguments: Scenario.allCases) func losesNothingAcknowledgedAndInventsNothing(scenario: Scenario) throws {
        let run = try PowerCutRun(scenario, seed: 1)
        try run.run(cuts: scenario.ballast > 0 ? 300 : 1_000)
        print("key file: \(run.totals.allCuts) power cuts, \(scenario)")
    }

    /// A chip's very first write, cut short, leaves one of three: nothing yet, the first state, or something that is
    /// refused until the user has looked at it, for it may be foreign.
    @Test func aFirstWriteThatIsCutShortOverwritesNothing() throws {
        var random = SeededRandom(seed: 2)
        let geometry = try #require(Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16))
        let board = SimulatedBoard(SimulatedFlash(geometry))
        let state = try fullState()
        var copies: [SimulatedBoard] = []
        board.onOperation = {
            copies += CutOutcome.allCases.map { board.afterPowerCut($0, using: &random) }
        }
        try board.open().commit(state)
        for copy in copies {
            let store = try copy.open()
            #expect([state, StoredState()].contains(store.state))
            do throws(KeyFileError) {
                try store.commit(state)
                #expect(try copy.afterPowerCut(using: &random).open().state == state)
            } catch {
                guard case .foreignContent = error else { throw error }
                #expect(store.report == [.unreadable(keptAs: nil)])
                #expect(store.state == StoredState())
            }
        }
        #expect(copies.count >= 20)
    }
}

/// The power goes, the process is killed, or an operation fails, at every operation on the root key's file and the
/// anchor's.
// covers: seed/credentials-in-flash
@Suite struct KeyPowerCutTests {
    private let old = Secret(repeatElement(0x11, count: 32))
    private let new = Secret(repeatElement(0x22, count: 32))
    private func text(_ digit: Character) -> [UInt8] { Array((String(repeating: digit, count: 64) + "\n").utf8) }

    private func source(_ disk: SimulatedDisk) -> RootKeyFile {
        RootKeyFile(name: "root-key", files: disk, random: SeededRandom(seed: 4))
    }

    /// The keys that are read there now, and would still be if the power went afterwards.
    private func load(_ disk: SimulatedDisk) throws -> RootKeys? {
        let keys = try source(disk).load()
        #expect(disk.openDescriptors == 0)
        if keys != nil {
            for remains in disk.afterPowerCuts() { #expect(try source(remains).load() == keys) }
        }
        return keys
    }

    @Test func theFirstKeyIsThereOrNot() throws {
        let disk = SimulatedDisk()
        let cuts = try remains(of: disk) { _ = try source($0).makeFirst() }
        let made = try #require(try load(disk))
        for remains in cuts {
            let keys = try load(remains)
            #expect(keys == nil || keys == made)
            #expect(try source(remains).makeFirst() == made.current)
            #expect(try load(remains) == made)
        }
        #expect(cuts.count > 100)
    }

    @Test func aChangeOfKeysAlwaysLeavesTheKeyThatCounts() throws {
        let disk = SimulatedDisk(files: ["root-key": text("1")])
        let before = RootKeys(current: old)
        let between = RootKeys(current: old, prepared: new)
        let after = RootKeys(current: new)
        for remains in try remains(of: disk, during: { try source($0).prepare(new) }) {
            let keys = try load(remains)
            #expect(keys == before || keys == between)
            try source(remains).prepare(new)
            #expect(try load(remains) == between)
        }
        #expect(try load(disk) == between)
        let prepared = disk.files
        for remains in try remains(of: disk, during: { try source($0).adoptPrepared() }) {
            let keys = try load(remains)
            #expect(keys == between || keys == after)
            try source(remains).adoptPrepared()
            #expect(try load(remains) == after)
        }
        #expect(try load(disk) == after)
        let other = SimulatedDisk(files: prepared)
        for remains in try remains(of: other, during: { try source($0).discardPrepared() }) {
            let keys = try load(remains)
            #expect(keys == between || keys == before)
            try source(remains).discardPrepared()
            #expect(try load(remains) == before)
        }
        #expect(try load(other) == before)
    }

    enum Step: CaseIterable {
        case prepare, adopt, discard

        func perform(_ source: RootKeyFile, _ next: Secret) throws(KeyFileError) {
            switch self {
            case .prepare: try source.prepare(next)
            case .adopt: try source.adoptPrepared()
            case .discard: try source.discardPrepared()
            }
        }
    }

    @Test(arguments: Step.allCases, [ENOSPC, EIO])
    func aFailureAtAnyOperationLeavesTheKeyThatCounts(step: Step, errno: Int32) throws {
        let before = RootKeys(current: old, prepared: step == .prepare ? nil : new)
        let after =
            switch step {
            case .prepare: RootKeys(current: old, prepared: new)
            case .adopt: RootKeys(current: new)
            case .discard: RootKeys(current: old)
            }
        var files = ["root-key": text("1")]
        if step != .prepare { files["root-key.next"] = text("2") }
        var failures = 0
        for number in 0..<20 {
            let disk = SimulatedDisk(files: files)
            disk.accident = Accident(at: number, errno: errno)
            do throws(KeyFileError) { try step.perform(source(disk), new) } catch {
                guard case .system(_, _, errno) = error else { throw error }
                failures += 1
            }
            disk.accident = nil
            #expect(disk.openDescriptors == 0)
            for remains in disk.afterPowerCuts() {
                let keys = try load(remains)
                #expect(keys == before || keys == after)
            }
            try step.perform(source(disk), new)
            #expect(try load(disk) == after)
        }
        #expect((2..<20).contains(failures))
    }

    @Test func theAnchorSaysTheLastPositionOrTheOneUnderWay() throws {
        let key = AnchorKey(root: old)
        func generation(_ disk: SimulatedDisk) throws -> UInt64 {
            try FileAnchor(name: "anchor", files: disk).read([key])?.generation ?? 0
        }
        func advance(_ disk: SimulatedDisk, to generation: UInt64) throws {
            let anchor = FileAnchor(name: "anchor", files: disk)
            _ = try anchor.read([key])
            try anchor.advance(to: position(generation), key)
        }
        let disk = SimulatedDisk()
        var cuts = 0
        for acknowledged in 0...3 as ClosedRange<UInt64> {
            for once in try remains(of: disk, during: { try advance($0, to: acknowledged + 1) }) {
                let first = try generation(once)
                #expect(first == acknowledged || first == acknowledged + 1)
                let twice = try remains(of: once, samples: 1) { try advance($0, to: acknowledged + 2) }
                for remains in twice {
                    #expect((acknowledged...acknowledged + 2).contains(try generation(remains)))
                }
                #expect(try generation(once) == acknowledged + 2)
                cuts += 1 + twice.count
            }
            for remains in disk.afterPowerCuts() { #expect(try generation(remains) == acknowledged + 1) }
        }
        #expect(cuts > 5_000)
    }

    /// The same object goes on after errors, which leave anything on the disk.
    @Test func theAnchorSurvivesFailures() throws {
        let key = AnchorKey(root: old)
        var random = SeededRandom(seed: 7)
        var failures = 0
        for seed in 0..<100 as Range<UInt64> {
            let disk = SimulatedDisk(seed: seed)
            let anchor = FileAnchor(name: "anchor", files: disk)
            #expect(try anchor.read([key]) == nil)
            var acknowledged: UInt64 = 0
            for generation in 1...8 as ClosedRange<UInt64> {
                disk.accident = Accident(at: disk.operations + Int.random(in: 0..<12, using: &random), errno: EIO)
                do throws(KeyFileError) {
                    try anchor.advance(to: position(generation), key)
                    acknowledged = generation
                } catch {
                    guard case .system(_, _, EIO) = error else { throw error }
                    failures += 1
                }
                disk.accident = nil
                #expect(disk.openDescriptors == 0)
                for remains in disk.afterPowerCuts() {
                    let found = try FileAnchor(name: "anchor", files: remains).read([key])?.generation ?? 0
                    #expect((acknowledged...generation).contains(found))
                }
            }
        }
        #expect((100..<700).contains(failures))
    }

    /// A failure, and then the power goes in the next advance.
    @Test func theAnchorSurvivesAPowerCutAfterAFailure() throws {
        let key = AnchorKey(root: old)
        let made = SimulatedDisk()
        try FileAnchor(name: "anchor", files: made).advance(to: position(1), key)
        for number in 0..<10 {
            for seed in 0..<10 as Range<UInt64> {
                let disk = SimulatedDisk(files: made.files, seed: seed)
                let anchor = FileAnchor(name: "anchor", files: disk)
                disk.accident = Accident(at: number, errno: EIO)
                let acknowledged: UInt64 = (try? anchor.advance(to: position(2), key)) == nil ? 1 : 2
                disk.accident = nil
                for remains in try remains(of: disk, during: { _ in try anchor.advance(to: position(3), key) }) {
                    let found = try FileAnchor(name: "anchor", files: remains).read([key])?.generation ?? 0
                    #expect((acknowledged...3).contains(found))
                }
            }
        }
    }
}

/// The remains of a disk after a power cut, or a kill with and without a power cut after it, in the middle of any of
/// the operations of `steps`: so many samples of each.
private func remains(
    of disk: SimulatedDisk, samples: Int = 3, during steps: (SimulatedDisk) throws -> Void
) throws -> [SimulatedDisk] {
    var random = SeededRandom(seed: 5)
    var remains: [any SimulatedStorage] = []
    disk.onOperation = {
        for outcome in CutOutcome.allCases {
            for _ in 0..<samples { remains.append(disk.afterPowerCut(outcome, using: &random)) }
        }
        let killed = disk.afterKill(using: &random)
        remains.append(killed.afterPowerCut(.before, using: &random))
        remains.append(killed)
    }
    defer { disk.onOperation = nil }
    try steps(disk)
    return remains.compactMap { $0 as? SimulatedDisk }
}

extension SimulatedDisk {
    /// The possible remains if the power goes now, while nothing is under way.
    fileprivate func afterPowerCuts() -> [SimulatedDisk] {
        var random = SeededRandom(seed: 6)
        return (0..<4).compactMap { _ in afterPowerCut(.before, using: &random) as? SimulatedDisk }
    }
}
