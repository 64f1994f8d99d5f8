import AppServer
import DevicePage

extension AgentSettings {
    var unixListener: UnixListenerSettings {
        UnixListenerSettings(
            path: socketPath, mode: socketMode, group: socketGroup, readers: socketReaders,
            relays: UserGroup.number(of: "altnet-mqtt").map { RelayAccess(group: $0, role: brokerRole) })
    }

    /// Returns the settings of the listener for apps in the network; nil without a port or a certificate.
    /// - Parameter page: page for browsers; nil for none.
    func lanListener(
        for identity: DeviceIdentity, _ keys: any AppKeyDirectory, page: DevicePage? = nil
    ) -> LANListenerSettings? {
        guard let lanPort, let certificate = identity.certificate else { return nil }
        var credentials = AppCredentials(
            deviceId: identity.id, certificate: certificate, keys: keys, acceptsPreSharedKey: acceptsPreSharedKey)
        if hasWebInterface { credentials.pages = page?.inNetwork }
        return LANListenerSettings(port: lanPort, credentials: credentials)
    }

    var serverLimits: AppServer.Limits {
        var limits = AppServer.Limits()
        limits.lan.connections = lanConnections
        return limits
    }
}
