import AgentModel

/// What came of all runs of one scenario under one policy.
public struct RunTotals: Sendable {
    public let scenario: String
    public let policy: String
    /// The least of the runs.
    public private(set) var seed: UInt64
    public private(set) var runs = 1
    /// Of all runs together, without a timeline.
    public private(set) var sum: RunResult

    public init(_ first: RunResult) {
        scenario = first.scenario
        policy = first.policy
        seed = first.seed
        sum = first
        sum.timeline = nil
    }

    /// - Parameter next: Another run of the same scenario under the same policy.
    public mutating func add(_ next: RunResult) {
        runs += 1
        seed = min(seed, next.seed)
        sum.duration += next.duration
        sum.outage += next.outage
        sum.switches += next.switches
        sum.returns += next.returns
        sum.roams += next.roams
        sum.joins += next.joins
        sum.failedJoins += next.failedJoins
        sum.scans += next.scans
        sum.scanTime += next.scanTime
        sum.scanTimeOnLink += next.scanTimeOnLink
        sum.probes += next.probes
        sum.events += next.events
        sum.committed += next.committed
        sum.rolledBack += next.rolledBack
        sum.failed += next.failed
    }

    /// A day's part of something counted over all runs.
    func perDay(_ amount: Double) -> Double { sum.duration > .zero ? amount * 86_400 / sum.duration.inSeconds : 0 }

    func perDay(_ count: Int) -> Double { perDay(Double(count)) }

    /// Of all time, 0 to 1.
    func share(_ time: Duration) -> Double { sum.duration > .zero ? time / sum.duration : 0 }
}
