import AgentModel

/// Signals of one network as they were measured, oldest first, as far back as somebody looks.
struct SignalTrace: Sendable, Equatable {
    struct Sample: Sendable, Equatable {
        let time: Instant
        /// In dBm.
        let signal: Int
        /// Whether the network was lost, or not watched, between the sample before and this one.
        let isAfterBreak: Bool
    }

    /// Bounded, whatever the device sends.
    static let maximumSamples = 4096

    private(set) var samples: [Sample] = []
    private var isBroken = true

    mutating func add(_ signal: Int, at time: Instant) {
        if let last = samples.last, time < last.time { return }
        if samples.count == Self.maximumSamples { samples.removeFirst(Self.maximumSamples / 4) }
        samples.append(Sample(time: time, signal: signal, isAfterBreak: isBroken))
        isBroken = false
    }

    /// What comes next does not continue what was.
    mutating func interrupt() { isBroken = true }

    mutating func forget(before time: Instant) {
        samples.removeSubrange(..<(samples.firstIndex { $0.time >= time } ?? samples.endIndex))
    }
}
