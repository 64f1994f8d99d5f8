/// The modules of a symbol while it is drawn.
struct Modules: Equatable {
    let size: Int
    private var dark: [Bool]
    /// Those of function patterns and of format and version information: they take no data and no mask.
    private var reserved: [Bool]

    subscript(row: Int, column: Int) -> Bool { dark[row * size + column] }

    /// Has the function patterns and the version, and room for the rest.
    init(version: Int) {
        size = Capacity(version: version, level: .low).size
        dark = Array(repeating: false, count: size * size)
        reserved = dark
        drawTiming()
        drawFinders()
        drawAlignments(version)
        if version >= 7 { drawVersion(version) }
        drawFormat(0)
    }

    /// Fills the modules that are free with bits, in columns of two from the right, up and down in turn (clause 7.7.3).
    mutating func place(_ codewords: [UInt8]) {
        var bit = 0
        var isUpwards = true
        for pair in stride(from: size - 1, to: 0, by: -2) {
            // The column of the timing pattern is stepped over.
            let right = pair <= 6 ? pair - 1 : pair
            for step in 0..<size {
                let row = isUpwards ? size - 1 - step : step
                for column in [right, right - 1] where !reserved[row * size + column] && bit < codewords.count * 8 {
                    dark[row * size + column] = codewords[bit / 8] >> (7 - bit % 8) & 1 == 1
                    bit += 1
                }
            }
            isUpwards.toggle()
        }
    }

    mutating func apply(_ mask: Mask, _ capacity: Capacity) {
        for row in 0..<size {
            for column in 0..<size where !reserved[row * size + column] && mask.inverts(row, column) {
                dark[row * size + column].toggle()
            }
        }
        drawFormat(capacity.level.indicator << 3 | mask.rawValue)
    }

    /// Draws a module that belongs to no data.
    private mutating func draw(_ row: Int, _ column: Int, _ isDark: Bool) {
        dark[row * size + column] = isDark
        reserved[row * size + column] = true
    }

    private mutating func drawTiming() {
        for index in 0..<size {
            draw(6, index, index.isMultiple(of: 2))
            draw(index, 6, index.isMultiple(of: 2))
        }
    }

    /// Squares within squares in three corners, with a light border towards the inside.
    private mutating func drawFinders() {
        for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] {
            for down in -4...4 {
                for across in -4...4 where isInside(row + down, column + across) {
                    let distance = max(abs(down), abs(across))
                    draw(row + down, column + across, distance != 2 && distance != 4)
                }
            }
        }
    }

    private func isInside(_ row: Int, _ column: Int) -> Bool {
        (0..<size).contains(row) && (0..<size).contains(column)
    }

    private mutating func drawAlignments(_ version: Int) {
        let places = Self.alignmentPlaces(version)
        guard let first = places.first, let last = places.last else { return }
        for row in places {
            for column in places {
                // The finders are there.
                if row == first, column == first || column == last { continue }
                if row == last, column == first { continue }
                for down in -2...2 {
                    for across in -2...2 { draw(row + down, column + across, max(abs(down), abs(across)) != 1) }
                }
            }
        }
    }

    /// Table E.1, which follows this rule.
    static func alignmentPlaces(_ version: Int) -> [Int] {
        guard version >= 2 else { return [] }
        let count = version / 7 + 2
        let step = (version * 8 + count * 3 + 5) / (count * 4 - 4) * 2
        let last = 4 * version + 10
        return [6] + (0..<(count - 1)).map { last - $0 * step }.reversed()
    }

    /// Twice, with a Golay code as error correction (clause 7.10).
    private mutating func drawVersion(_ version: Int) {
        var remainder = version
        for _ in 0..<12 { remainder = remainder << 1 ^ (remainder >> 11) * 0x1f25 }
        let bits = version << 12 | remainder
        for bit in 0..<18 {
            let isDark = bits >> bit & 1 == 1
            draw(bit / 3, size - 11 + bit % 3, isDark)
            draw(size - 11 + bit % 3, bit / 3, isDark)
        }
    }

    /// Level and mask, twice, with a BCH code as error correction (clause 7.9).
    private mutating func drawFormat(_ format: Int) {
        var remainder = format
        for _ in 0..<10 { remainder = remainder << 1 ^ (remainder >> 9) * 0x537 }
        let bits = (format << 10 | remainder) ^ 0x5412
        for bit in 0..<15 {
            let isDark = bits >> bit & 1 == 1
            // Around the finder at the top left, leaving out the timing patterns.
            switch bit {
            case 0..<6: draw(bit, 8, isDark)
            case 6, 7: draw(bit + 1, 8, isDark)
            case 8: draw(8, 7, isDark)
            default: draw(8, 14 - bit, isDark)
            }
            // Under the one at the top right, and beside the one at the bottom left.
            if bit < 8 {
                draw(8, size - 1 - bit, isDark)
            } else {
                draw(size - 15 + bit, 8, isDark)
            }
        }
        draw(size - 8, 8, true)
    }
}
