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

/// No nonce may ever encrypt two records under one key, whatever becomes of the randomness.
@Suite struct NonceTests {
    /// A source of randomness that gives the same bytes for ever, as on a board without entropy.
    private struct StuckRandom: RandomNumberGenerator {
        mutating func next() -> UInt64 { 0x0707_0707_0707_0707 }
    }

    private func log(on disk: SimulatedDisk) throws -> RecordLog { try RecordLog(on: disk, random: StuckRandom()) }

    /// The salt, which gives the key, and the nonce of a record.
    private struct Sealed: Hashable {
        let salt: [UInt8]
        let nonce: [UInt8]
    }

    /// Notes every record of a file, and that no other has the same nonce under the same key.
    private func record(_ disk: SimulatedDisk, in seen: inout [Sealed: [UInt8]]) throws {
        let medium = try disk.medium()
        let bytes = try #require(disk.files[SimulatedDisk.storeName])
        for sector in 0..<medium.geometry.sectorCount {
            guard let header = SectorScan(sector, of: medium).header else { continue }
            var reader = SectorRecordReader(medium, sector: sector, mark: header.mark)
            while let record = try reader.next() {
                let start = medium.geometry.start(of: sector) + record.offset + Record.headerSize
                let nonce = Array(bytes[start..<start + Record.nonceSize])
                let rest = Array(bytes[start + Record.nonceSize..<start + record.header.recordSize - Record.headerSize])
                let known = seen.updateValue(rest, forKey: Sealed(salt: header.salt, nonce: nonce))
                #expect(known == nil || known == rest, "two records have one nonce")
            }
        }
    }

    @Test func neverRepeatAlsoWithoutRandomness() throws {
        let disk = SimulatedDisk()
        var log = try log(on: disk)
        var seen: [Sealed: [UInt8]] = [:]
        var images: [[UInt8]] = []
        for number in 0..<300 {
            try log.commit([CellID(kind: 1): Secret(text: "\(number)")])
            if number.isMultiple(of: 10) {
                try record(disk, in: &seen)
                images.append(try #require(disk.files[SimulatedDisk.storeName]))
            }
        }
        let records = seen.count
        #expect(records > 200)
        // Each of the images is put back, and other commits follow than those that did.
        for (turn, image) in images.enumerated() {
            let disk = SimulatedDisk(files: [SimulatedDisk.storeName: image])
            log = try self.log(on: disk)
            for number in 0..<12 {
                try log.commit([CellID(kind: 1): Secret(text: "turn \(turn), \(number)")])
                try record(disk, in: &seen)
            }
        }
        #expect(seen.count > records + images.count * 10)
    }
}
