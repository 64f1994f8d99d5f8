/// A cable that carries the device's traffic: an Ethernet link with an address and the default route, and nothing behind it.
public struct Cable: Sendable {
    private static let interface = "cable0"
    private let log: String

    /// Plugs it in.
    init(log: String) throws(LabError) {
        self.log = log
        let (near, far) = (Self.interface, "cable1")
        try Program.run("ip", ["link", "add", near, "type", "veth", "peer", "name", far], log: log)
        for end in [near, far] { try Program.run("ip", ["link", "set", end, "up"], log: log) }
        try Program.run("ip", ["address", "add", "10.200.0.2/24", "dev", near], log: log)
        try Program.run("ip", ["route", "add", "default", "via", "10.200.0.1", "dev", near, "metric", "10"], log: log)
    }

    /// Pulls it out.
    public func pull() throws { try Program.run("ip", ["link", "delete", Self.interface], log: log) }
}
