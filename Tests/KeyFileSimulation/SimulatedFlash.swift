import Glibc
import KeyFile
import Randomness

/// A flash chip: erasing sets all bits of a sector, programming only clears bits, and nothing is kept in memory. It
/// writes down what a real chip would not take.
package final class SimulatedFlash: Medium, SimulatedStorage {
    package let geometry: Geometry
    package private(set) var bytes: [UInt8]
    package private(set) var operations = 0
    package private(set) var writes = 0
    package private(set) var synchronisations = 0
    package private(set) var violations: [String] = []
    /// How often each sector was erased.
    package private(set) var eraseCounts: [Int]
    /// Sectors that the chip has given up.
    package var badSectors: Set<Int> = []
    package var onOperation: (() -> Void)?
    package var accident: Accident?
    /// Why everything that would change the medium fails, for as long as this is set.
    package var refusesWrites: Int32?

    enum Operation {
        case program([UInt8], at: Int)
        case erase(sector: Int)
    }

    /// The operation that a power cut may hit.
    private(set) var underWay: Operation?
    private var random: SeededRandom

    /// A chip that is erased, or that holds these bytes.
    package init(_ geometry: Geometry, bytes: [UInt8]? = nil, seed: UInt64 = 0) {
        self.geometry = geometry
        self.bytes = bytes ?? Array(repeating: 0xff, count: geometry.size)
        eraseCounts = Array(repeating: 0, count: geometry.sectorCount)
        random = SeededRandom(seed: seed)
    }

    package func medium() -> any Medium { self }

    private func failure(_ attempt: KeyFileError.Attempt, _ errno: Int32) -> KeyFileError {
        .system(attempt, path: "/dev/simulated", errno: errno)
    }

    private func count(_ attempt: KeyFileError.Attempt, writing: Bool) throws(KeyFileError) {
        defer {
            operations += 1
            writes += writing ? 1 : 0
        }
        if writing, let refusesWrites { throw failure(attempt, refusesWrites) }
        if let accident, accident.at == operations { throw failure(attempt, accident.errno) }
    }

    private func perform(_ operation: Operation, _ attempt: KeyFileError.Attempt) throws(KeyFileError) {
        do { try count(attempt, writing: true) } catch {
            // An operation that a chip fails at may be done in part.
            if refusesWrites == nil { settle(operation, random.outcome(), on: &bytes, using: &random) }
            throw error
        }
        underWay = operation
        onOperation?()
        underWay = nil
        settle(operation, .after, on: &bytes, using: &random)
        if case .erase(let sector) = operation { eraseCounts[sector] += 1 }
    }

    private func program(_ new: [UInt8], at offset: Int) throws(KeyFileError) {
        let unit = geometry.writeUnit
        if offset % unit != 0 { violations.append("programs from \(offset), not from the start of a write unit") }
        let padding = repeatElement(0xff as UInt8, count: (unit - new.count % unit) % unit)
        let range = offset..<(offset + new.count + padding.count)
        guard range.upperBound <= bytes.count, offset / sectorSize == (range.upperBound - 1) / sectorSize else {
            violations.append("programs beyond a sector's end: \(range)")
            throw failure(.write, EINVAL)
        }
        if bytes[range].contains(where: { $0 != 0xff }) { violations.append("programs \(range) without erasing it") }
        try perform(.program(new + padding, at: offset), .write)
    }

    private var sectorSize: Int { geometry.sectorSize }

    private func requireGood(_ sector: Int) throws(KeyFileError) {
        guard badSectors.contains(sector) else { return }
        throw .badSector(path: "/dev/simulated", number: sector)
    }
}

extension SimulatedFlash {
    package var isPresent: Bool { true }

    package func requireWritable() throws(KeyFileError) {
        if let refusesWrites { throw failure(.open, refusesWrites) }
    }

    package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError) {
        try count(.read, writing: false)
        guard offset >= 0, offset + buffer.count <= bytes.count else {
            violations.append("reads beyond the end: \(offset), \(buffer.count) bytes")
            throw failure(.read, EINVAL)
        }
        bytes.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset...].prefix(buffer.count)))
        }
    }

    package func begin(sector: Int, with bytes: UnsafeRawBufferPointer) throws(KeyFileError) {
        try erase(sector: sector)
        try program(Array(bytes), at: sector * sectorSize)
    }

    package func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(KeyFileError) {
        try requireGood(offset / sectorSize)
        try program(Array(bytes), at: offset)
    }

    package func erase(sector: Int) throws(KeyFileError) {
        try requireGood(sector)
        try perform(.erase(sector: sector), .erase)
    }

    package func synchronise() throws(KeyFileError) {
        try count(.synchronise, writing: true)
        synchronisations += 1
    }

    package func setAside() throws(KeyFileError) -> String? { throw .foreignContent(path: "/dev/simulated") }
}

extension SimulatedFlash {
    package func afterPowerCut(_ outcome: CutOutcome, using random: inout SeededRandom) -> any SimulatedStorage {
        var bytes = bytes
        if let underWay { settle(underWay, outcome, on: &bytes, using: &random) }
        let copy = SimulatedFlash(geometry, bytes: bytes, seed: random.next())
        copy.badSectors = badSectors
        return copy
    }

    /// The kernel finishes what it has begun.
    package func afterKill(using random: inout SeededRandom) -> any SimulatedStorage {
        afterPowerCut(Bool.random(using: &random) ? .before : .after, using: &random)
    }

    func settle(
        _ operation: Operation, _ outcome: CutOutcome, on chip: inout [UInt8], using random: inout SeededRandom
    ) {
        switch operation {
        case .program(let new, let offset): program(new, at: offset, outcome, on: &chip, using: &random)
        case .erase(let sector): erase(sector, outcome, on: &chip, using: &random)
        }
    }

    /// Bits that are to be cleared are cleared or not; what is nonsense to the chip's own error correction reads as
    /// anything that is within the bytes written.
    private func program(
        _ new: [UInt8], at offset: Int, _ outcome: CutOutcome, on chip: inout [UInt8], using random: inout SeededRandom
    ) {
        let harmed = random.part(of: new.count)
        let end = outcome == .prefix ? random.below(new.count + 1) : new.count
        let start = outcome == .suffix ? random.below(new.count + 1) : 0
        for index in new.indices {
            var mask: UInt8 =
                switch outcome {
                case .before: 0xff
                case .after: new[index]
                case .prefix, .suffix: (start..<end).contains(index) ? new[index] : 0xff
                case .mixed: new[index] | UInt8(truncatingIfNeeded: random.next())
                case .zeroed: harmed.contains(index) ? 0 : new[index]
                case .random: harmed.contains(index) ? UInt8(truncatingIfNeeded: random.next()) : new[index]
                }
            // The byte at the edge is done in part as well.
            if outcome == .prefix, index == end { mask = new[index] | UInt8(truncatingIfNeeded: random.next()) }
            chip[offset + index] &= mask
        }
    }

    private func erase(
        _ sector: Int, _ outcome: CutOutcome, on chip: inout [UInt8], using random: inout SeededRandom
    ) {
        let size = geometry.sectorSize
        let range = sector * size..<(sector + 1) * size
        let edge = range.lowerBound + random.below(size + 1)
        func set(_ part: Range<Int>, _ value: (UInt8) -> UInt8) {
            for index in part { chip[index] = value(chip[index]) }
        }
        switch outcome {
        case .before: break
        case .after: set(range) { _ in 0xff }
        case .prefix: set(range.lowerBound..<edge) { _ in 0xff }
        case .suffix: set(edge..<range.upperBound) { _ in 0xff }
        case .mixed: set(range) { $0 | UInt8(truncatingIfNeeded: random.next()) }
        // Many chips clear all bits before they set them.
        case .zeroed: set(range) { _ in 0 }
        case .random: set(range) { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
    }
}
