/// A connection manager that altnet is compared with: how it decides, and how long what it runs on takes.
public struct Peer: Sendable {
    public let name: String
    public let habits: PeerHabits
    /// What its DHCP client takes on top of the access point's time.
    let extraAddressTime: Duration

    public static let all = [wpaSupplicant, networkManager, iwd, strongest, espHome]

    public var timing: StackTiming {
        var timing = StackTiming()
        timing.extraAddressTime = extraAddressTime
        timing.lossDetection = StackTiming.kernelsLossDetection
        return timing
    }

    public func makePolicy() -> PeerPolicy { PeerPolicy(habits: habits) }
}
