import AgentModel
import Testing

@testable import AgentCore

/// A radio that rfkill keeps from working.
@Suite struct BlockedRadioTests {
    @Test func isToldOnceWithWhatHelps() throws {
        var bench = try CoreBench()
        try bench.start()
        bench.surroundings.stations["wlan0"]?.isLinkUp = false
        bench.surroundings.stations["wlan0"]?.block = .soft
        #expect(
            bench.tell(.route(.linkChanged("wlan0", isUp: false))).contains(
                "explain blocked(AgentModel.RadioBlock.soft)"))
        #expect(bench.core.serviceStatus.contains("rfkill"))
        #expect(!bench.tell(.route(.other)).contains { $0.hasPrefix("explain") })
        bench.surroundings.stations["wlan0"]?.block = .hard
        #expect(bench.tell(.route(.other)).contains("explain blocked(AgentModel.RadioBlock.hard)"))
        bench.surroundings.stations["wlan0"]?.block = nil
        bench.surroundings.stations["wlan0"]?.isLinkUp = true
        bench.tell(.route(.linkChanged("wlan0", isUp: true)))
        #expect(bench.notices.contains("the radio of wlan0 is blocked no more"))
        #expect(!bench.core.serviceStatus.contains("rfkill"))
    }
}
