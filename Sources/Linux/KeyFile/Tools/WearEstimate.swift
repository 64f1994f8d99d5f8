/// Estimates the lifetime of the flash from the writes so far. Each sector stores when it was begun, its erase count
/// and its sequence number. Together they show the history of about as many sectors as the store has.
package struct WearEstimate: Sendable, Equatable {
    /// Number of erasures that each sector is assumed to endure.
    package let cycles: Int
    /// Lowest and highest erase count of readable sectors.
    package let eraseCounts: ClosedRange<UInt32>?
    package let rate: Rate?
    package let obstacle: Obstacle?

    package enum Obstacle: Sendable, Equatable {
        /// No sector can be read.
        case nothingStored
        /// No sector was begun with a set clock, or the clock is not set now.
        case clockNotSet
        /// The clock was set back after a sector was begun.
        case clockSetBack
        case tooShort(seconds: UInt32)
    }

    package struct Rate: Sendable, Equatable {
        /// Seconds since the oldest sector was begun.
        package let span: UInt32
        /// Number of sectors begun within `span`, plus the used fraction of the current one.
        package let sectorsBegun: Double
        /// Bytes of flash used per day, over all sectors.
        package let bytesPerDay: Double
        package let commitsPerYear: Double
        package let erasesPerSectorAndYear: Double
        /// Bytes per year written to a card or disk, in pages of 4 KiB.
        package let pageBytesPerYear: Double
        /// Years until the most erased sector reaches `cycles`; nil without writes.
        package let yearsLeft: Double?
        /// Years that new flash would last if each commit erased the same sector.
        package let yearsWithoutLevelling: Double?
    }

    package static let standardCycles = 100_000

    /// - Parameters:
    ///   - now: clock in seconds since 1970.
    ///   - cycles: number of erasures that a sector endures, above 0.
    package init(_ sectors: [SectorReport], now: UInt32, cycles: Int = standardCycles) {
        self.cycles = cycles
        let counts = sectors.compactMap { $0.header?.eraseCount }
        eraseCounts = counts.min().flatMap { lowest in counts.max().map { lowest...$0 } }
        let history = WearHistory(sectors)
        switch history.check(now: now) {
        case .failure(let obstacle):
            self.obstacle = obstacle
            rate = nil
        case .success(let span):
            obstacle = nil
            rate = Rate(history, span: span, sectors, worn: eraseCounts?.upperBound ?? 0, cycles: cycles)
        }
    }
}

extension WearEstimate.Obstacle: Error {}

private struct WearHistory {
    struct Entry {
        let sector: SectorReport
        let header: SectorReport.Header
    }

    let entries: [Entry]
    /// True if no sector has a record. Ignores the sectors' times.
    let isEmpty: Bool

    /// Earliest plausible time, 2020-01-01. An earlier clock was not set since power-on.
    static let earliest: UInt32 = 1_577_836_800

    init(_ sectors: [SectorReport]) {
        let known = sectors.compactMap { sector in sector.header.map { Entry(sector: sector, header: $0) } }
            .filter { $0.sector.records > 0 }
        isEmpty = known.isEmpty
        entries = known.filter { $0.header.begun >= Self.earliest }.sorted { $0.header.sequence < $1.header.sequence }
    }

    /// - Returns: the length of the history in seconds.
    func check(now: UInt32) -> Result<UInt32, WearEstimate.Obstacle> {
        guard !isEmpty else { return .failure(.nothingStored) }
        guard let oldest = entries.first, let newest = entries.last, now >= Self.earliest else {
            return .failure(.clockNotSet)
        }
        let times = entries.map(\.header.begun)
        guard zip(times, times.dropFirst()).allSatisfy(<=), newest.header.begun <= now else {
            return .failure(.clockSetBack)
        }
        let span = now - oldest.header.begun
        return span < 86_400 ? .failure(.tooShort(seconds: span)) : .success(span)
    }

    /// Number of sectors begun after the oldest, plus the used fraction of the newest.
    var sectorsBegun: Double {
        guard let oldest = entries.first, let newest = entries.last else { return 0 }
        let sector = newest.sector
        let used = Double(max(0, sector.used - sector.usedByBeginning))
        let room = Double(max(1, sector.size - sector.usedByBeginning))
        return Double(newest.header.sequence - oldest.header.sequence) + min(1, used / room)
    }

    /// Number of commits, without the oldest sector's snapshot and closing records.
    var commits: Int {
        max(0, entries.reduce(-1) { $0 + $1.sector.records - $1.sector.parts - ($1.sector.isClosed ? 1 : 0) })
    }
}

extension WearEstimate.Rate {
    fileprivate init(
        _ history: WearHistory, span: UInt32, _ sectors: [SectorReport], worn: UInt32, cycles: Int
    ) {
        let years = Double(span) / (365.25 * 86_400)
        let size = Double(sectors.first?.size ?? 0)
        self.span = span
        sectorsBegun = history.sectorsBegun
        bytesPerDay = sectorsBegun * size / (Double(span) / 86_400)
        commitsPerYear = Double(history.commits) / years
        erasesPerSectorAndYear = sectorsBegun / Double(max(1, sectors.count)) / years
        // Beginning a sector writes all of it; a commit writes one page.
        pageBytesPerYear = commitsPerYear * 4096 + sectorsBegun / years * size
        let left = Double(max(0, cycles - Int(worn)))
        yearsLeft = erasesPerSectorAndYear > 0 ? left / erasesPerSectorAndYear : nil
        yearsWithoutLevelling = commitsPerYear > 0 ? Double(cycles) / commitsPerYear : nil
    }
}
