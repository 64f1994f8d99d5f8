import AgentModel
import Testing

@testable import AgentCore

/// When the radio may sleep, as a table of counts and what is set.
@Suite struct PowerSaveByTrafficTests {
    private static func count(_ policy: inout PowerSaveByTraffic, _ frames: UInt64?, at seconds: Int64) -> Bool? {
        policy.counted(
            frames.map { LinkFrames(sent: $0 / 2, received: $0 - $0 / 2) }, at: Instant(milliseconds: seconds * 1000))
    }

    @Test func itSleepsWhenLeftAloneAndWakesForTraffic() {
        var policy = PowerSaveByTraffic()
        #expect(Self.count(&policy, 100, at: 0) == nil && !policy.isOn, "awake at first")
        for (seconds, frames, change) in [
            (5, 200, nil), (10, 209, nil), (30, 215, nil), (34, 216, nil), (35, 216, true), (40, 225, nil),
            (45, 240, false), (50, 240, nil), (75, 241, true),
        ] as [(Int64, UInt64, Bool?)] {
            #expect(Self.count(&policy, frames, at: seconds) == change, "at \(seconds) s")
        }
    }

    /// A driver that begins anew has power save as it likes: it is set when the interface appears, and counted from there.
    @Test func anInterfaceThatGoesAndComes() {
        var policy = PowerSaveByTraffic()
        _ = Self.count(&policy, 1000, at: 0)
        #expect(Self.count(&policy, 1000, at: 30) == true)
        #expect(Self.count(&policy, nil, at: 35) == false)
        #expect(Self.count(&policy, 5, at: 40) == nil)
        #expect(Self.count(&policy, 5, at: 69) == nil)
        #expect(Self.count(&policy, 5, at: 70) == true)
        #expect(Self.count(&policy, 3, at: 75) == false, "it counts anew")
    }

    @Test func nothingTraps() {
        var policy = PowerSaveByTraffic()
        for frames in [UInt64.max, 0, .max] {
            _ = policy.counted(LinkFrames(sent: frames, received: frames), at: Instant(milliseconds: 0))
        }
    }
}
