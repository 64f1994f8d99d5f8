/// What is still to be run.
public struct BenchmarkPlan: Equatable, Sendable {
    /// What one virtual machine does: one trial, so often with each of these stacks.
    public struct Job: Equatable, Sendable {
        public let trial: String
        public let wanted: [Wanted]

        public var runs: Int { wanted.reduce(0) { $0 + $1.count } }
    }

    /// As text `iwd=2+3`: three runs of iwd's, after two that there are.
    public struct Wanted: Equatable, Sendable, LosslessStringConvertible {
        public let stack: String
        /// How many runs there are already.
        public let done: Int
        public let count: Int

        init(stack: String, done: Int, count: Int) { (self.stack, self.done, self.count) = (stack, done, count) }

        public init?(_ description: String) {
            let parts = description.split(separator: "=", omittingEmptySubsequences: false)
            let numbers = (parts.last ?? "").split(separator: "+").compactMap { Int($0) }
            guard parts.count == 2, numbers.count == 2, numbers[0] >= 0, numbers[1] > 0 else { return nil }
            self.init(stack: String(parts[0]), done: numbers[0], count: numbers[1])
        }

        public var description: String { "\(stack)=\(done)+\(count)" }
    }

    public static let trials: [String] = [Floor.name] + Trial.all.map(\.name)

    public let jobs: [Job]

    /// - Parameters:
    ///   - trials: by name, each or the beginning of it; all if empty.
    ///   - stacks: all if empty.
    ///   - runs: how many there are to be of each in the end.
    ///   - done: those that there are. One that failed is none.
    public init(
        trials: [String], stacks: [StackName], runs: Int, time: Run.Time, done: [Run]
    ) {
        let chosen = Self.trials.filter { name in
            let isWaiting = time == .clock && Trial.all.contains { $0.name == name && $0.isVirtualOnly }
            return !isWaiting && (trials.isEmpty || trials.contains { name.hasPrefix($0) })
        }
        jobs = chosen.compactMap { trial in
            let names = Run.stacks(of: trial).filter { name in
                stacks.isEmpty || trial == Floor.name || stacks.contains { $0.rawValue == name }
            }
            let wanted = names.compactMap { stack -> Wanted? in
                let there = done.filter {
                    $0.trial == trial && $0.stack == stack && $0.time == time && $0.failure == nil
                }
                guard there.count < runs else { return nil }
                return Wanted(stack: stack, done: there.count, count: runs - there.count)
            }
            return wanted.isEmpty ? nil : Job(trial: trial, wanted: wanted)
        }
    }
}
