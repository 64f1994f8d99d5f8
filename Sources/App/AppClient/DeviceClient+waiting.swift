import AppProtocol

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
    ///   - confirmWithin: in seconds, as of the call that does not wait. Somebody else has to confirm meanwhile, unless
    ///     `confirms` is set.
    ///   - limit: how long the switch may take, roll-back included.
    ///   - onProgress: is told each phase, the outcome included.
    public func switchNetwork(
        to network: NetworkReference, confirmWithin: Int? = nil, confirms: Bool = false, joinOnce: Bool = false,
        within limit: Duration, onProgress: @escaping @Sendable (SwitchStatus) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        try await DeviceSession(adopting: self).switchNetwork(
            to: network, confirmWithin: confirmWithin, confirms: confirms, joinOnce: joinOnce, within: limit,
            onProgress: onProgress)
    }
}
