import AgentModel

/// The share of traffic that a signal loses after all repetitions: nothing at `none` and above, everything at `all` and
/// below, evenly in between.
///
/// An assumption, for the lab's simulated radios lose nothing by signal: the lowest rates of real receivers end between
/// -88 and -92 dBm, and at a dozen dB more nothing is lost that repetition does not mend. On 5 GHz, where channels are
/// wider, both ends are 2 dB higher.
public struct FrameLoss: Sendable, Hashable {
    /// In dBm.
    public let none: Double
    public let all: Double

    public init(on frequency: Frequency) {
        (none, all) = frequency.band == .twoPointFour ? (-78, -90) : (-76, -88)
    }

    /// From 0 to 1.
    public func share(at signal: Double) -> Double { min(1, max(0, (none - signal) / (none - all))) }

    /// The signal at which this share is lost, in dBm.
    func signal(losing share: Double) -> Double { none - share * (none - all) }

    /// The share lost in the mean while the signal goes from one level to another at an even pace.
    func meanShare(from start: Double, to end: Double) -> Double {
        // Divided by nearly nothing, the difference of two areas would be all rounding.
        guard abs(end - start) > 1e-3 else { return share(at: (start + end) / 2) }
        return (area(above: end) - area(above: start)) / (start - end)
    }

    /// The integral of the share over the signal, from this signal upwards.
    private func area(above signal: Double) -> Double {
        if signal >= none { return 0 }
        if signal >= all { return (none - signal) * (none - signal) / (2 * (none - all)) }
        return (none - all) / 2 + all - signal
    }
}
