import AgentModel
import AppProtocol

extension DeviceNetworkManager {
    /// Sends the device to a stored network and returns when it is there.
    ///
    /// The connection breaks on the way: the device is looked for, and asked for the outcome when it is found. So that
    /// this works from a phone, the phone must be able to reach the new network too.
    /// - Parameters:
    ///   - confirmWithin: in seconds, 5 to 600: unless the device can be reached over the new network that soon after
    ///     it is up, it goes back by itself. Nil if it shall stay in any case.
    ///   - onProgress: is told each phase once, in their order, the outcome included.
    /// - Throws: `notSwitched` with the reason where the device is back where it was, `refused` with `unknownNetwork`,
    ///   `cannotSwitch`, `switchInProgress` or `alreadyAssociated`, which a caller can ignore. As
    ///   ``DeviceSession/switchNetwork(to:confirmWithin:confirms:joinOnce:within:onProgress:)`` otherwise.
    @discardableResult
    public func switchBackupWifiNetwork(
        hash: NetworkHash, confirmWithin: Int? = nil,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        try await switchNetwork(
            to: .stored(hash), confirmWithin: confirmWithin, joinOnce: false, onProgress: onProgress)
    }

    /// Sends the device to a network that is not in its list, and returns when it is there.
    /// - Parameters:
    ///   - pwd: nil for an open network. It travels sealed.
    ///   - hidden: the access point does not beacon its name.
    ///   - joinOnce: the device forgets the network when it leaves it or restarts.
    @discardableResult
    public func switchBackupWifiNetwork(
        ssid: SSID, pwd: Secret?, hidden: Bool = false, joinOnce: Bool = false, confirmWithin: Int? = nil,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        let model = try generateBackupWifiModel(ssid: ssid, pwd: pwd, hidden: hidden)
        return try await switchNetwork(
            to: model.reference, confirmWithin: confirmWithin, joinOnce: joinOnce, onProgress: onProgress)
    }

    /// The same from text, as it is typed: an empty password stands for an open network.
    @discardableResult
    public func switchBackupWifiNetwork(
        ssid: String, pwd: String, hidden: Bool = false, joinOnce: Bool = false, confirmWithin: Int? = nil,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        try await switchBackupWifiNetwork(
            ssid: Self.ssid(ssid), pwd: pwd.isEmpty ? nil : Secret(text: pwd), hidden: hidden, joinOnce: joinOnce,
            confirmWithin: confirmWithin, onProgress: onProgress)
    }

    private func switchNetwork(
        to network: NetworkReference, confirmWithin: Int?, joinOnce: Bool,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void
    ) async throws(ClientError) -> SwitchStatus {
        let outcome = try await session.switchNetwork(
            to: network, confirmWithin: confirmWithin, joinOnce: joinOnce, onProgress: onProgress)
        guard outcome.phase == .committed else { throw .notSwitched(outcome) }
        return outcome
    }
}

// MARK: What SDKs do not have

extension DeviceNetworkManager {
    /// What happens on the device, across connections: ``DeviceSession/events()``.
    public func events() async throws(ClientError) -> EventStream { try await session.events() }

    /// What the device has in range, after a new scan.
    public func scan(_ request: ScanRequest = ScanRequest()) async throws(ClientError) -> ScanResults {
        try await session.scan(request).results
    }

    /// Has the device look at every layer, from the radio to its own servers, and say what is broken and what to do. Up to
    /// 15 seconds.
    public func diagnose() async throws(ClientError) -> Diagnosis {
        try await session.diagnose()
    }

    /// How the sign-in at this network stands, and what somebody is asked for.
    public func portal() async throws(ClientError) -> PortalStatus {
        try await session.ask { client throws(ClientError) in try await client.portal() }
    }

    /// Answers what somebody is asked for, or says that nobody will. Sent once more where the answer was lost.
    /// - Throws: `refused` with `unknownPortal` where the request is no longer open.
    @discardableResult
    public func answerPortal(_ answer: PortalAnswer) async throws(ClientError) -> PortalStatus {
        try await session.ask { client throws(ClientError) in try await client.answerPortal(answer) }
    }

    /// The device's last decisions, each with its reason.
    public func history(
        limit: Int = ProtocolLimits.defaultHistoryDecisions
    ) async throws(ClientError) -> History {
        try await session.ask { client throws(ClientError) in try await client.history(limit: limit) }
    }
}
