import AgentModel

/// What surrounds the device under test: networks that it can be sent to, and perhaps a way to turn their access points
/// off.
public struct Bench: Sendable {
    public let networks: [BenchNetwork]
    public let accessPoints: (any AccessPointSwitch)?

    public init(networks: [BenchNetwork] = [], accessPoints: (any AccessPointSwitch)? = nil) {
        self.networks = networks
        self.accessPoints = accessPoints
    }

    func network(_ ssid: SSID) -> BenchNetwork? { networks.first { $0.ssid == ssid } }
}

/// A network in range of the device, whose password the harness knows.
public struct BenchNetwork: Sendable {
    /// What ``AccessPointSwitch`` calls its access point.
    public let name: String
    public let ssid: SSID
    /// Nil for an open network.
    public let password: Secret?
    /// Where the device answers while it is on this network; nil where it is the same as everywhere.
    public let address: Address?

    public struct Address: Sendable, Equatable {
        public let host: String
        /// Nil for the same port as everywhere.
        public let port: Int?

        public init(host: String, port: Int? = nil) {
            self.host = host
            self.port = port
        }
    }

    public init(name: String, ssid: SSID, password: Secret?, address: Address? = nil) {
        self.name = name
        self.ssid = ssid
        self.password = password
        self.address = address
    }
}

/// Turns access points on and off: a person's program at a bench, or the lab.
public protocol AccessPointSwitch: Sendable {
    /// Those that it can turn.
    func names() async throws -> [String]

    /// Returns once the access point is on the air, or has left it.
    func turn(_ name: String, on isOn: Bool) async throws
}
