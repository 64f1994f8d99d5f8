/// What a device's other parts take, beyond what the scenario says.
public struct StackTiming: Sendable, Hashable {
    /// On top of an access point's `addressTime`: dhcpcd's probing by ARP takes about 5 s.
    public var extraAddressTime = Duration.zero

    public init() {}
}
