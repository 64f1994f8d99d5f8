/// How altnet, the others and the optimum fared in one scenario, side by side: means over several seeds.
public struct Comparison: Sendable, Hashable {
    public let scenario: String
    public let title: String
    /// How many seeds, and how long one pass was.
    public let seeds: Int
    public let duration: Duration
    /// altnet first, then the others, the oracle last.
    public let rows: [Row]
    /// Seconds of outage a day of an oracle that begins at home and does not foresee what comes suddenly, if it was asked.
    public let reactingOutagePerDay: Double?

    public init(
        scenario: String, title: String, seeds: Int, duration: Duration, rows: [Row],
        reactingOutagePerDay: Double? = nil
    ) {
        self.scenario = scenario
        self.title = title
        self.seeds = seeds
        self.duration = duration
        self.rows = rows
        self.reactingOutagePerDay = reactingOutagePerDay
    }

    /// What altnet's own row and the optimum's are called.
    public static let altnet = "altnet"
    public static let oracle = "oracle"

    public struct Row: Sendable, Hashable {
        /// `altnet`, the name of a model, or `oracle`.
        public let policy: String
        /// Seconds of a day without use.
        public let outagePerDay: Double
        public let switchesPerDay: Double
        /// Of the switches, those back to the preferred network.
        public let returnsPerDay: Double
        public let roamsPerDay: Double
        /// Seconds of outage a day more than the oracle's.
        public let regretPerDay: Double

        public init(
            policy: String, outagePerDay: Double, switchesPerDay: Double, returnsPerDay: Double, roamsPerDay: Double,
            regretPerDay: Double
        ) {
            self.policy = policy
            self.outagePerDay = outagePerDay
            self.switchesPerDay = switchesPerDay
            self.returnsPerDay = returnsPerDay
            self.roamsPerDay = roamsPerDay
            self.regretPerDay = regretPerDay
        }
    }
}
