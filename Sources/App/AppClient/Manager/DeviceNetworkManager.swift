import AgentModel
import AppProtocol

/// Manages the networks of one device, with the names that app SDKs use.
///
/// Connects on the first call and reconnects after a loss. Safe to use from several tasks. Calls throw ``ClientError``.
public final class DeviceNetworkManager: Sendable {
    public let device: DeviceKey
    /// The underlying session, for calls that this type lacks.
    public let session: DeviceSession

    /// - Parameters:
    ///   - broker: the device's broker, for attempts that do not reach the device in the network; nil for none.
    ///   - resolve: returns possible addresses of the device; called before each connection attempt.
    public init(
        device: DeviceKey, broker: BrokerRoute? = nil, settings: DeviceSession.Settings = .init(),
        resolve: @escaping @Sendable () async -> [Endpoint]
    ) {
        self.device = device
        session = DeviceSession(settings: settings) {
            let found = await resolve()
            guard let elsewhere = broker.map({ Endpoint.broker($0, device: device) }) else { return found }
            guard let first = found.first else { return [elsewhere] }
            return [.first(first, otherwise: elsewhere)] + found.dropFirst()
        }
    }

    init(sharing other: DeviceNetworkManager) { (device, session) = (other.device, other.session) }

    /// - Parameters:
    ///   - host: an address, or a name that stays valid after a switch (`board-1.local`). Link-local addresses need a
    ///     zone.
    ///   - broker: the device's broker, for attempts that do not reach the device in the network; nil for none.
    public convenience init(
        device: DeviceKey, host: String, port: Int = ProtocolLimits.port, broker: BrokerRoute? = nil,
        settings: DeviceSession.Settings = .init()
    ) {
        self.init(device: device, broker: broker, settings: settings) {
            [.network(host: host, port: port, device: device)]
        }
    }

    /// Closes the connection. The connection also closes with the last reference to this object and its events.
    public func close() async { await session.close() }
}

// MARK: Capabilities

extension DeviceNetworkManager {
    /// Whether the device has backup networks and speaks this version of the protocol.
    public static func supportWifiBackupNetwork(_ capabilities: Capabilities) -> Bool {
        capabilities.supportsBackupNetworks && capabilities.versions.contains(ProtocolLimits.version)
    }

    /// Asks the device whether it has backup networks and speaks this version of the protocol.
    public func supportWifiBackupNetwork() async throws(ClientError) -> Bool {
        Self.supportWifiBackupNetwork(
            try await session.ask { client throws(ClientError) in try await client.capabilities() })
    }

    /// Returns the network that the device is in.
    public func getCurrentNetworkInfo() async throws(ClientError) -> NetworkInfo {
        NetworkInfo(try await session.ask { client throws(ClientError) in try await client.network() })
    }

    /// Whether the device accepts changes of its list in this state. Sends nothing.
    public func canUpdateWifiBackupNetwork(_ info: NetworkInfo) -> Bool { info.flags.contains(.canUpdateBackups) }

    /// Whether the device accepts a switch in this state. Sends nothing.
    public func canSwitchWifiNetwork(_ info: NetworkInfo) -> Bool { info.flags.contains(.canSwitch) }
}

// MARK: Backup networks

extension DeviceNetworkManager {
    /// Returns the stored networks, without their passwords.
    public func getBackupWifiNetworks() async throws(ClientError) -> BackupWifiNetworks {
        BackupWifiNetworks(try await session.ask { client throws(ClientError) in try await client.backups() })
    }

    /// Creates a model of a new network. Sends nothing.
    /// - Parameters:
    ///   - pwd: 8 to 63 printable ASCII characters, or the key as 64 hexadecimal digits; nil for an open network.
    ///   - security: security of the network; nil if unknown. With `wpa3`, the device joins with WPA3 only, and `pwd`
    ///     has 1 to 64 bytes.
    ///   - hidden: whether the access point does not beacon its name.
    ///   - address: the device's static address; nil for DHCP.
    /// - Throws: `refused` with `invalidPassword`.
    public func generateBackupWifiModel(
        ssid: SSID, pwd: Secret?, security: Security? = nil, hidden: Bool = false, address: StaticAddress? = nil
    ) throws(ClientError) -> BackupWifiModel {
        if let pwd {
            do {
                try Passphrase.validate(pwd, for: security)
            } catch {
                throw .refused(ProtocolError(.invalidPassword, "\(error)", details: ["field": "password"]))
            }
        }
        return BackupWifiModel(
            ssid: ssid, hash: NetworkHash(localKey: device.localKey, ssid: ssid, password: pwd),
            credential: pwd.map { .password($0) } ?? NetworkCredential.none, security: security, isHidden: hidden,
            address: address)
    }

    /// Creates a model of a new enterprise network (IEEE 802.1X). Sends nothing. Needs the device's feature
    /// `enterprise`.
    public func generateBackupWifiModel(
        ssid: SSID, enterprise: EnterpriseCredential, hidden: Bool = false, address: StaticAddress? = nil
    ) -> BackupWifiModel {
        BackupWifiModel(
            ssid: ssid, hash: NetworkHash(localKey: device.localKey, ssid: ssid, enterprise: enterprise),
            credential: .enterprise(enterprise), security: .enterprise, isHidden: hidden, address: address)
    }

    /// Creates a model from text. An empty password means an open network.
    /// - Throws: `refused` with `invalidSsid` or `invalidPassword`.
    public func generateBackupWifiModel(
        ssid: String, pwd: String, hidden: Bool = false, address: StaticAddress? = nil
    ) throws(ClientError) -> BackupWifiModel {
        try generateBackupWifiModel(
            ssid: Self.ssid(ssid), pwd: pwd.isEmpty ? nil : Secret(text: pwd), hidden: hidden, address: address)
    }

    /// Replaces the stored list as a whole; the device forgets all other networks. Passwords are sealed.
    /// - Parameter revision: revision that the stored list must have, otherwise the call fails with `revisionConflict`.
    ///   Nil replaces a list of any revision.
    @discardableResult
    public func updateBackupWifiNetworks(
        _ models: [BackupWifiModel], ifRevision revision: Int? = nil
    ) async throws(ClientError) -> BackupWifiNetworks {
        let said = models.compactMap { model in model.addressing.map { (model.hash, $0) } }
        let changes = models.filter { !$0.change.isEmpty }.map { ($0.hash, $0.change) }
        return BackupWifiNetworks(
            try await session.updateBackups(
                models.map(\.reference), ifRevision: revision,
                addressing: Dictionary(said, uniquingKeysWith: { $1 }),
                options: Dictionary(changes, uniquingKeysWith: { $1 })))
    }

    /// Sets the home network. The device stays in its current network.
    /// - Parameter home: new home network. Nil makes the device forget its home and the last chosen network, but keep
    ///   passwords that are in the list.
    /// - Throws: `refused` with `unsupported` if the device is too old.
    @discardableResult
    public func setHomeNetwork(_ home: BackupWifiModel?) async throws(ClientError) -> BackupWifiNetworks {
        try await needs("home", "the device cannot change its home: update it")
        let list = try await getBackupWifiNetworks()
        return BackupWifiNetworks(
            try await session.updateBackups(
                list.networks.map(\.reference), ifRevision: list.revision,
                home: home.map { .replace($0.reference) } ?? .forget))
    }

    /// Stores a newer password beside the current one, before the router's password changes. The device uses the one
    /// that works, and deletes the old one once the newer one has worked. The request is repeated once if the answer is
    /// lost.
    /// - Parameters:
    ///   - pwd: 8 to 63 printable ASCII characters, or the key as 64 hexadecimal digits. For WPA3 only: 1 to 64 bytes
    ///     of text.
    ///   - changeId: the app's ID of the change, 1 to 64 bytes.
    ///   - lifetime: seconds of running time until the newer password is deleted, 60 to 31536000; nil for never.
    /// - Throws: `refused` with `invalidPassword` or `unknownNetwork`. `unsupported` means that the network has no
    ///   password, or that the device is too old. `tooManyNetworks` means that four other networks have staged
    ///   passwords.
    @discardableResult
    public func stagePassword(
        _ pwd: Secret, of ssid: SSID, changeId: String, keepFor lifetime: Int? = nil
    ) async throws(ClientError) -> BackupWifiNetworks {
        do {
            // Allow every WPA2 password too, because the device checks the password against its stored network.
            try Passphrase.validate(pwd, for: .wpa3)
        } catch {
            throw .refused(ProtocolError(.invalidPassword, "\(error)", details: ["field": "password"]))
        }
        try await needs("stage", "the device does not support a second password: update it")
        return BackupWifiNetworks(
            try await session.ask { client throws(ClientError) in
                try await client.stagePassword(pwd, of: ssid, changeId: changeId, keepFor: lifetime)
            })
    }

    /// Deletes a newer password that no network has accepted yet. The request is repeated once if the answer is lost.
    /// - Throws: `refused` with `unknownNetwork` if the device does not know the change.
    @discardableResult
    public func dropPassword(_ changeId: String) async throws(ClientError) -> BackupWifiNetworks {
        BackupWifiNetworks(
            try await session.ask { client throws(ClientError) in try await client.dropPassword(changeId) })
    }

    private func needs(_ feature: String, _ missing: String) async throws(ClientError) {
        let capabilities = try await session.ask { client throws(ClientError) in try await client.capabilities() }
        guard capabilities.features.contains(feature) else { throw .refused(ProtocolError(.unsupported, missing)) }
    }

    static func ssid(_ text: String) throws(ClientError) -> SSID {
        do {
            return try SSID(text)
        } catch {
            throw .refused(ProtocolError(.invalidSsid, "\(error)", details: ["field": "ssid"]))
        }
    }
}

extension DeviceNetworkManager {
    /// Switches the device to a stored network and waits for the outcome. The session reconnects meanwhile, so the app
    /// must reach the new network too.
    /// - Parameters:
    ///   - confirmWithin: seconds from the join in which the app must reach the device, 5 to 600. Otherwise the device
    ///     rolls back. Nil for no confirmation.
    ///   - besideUplink: whether to switch Wi-Fi even if another uplink carries the traffic. Otherwise the device
    ///     refuses.
    ///   - onProgress: called once for each phase, in order, the outcome included.
    /// - Throws: `notSwitched` with the reason after a rollback. `refused` with `unknownNetwork`, `cannotSwitch`,
    ///   `switchInProgress` or `alreadyAssociated` (harmless). Also the errors of
    ///   ``DeviceSession/switchNetwork(to:confirmWithin:confirms:joinOnce:besideUplink:within:onProgress:)``.
    @discardableResult
    public func switchBackupWifiNetwork(
        hash: NetworkHash, confirmWithin: Int? = nil, besideUplink: Bool = false,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        try await switchNetwork(
            to: .stored(hash), confirmWithin: confirmWithin, joinOnce: false, besideUplink: besideUplink,
            onProgress: onProgress)
    }

    /// Switches the device to a network outside its list and waits for the outcome.
    /// - Parameters:
    ///   - pwd: password, which is sealed; nil for an open network.
    ///   - joinOnce: whether the device forgets the network when it leaves it or restarts.
    @discardableResult
    public func switchBackupWifiNetwork(
        ssid: SSID, pwd: Secret?, hidden: Bool = false, joinOnce: Bool = false, confirmWithin: Int? = nil,
        address: StaticAddress? = nil, besideUplink: Bool = false,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        let model = try generateBackupWifiModel(ssid: ssid, pwd: pwd, hidden: hidden, address: address)
        return try await switchNetwork(
            to: model.reference, confirmWithin: confirmWithin, joinOnce: joinOnce, besideUplink: besideUplink,
            onProgress: onProgress)
    }

    /// Switches to a network given as text. An empty password means an open network.
    @discardableResult
    public func switchBackupWifiNetwork(
        ssid: String, pwd: String, hidden: Bool = false, joinOnce: Bool = false, confirmWithin: Int? = nil,
        address: StaticAddress? = nil, besideUplink: Bool = false,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        try await switchBackupWifiNetwork(
            ssid: Self.ssid(ssid), pwd: pwd.isEmpty ? nil : Secret(text: pwd), hidden: hidden, joinOnce: joinOnce,
            confirmWithin: confirmWithin, address: address, besideUplink: besideUplink, onProgress: onProgress)
    }

    private func switchNetwork(
        to network: NetworkReference, confirmWithin: Int?, joinOnce: Bool, besideUplink: Bool,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void
    ) async throws(ClientError) -> SwitchStatus {
        let outcome = try await session.switchNetwork(
            to: network, confirmWithin: confirmWithin, joinOnce: joinOnce, besideUplink: besideUplink,
            onProgress: onProgress)
        guard outcome.phase == .committed else { throw .notSwitched(outcome) }
        return outcome
    }
}

// MARK: Calls that SDKs do not have

extension DeviceNetworkManager {
    /// Returns the device's events from now on, across connections.
    public func events() async throws(ClientError) -> EventStream { try await session.events() }

    /// Scans, and returns the networks in range when the scan has ended.
    public func scan(_ request: ScanRequest = ScanRequest()) async throws(ClientError) -> ScanResults {
        try await session.scan(request).results
    }

    /// Checks every layer, from the radio to the device's own servers, and names faults and remedies. Takes up to 15
    /// seconds.
    public func diagnose() async throws(ClientError) -> Diagnosis {
        try await session.diagnose()
    }

    /// Returns the state of a sign-in to a captive portal, with the open request to a user.
    public func portal() async throws(ClientError) -> PortalStatus {
        try await session.ask { client throws(ClientError) in try await client.portal() }
    }

    /// Answers or refuses the open request to a user. The answer is sent once more if the connection is lost.
    /// - Throws: `refused` with `unknownPortal` if the request is no longer open.
    @discardableResult
    public func answerPortal(_ answer: PortalAnswer) async throws(ClientError) -> PortalStatus {
        try await session.ask { client throws(ClientError) in try await client.answerPortal(answer) }
    }

    /// Returns the configured servers of the device.
    public func targets() async throws(ClientError) -> TargetList {
        try await session.ask { client throws(ClientError) in try await client.targets() }
    }

    /// Replaces the device's own servers, or restores those of its settings. The request is repeated once if the answer
    /// is lost.
    @discardableResult
    public func updateTargets(_ update: TargetsUpdate) async throws(ClientError) -> TargetList {
        try await session.ask { client throws(ClientError) in try await client.updateTargets(update) }
    }

    /// Returns the hotspot providers of the device.
    /// - Throws: `refused` with `unsupported` if the device has none.
    public func providers() async throws(ClientError) -> HotspotProviders {
        try await session.ask { client throws(ClientError) in try await client.providers() }
    }

    /// Enables or disables a hotspot provider. The request is repeated once if the answer is lost.
    @discardableResult
    public func setProvider(_ name: String, on isOn: Bool) async throws(ClientError) -> HotspotProviders {
        try await session.ask { client throws(ClientError) in try await client.setProvider(name, on: isOn) }
    }

    /// Names the device; nil deletes the name. The request is repeated once if the answer is lost.
    @discardableResult
    public func setName(_ name: DeviceName?) async throws(ClientError) -> NetworkInfo {
        NetworkInfo(try await session.ask { client throws(ClientError) in try await client.setName(name) })
    }

    /// Returns the latest decisions.
    /// - Parameter limit: maximum number of decisions, 1 to 200.
    public func history(
        limit: Int = ProtocolLimits.defaultHistoryDecisions
    ) async throws(ClientError) -> History {
        try await session.ask { client throws(ClientError) in try await client.history(limit: limit) }
    }
}

/// A backup network. The type has the name that app SDKs use.
public struct BackupWifiModel: Sendable, Equatable {
    public let ssid: SSID
    /// Identifies the network with its password: `Base64(SHA256(localKey + ssid + password))`.
    public let hash: NetworkHash
    /// Credential of a new network; nil for a stored network, because the device does not return credentials.
    let credential: NetworkCredential?
    let security: Security?
    let isHidden: Bool
    /// The device's static address; nil for DHCP.
    public let address: StaticAddress?
    private(set) var addressing: Addressing?
    /// Options set by the owner. Needs the device's feature `options`.
    public let options: NetworkOptions
    private(set) var change = NetworkOptions.Change()

    init(
        ssid: SSID, hash: NetworkHash, credential: NetworkCredential?, security: Security? = nil, isHidden: Bool,
        address: StaticAddress?, options: NetworkOptions = .init()
    ) {
        self.ssid = ssid
        self.hash = hash
        self.credential = credential
        self.security = security
        self.isHidden = isHidden
        self.address = address
        self.options = options
    }

    init(_ stored: BackupNetwork) {
        self.init(
            ssid: stored.ssid, hash: stored.hash, credential: nil, isHidden: stored.isHidden, address: stored.address,
            options: stored.options)
    }

    /// Returns the network with another address, which takes effect when the list is sent. Needs the device's feature
    /// `address`.
    public func with(_ addressing: Addressing) -> BackupWifiModel {
        var model = BackupWifiModel(
            ssid: ssid, hash: hash, credential: credential, security: security, isHidden: isHidden,
            address: addressing.address, options: options)
        model.change = change
        if credential == nil { model.addressing = addressing }
        return model
    }

    /// Returns the network with changed options, which take effect when the list is sent. Needs the device's feature
    /// `options`.
    public func with(_ change: NetworkOptions.Change) -> BackupWifiModel {
        var model = BackupWifiModel(
            ssid: ssid, hash: hash, credential: credential, security: security, isHidden: isHidden, address: address,
            options: options.changed(by: change))
        model.addressing = addressing
        if credential == nil { model.change = self.change.followed(by: change) }
        return model
    }

    /// Reference to the network: by its hash if it is stored, otherwise with its credential.
    var reference: NetworkReference {
        guard let credential else { return .stored(hash) }
        return .new(
            NewNetwork(
                ssid: ssid, credential: credential, security: security, isHidden: isHidden, address: address,
                options: options))
    }

    /// Compares only hashes, so a model with its password equals the stored network.
    public static func == (left: Self, right: Self) -> Bool { left.hash == right.hash }
}

extension NetworkOptions.Change {
    /// Returns the change that has the effect of both.
    fileprivate func followed(by later: Self) -> Self {
        Self(
            allowsTKIP: later.allowsTKIP ?? allowsTKIP, isAutomatic: later.isAutomatic ?? isAutomatic,
            isMetered: later.isMetered ?? isMetered, band: later.band ?? band, bssid: later.bssid ?? bssid,
            ipv6: later.ipv6 ?? ipv6)
    }
}

/// The stored networks of a device; `BackupWifiNetworks` in app SDKs.
public struct BackupWifiNetworks: Sendable, Equatable {
    public let networks: [BackupWifiModel]
    /// Maximum number of stored networks.
    public let max: Int
    /// Number that increases with every change of the list. Pass it to an update to detect another app's change.
    public let revision: Int
    public let home: BackupWifiModel?
    /// Network of the last switch, preferred to `home`; nil if it is the home network.
    public let chosen: BackupWifiModel?
    public let staged: [StagedPasswordStatus]

    init(_ list: BackupList) {
        home = list.home.map(BackupWifiModel.init)
        chosen = list.chosen.map(BackupWifiModel.init)
        networks = list.networks.map(BackupWifiModel.init)
        max = list.max
        revision = list.revision
        staged = list.staged
    }
}

/// The network that the device is in; `NetworkInfo` in app SDKs.
public struct NetworkInfo: Sendable, Equatable {
    /// Type of the default route, or of the uplink below a tunnel (VPN). Nil without uplink, or for a type without
    /// number.
    public let network: NetworkType?
    /// The Wi-Fi network; nil unless `network` is ``NetworkType/wifi``. Its `description` is safe to show.
    public let ssid: SSID?
    /// Wi-Fi or modem signal in dBm; nil if unknown, as on a cable.
    public let signal: Int?
    /// Wi-Fi or modem quality, 0 to 100; nil if unknown.
    public let quality: Int?
    /// The modem that carries the traffic, otherwise any other modem; nil if the device has none.
    public let modem: ModemStatus?
    /// Requests that the device accepts in its current state. See
    /// ``DeviceNetworkManager/canUpdateWifiBackupNetwork(_:)`` and ``DeviceNetworkManager/canSwitchWifiNetwork(_:)``.
    public let flags: NetworkFlags
    /// The hash of the Wi-Fi network; nil if it is not stored.
    public let ssidHash: NetworkHash?
    /// Connectivity of the network, over any uplink; nil from older devices.
    public let connectivity: Connectivity?
    /// Name of the device; nil without one, or from an older device.
    public let deviceName: DeviceName?
    public let version: Int

    /// Type of a network, numbered as in app SDKs.
    public enum NetworkType: Int, Sendable, CaseIterable {
        case wifi = 0
        case wired = 1
        case cellular = 2
    }

    public init(_ status: NetworkStatus) {
        network = status.carriedBy.flatMap(NetworkType.init)
        ssid = network == .wifi ? status.ssid : nil
        signal = network == .wifi || network == .cellular ? status.signal : nil
        quality = network == .wifi || network == .cellular ? status.quality : nil
        modem = status.modem
        flags = status.flags
        ssidHash = network == .wifi ? status.hash : nil
        connectivity = status.connectivity
        deviceName = status.deviceName
        version = ProtocolLimits.version
    }
}

extension NetworkInfo.NetworkType {
    init?(_ uplink: Uplink) {
        switch uplink {
        case .wifi: self = .wifi
        case .wired: self = .wired
        case .cellular: self = .cellular
        case .other: return nil
        }
    }
}
