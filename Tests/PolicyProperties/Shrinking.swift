/// A history that can be made shorter and simpler.
package protocol Shrinkable {
    associatedtype Step
    var steps: [Step] { get set }
    /// Simpler forms of one step, the simplest first.
    static func simpler(_ step: Step) -> [Step]
    /// One step in place of two, at the time of the second.
    static func joined(_ first: Step, _ second: Step) -> Step
    /// The violation in it, if there is one.
    func violation() -> Violation?
}

extension Shrinkable {
    /// The shortest and simplest history found in which the same property fails: delta debugging (Zeller and
    /// Hildebrandt, 2002) over the steps, then each step for itself, until nothing helps any more.
    package func shrunk(attempts: Int = 20_000) -> Self {
        guard let property = violation()?.property else { return self }
        var search = ShrinkingSearch(best: self, property: property, attempts: attempts)
        search.run()
        return search.best
    }
}

private struct ShrinkingSearch<History: Shrinkable> {
    var best: History
    let property: Property
    var attempts: Int

    mutating func run() {
        var helped = true
        while helped, attempts > 0 {
            helped = removeSteps()
            helped = joinSteps() || helped
            helped = simplifySteps() || helped
        }
    }

    private mutating func removeSteps() -> Bool {
        var helped = false
        var chunk = max(1, best.steps.count / 2)
        while chunk >= 1 {
            var start = best.steps.count - chunk
            while start >= 0 {
                var steps = best.steps
                steps.removeSubrange(start..<min(start + chunk, steps.count))
                if adopt(steps) { helped = true }
                start = min(start, best.steps.count) - chunk
            }
            chunk /= 2
        }
        return helped
    }

    /// Leaves a step out without moving those that follow.
    private mutating func joinSteps() -> Bool {
        var helped = false
        for index in best.steps.indices.dropLast().reversed() {
            var steps = best.steps
            steps[index + 1] = History.joined(steps[index], steps[index + 1])
            steps.remove(at: index)
            if adopt(steps) { helped = true }
        }
        return helped
    }

    private mutating func simplifySteps() -> Bool {
        var helped = false
        for index in best.steps.indices {
            var isSimplest = false
            while !isSimplest, attempts > 0 {
                isSimplest = !History.simpler(best.steps[index]).contains { step in
                    var steps = best.steps
                    steps[index] = step
                    return adopt(steps)
                }
                if !isSimplest { helped = true }
            }
        }
        return helped
    }

    private mutating func adopt(_ steps: [History.Step]) -> Bool {
        guard attempts > 0 else { return false }
        attempts -= 1
        var history = best
        history.steps = steps
        guard history.violation()?.property == property else { return false }
        best = history
        return true
    }
}
