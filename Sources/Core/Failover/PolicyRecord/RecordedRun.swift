import AgentModel

/// What one run of the agent recorded, from its start to its end.
public struct RecordedRun: Sendable, Equatable {
    /// The agent's version.
    public let agent: String
    public let settings: PolicySettings
    public internal(set) var steps: [Step] = []
    /// Why nothing can be said of what followed; nil where the run is there to its end.
    public internal(set) var end: End?

    /// One event and what the policy wanted done.
    public struct Step: Sendable, Equatable {
        /// The event's place in the file, from 1.
        public let line: Int
        public let at: Instant
        public let event: PolicyEvent
        /// How many actions it has, which a power cut may have kept from being written.
        let actionCount: Int
        /// In the words of the record.
        public internal(set) var actions: [String] = []
    }

    public enum End: Sendable, Equatable {
        /// The disk was too slow: so many events and what they led to are missing.
        case gap(line: Int, missed: Int)
        /// The file had reached its limit.
        case full
        /// The power was cut, or the agent killed, while this line or the next one was written.
        case cut(line: Int)
    }

    init(agent: String, settings: PolicySettings) {
        self.agent = agent
        self.settings = settings
    }
}
