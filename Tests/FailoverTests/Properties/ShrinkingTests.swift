import AgentModel
import PolicyProperties
import Testing

/// A counter-example is worth what it leaves out.
@Suite struct ShrinkingTests {
    /// Fails where a three comes before a seven or more.
    private struct Numbers: Shrinkable {
        var steps: [Int]

        static func simpler(_ step: Int) -> [Int] { step > 0 ? [step / 2, step - 1] : [] }
        static func joined(_ first: Int, _ second: Int) -> Int { second }

        func violation() -> Violation? {
            guard let three = steps.firstIndex(of: 3), steps[three...].contains(where: { $0 >= 7 }) else { return nil }
            return Violation(.repeatable, "", at: Instant(milliseconds: 0))
        }
    }

    @Test func leavesWhatMatters() {
        let noise = (0..<50).map { $0 * 31 % 40 }
        #expect(Numbers(steps: noise + [3] + noise + [39]).shrunk().steps == [3, 7])
    }

    @Test func leavesAloneWhatHolds() { #expect(Numbers(steps: [7, 3]).shrunk().steps == [7, 3]) }
}
