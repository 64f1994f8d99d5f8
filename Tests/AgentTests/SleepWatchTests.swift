import Testing

@testable import Agent

@Suite struct SleepWatchTests {
    @Test func onlyMoreSleepThanBeforeCounts() {
        var watch = SleepWatch()
        let readings: [(asleep: Duration, isNews: Bool)] = [
            (.seconds(3600), false),  // Before the agent was started.
            (.seconds(3600), false),
            (.milliseconds(3_600_900), false),  // No more than two readings of the clocks can be apart.
            (.seconds(3602), true),
            (.seconds(3602), false),
            (.seconds(3600), false),
            (.seconds(3602), false),  // Told already.
        ]
        for reading in readings {
            let hasSlept = watch.hasSlept(reading.asleep)
            #expect(hasSlept == reading.isNews, "\(reading)")
        }
    }

    @Test func theMachineItselfIsAwake() {
        var watch = SleepWatch()
        let answers = (0..<3).map { _ in watch.hasSlept() }
        #expect(!answers.contains(true))
    }
}
