/// Runs that a benchmark still needs.
public struct BenchmarkPlan: Equatable, Sendable {
    public struct Job: Equatable, Sendable {
        public let caseName: String
        public let wanted: [Wanted]

        public var runs: Int { wanted.reduce(0) { $0 + $1.count } }
    }

    /// Runs that one stack still needs. The text `iwd=2+3` means three more runs of iwd, after two existing ones.
    public struct Wanted: Equatable, Sendable, LosslessStringConvertible {
        public let stack: String
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

    public static let caseNames: [String] = [LowerBound.name] + BenchmarkCase.all.map(\.name)

    public let jobs: [Job]

    /// - Parameters:
    ///   - cases: names of cases or their prefixes; empty for all.
    ///   - stacks: stacks to measure; empty for all.
    ///   - runs: wanted number of runs of each case and stack, including existing ones.
    ///   - done: existing runs. Failed runs do not count.
    public init(
        cases: [String], stacks: [StackName], runs: Int, time: Run.Time, done: [Run]
    ) {
        let chosen = Self.caseNames.filter { name in
            let isWaiting = time == .clock && BenchmarkCase.all.contains { $0.name == name && $0.isVirtualOnly }
            return !isWaiting && (cases.isEmpty || cases.contains { name.hasPrefix($0) })
        }
        jobs = chosen.compactMap { caseName in
            let names = Run.stacks(of: caseName).filter { name in
                stacks.isEmpty || caseName == LowerBound.name || stacks.contains { $0.rawValue == name }
            }
            let wanted = names.compactMap { stack -> Wanted? in
                let there = done.filter {
                    $0.caseName == caseName && $0.stack == stack && $0.time == time && $0.failure == nil
                }
                guard there.count < runs else { return nil }
                return Wanted(stack: stack, done: there.count, count: runs - there.count)
            }
            return wanted.isEmpty ? nil : Job(caseName: caseName, wanted: wanted)
        }
    }
}
