import AgentModel
import AppProtocol
import Testing

@testable import AgentCore

/// A radio that rfkill keeps from working.
@Suite struct BlockedRadioTests {
    // covers: seed/blocked-radio
    @Test func isToldOnceWithWhatHelps() throws {
        var bench = try CoreBench()
        try bench.start()
        bench.surroundings.stations["wlan0"]?.isLinkUp = false
        bench.surroundings.stations["wlan0"]?.block = .soft
        #expect(
            bench.handle(.linkChanged("wlan0", isUp: false)).contains(
                "explain blocked(AgentModel.RadioBlock.soft)"))
        #expect(bench.core.serviceStatus.contains("rfkill"))
        let clock = ClockReading(instant: bench.now, time: Timestamp(millisecondsSince1970: 1_767_225_600_000))
        #expect(bench.core.status(at: clock).radio?.fault == "blocked")
        #expect(!bench.handle(.route(.resynchronise)).contains { $0.hasPrefix("explain") })
        bench.surroundings.stations["wlan0"]?.block = .hard
        #expect(bench.handle(.route(.resynchronise)).contains("explain blocked(AgentModel.RadioBlock.hard)"))
        #expect(bench.core.status(at: clock).radio?.fault == "switchedOff")
        bench.surroundings.stations["wlan0"]?.block = nil
        bench.surroundings.stations["wlan0"]?.isLinkUp = true
        bench.handle(.linkChanged("wlan0", isUp: true))
        #expect(bench.notices.contains { $0.contains("wlan0") && $0.contains("no longer blocked") })
        #expect(!bench.core.serviceStatus.contains("rfkill"))
        #expect(bench.core.status(at: clock).radio == nil)
    }
}
