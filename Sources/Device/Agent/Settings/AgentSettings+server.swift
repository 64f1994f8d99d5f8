import AppProtocol
import AppServer

extension AgentSettings {
    /// The socket for programs of this machine.
    var unixListener: UnixListenerSettings {
        UnixListenerSettings(path: socketPath, mode: socketMode, group: socketGroup, readers: socketReaders)
    }

    /// The port for apps in the network; nil if there is none, or no certificate to show there.
    func lanListener(for identity: DeviceIdentity, _ keys: any AppKeyDirectory) -> LANListenerSettings? {
        guard let lanPort, let certificate = identity.certificate else { return nil }
        return LANListenerSettings(
            port: lanPort,
            door: Door(
                deviceId: identity.id, certificate: certificate, keys: keys, takesPreSharedKey: takesPreSharedKey))
    }

    var serverLimits: AppServer.Limits {
        var limits = AppServer.Limits()
        limits.lan.connections = lanConnections
        return limits
    }
}
