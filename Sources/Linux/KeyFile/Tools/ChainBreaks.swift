/// Where sectors do not follow one another as they say: each snapshot names the record that it continues, and each closing
/// record the sector that follows. Only authentic records count.
struct ChainBreaks {
    private(set) var problems: [(sector: Int, problem: SectorProblem)] = []

    /// - Parameters:
    ///   - sectors: with what is amiss with each by itself.
    ///   - walks: by sector, of those with a header.
    init(_ sectors: [SectorReport], _ walks: [Int: SectorWalk]) {
        func sector(_ sequence: UInt64) -> Int? {
            sectors.first { $0.header?.sequence == sequence && walks[$0.index]?.snapshotTag != nil }?.index
        }
        for report in sectors {
            guard let sequence = report.header?.sequence, let walk = walks[report.index] else { continue }
            // A commit that was refused may stand between a sector and the one that it continues, which is there still.
            if let link = walk.link, link != Record.noTag, sequence > 0, let before = sector(sequence - 1),
                !sectors[before].problems.contains(where: \.isDamage),
                !walks.values.contains(where: { $0.tags.contains(link) })
            {
                problems.append((report.index, .linkBroken(predecessor: before)))
            }
            // What follows a lost successor continues the closing record itself: the loss was noticed and made good.
            guard let successor = walk.successor, !walks.values.contains(where: { $0.link == walk.tags.last }) else {
                continue
            }
            if let after = sector(successor.sequence) {
                guard walks[after]?.snapshotTag != successor.tag else { continue }
                problems.append((report.index, .successorReplaced(after)))
            } else {
                problems.append((report.index, .successorMissing))
            }
        }
    }
}
