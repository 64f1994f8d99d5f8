import AgentModel

/// What to scan for.
public struct ScanRequest: Hashable, Sendable {
    /// Networks to ask for by name. Without it a hidden network often is not seen at all: the radio stays on a channel
    /// for less time than between two beacons, and to the question to everybody it does not answer. The radio takes
    /// `Phy.maximumScanSSIDs` at once, and the question to everybody counts as one of them.
    public var ssids: [SSID]
    /// Whether access points that beacon their name are asked too (the wildcard SSID).
    public var asksEverybody: Bool
    /// Where to listen. Empty means every channel that the regulatory domain allows, which takes seconds. Channels that
    /// it does not allow are left out, and if none is left the scan is refused.
    public var frequencies: [Frequency]
    /// Whether to forget older results first, so that only what this scan hears is left.
    public var flush: Bool

    public init(ssids: [SSID] = [], asksEverybody: Bool = true, frequencies: [Frequency] = [], flush: Bool = false) {
        self.ssids = ssids
        self.asksEverybody = asksEverybody
        self.frequencies = frequencies
        self.flush = flush
    }

    /// Every channel, everybody.
    public static let full = ScanRequest()
}

/// How a scan of our own ended.
public enum ScanOutcome: Hashable, Sendable {
    /// With everything the radio knows of now, the newest and the older that the kernel still keeps (30 s).
    case finished([BSS])
    /// By somebody else's wish or by the driver's; a part of the channels was not listened to.
    case aborted
}
