import AppProtocol

/// Where a device answers.
public enum Endpoint: Sendable, Equatable {
    /// The agent on this machine.
    case unixSocket(path: String)
    /// A device in the network, which must prove that it has the same key.
    case network(host: String, port: Int = ProtocolLimits.port, device: DeviceKey)

    var isLocal: Bool { if case .unixSocket = self { true } else { false } }
}

extension Endpoint: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unixSocket(let path): path
        case .network(let host, let port, let device):
            "\(device.deviceId) at \(host.contains(":") ? "[\(host)]" : host):\(port)"
        }
    }
}
