import AgentModel

/// The least outage that a device could have had in a scenario, had it known what would come, with the fewest moves.
///
/// It needs no scans, knows at once when a link is dead, and every join works at the first try and takes the shortest time. It is
/// bound by physics only: a move takes association and address, during which nothing gets through, and an access
/// point can be joined while it is on and heard, takes stations, accepts the password that the device has been told, and
/// gives out addresses. What it loses nobody can save; what a policy loses more is its regret.
public struct Oracle: Sendable {
    /// What is known beforehand.
    public enum Foresight: Sendable, Hashable {
        /// Everything.
        case complete
        /// Nothing sudden: the optimum begins in the preferred network where that is good, and joins no other one while it is; a link
        /// at which everything gets through is not left; and after a power cut or the internet's death the device stays where it is
        /// until it can know. Where it goes then, it chooses well. It shows how much of a regret is not knowing the future.
        case none
    }

    public struct Outcome: Sendable, Hashable {
        public let outage: Duration
        public let switches: Int
        public let roams: Int
        public let way: [Stop]
    }

    /// A move of the best way: set out for, and in use from.
    public struct Stop: Sendable, Hashable {
        public let start: Duration
        public let arrival: Duration
        /// Index in the scenario's access points.
        public let accessPoint: Int
    }

    /// What the kernel takes at least to miss an access point's beacons (Docs/detection.md).
    static let lossDetection = StackTiming().lossDetection.lowerBound

    /// The shortest time that an association and its handshake take.
    static let association: Int64 = 100

    /// - Returns: the best way through one pass of the scenario.
    public static func run(_ scenario: Scenario, seed: UInt64, foresight: Foresight = .complete) -> Outcome {
        let course = OracleCourse(World(scenario, seed: seed), foresight: foresight)
        var optimum = Optimum(networks: course.networks)
        course.forEachCell { optimum.advance(through: $0) }
        let best = optimum.best
        return Outcome(
            outage: .seconds(best.outage), switches: best.switches, roams: best.roams,
            way: best.moves.map { move in
                Stop(
                    start: .seconds(move.start), arrival: .seconds(move.arrival),
                    accessPoint: course.accessPoints[move.accessPoint])
            })
    }
}
