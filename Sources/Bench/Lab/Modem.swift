/// A modem that carries the device's traffic: an interface that is named like one, with an address and the default route, and
/// nothing behind it.
public struct Modem: Sendable {
    private static let interface = "wwan0"
    private let log: String

    /// Connects it.
    init(log: String) throws(LabError) {
        self.log = log
        let name = Self.interface
        try Program.run("ip", ["link", "add", name, "type", "dummy"], log: log)
        try Program.run("ip", ["address", "add", "10.201.0.2/24", "dev", name], log: log)
        try Program.run("ip", ["link", "set", name, "up"], log: log)
        try Program.run("ip", ["route", "add", "default", "dev", name, "metric", "10"], log: log)
    }

    /// Unplugs it.
    public func remove() throws { try Program.run("ip", ["link", "delete", Self.interface], log: log) }
}
