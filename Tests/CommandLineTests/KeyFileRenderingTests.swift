import Testing

@testable import KeyFile
@testable import altnet

@Suite struct KeyFileRenderingTests {
    private static let day: UInt32 = 86_400
    private static let begun: UInt32 = 1_700_000_000

    private func sectors() -> [SectorReport] {
        var first = SectorReport(index: 0, state: .older, size: 4096)
        first.header = .init(eraseCount: 900, sequence: 7, begun: Self.begun)
        (first.records, first.generations, first.isClosed) = (21, 100...120, true)
        (first.used, first.usedByBeginning) = (4096, 96)
        var second = SectorReport(index: 1, state: .current, size: 4096)
        second.header = .init(eraseCount: 899, sequence: 8, begun: Self.begun + 10 * Self.day)
        (second.records, second.generations) = (11, 121...131)
        (second.used, second.usedByBeginning) = (2096, 96)
        return [first, second, SectorReport(index: 2, state: .blank, size: 4096)]
    }

    @Test func wearIsATableAndAnOutlook() {
        let sectors = sectors()
        let estimate = WearEstimate(sectors, now: Self.begun + 15 * Self.day, cycles: 1000)
        #expect(
            WearView(estimate: estimate, sectors: sectors).render(Style()) == """
                SECTOR  ERASED  WORN      BEGUN
                     0     900  ███████░  2023-11-14
                     1     899  ███████░  2023-11-24
                     2       -  ░░░░░░░░  -

                This flash lasts 8.2 years more at 1000 erasures a sector.
                  Measured over  15 d, 1.5 sectors begun
                  Written        409 B a day, 730 changes a year
                  Erased         12.2 times a year, each sector
                  On an SD card  3.0 MiB a year in pages of 4 KiB; it levels its wear itself
                  In one place   1.4 years, if every change erased one and the same sector
                """)
        let plain = WearView(estimate: estimate, sectors: sectors).render(Style(isUnicode: false))
        #expect(plain.contains("     0     900  #######.  2023-11-14"))
        #expect(plain.utf8.count == plain.count)
    }

    @Test func withoutAFigureThereIsNone() {
        for (now, words) in [
            (Self.begun, "the clock was set back"), (0, "the clock was not set"),
            (Self.begun + 10 * Self.day, "too early"),
        ] {
            var sectors = sectors()
            if now > Self.begun { sectors.removeFirst() }
            let text = WearView(estimate: WearEstimate(sectors, now: now), sectors: sectors).render(Style())
            #expect(text.contains(words))
            #expect(!text.contains("years"))
        }
    }

    @Test(arguments: [
        (0.05, "less than two months"), (0.5, "0.5 years"), (9.96, "10.0 years"), (12.9, "12 years"),
        (1e6, "more than 1000 years"), (.infinity, "more than 1000 years"),
    ])
    func yearsAreRounded(years: Double, text: String) { #expect(Wording.years(years) == text) }

    @Test(arguments: [
        (0.0, "0 B"), (1023.9, "1023 B"), (1024, "1.0 KiB"), (3_145_728, "3.0 MiB"), (2e9, "1.9 GiB"),
        (1e40, "more than 10^15 GiB"),
    ])
    func bytesAreRounded(bytes: Double, text: String) { #expect(Wording.bytes(bytes) == text) }

    @Test(arguments: [(-1.0, "........"), (0, "........"), (0.5, "####...."), (1, "########"), (7, "########")])
    func barsStayInBounds(share: Double, bar: String) { #expect(Wording.bar(share, Style(isUnicode: false)) == bar) }
}
