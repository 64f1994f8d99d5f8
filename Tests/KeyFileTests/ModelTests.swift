import AgentModel
import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

/// The log against a plain dictionary.
@Suite struct ModelTests {
    @Test(arguments: [Scenario.file, .smallestFlash, .wideFlash, .pagedFlash])
    func doesWhatADictionaryDoes(scenario: Scenario) throws {
        var random = SeededRandom(seed: 40)
        let storage = scenario.storage(seed: 41)
        var log = try RecordLog(on: storage, random: SeededRandom(seed: random.next()))
        var model: Cells = [:]
        for step in 0..<800 {
            if random.below(20) == 0 { log = try RecordLog(on: storage, random: SeededRandom(seed: random.next())) }
            #expect(log.report == [])
            for _ in 0..<(1 + random.below(4)) { change(&model, using: &random) }
            do throws(KeyFileError) {
                try log.commit(model)
            } catch {
                guard case .stateTooLarge = error else { throw error }
                model = log.cells
            }
            #expect(log.cells == model, "step \(step)")
            #expect(storage.violations == [])
        }
        #expect(try RecordLog(on: storage).cells == model)
    }

    private func change(_ cells: inout Cells, using random: inout SeededRandom) {
        let id = CellID(kind: UInt8(1 + random.below(5)), index: UInt8(random.below(8)))
        switch random.below(8) {
        case 0...1: cells[id] = nil
        case 2: cells[id] = Secret(repeatElement(0, count: random.below(700)))
        default: cells[id] = Secret((0..<random.below(60)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        }
    }

    /// A state that fits to the byte, and one byte more.
    @Test func takesWhatFitsIntoASectorAndNoMore() throws {
        let chip = SimulatedFlash(try #require(Geometry(sectorSize: 4096, sectorCount: 2, writeUnit: 16)))
        let log = try RecordLog(on: chip)
        // A snapshot's body: the tag of the record before, and a head of four bytes for the cell.
        let room = Record.maximumBody - Record.tagSize - 4
        let largest = [CellID(kind: 1): Secret(repeatElement(7, count: room))]
        try log.commit(largest)
        #expect(throws: KeyFileError.stateTooLarge(bytes: room + 5, maximum: room + 4)) {
            try log.commit([CellID(kind: 1): Secret(repeatElement(7, count: room + 1))])
        }
        #expect(log.cells == largest)
        try log.commit([:])
        try log.commit(largest)
        #expect(log.cells == largest)
    }
}
