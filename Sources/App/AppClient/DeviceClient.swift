import AgentModel
import AppProtocol

/// A device, as an app talks to it: one method for each message of the protocol.
public struct DeviceClient: Sendable {
    /// How long an answer may take.
    public var timeout: Duration

    /// The address that it is connected to.
    public let endpoint: Endpoint
    private let connection: DeviceConnection

    /// - Parameter timeout: how long connecting may take, and then each answer.
    public init(connectingTo endpoint: Endpoint, timeout: Duration = .seconds(10)) async throws(ClientError) {
        self.timeout = timeout
        self.endpoint = endpoint
        connection = try await DeviceConnection.open(endpoint, within: timeout)
    }

    public func close() async { await connection.close() }

    /// Whether the connection stands, as far as this side knows: a device that has left the network says nothing.
    public var isConnected: Bool { connection.isOpen }

    /// Whether the device has said something so recently that it is certainly there.
    func isHeard(within span: Duration) -> Bool { isConnected && connection.isHeard(within: span) }

    func isSame(as other: DeviceClient) -> Bool { connection === other.connection }

    /// Ends the connection without a goodbye: everything that waits for an answer fails at once.
    func abandon() { connection.abandon() }

    public func capabilities() async throws(ClientError) -> Capabilities { try await ask(.getCapabilities) }

    public func network() async throws(ClientError) -> NetworkStatus { try await ask(.getNetwork) }

    /// Has the device look at every layer, from the radio to its own servers: up to 15 seconds, beside `timeout`.
    public func diagnose() async throws(ClientError) -> Diagnosis {
        let patience = timeout + .seconds(ProtocolLimits.diagnosisSeconds)
        return try await connection.send(.device(.getDiagnosis), as: Diagnosis.self, within: patience)
    }

    /// The state of the sign-in at this network, and the open request to a user.
    public func portal() async throws(ClientError) -> PortalStatus { try await ask(.getPortal) }

    /// Answers the open request to a user, or refuses to. The outcome comes as `network.changed`.
    public func answerPortal(_ answer: PortalAnswer) async throws(ClientError) -> PortalStatus {
        try await ask(.answerPortal(answer))
    }

    /// The device's own servers, as they are set. How each stands is in ``network()``.
    public func targets() async throws(ClientError) -> TargetList { try await ask(.getTargets) }

    /// Sets the device's own servers from now on, also after a restart, or goes back to those of its settings.
    /// - Throws: `refused` with `malformed` and the member at fault; then nothing has changed.
    public func updateTargets(_ update: TargetsUpdate) async throws(ClientError) -> TargetList {
        try await ask(.updateTargets(update))
    }

    /// The device's hotspot providers.
    public func providers() async throws(ClientError) -> HotspotProviders { try await ask(.getProviders) }

    /// Switches a hotspot provider off or on, from now on and also after a restart.
    public func setProvider(_ name: String, on isOn: Bool) async throws(ClientError) -> HotspotProviders {
        try await ask(.setProvider(ProviderSwitch(provider: name, isOn: isOn)))
    }

    /// Opens the device's own access point, by which a user reaches it where no network does.
    public func openRescue(_ request: RescueRequest = RescueRequest()) async throws(ClientError) -> RescueStatus {
        try await ask(.openRescue(request))
    }

    /// Closes it. It does not open by itself until the device has been connected.
    public func closeRescue() async throws(ClientError) -> RescueStatus { try await ask(.closeRescue) }

    /// What the device has counted since its agent started.
    public func metrics() async throws(ClientError) -> MetricsReport { try await ask(.getMetrics) }

    public func backups() async throws(ClientError) -> BackupList { try await ask(.getBackups) }

    /// Stores a newer password of a stored network beside the one that it has. Whichever the network takes is used; once it is
    /// the newer one, the old one goes.
    /// - Parameters:
    ///   - changeId: by which the same request is known when it comes again. ``BackupList/staged`` tells what became of it.
    ///   - lifetime: after how many seconds that it is on the device gives it up; nil for never.
    public func stagePassword(
        _ password: Secret, of ssid: SSID, changeId: String, keepFor lifetime: Int? = nil
    ) async throws(ClientError) -> BackupList {
        let network = NewNetwork(ssid: ssid, credential: .password(password))
        return try await ask(
            sealing: .stagePassword(PasswordStaging(changeId: changeId, network: network, keepFor: lifetime)))
    }

    /// Takes a newer password back that no network has taken yet.
    public func dropPassword(_ changeId: String) async throws(ClientError) -> BackupList {
        try await ask(.dropPassword(StagedPasswordQuery(changeId: changeId)))
    }

    /// Replaces the stored list as a whole, or leaves it as it is.
    /// - Parameters:
    ///   - revision: the revision that the list must still have, or nil to replace it whatever it is.
    ///   - addressing: how the device gets its address in networks that are named by these hashes. The others keep what
    ///     they have. Only a device whose features have `address` understands it.
    ///   - home: what becomes of the network that the device belongs in; nil where that stays. Only a device whose
    ///     features have `home` understands it.
    public func updateBackups(
        _ networks: [NetworkReference], ifRevision revision: Int? = nil, addressing: [NetworkHash: Addressing] = [:],
        home: HomeUpdate? = nil
    ) async throws(ClientError) -> BackupList {
        try await ask(
            sealing: .updateBackups(
                BackupsUpdate(networks: networks, ifRevision: revision, addressing: addressing, home: home)))
    }

    /// Returns when the device has accepted the command, before it leaves the network that it is on.
    /// - Parameter confirmWithin: in seconds, 5 to 600: the device goes back unless `confirmSwitch` comes that soon
    ///   after the network is up. Nil if the switch stands by itself.
    /// - Parameter joinOnce: the device forgets the network when it leaves it or restarts.
    /// - Parameter besideUplink: Wi-Fi moves also where another uplink carries the traffic, which goes on carrying it.
    public func switchNetwork(
        to network: NetworkReference, confirmWithin: Int? = nil, joinOnce: Bool = false, besideUplink: Bool = false
    ) async throws(ClientError) -> SwitchStatus {
        try await ask(
            sealing: .switchNetwork(
                SwitchRequest(
                    target: network, confirmWithin: confirmWithin, joinOnce: joinOnce, besideUplink: besideUplink)))
    }

    /// Has a switch stand that waits for it. To be sent over the new network: that it gets there is what it confirms.
    public func confirmSwitch(_ switchId: String) async throws(ClientError) -> SwitchStatus {
        try await ask(.confirmSwitch(SwitchQuery(switchId: switchId)))
    }

    public func switchStatus(_ switchId: String) async throws(ClientError) -> SwitchStatus {
        try await ask(.getSwitch(SwitchQuery(switchId: switchId)))
    }

    public func startScan(_ request: ScanRequest = ScanRequest()) async throws(ClientError) -> ScanStarted {
        try await ask(.startScan(request))
    }

    public func scanResults() async throws(ClientError) -> ScanResults { try await ask(.getScan) }

    public func history(limit: Int = ProtocolLimits.defaultHistoryDecisions) async throws(ClientError) -> History {
        try await ask(.getHistory(HistoryQuery(limit: limit)))
    }

    /// The device's events from now on, or since an event that is already known. Once for each connection.
    public func events(_ subscription: EventSubscription = EventSubscription()) async throws(ClientError)
        -> EventStream
    {
        let subscribed = try await connection.send(.subscribe(subscription), as: Subscribed.self, within: timeout)
        let position = subscription.since == nil ? subscribed.seq : nil
        return EventStream(subscribed: subscribed, events: connection.events, position: position, source: connection)
    }

    /// The device's key for sealing passwords. Over the network this client seals them by itself.
    public func agreeKey(_ query: SealingKeyQuery = SealingKeyQuery()) async throws(ClientError) -> SealingKey {
        try await ask(.agreeKey(query))
    }

    /// What the key that this client has opened the device with may do; nil for the agent on this machine.
    public var role: Role? { connection.session?.role }

    /// The keys of the device's apps. For a key that may manage the device.
    public func keys() async throws(ClientError) -> AppKeyReport { try await ask(.getKeys) }

    /// A key for another app, as a pairing code. For a key that may manage the device.
    /// - Throws: `refused` with `duplicateKey` or `tooManyKeys`, and with `unsupported` for an expiry while the device
    ///   does not know the time.
    public func addKey(_ request: KeyRequest) async throws(ClientError) -> KeyHandout {
        try await ask(.addKey(request))
    }

    /// Takes a key from its app, and ends the app's connections.
    public func revokeKey(_ name: KeyName) async throws(ClientError) -> AppKeyReport {
        try await ask(.revokeKey(KeyQuery(name: name)))
    }

    /// Takes a key of this app's own, where this client has opened the device with an invitation. The invitation is
    /// good for nothing after that: keep the code that comes, and connect with it.
    /// - Parameter name: for the owner to tell the apps apart; a name in the invitation counts instead.
    public func claimKey(as name: KeyName? = nil) async throws(ClientError) -> KeyHandout {
        try await ask(.claimKey(KeyClaim(name: name)))
    }

    func ask<Answer: Decodable>(_ body: Request.Body) async throws(ClientError) -> Answer {
        try await connection.send(.device(body), as: Answer.self, within: timeout)
    }
}

// A session of its own for each call goes on with this connection, and with others should it end. It takes the
// connection's events, of which there is one subscription: for more than one such call, a `DeviceSession` is the right
// thing.
extension DeviceClient {
    /// Scans and waits for the results. Subscribes this connection to events, which succeeds once: after `events`,
    /// `scan` or the `switchNetwork` that waits, the device refuses it.
    /// - Parameter limit: how long the scan may take.
    public func scan(_ request: ScanRequest = ScanRequest(), within limit: Duration = .seconds(30))
        async throws(ClientError) -> (finished: ScanFinished, results: ScanResults)
    {
        try await DeviceSession(adopting: self).scan(request, within: limit)
    }

    /// Switches and waits for the outcome, also where the device leaves the network over which it is reached: it is
    /// asked again at the same endpoint. Subscribes this connection to events, as `scan` does.
    /// - Parameters:
    ///   - confirmWithin: in seconds, as of the call that does not wait. Another client has to confirm meanwhile,
    ///     unless `confirms` is set.
    ///   - limit: how long the switch may take, roll-back included.
    ///   - onProgress: is told each phase, the outcome included.
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
    /// Asks for something that names networks. Over the network their passwords go sealed, so that no relay
    /// reads them, whatever becomes of the connection's key. The kernel's own socket needs no seal.
    ///
    /// Each attempt asks for the device's key first. If it changed just then, or if the device knows the box
    /// already, nothing has happened yet, and sealing once more helps.
    func ask<Answer: Decodable>(sealing body: Request.Body) async throws(ClientError) -> Answer {
        guard case .network(_, _, let device) = endpoint, body.hasPlainPassword else { return try await ask(body) }
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
