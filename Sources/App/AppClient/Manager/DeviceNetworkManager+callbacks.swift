import AgentModel
import AppProtocol
import Synchronization

// These calls have the names, labels and callbacks of known app SDKs, so that screens written for an SDK need few
// changes. Callbacks run on the main actor. New code uses the async calls.

extension DeviceNetworkManager {
    private static let registered = Mutex<[String: (manager: DeviceNetworkManager, isSupported: Bool)]>([:])

    /// Asks the device for its features, and remembers the manager for the calls that name a device by its ID. Replaces
    /// an earlier manager of the device.
    public static func register(_ manager: DeviceNetworkManager) async throws(ClientError) {
        let isSupported = try await manager.supportWifiBackupNetwork()
        registered.withLock { $0[manager.device.deviceId] = (manager, isSupported) }
    }

    /// Forgets the manager of a device. Other references to it stay valid.
    public static func unregister(_ deviceId: String) { _ = registered.withLock { $0.removeValue(forKey: deviceId) } }

    /// Shares the connection of the registered manager. Without one, each call fails with `notFound`.
    public convenience init(deviceId: String) {
        if let known = Self.registered.withLock({ $0[deviceId] }) {
            self.init(sharing: known.manager)
        } else {
            self.init(device: DeviceKey(unknown: deviceId)) { [] }
        }
    }

    /// Whether the registered device has backup networks and speaks this version of the protocol. Sends nothing.
    public static func supportWifiBackupNetwork(with deviceId: String) -> Bool {
        registered.withLock { $0[deviceId]?.isSupported ?? false }
    }

    /// Like ``supportWifiBackupNetwork(with:)``, with the other spelling of the SDKs.
    public static func supportWifiBackupNetwork(_ deviceId: String) -> Bool { supportWifiBackupNetwork(with: deviceId) }

    /// Whether the device was registered with backup networks. Sends nothing.
    public func supportWifiBackupNetwork() -> Bool { Self.supportWifiBackupNetwork(with: device.deviceId) }

    /// Gets the network that the device is in.
    public func getCurrentNetworkInfo(
        success: @escaping @MainActor @Sendable (DeviceNetworkInfo) -> Void,
        failure: @escaping @MainActor @Sendable (ClientError) -> Void
    ) {
        call(success, failure) { [self] () async throws(ClientError) in
            DeviceNetworkInfo(try await getCurrentNetworkInfo())
        }
    }

    /// Gets the stored networks, without their passwords.
    /// - Parameter success: receives the backup networks and their maximum number.
    public func getBackupWifiNetworks(
        success: @escaping @MainActor @Sendable (_ backups: [SmartBackupWifiModel], _ maxNum: Int) -> Void,
        failure: @escaping @MainActor @Sendable (ClientError) -> Void
    ) {
        call({ success($0.networks.map(SmartBackupWifiModel.init), $0.max) }, failure) {
            [self] () async throws(ClientError) in try await getBackupWifiNetworks()
        }
    }

    /// Creates a model of a new network. If the name or the password is invalid, the update refuses the model.
    public func generateBackupWifiModel(withSSID ssid: String, pwd: String) -> SmartBackupWifiModel {
        do throws(ClientError) {
            return SmartBackupWifiModel(try generateBackupWifiModel(ssid: ssid, pwd: pwd))
        } catch {
            return SmartBackupWifiModel(ssid: ssid, hashValue: "", model: .failure(error))
        }
    }

    /// Whether the device accepts changes of its list in this state. Sends nothing.
    public func canUpdateWifiBackupNetwork(_ info: DeviceNetworkInfo) -> Bool {
        canUpdateWifiBackupNetwork(info.details)
    }

    /// Whether the device accepts a switch in this state. Sends nothing.
    public func canSwitchWifiNetwork(_ info: DeviceNetworkInfo) -> Bool { canSwitchWifiNetwork(info.details) }

    /// Replaces the stored list as a whole.
    public func updateBackupWifiNetworks(
        _ models: [SmartBackupWifiModel], success: @escaping @MainActor @Sendable () -> Void,
        failure: @escaping @MainActor @Sendable (ClientError) -> Void
    ) {
        call({ _ in success() }, failure) { [self] () async throws(ClientError) in
            var networks: [BackupWifiModel] = []
            for model in models { networks.append(try model.model.get()) }
            return try await updateBackupWifiNetworks(networks)
        }
    }

    /// Switches to a stored network. Fails with the code `alreadyAssociated` if the device is already in it.
    public func switchBackupWifiNetwork(
        withHash hash: String, success: @escaping @MainActor @Sendable () -> Void,
        failure: @escaping @MainActor @Sendable (ClientError) -> Void
    ) {
        call({ _ in success() }, failure) { [self] () async throws(ClientError) in
            guard let hash = NetworkHash(base64: hash) else {
                throw .refused(ProtocolError(.unknownNetwork, "no network has this hash", details: ["field": "hash"]))
            }
            return try await switchBackupWifiNetwork(hash: hash)
        }
    }

    /// Switches to a network outside the list. An empty password means an open network.
    public func switchBackupWifiNetwork(
        withSSID ssid: String, pwd: String, success: @escaping @MainActor @Sendable () -> Void,
        failure: @escaping @MainActor @Sendable (ClientError) -> Void
    ) {
        call({ _ in success() }, failure) { [self] () async throws(ClientError) in
            try await switchBackupWifiNetwork(ssid: ssid, pwd: pwd)
        }
    }

    private func call<Value: Sendable>(
        _ success: @escaping @MainActor @Sendable (Value) -> Void,
        _ failure: @escaping @MainActor @Sendable (ClientError) -> Void,
        _ work: @escaping @Sendable () async throws(ClientError) -> Value
    ) {
        Task {
            switch await Result(catching: work) {
            case .success(let value): await success(value)
            case .failure(let error): await failure(error)
            }
        }
    }
}

/// The network that a device is in, with the plain values of app SDKs. ``NetworkInfo`` says more.
public struct DeviceNetworkInfo: Sendable, Equatable {
    /// Type of the network. Without an uplink it is `wifi`, with an empty `ssid`.
    public let network: NetworkInfo.NetworkType
    /// Name of the Wi-Fi network, safe to show; empty unless `network` is Wi-Fi.
    public let ssid: String
    /// Signal in dBm; 0 if unknown.
    public let signal: Int
    public let flags: Int
    /// Hash of the Wi-Fi network; empty if it is not stored.
    public let ssidHash: String
    /// All values of the device's answer.
    public let details: NetworkInfo

    init(_ info: NetworkInfo) {
        network = info.network ?? .wifi
        ssid = info.ssid?.description ?? ""
        signal = info.signal ?? 0
        flags = Int(info.flags.rawValue)
        ssidHash = info.ssidHash?.base64 ?? ""
        details = info
    }
}

/// A backup network with the plain values of app SDKs. ``BackupWifiModel`` says more.
public struct SmartBackupWifiModel: Sendable, Equatable {
    /// Name of the network, safe to show.
    public let ssid: String
    /// `Base64(SHA256(localKey + ssid + password))`; empty if the name or the password is invalid.
    public let hashValue: String
    /// The network, or the fault of its name or password.
    public let model: Result<BackupWifiModel, ClientError>

    fileprivate init(ssid: String, hashValue: String, model: Result<BackupWifiModel, ClientError>) {
        (self.ssid, self.hashValue, self.model) = (ssid, hashValue, model)
    }

    init(_ model: BackupWifiModel) {
        self.init(ssid: model.ssid.description, hashValue: model.hash.base64, model: .success(model))
    }

    /// Like `hashValue`.
    public var hash: String { hashValue }
}
