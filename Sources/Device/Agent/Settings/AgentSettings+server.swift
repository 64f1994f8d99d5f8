import AppProtocol
import AppServer

extension AgentSettings {
    /// Where programs of this machine are answered.
    var unixListener: UnixListenerSettings {
        UnixListenerSettings(path: socketPath, mode: socketMode, group: socketGroup, readers: socketReaders)
    }

    /// Where apps in the network are answered; nil if they are not.
    func lanListener(for device: DeviceKey) -> LANListenerSettings? {
        lanPort.map { LANListenerSettings(port: $0, device: device) }
    }

    var serverLimits: AppServer.Limits {
        var limits = AppServer.Limits()
        limits.lan.connections = lanConnections
        return limits
    }
}
