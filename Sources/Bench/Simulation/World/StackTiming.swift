/// What a device's other parts take, beyond what the scenario says.
public struct StackTiming: Sendable, Hashable {
    /// On top of an access point's `addressTime`: dhcpcd's probing by ARP takes about 5 s.
    public var extraAddressTime = Duration.zero
    /// From an access point's end until the kernel calls the link lost, in milliseconds: three beacons as the board package
    /// sets it, and it looks on whole seconds only (Docs/detection.md).
    public var lossDetection: ClosedRange<Int64> = 205...1310
    /// The same as the kernel has it by itself: seven beacons.
    public static let kernelsLossDetection: ClosedRange<Int64> = 615...1720

    public init() {}
}
