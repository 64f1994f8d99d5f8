import AgentModel

/// The signal of the last hour for a chart: at most one sample every half minute, and marks where the link was lost.
struct SignalTrace: Sendable {
    struct Sample: Sendable, Equatable {
        let time: Instant
        /// Signal in dBm; nil from here on until the next sample, because the device was not connected.
        let signal: Int?
    }

    static let span = Duration.seconds(3600)
    static let interval = Duration.seconds(30)
    /// Maximum number of samples. A link that is often lost adds more than one every half minute.
    static let maximum = 360

    private(set) var samples: [Sample] = []

    mutating func add(_ signal: Int, at now: Instant) {
        guard (-128...0).contains(signal) else { return }
        if let last = samples.last, last.signal != nil, now - last.time < Self.interval { return }
        append(Sample(time: now, signal: signal))
    }

    mutating func disconnect(at now: Instant) {
        if samples.last?.signal != nil { append(Sample(time: now, signal: nil)) }
    }

    private mutating func append(_ sample: Sample) {
        samples.append(sample)
        samples.removeAll { sample.time - $0.time > Self.span }
        if samples.count > Self.maximum { samples.removeFirst(samples.count - Self.maximum) }
    }
}
