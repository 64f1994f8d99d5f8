import AgentModel

/// Where a command has put the device.
struct Choice: Hashable, Sendable {
    let network: NetworkID
    /// Until then the network is not left for being weak.
    let heldUntil: Instant
}
