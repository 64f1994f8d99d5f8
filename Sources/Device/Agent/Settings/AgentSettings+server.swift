import AppProtocol
import AppServer
import DevicePage

extension AgentSettings {
    /// The socket for programs of this machine.
    var unixListener: UnixListenerSettings {
        UnixListenerSettings(
            path: socketPath, mode: socketMode, group: socketGroup, readers: socketReaders,
            relays: UserGroup.number(of: "altnet-mqtt").map { RelayAccess(group: $0, role: brokerRole) })
    }

    /// The port for apps in the network; nil if there is none, or no certificate to show there.
    /// - Parameter page: what browsers get there, where they get something.
    func lanListener(
        for identity: DeviceIdentity, _ keys: any AppKeyDirectory, page: DevicePage? = nil
    ) -> LANListenerSettings? {
        guard let lanPort, let certificate = identity.certificate else { return nil }
        var door = Door(
            deviceId: identity.id, certificate: certificate, keys: keys, takesPreSharedKey: takesPreSharedKey)
        if hasWebInterface { door.pages = page?.inNetwork }
        return LANListenerSettings(port: lanPort, door: door)
    }

    var serverLimits: AppServer.Limits {
        var limits = AppServer.Limits()
        limits.lan.connections = lanConnections
        return limits
    }
}
