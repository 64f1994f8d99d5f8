import AgentModel
import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

/// No nonce may ever encrypt two records under one key, whatever becomes of the randomness.
@Suite struct NonceTests {
    /// A source of randomness that gives the same bytes for ever, as on a board without entropy.
    private struct StuckRandom: RandomNumberGenerator {
        mutating func next() -> UInt64 { 0x0707_0707_0707_0707 }
    }

    private func log(on disk: SimulatedDisk) throws -> RecordLog { try RecordLog(on: disk, random: StuckRandom()) }

    /// What each record of a file was encrypted with, and what came out.
    private struct Sealed: Hashable {
        let salt: [UInt8]
        let nonce: [UInt8]
    }

    /// Notes every record of a file, and that no other has the same nonce under the same key.
    private func note(_ disk: SimulatedDisk, in seen: inout [Sealed: [UInt8]]) throws {
        let medium = try disk.medium()
        let bytes = try #require(disk.files[SimulatedDisk.storeName])
        for sector in 0..<medium.geometry.sectorCount {
            guard let header = SectorScan(sector, of: medium).header else { continue }
            var reader = RecordReader(medium, sector: sector, mark: header.mark)
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
                try note(disk, in: &seen)
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
                try note(disk, in: &seen)
            }
        }
        #expect(seen.count > records + images.count * 10)
    }
}
