import AgentModel
import AppProtocol

/// A connection to a device, with one method for each message of the protocol.
public struct DeviceClient: Sendable {
    /// Longest wait for an answer.
    public var timeout: Duration

    public let endpoint: Endpoint
    private let connection: DeviceConnection

    /// - Parameter timeout: longest wait for the connection, then for each answer.
    public init(connectingTo endpoint: Endpoint, timeout: Duration = .seconds(10)) async throws(ClientError) {
        self.timeout = timeout
        self.endpoint = endpoint
        connection = try await DeviceConnection.open(endpoint, within: timeout)
    }

    /// Closes the connection. Pending requests fail with `disconnected`.
    public func close() async { await connection.close() }

    /// Whether the connection is open. The loss of a silent device is detected after about 30 seconds.
    public var isConnected: Bool { connection.isOpen }

    /// Whether the connection is open and the device sent a line within `span`.
    func isHeard(within span: Duration) -> Bool { isConnected && connection.isHeard(within: span) }

    /// Whether a request may reach the device after the connection has ended.
    var mayDeliverLate: Bool { connection.mayDeliverLate }

    func isSame(as other: DeviceClient) -> Bool { connection === other.connection }

    /// Closes the connection with a TCP reset. Pending requests fail with `disconnected`.
    func abandon() { connection.abandon() }

    /// Returns the protocol versions, features and limits of the device.
    public func capabilities() async throws(ClientError) -> Capabilities { try await ask(.getCapabilities) }

    /// Returns the state of the connection: network, addresses, signal in dBm, and reachability.
    public func network() async throws(ClientError) -> NetworkStatus { try await ask(.getNetwork) }

    /// Checks every layer, from the radio to the device's own servers. Takes up to 15 seconds in addition to `timeout`.
    public func diagnose() async throws(ClientError) -> Diagnosis {
        let patience = timeout + .seconds(ProtocolLimits.diagnosisSeconds)
        return try await connection.send(.device(.getDiagnosis), as: Diagnosis.self, within: patience)
    }

    /// Returns the state of a sign-in to a captive portal, with the open request to a user.
    public func portal() async throws(ClientError) -> PortalStatus { try await ask(.getPortal) }

    /// Answers or refuses the open request to a user. The outcome arrives as `network.changed`.
    public func answerPortal(_ answer: PortalAnswer) async throws(ClientError) -> PortalStatus {
        try await ask(.answerPortal(answer))
    }

    /// Returns the configured servers of the device. Their states are in ``network()``.
    public func targets() async throws(ClientError) -> TargetList { try await ask(.getTargets) }

    /// Replaces the device's own servers, or restores those of its settings. A restart keeps the change.
    /// - Throws: `refused` with `malformed` and the wrong member. After an error, the servers are unchanged.
    public func updateTargets(_ update: TargetsUpdate) async throws(ClientError) -> TargetList {
        try await ask(.updateTargets(update))
    }

    /// Returns the hotspot providers of the device.
    /// - Throws: `refused` with `unsupported` if the device has none.
    public func providers() async throws(ClientError) -> HotspotProviders { try await ask(.getProviders) }

    /// Enables or disables a hotspot provider. A restart keeps the change.
    public func setProvider(_ name: String, on isOn: Bool) async throws(ClientError) -> HotspotProviders {
        try await ask(.setProvider(ProviderSwitch(provider: name, isOn: isOn)))
    }

    /// Names the device; nil deletes the name. A restart keeps the change, a factory reset deletes the name.
    /// - Throws: `refused` with `unknownType` if the device is too old.
    public func setName(_ name: DeviceName?) async throws(ClientError) -> NetworkStatus {
        try await ask(.setName(DeviceNameChange(name: name)))
    }

    /// Opens the setup access point.
    public func openSetupAccessPoint(_ request: SetupAccessPointRequest = SetupAccessPointRequest())
        async throws(ClientError) -> SetupAccessPointStatus
    {
        try await ask(.openRescue(request))
    }

    /// Closes the setup access point. It does not reopen automatically until the device has been connected.
    public func closeSetupAccessPoint() async throws(ClientError) -> SetupAccessPointStatus {
        try await ask(.closeRescue)
    }

    /// Returns the device's counters since its agent started.
    public func metrics() async throws(ClientError) -> MetricsReport { try await ask(.getMetrics) }

    /// Returns the stored networks, without their passwords.
    public func backups() async throws(ClientError) -> BackupList { try await ask(.getBackups) }

    /// Stores a newer password beside the current one. When the network accepts the newer one, the old one is deleted.
    /// - Parameters:
    ///   - password: 8 to 63 printable ASCII characters, or the key as 64 hexadecimal digits. For WPA3 only: 1 to 64
    ///     bytes of text.
    ///   - changeId: ID of the change, 1 to 64 bytes. A repeated request with the same ID changes nothing.
    ///   - lifetime: seconds of running time until the newer password is deleted, 60 to 31536000; nil for never.
    /// - Throws: `refused` with `invalidPassword`. This includes a password that only WPA3 allows, if the device stores
    ///   the network for WPA2.
    public func stagePassword(
        _ password: Secret, of ssid: SSID, changeId: String, keepFor lifetime: Int? = nil
    ) async throws(ClientError) -> BackupList {
        // The device checks the password against its stored network.
        let isForWPA3 = (try? Passphrase.validate(password)) == nil
        let network = NewNetwork(
            ssid: ssid, credential: .password(password), security: isForWPA3 ? .wpa3 : nil)
        return try await ask(
            sealing: .stagePassword(PasswordStaging(changeId: changeId, network: network, keepFor: lifetime)))
    }

    /// Deletes a newer password that no network has accepted yet.
    public func dropPassword(_ changeId: String) async throws(ClientError) -> BackupList {
        try await ask(.dropPassword(StagedPasswordQuery(changeId: changeId)))
    }

    /// Replaces the stored list of networks.
    /// - Parameters:
    ///   - revision: revision that the stored list must have; nil to replace a list of any revision.
    ///   - addressing: address configuration of stored networks, by hash. Needs the device's feature `address`.
    ///   - options: changes of the options of stored networks, by hash. Needs the device's feature `options`.
    ///   - home: change of the home network; nil to keep it. Needs the device's feature `home`.
    public func updateBackups(
        _ networks: [NetworkReference], ifRevision revision: Int? = nil, addressing: [NetworkHash: Addressing] = [:],
        options: [NetworkHash: NetworkOptions.Change] = [:], home: HomeUpdate? = nil
    ) async throws(ClientError) -> BackupList {
        try await ask(
            sealing: .updateBackups(
                BackupsUpdate(
                    networks: networks, ifRevision: revision, addressing: addressing, options: options, home: home)))
    }

    /// Switches to another network. Returns when the device has accepted the command, before it leaves its network.
    /// - Parameters:
    ///   - confirmWithin: seconds from the join until the device rolls back without `confirmSwitch`, 5 to 600; nil for
    ///     never.
    ///   - joinOnce: whether the device forgets the network when it leaves it or restarts.
    ///   - besideUplink: whether to switch Wi-Fi even if another uplink carries the traffic.
    public func switchNetwork(
        to network: NetworkReference, confirmWithin: Int? = nil, joinOnce: Bool = false, besideUplink: Bool = false
    ) async throws(ClientError) -> SwitchStatus {
        try await ask(
            sealing: .switchNetwork(
                SwitchRequest(
                    target: network, confirmWithin: confirmWithin, joinOnce: joinOnce, besideUplink: besideUplink)))
    }

    /// Confirms a switch. Send it over the new network: its arrival proves that the network works.
    public func confirmSwitch(_ switchId: String) async throws(ClientError) -> SwitchStatus {
        try await ask(.confirmSwitch(SwitchQuery(switchId: switchId)))
    }

    /// Returns the state of a switch that has begun since the device's agent started.
    /// - Throws: `refused` with `unknownSwitch` for any other switch.
    public func switchStatus(_ switchId: String) async throws(ClientError) -> SwitchStatus {
        try await ask(.getSwitch(SwitchQuery(switchId: switchId)))
    }

    /// Starts a scan. The event `scan.finished` announces the results.
    /// - Throws: `refused` with `scanBusy`, `radioFailed` or `interfaceMissing`.
    public func startScan(_ request: ScanRequest = ScanRequest()) async throws(ClientError) -> ScanStarted {
        try await ask(.startScan(request))
    }

    /// Returns the networks in range, each with its newest measurement. Starts no scan.
    public func scanResults() async throws(ClientError) -> ScanResults { try await ask(.getScan) }

    /// Returns the latest decisions.
    /// - Parameter limit: maximum number of decisions, 1 to 200.
    public func history(limit: Int = ProtocolLimits.defaultHistoryDecisions) async throws(ClientError) -> History {
        try await ask(.getHistory(HistoryQuery(limit: limit)))
    }

    /// Subscribes to events, from now on or after a known event. Each connection allows one subscription.
    public func events(_ subscription: EventSubscription = EventSubscription()) async throws(ClientError)
        -> EventStream
    {
        let subscribed = try await connection.send(.subscribe(subscription), as: Subscribed.self, within: timeout)
        let position = subscription.since == nil ? subscribed.seq : nil
        return EventStream(subscribed: subscribed, events: connection.events, position: position, source: connection)
    }

    /// Returns the device's sealing key. Other calls seal passwords automatically where needed.
    public func agreeKey(_ query: SealingKeyQuery = SealingKeyQuery()) async throws(ClientError) -> SealingKey {
        try await ask(.agreeKey(query))
    }

    /// Role of the key that opened this connection; nil for the agent on this machine.
    public var role: Role? { connection.session?.role }

    /// Returns the keys of the device's apps. Needs the role `manage`.
    public func keys() async throws(ClientError) -> AppKeyReport { try await ask(.getKeys) }

    /// Creates a key for another app. Needs the role `manage`.
    /// - Throws: `refused` with `duplicateKey` or `tooManyKeys`; `unsupported` for an expiry if the device's clock is
    ///   not set.
    public func addKey(_ request: KeyRequest) async throws(ClientError) -> KeyHandout {
        try await ask(.addKey(request))
    }

    /// Revokes an app's key and closes the app's connections.
    public func revokeKey(_ name: KeyName) async throws(ClientError) -> AppKeyReport {
        try await ask(.revokeKey(KeyQuery(name: name)))
    }

    /// Exchanges this connection's invitation for a lasting key. Store the returned code, because the invitation is
    /// invalid from now on.
    /// - Parameter name: name of the app. A name in the invitation takes precedence.
    public func claimKey(as name: KeyName? = nil) async throws(ClientError) -> KeyHandout {
        try await ask(.claimKey(KeyClaim(name: name)))
    }

    func ask<Answer: Decodable>(_ body: Request.Body) async throws(ClientError) -> Answer {
        try await connection.send(.device(body), as: Answer.self, within: timeout)
    }
}

// Each call uses a temporary session and the connection's only event subscription. Use `DeviceSession` for several
// calls.
extension DeviceClient {
    /// Scans and waits for the results. Uses the connection's only event subscription.
    public func scan(_ request: ScanRequest = ScanRequest(), within limit: Duration = .seconds(30))
        async throws(ClientError) -> (finished: ScanFinished, results: ScanResults)
    {
        try await DeviceSession(adopting: self).scan(request, within: limit)
    }

    /// Switches and waits for the outcome, and reconnects to the same endpoint. Uses the connection's only event
    /// subscription.
    /// - Parameters:
    ///   - confirmWithin: seconds from the join until the device rolls back, 5 to 600. Another client must confirm,
    ///     unless `confirms` is true.
    ///   - limit: longest duration of the switch, rollback included.
    ///   - onProgress: called for each phase, the outcome included.
    public func switchNetwork(
        to network: NetworkReference, confirmWithin: Int? = nil, confirms: Bool = false, joinOnce: Bool = false,
        besideUplink: Bool = false, within limit: Duration,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        try await DeviceSession(adopting: self).switchNetwork(
            to: network, confirmWithin: confirmWithin, confirms: confirms, joinOnce: joinOnce,
            besideUplink: besideUplink, within: limit, onProgress: onProgress)
    }
}

extension DeviceClient {
    /// Sends a request. Over the network its passwords are sealed, so that no relay can read them.
    ///
    /// After `keyRotated` or `sealUsed`, the request had no effect. So it is sealed again and sent once more.
    func ask<Answer: Decodable>(sealing body: Request.Body) async throws(ClientError) -> Answer {
        guard let device = endpoint.device, body.hasPlainPassword else { return try await ask(body) }
        do {
            return try await ask(sealed(body, for: device))
        } catch {
            guard case .refused(let refusal) = error, refusal.code == .keyRotated || refusal.code == .sealUsed else {
                throw error
            }
            return try await ask(sealed(body, for: device))
        }
    }

    private func sealed(_ body: Request.Body, for device: DeviceKey) async throws(ClientError) -> Request.Body {
        let nonce = Nonce.random()
        let key: SealingKey = try await ask(.agreeKey(SealingKeyQuery(key: device.name, nonce: nonce)))
        guard key.isProved(to: device, over: nonce) else { throw .notTheDevice(endpoint) }
        do {
            return try body.sealed(with: key, for: device)
        } catch {
            throw .refused(error)
        }
    }
}
