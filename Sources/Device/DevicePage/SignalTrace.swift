import AgentModel

/// The signal of the last hour for a chart, at most one sample every half minute.
struct SignalTrace: Sendable {
    struct Sample: Sendable, Equatable {
        let time: Instant
        /// Signal in dBm.
        let signal: Int
    }

    static let span = Duration.seconds(3600)
    static let interval = Duration.seconds(30)

    private(set) var samples: [Sample] = []

    mutating func add(_ signal: Int, at now: Instant) {
        guard (-128...0).contains(signal) else { return }
        if let last = samples.last, now - last.time < Self.interval { return }
        samples.append(Sample(time: now, signal: signal))
        samples.removeAll { now - $0.time > Self.span }
    }
}
