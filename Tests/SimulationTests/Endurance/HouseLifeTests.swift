import Testing

@testable import Simulation

@Suite struct HouseLifeTests {
    @Test func theSameSeedGivesTheSameLife() {
        #expect(HouseLife(seed: 3, .days(30)) == HouseLife(seed: 3, .days(30)))
        #expect(HouseLife(seed: 3, .days(30)) != HouseLife(seed: 4, .days(30)))
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func everyKindOccursInThirtyDays(seed: UInt64) {
        let life = HouseLife(seed: seed, .days(30))
        #expect(Set(life.happenings.map(\.kind)) == Set(HouseLife.Kind.allCases))
        #expect(Set(HouseLife.table.map(\.kind)) == Set(HouseLife.Kind.allCases))
        for row in HouseLife.table {
            let count = Double(life.happenings.count { $0.kind == row.kind })
            // A happening that finds no free time is left out.
            #expect(count <= row.daily * 30 + 1 && count >= row.daily * 30 * 0.8 - 1, "\(row.kind)")
        }
    }

    @Test(arguments: [HouseLife.Span.days(30), .days(1), .hour]) func textIsReadBack(_ span: HouseLife.Span) {
        let life = HouseLife(seed: 7, span)
        #expect(HouseLife(life.description) == life)
    }

    @Test(arguments: [
        "", "house", "house seed x hour", "house seed 1 days 0", "house seed 1 hour\n0d 00:00:61 disk-full disk 3s",
        "house seed 1 hour\n0d 00:00:01 disk-empty disk 3s", "house seed 1 hour\n0d 00:00:01 disk-full disk -3s",
    ]) func otherTextIsRefused(_ text: String) { #expect(HouseLife(text) == nil) }

    @Test(arguments: 1...50 as ClosedRange<UInt64>) func anHourLeavesANetwork(seed: UInt64) {
        let life = HouseLife(seed: seed, .hour)
        let networks = life.happenings.filter { $0.breaks(.home) || $0.breaks(.backup) }
        for (one, next) in zip(networks, networks.dropFirst()) { #expect(next.at > one.end + HouseLife.pause) }
        #expect(!life.happenings.contains { $0.end > 3600 || $0.place == .house })
        #expect(Set(life.happenings.map(\.kind)).count >= HouseLife.Kind.allCases.count - 3)
    }

    @Test func aDayBeginsAsTheOneBeforeEnded() throws {
        let life = try #require(
            HouseLife(
                """
                house seed 1 days 2
                0d 10:00:00 password-rotated home 60s
                0d 12:00:00 router-replaced home 60s
                1d 01:00:00 router-restarts home 100s
                """))
        let first = try life.scenario(day: 0)
        #expect(first.accessPoints.map(\.isOn) == [true, false, true, false])
        let second = try life.scenario(day: 1)
        #expect(second.accessPoints.map(\.isOn) == [false, true, true, false])
        #expect(second.accessPoints[0].password == "home-word-1" && second.networks[0].password == "home-word-1")
        #expect(second.happenings.first == .init(at: .seconds(3600), .power(ap: "home1", isOn: false)))
        let all = try life.scenario()
        #expect(all.happenings.count == first.happenings.count + second.happenings.count)
    }

    @Test func soundTimesAreThoseOfOneNetwork() {
        let life = HouseLife(
            """
            house seed 1 hour
            0d 00:10:00 router-restarts home 60s
            0d 00:20:00 firmware-crashes device 10s
            """)
        #expect(life?.soundTimes == [0..<600, 690..<1200, 1210..<3600, 0..<1200, 1210..<3600])
    }

    @Test func aTrendIsFlatWhereItsIntervalHoldsZero() {
        #expect(Trend([5, 4, 6, 5, 4, 6, 5]).isFlat(tolerance: 0))
        #expect(!Trend([1, 2, 3, 4, 5.1]).isFlat(tolerance: 0.5))
        #expect(Trend([1, 2, 3, 4, 5.1]).isFlat(tolerance: 2))
    }
}
