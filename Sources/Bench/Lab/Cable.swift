/// A cable that carries the device's traffic: an Ethernet link with an address and the default route.
public struct Cable: Sendable {
    /// The device's address on it.
    public static let address = IPv4Address(10, 200, 0, 2)

    private static let interface = "cable0"
    private let log: String

    /// Plugs it in.
    ///
    /// - Parameter upstream: where its other end is; nil: nowhere, and nothing answers there.
    init(to upstream: NetworkNamespace?, directory: String) throws(LabError) {
        log = "\(directory)/commands.log"
        let (near, far) = (Self.interface, "cable1")
        let gateway = IPv4Address(10, 200, 0, 1)
        try Lab.batch(
            ["link add \(near) type veth peer name \(far)\(upstream.map { " netns \($0.name)" } ?? "")"],
            directory: directory)
        let farEnd = ["link set dev \(far) up"] + (upstream == nil ? [] : ["address add \(gateway)/24 dev \(far)"])
        try Lab.batch(farEnd, in: upstream, directory: directory)
        try Lab.batch(
            [
                "link set dev \(near) up", "address add \(Self.address)/24 dev \(near)",
                "route add default via \(gateway) dev \(near) metric 10",
            ], directory: directory)
    }

    /// Pulls it out.
    public func pull() throws { try Program.run("ip", ["link", "delete", Self.interface], log: log) }
}
