import Randomness

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
