import Testing

@testable import Netlink

/// One threshold where the driver takes one, a range where it takes nothing else.
@Suite struct ThresholdFormTests {
    @Test func oneIsTriedFirst() {
        #expect(ThresholdForm.one.thresholds(for: -68) == [-68])
    }

    @Test func aRefusalLeadsToARangeThatIsNeverLeftBelow() {
        var form = ThresholdForm.one
        let hasAnother = form.refused()
        #expect(hasAnother)
        #expect(form.thresholds(for: -68) == [-120, -68])
        // In ascending order, which the kernel insists on, whatever the settings say.
        for threshold in -150 ... -1 {
            let list = form.thresholds(for: threshold)
            #expect(list.count == 2 && list[0] < list[1] && list[1] == threshold)
        }
    }

    @Test func aDriverThatWatchesNoneIsLeftAlone() {
        var form = ThresholdForm.range
        let hasAnother = form.refused()
        #expect(!hasAnother)
        #expect(form == .range, "and is not asked for one again on the next link")
    }
}
