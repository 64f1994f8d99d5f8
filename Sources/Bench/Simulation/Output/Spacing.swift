/// Finds room for labels that want to be in the same place.
enum Spacing {
    /// Places as near as possible to those wanted, in their order, at least `gap` apart; closer only where the room does not
    /// suffice.
    /// - Parameter wanted: ascending.
    static func spread(_ wanted: [Double], gap: Double, within room: ClosedRange<Double>) -> [Double] {
        guard wanted.count > 1 else { return wanted.map { $0.clamped(to: room) } }
        let length = room.upperBound - room.lowerBound
        let gap = min(gap, length / Double(wanted.count - 1))
        // Without the gaps, the places only have to ascend: neighbours that do not are put together at their mean, which has the
        // least squares of all moves (pool adjacent violators).
        var pools: [(mean: Double, count: Int)] = []
        for (index, place) in wanted.enumerated() {
            var pool = (mean: place - Double(index) * gap, count: 1)
            while let last = pools.last, last.mean > pool.mean {
                pools.removeLast()
                let count = last.count + pool.count
                let sum = last.mean * Double(last.count) + pool.mean * Double(pool.count)
                pool = (sum / Double(count), count)
            }
            pools.append(pool)
        }
        let start = room.lowerBound...max(room.lowerBound, room.upperBound - Double(wanted.count - 1) * gap)
        return pools.flatMap { Array(repeating: $0.mean.clamped(to: start), count: $0.count) }.enumerated().map {
            $0.element + Double($0.offset) * gap
        }
    }

    /// A label on a pole: the pole stands at a moment, and the label is beside its upper end.
    struct Flag: Equatable {
        let x: Double
        let label: ClosedRange<Double>

        fileprivate var pointsRight: Bool { label.lowerBound >= x }
    }

    /// In which row, 0 being the lowest, each flag's label overlaps no other label and hides no other pole; nil where that would
    /// take more rows than there are.
    /// - Parameters:
    ///   - flags: by ascending `x`.
    ///   - first: which of them get room before the others.
    static func rows(_ flags: [Flag], first: [Bool], count: Int, gap: Double) -> [Int?] {
        var placed: [(flag: Flag, row: Int)] = []
        var rows = [Int?](repeating: nil, count: flags.count)
        for index in order(flags, first: first) {
            let flag = flags[index]
            let reach = (flag.label.lowerBound - gap)...(flag.label.upperBound + gap)
            let free = (0..<count).filter { row in
                placed.allSatisfy { other, otherRow in
                    (otherRow < row || !reach.contains(other.x)) && (otherRow != row || !reach.overlaps(other.label))
                }
            }
            // Better no label under its own pole either, but the label can be read there.
            let clear = free.first { row in
                placed.allSatisfy { other, otherRow in otherRow > row || !other.label.contains(flag.x) }
            }
            guard let row = clear ?? free.first else { continue }
            placed.append((flag, row))
            rows[index] = row
        }
        return rows
    }

    /// Each after those whose poles its label may have to clear, so that it goes above theirs.
    private static func order(_ flags: [Flag], first: [Bool]) -> [Int] {
        [true, false].flatMap { isFirst in
            let indices = flags.indices.filter { first[$0] == isFirst }
            return indices.filter { flags[$0].pointsRight }.reversed() + indices.filter { !flags[$0].pointsRight }
        }
    }
}

extension Double {
    func clamped(to range: ClosedRange<Double>) -> Double {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
