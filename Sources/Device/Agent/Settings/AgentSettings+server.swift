import AppProtocol
import AppServer

extension AgentSettings {
    /// The socket for programs of this machine.
    var unixListener: UnixListenerSettings {
        UnixListenerSettings(path: socketPath, mode: socketMode, group: socketGroup, readers: socketReaders)
    }

    /// The socket for apps in the network; nil if there is none.
    func lanListener(for device: DeviceKey) -> LANListenerSettings? {
        lanPort.map { LANListenerSettings(port: $0, device: device) }
    }

    var serverLimits: AppServer.Limits {
        var limits = AppServer.Limits()
        limits.lan.connections = lanConnections
        return limits
    }
}
