import AgentModel
import AppProtocol

/// The networks of one device, under the names that users of app SDKs know.
///
/// It connects when it is first asked, and again whenever the connection is lost, also to the network that the device
/// has switched to. It may be used from several tasks at the same time. Every call throws ``ClientError``, whose
/// description says what to do.
public final class DeviceNetworkManager: Sendable {
    /// The secret that this app shares with the device.
    public let device: DeviceKey
    /// The same connection, for what has no name here.
    public let session: DeviceSession

    /// - Parameter resolve: possible addresses of the device; called before each attempt to connect. An app that finds
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

// MARK: Capabilities

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
    ///   - pwd: 8 to 63 printable ASCII characters, or the key in 64 hexadecimal digits; nil for an open network.
    ///   - security: nil where it is not known. With `wpa3` the network is never joined by less, and `pwd` has 1 to 64
    ///     bytes.
    ///   - hidden: the access point does not beacon its name.
    ///   - address: the device's own in this network; nil where a server gives it one.
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

    /// Makes a model of an enterprise network, one with users, that the device does not know yet. Nothing is sent. Ask
    /// the device's capabilities for `enterprise` first: an older device does not join it.
    public func generateBackupWifiModel(
        ssid: SSID, enterprise: EnterpriseCredential, hidden: Bool = false, address: StaticAddress? = nil
    ) -> BackupWifiModel {
        BackupWifiModel(
            ssid: ssid, hash: NetworkHash(localKey: device.localKey, ssid: ssid, enterprise: enterprise),
            credential: .enterprise(enterprise), security: .enterprise, isHidden: hidden, address: address)
    }

    /// The same from text, as it is typed: an empty password stands for an open network.
    /// - Throws: `refused` with `invalidSsid` or `invalidPassword`.
    public func generateBackupWifiModel(
        ssid: String, pwd: String, hidden: Bool = false, address: StaticAddress? = nil
    ) throws(ClientError) -> BackupWifiModel {
        try generateBackupWifiModel(
            ssid: Self.ssid(ssid), pwd: pwd.isEmpty ? nil : Secret(text: pwd), hidden: hidden, address: address)
    }

    /// Replaces the stored list as a whole: networks that are not named are forgotten. Passwords travel only for models
    /// that come from ``generateBackupWifiModel(ssid:pwd:hidden:address:)``, and sealed.
    /// - Parameter revision: the revision that the list must still have: `revisionConflict` if another client changed
    ///   it. Nil to replace it whatever it is.
    @discardableResult
    public func updateBackupWifiNetworks(
        _ models: [BackupWifiModel], ifRevision revision: Int? = nil
    ) async throws(ClientError) -> BackupWifiNetworks {
        let said = models.compactMap { model in model.addressing.map { (model.hash, $0) } }
        return BackupWifiNetworks(
            try await session.updateBackups(
                models.map(\.reference), ifRevision: revision,
                addressing: Dictionary(said, uniquingKeysWith: { $1 })))
    }

    /// Makes a network the device's home: it belongs there until it is switched elsewhere. Nothing moves now.
    /// - Parameter home: nil has the device forget its home and the network last chosen, with their passwords except of
    ///   those in the list.
    /// - Returns: the list, which stays as it was.
    /// - Throws: `refused` with `unsupported` where the device is older than that.
    @discardableResult
    public func setHomeNetwork(_ home: BackupWifiModel?) async throws(ClientError) -> BackupWifiNetworks {
        try await needs("home", "this device's home cannot be changed")
        let list = try await getBackupWifiNetworks()
        return BackupWifiNetworks(
            try await session.updateBackups(
                list.networks.map(\.reference), ifRevision: list.revision,
                home: home.map { .replace($0.reference) } ?? .forget))
    }

    /// Stores the newer password of a stored network beside the one that it has, for a password that is about to change at the
    /// router. The device uses whichever the network takes; once that is the newer one, the old one goes. The password
    /// travels sealed. Sent once more if the answer was lost: by its `changeId` it is the same change.
    /// - Parameters:
    ///   - pwd: 8 to 63 printable ASCII characters, or the key in 64 hexadecimal digits; of a network with WPA3 alone 1 to 64
    ///     bytes of text.
    ///   - changeId: the app's name for the change, 1 to 64 bytes.
    ///   - lifetime: after how many seconds that it is on, 60 to 31536000, the device gives the newer one up; nil for never.
    /// - Returns: the list, in whose `staged` the change is.
    /// - Throws: `refused` with `invalidPassword`, with `unknownNetwork` where the network is not stored, with `unsupported`
    ///   where it has no password or the device is older than that, with `tooManyNetworks` where passwords of four
    ///   other networks wait.
    @discardableResult
    public func stagePassword(
        _ pwd: Secret, of ssid: SSID, changeId: String, keepFor lifetime: Int? = nil
    ) async throws(ClientError) -> BackupWifiNetworks {
        do {
            try Passphrase.validate(pwd, for: .wpa3)
        } catch {
            throw .refused(ProtocolError(.invalidPassword, "\(error)", details: ["field": "password"]))
        }
        try await needs("stage", "this device keeps no newer password beside the one in use")
        return BackupWifiNetworks(
            try await session.ask { client throws(ClientError) in
                try await client.stagePassword(pwd, of: ssid, changeId: changeId, keepFor: lifetime)
            })
    }

    /// Takes a newer password back that no network has taken yet. Sent once more if the answer was lost.
    /// - Throws: `refused` with `unknownNetwork` where the device knows of no such change.
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
    /// Sends the device to a stored network and returns when it is there.
    ///
    /// The connection breaks on the way: the device is looked for, and asked for the outcome when it is found. So that
    /// this works from a phone, the phone must be able to reach the new network too.
    /// - Parameters:
    ///   - confirmWithin: in seconds, 5 to 600: unless the device can be reached over the new network that soon after
    ///     it is up, it goes back by itself. Nil if it shall stay in any case.
    ///   - besideUplink: Wi-Fi moves also where another uplink, such as a cable, carries the traffic. That one goes on
    ///     carrying it, and `trafficOver` in the outcome names it. Else the device refuses with `cannotSwitch`.
    ///   - onProgress: is told each phase once, in their order, the outcome included.
    /// - Throws: `notSwitched` with the reason where the device is back where it was, `refused` with `unknownNetwork`,
    ///   `cannotSwitch`, `switchInProgress` or `alreadyAssociated`, which a caller can ignore. As
    ///   ``DeviceSession/switchNetwork(to:confirmWithin:confirms:joinOnce:besideUplink:within:onProgress:)`` otherwise.
    @discardableResult
    public func switchBackupWifiNetwork(
        hash: NetworkHash, confirmWithin: Int? = nil, besideUplink: Bool = false,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        try await switchNetwork(
            to: .stored(hash), confirmWithin: confirmWithin, joinOnce: false, besideUplink: besideUplink,
            onProgress: onProgress)
    }

    /// Sends the device to a network that is not in its list, and returns when it is there.
    /// - Parameters:
    ///   - pwd: nil for an open network. It travels sealed.
    ///   - hidden: the access point does not beacon its name.
    ///   - joinOnce: the device forgets the network when it leaves it or restarts.
    ///   - address: the device's own in this network; nil where a server gives it one.
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

    /// The same from text, as it is typed: an empty password stands for an open network.
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
    /// The device's events, across connections: ``DeviceSession/events()``.
    public func events() async throws(ClientError) -> EventStream { try await session.events() }

    /// The networks in the device's range, after a new scan.
    public func scan(_ request: ScanRequest = ScanRequest()) async throws(ClientError) -> ScanResults {
        try await session.scan(request).results
    }

    /// Has the device look at every layer, from the radio to its own servers, and say what is broken and what to do. Up
    /// to 15 seconds.
    public func diagnose() async throws(ClientError) -> Diagnosis {
        try await session.diagnose()
    }

    /// The state of the sign-in at this network, and the open request to a user.
    public func portal() async throws(ClientError) -> PortalStatus {
        try await session.ask { client throws(ClientError) in try await client.portal() }
    }

    /// Answers the open request to a user, or refuses to. Sent once more if the answer was lost.
    /// - Throws: `refused` with `unknownPortal` where the request is no longer open.
    @discardableResult
    public func answerPortal(_ answer: PortalAnswer) async throws(ClientError) -> PortalStatus {
        try await session.ask { client throws(ClientError) in try await client.answerPortal(answer) }
    }

    /// The device's own servers, as they are set.
    public func targets() async throws(ClientError) -> TargetList {
        try await session.ask { client throws(ClientError) in try await client.targets() }
    }

    /// Sets the device's own servers, or goes back to those of its settings. Sent once more if the answer was lost.
    @discardableResult
    public func updateTargets(_ update: TargetsUpdate) async throws(ClientError) -> TargetList {
        try await session.ask { client throws(ClientError) in try await client.updateTargets(update) }
    }

    /// The device's hotspot providers.
    public func providers() async throws(ClientError) -> HotspotProviders {
        try await session.ask { client throws(ClientError) in try await client.providers() }
    }

    /// Switches a hotspot provider off or on. Sent once more if the answer was lost.
    @discardableResult
    public func setProvider(_ name: String, on isOn: Bool) async throws(ClientError) -> HotspotProviders {
        try await session.ask { client throws(ClientError) in try await client.setProvider(name, on: isOn) }
    }

    /// The device's last decisions, each with its reason.
    public func history(
        limit: Int = ProtocolLimits.defaultHistoryDecisions
    ) async throws(ClientError) -> History {
        try await session.ask { client throws(ClientError) in try await client.history(limit: limit) }
    }
}

/// A backup network as app and device name it; `BackupWifiModel` in app SDKs.
public struct BackupWifiModel: Sendable, Equatable {
    public let ssid: SSID
    /// `Base64(SHA256(localKey + ssid + password))`, by which both sides know the network with its password.
    public let hash: NetworkHash
    /// Only on its way to the device: the device's list has none.
    let credential: NetworkCredential?
    /// Only on its way to the device, as `credential`.
    let security: Security?
    let isHidden: Bool
    /// The device's own address in it; nil where a server gives it one.
    public let address: StaticAddress?
    /// What the app has said of the address of a stored network.
    private(set) var addressing: Addressing?

    init(
        ssid: SSID, hash: NetworkHash, credential: NetworkCredential?, security: Security? = nil, isHidden: Bool,
        address: StaticAddress? = nil
    ) {
        self.ssid = ssid
        self.hash = hash
        self.credential = credential
        self.security = security
        self.isHidden = isHidden
        self.address = address
    }

    init(_ stored: BackupNetwork) {
        self.init(
            ssid: stored.ssid, hash: stored.hash, credential: nil, isHidden: stored.isHidden, address: stored.address)
    }

    /// The same network with another address: it counts once the list with it is sent. Ask for the feature `address` in
    /// the device's capabilities first: an older device does not hear it.
    public func with(_ addressing: Addressing) -> BackupWifiModel {
        var model = BackupWifiModel(
            ssid: ssid, hash: hash, credential: credential, security: security, isHidden: isHidden,
            address: addressing.address)
        if credential == nil { model.addressing = addressing }
        return model
    }

    /// The device has the password already, or gets it now.
    var reference: NetworkReference {
        guard let credential else { return .stored(hash) }
        return .new(
            NewNetwork(
                ssid: ssid, credential: credential, security: security, isHidden: isHidden, address: address))
    }

    /// Two models are the same network when they have the same hash: that the password is on its way does not matter.
    public static func == (left: Self, right: Self) -> Bool { left.hash == right.hash }
}

/// The networks that the device has stored.
public struct BackupWifiNetworks: Sendable, Equatable {
    public let networks: [BackupWifiModel]
    /// How many the device stores at most.
    public let max: Int
    /// Grows with every change of the list: given to the update, it keeps two apps from undoing each other's changes.
    public let revision: Int
    /// The network that the device was provisioned with.
    public let home: BackupWifiModel?
    /// The network that the device was last switched to, where that is another: it belongs there, else at home.
    public let chosen: BackupWifiModel?
    /// Newer passwords of stored networks, and what has become of them, the latest last.
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
    /// The carrier of the device's default route; under a tunnel (VPN) the uplink that carries it. Nil if there is none,
    /// or one without a number.
    public let network: NetworkType?
    /// The Wi-Fi network; nil unless `network` is ``NetworkType/wifi``. Its `description` is safe to show.
    public let ssid: SSID?
    /// In dBm, of Wi-Fi or of the modem; nil where it is not known, as on a wire.
    public let signal: Int?
    /// 0 to 100, of Wi-Fi or of the modem; nil where it is not known.
    public let quality: Int?
    /// The modem: of the uplink, or else another that the device has; nil where the device knows of none.
    public let modem: ModemStatus?
    /// The app's permissions: ask ``DeviceNetworkManager/canUpdateWifiBackupNetwork(_:)`` and
    /// ``DeviceNetworkManager/canSwitchWifiNetwork(_:)``.
    public let flags: NetworkFlags
    /// The hash of the Wi-Fi network, where it is a stored one.
    public let ssidHash: NetworkHash?
    /// How far the network leads, whatever carries it; nil where the device does not say, as older ones do not.
    public let connectivity: Connectivity?
    /// The version of the protocol that the device answered in.
    public let version: Int

    /// Numbered as app SDKs number them.
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
