/// A pattern by which data modules are inverted, so that none looks like a finder and dark and light mix (clause 7.8).
enum Mask: Int, CaseIterable {
    case checkerboard, rows, columns, diagonals, bricks, crosses, softCrosses, diamonds

    /// Table 10.
    func inverts(_ row: Int, _ column: Int) -> Bool {
        switch self {
        case .checkerboard: (row + column) % 2 == 0
        case .rows: row % 2 == 0
        case .columns: column % 3 == 0
        case .diagonals: (row + column) % 3 == 0
        case .bricks: (row / 2 + column / 3) % 2 == 0
        case .crosses: row * column % 2 + row * column % 3 == 0
        case .softCrosses: (row * column % 2 + row * column % 3) % 2 == 0
        case .diamonds: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }
}

extension Modules {
    /// How hard the symbol is to read: the fewer points, the better (clause 7.8.3).
    var penalty: Int {
        let rows = (0..<size).map { row in (0..<size).map { self[row, $0] } }
        let columns = (0..<size).map { column in (0..<size).map { self[$0, column] } }
        let lines = (rows + columns).reduce(0) { $0 + Self.runs($1) + Self.finderLikes($1) }
        return lines + blocks + imbalance
    }

    /// Five modules of one colour in a row, and each one more.
    private static func runs(_ line: [Bool]) -> Int {
        var points = 0
        var length = 0
        for index in line.indices {
            length = index > 0 && line[index] == line[index - 1] ? length + 1 : 1
            points += length == 5 ? 3 : length > 5 ? 1 : 0
        }
        return points
    }

    /// What looks like a finder: 1:1:3:1:1 with four light modules before or after it.
    private static func finderLikes(_ line: [Bool]) -> Int {
        let core = [true, false, true, true, true, false, true]
        let light = Array(repeating: false, count: 4)
        let patterns = [core + light, light + core]
        return line.indices.dropLast(10).reduce(0) { points, start in
            points + 40 * patterns.count { line[start..<(start + 11)].elementsEqual($0) }
        }
    }

    /// Squares of four of one colour.
    private var blocks: Int {
        (1..<size).reduce(0) { points, row in
            points
                + (1..<size).reduce(0) { points, column in
                    let colour = self[row, column]
                    let isBlock =
                        self[row - 1, column] == colour && self[row, column - 1] == colour
                        && self[row - 1, column - 1] == colour
                    return points + (isBlock ? 3 : 0)
                }
        }
    }

    /// Ten points for each 5 % that the share of dark modules is away from one half.
    private var imbalance: Int {
        let count = size * size
        let dark = (0..<size).reduce(0) { sum, row in sum + (0..<size).count { self[row, $0] } }
        return abs(dark * 20 - count * 10) / count * 10
    }
}
