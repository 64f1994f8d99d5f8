import AppClient
import AppProtocol

/// The device under test, as the harness reaches it.
public struct Target: Sendable {
    public let endpoint: Endpoint
    /// What the owner's app has. Over a Unix socket it is only needed for what is computed with it: hashes and seals.
    public let key: DeviceKey?
    /// How long connecting and each answer may take.
    public let patience: Duration
    /// How long a switch may take with its way back, both with an address.
    public let switchTime: Duration

    /// A device in the network.
    public init(
        host: String, port: Int = ProtocolLimits.port, key: DeviceKey, patience: Duration = .seconds(10),
        switchTime: Duration = .seconds(120)
    ) {
        endpoint = .network(host: host, port: port, device: key)
        self.key = key
        self.patience = patience
        self.switchTime = switchTime
    }

    /// An agent on this machine.
    public init(
        socket path: String, key: DeviceKey? = nil, patience: Duration = .seconds(10),
        switchTime: Duration = .seconds(120)
    ) {
        endpoint = .unixSocket(path: path)
        self.key = key
        self.patience = patience
        self.switchTime = switchTime
    }

    /// How long one of several places may take where the device could be.
    var patienceWithOnePlace: Duration { patience / 5 }

    var isNetwork: Bool { if case .network = endpoint { true } else { false } }
}
