import AgentModel
import AppProtocol

/// The networks of one device, under the names that users of app SDKs know.
///
/// It connects when it is first asked, and again whenever the connection is lost, also to the network that the device
/// has switched to. It may be used from several tasks at the same time. Every call throws ``ClientError``, whose
/// description says what to do.
public final class DeviceNetworkManager: Sendable {
    /// What this app shares with the device.
    public let device: DeviceKey
    /// The same connection, for what has no name here.
    public let session: DeviceSession

    /// - Parameter resolve: where the device may be now; asked before each attempt to connect. An app that finds
    ///   devices by DNS-SD answers with what it sees at the moment.
    public init(
        device: DeviceKey, settings: DeviceSession.Settings = .init(),
        resolve: @escaping @Sendable () async -> [Endpoint]
    ) {
        self.device = device
        session = DeviceSession(settings: settings, resolve: resolve)
    }

    /// - Parameter host: a name, which keeps leading to the device when it has switched (`board-1.local`), or an
    ///   address, IPv6 ones with their zone where they need one (`fe80::1%en0`).
    public convenience init(
        device: DeviceKey, host: String, port: Int = ProtocolLimits.port, settings: DeviceSession.Settings = .init()
    ) {
        self.init(device: device, settings: settings) { [.network(host: host, port: port, device: device)] }
    }

    /// Ends the connection. Otherwise it ends with the last reference to this object and to its events.
    public func close() async { await session.close() }
}

// MARK: What the device can do

extension DeviceNetworkManager {
    /// Whether a device with these capabilities has backup networks, in a version of the protocol that is spoken here.
    public static func supportWifiBackupNetwork(_ capabilities: Capabilities) -> Bool {
        capabilities.supportsBackupNetworks && capabilities.versions.contains(ProtocolLimits.version)
    }

    public func supportWifiBackupNetwork() async throws(ClientError) -> Bool {
        Self.supportWifiBackupNetwork(
            try await session.ask { client throws(ClientError) in try await client.capabilities() })
    }

    public func getCurrentNetworkInfo() async throws(ClientError) -> NetworkInfo {
        NetworkInfo(try await session.ask { client throws(ClientError) in try await client.network() })
    }

    /// Whether the device takes a new list now.
    public func canUpdateWifiBackupNetwork(_ info: NetworkInfo) -> Bool { info.flags.contains(.canUpdateBackups) }

    /// Whether the device can be sent to another network now.
    public func canSwitchWifiNetwork(_ info: NetworkInfo) -> Bool { info.flags.contains(.canSwitch) }
}

// MARK: Backup networks

extension DeviceNetworkManager {
    public func getBackupWifiNetworks() async throws(ClientError) -> BackupWifiNetworks {
        BackupWifiNetworks(try await session.ask { client throws(ClientError) in try await client.backups() })
    }

    /// Makes a model of a network that the device does not know yet. Nothing is sent.
    /// - Parameters:
    ///   - pwd: 8 to 63 printable ASCII characters; nil for an open network.
    ///   - hidden: the access point does not beacon its name.
    /// - Throws: `refused` with `invalidPassword`.
    public func generateBackupWifiModel(
        ssid: SSID, pwd: Secret?, hidden: Bool = false
    ) throws(ClientError) -> BackupWifiModel {
        if let pwd {
            do {
                try Passphrase.validate(pwd)
            } catch {
                throw .refused(ProtocolError(.invalidPassword, "\(error)", details: ["field": "password"]))
            }
        }
        return BackupWifiModel(
            ssid: ssid, hash: NetworkHash(localKey: device.localKey, ssid: ssid, password: pwd),
            credential: pwd.map { .password($0) } ?? NetworkCredential.none, isHidden: hidden)
    }

    /// The same from text, as it is typed: an empty password stands for an open network.
    /// - Throws: `refused` with `invalidSsid` or `invalidPassword`.
    public func generateBackupWifiModel(
        ssid: String, pwd: String, hidden: Bool = false
    ) throws(ClientError) -> BackupWifiModel {
        try generateBackupWifiModel(
            ssid: Self.ssid(ssid), pwd: pwd.isEmpty ? nil : Secret(text: pwd), hidden: hidden)
    }

    /// Replaces the stored list as a whole: what is not named is forgotten. Passwords travel only for models that come
    /// from ``generateBackupWifiModel(ssid:pwd:hidden:)``, and sealed.
    /// - Parameter revision: the revision that the list must still have: `revisionConflict` where somebody else changed
    ///   it. Nil to replace it whatever it is.
    @discardableResult
    public func updateBackupWifiNetworks(
        _ models: [BackupWifiModel], ifRevision revision: Int? = nil
    ) async throws(ClientError) -> BackupWifiNetworks {
        BackupWifiNetworks(try await session.updateBackups(models.map(\.reference), ifRevision: revision))
    }

    static func ssid(_ text: String) throws(ClientError) -> SSID {
        do {
            return try SSID(text)
        } catch {
            throw .refused(ProtocolError(.invalidSsid, "\(error)", details: ["field": "ssid"]))
        }
    }
}
