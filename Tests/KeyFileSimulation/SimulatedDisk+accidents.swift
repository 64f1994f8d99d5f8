import Randomness

extension SimulatedDisk {
    package func afterPowerCut(_ outcome: CutOutcome, using random: inout SeededRandom) -> any SimulatedStorage {
        var survivors = durableNames
        var renamings = unsynchronised.filter { _ in Bool.random(using: &random) }
        switch underWay {
        case .rename(let renaming) where outcome != .before: renamings.append(renaming)
        case .synchroniseNames where outcome == .after: (survivors, renamings) = (names, [])
        default: break
        }
        for renaming in renamings {
            for (name, file) in renaming { survivors[name] = file }
        }
        let files = survivors.mapValues { remains(of: $0, outcome, using: &random) }
        return SimulatedDisk(files: files, seed: random.next())
    }

    private func remains(of file: File, _ outcome: CutOutcome, using random: inout SeededRandom) -> [UInt8] {
        var writes = file.unsynchronised.map { (write: $0, outcome: random.outcome()) }
        switch underWay {
        case .write(file, let write): writes.append((write, outcome))
        case .synchronise(file) where outcome == .after: return file.written
        case .synchronise(file): writes = file.unsynchronised.map { ($0, outcome) }
        default: break
        }
        if writes.count > 1 { writes.shuffle(using: &random) }
        return file.remains(settling: writes, using: &random)
    }

    package func afterKill(using random: inout SeededRandom) -> any SimulatedStorage {
        var copies: [ObjectIdentifier: File] = [:]
        func copy(_ file: File) -> File {
            if let made = copies[ObjectIdentifier(file)] { return made }
            let copy = File(copying: file)
            copies[ObjectIdentifier(file)] = copy
            return copy
        }
        let disk = SimulatedDisk(
            names: names.mapValues(copy), durableNames: durableNames.mapValues(copy),
            unsynchronised: unsynchronised.map { $0.mapValues { $0.map(copy) } }, seed: random.next())
        // A process is killed between two steps of the kernel: a write may have taken a part of its bytes.
        if case .write(let file, let write) = underWay {
            let part = Write(
                offset: write.offset, bytes: Array(write.bytes.prefix(random.below(write.bytes.count + 1))))
            part.apply(to: &copy(file).cached)
            copy(file).unsynchronised.append(part)
        }
        return disk
    }
}

extension SimulatedDisk.File {
    /// The file when only these of its writes have left anything, in this order.
    func remains(
        settling writes: [(write: SimulatedDisk.Write, outcome: CutOutcome)], using random: inout SeededRandom
    ) -> [UInt8] {
        var bytes = durable
        for (write, outcome) in writes { write.settle(outcome, on: &bytes, using: &random) }
        return bytes
    }
}

extension SimulatedDisk.Write {
    fileprivate func settle(_ outcome: CutOutcome, on file: inout [UInt8], using random: inout SeededRandom) {
        let count = bytes.count
        switch outcome {
        case .before: break
        case .after: apply(to: &file)
        case .prefix: Self.apply(bytes.prefix(random.below(count + 1)), at: offset, to: &file)
        case .suffix:
            let start = random.below(count + 1)
            Self.apply(bytes[start...], at: offset + start, to: &file)
        case .mixed:
            let grain = 1 << random.below(10)
            for start in stride(from: 0, to: count, by: grain) where Bool.random(using: &random) {
                Self.apply(bytes[start..<min(start + grain, count)], at: offset + start, to: &file)
            }
        case .zeroed, .random:
            var damaged = bytes
            for index in random.part(of: count) {
                damaged[index] = outcome == .zeroed ? 0 : UInt8(truncatingIfNeeded: random.next())
            }
            Self.apply(damaged[...], at: offset, to: &file)
        }
    }
}

extension SimulatedDisk.File: Equatable {
    /// The same file, not one of the same content.
    static func == (one: SimulatedDisk.File, other: SimulatedDisk.File) -> Bool { one === other }

    static func ~= (pattern: SimulatedDisk.File, value: SimulatedDisk.File) -> Bool { pattern === value }
}
