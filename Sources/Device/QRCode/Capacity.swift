/// What a version holds at a level of error correction.
struct Capacity: Equatable {
    let version: Int
    let level: Level

    enum Level: CaseIterable {
        /// About 7 % of the codewords may be wrong.
        case low
        /// About 15 %.
        case medium

        /// As the format information says it (table 12).
        var indicator: Int { self == .low ? 0b01 : 0b00 }
    }

    static func smallest(for byteCount: Int) -> Capacity? {
        for version in 1...40 {
            if let level = [Level.medium, .low].first(where: {
                Capacity(version: version, level: $0).bytes >= byteCount
            }) {
                return Capacity(version: version, level: level)
            }
        }
        return nil
    }

    /// How many modules a side has (clause 6.1).
    var size: Int { 4 * version + 17 }

    /// How many codewords the symbol holds, of data and of error correction together: what the function patterns leave.
    var codewords: Int {
        var modules = (16 * version + 128) * version + 64
        if version >= 2 {
            let alignments = version / 7 + 2
            modules -= (25 * alignments - 10) * alignments - 55
            if version >= 7 { modules -= 36 }
        }
        return modules / 8
    }

    var dataCodewords: Int { codewords - blocks * correctionCodewordsOfBlock }

    /// How many bits say how long the text is (table 3).
    var countBits: Int { version < 10 ? 8 : 16 }

    /// How many bytes of text it holds.
    var bytes: Int { (dataCodewords * 8 - 4 - countBits) / 8 }

    /// Into how many blocks the data is cut, each with its own error correction (table 9).
    var blocks: Int { (level == .low ? Self.blocksLow : Self.blocksMedium)[version - 1] }

    var correctionCodewordsOfBlock: Int { (level == .low ? Self.correctionLow : Self.correctionMedium)[version - 1] }

    private static let blocksLow = [
        1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8,
        8, 9, 9, 10, 12, 12, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 24, 25,
    ]
    private static let blocksMedium = [
        1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16,
        17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49,
    ]
    private static let correctionLow = [
        7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28,
        28, 28, 30, 30, 26, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    ]
    private static let correctionMedium = [
        10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26,
        26, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    ]
}
