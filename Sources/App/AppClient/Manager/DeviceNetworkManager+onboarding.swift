import AppProtocol

/// Moves the phone's Wi-Fi: `NEHotspotConfiguration` with `joinOnce` on iOS, `WifiNetworkSpecifier` on Android.
public protocol PhoneNetwork: Sendable {
    /// Joins the setup access point. Returns when the phone has an address there, or at once if it is already joined.
    func join(_ accessPoint: SetupAccessPointCredentials) async throws
    /// Leaves the access point for the previous network.
    func leave(_ accessPoint: SetupAccessPointCredentials) async
}

/// Progress of an onboarding, in order.
public enum OnboardingStep: Sendable, Equatable {
    /// The phone joins the setup access point.
    case joiningAccessPoint
    /// The device joins the network.
    case switching(SwitchPhase)
    /// The phone searches for the device in its own network.
    case following
    /// The device was not found. The phone asks for the result over the access point.
    case returning
}

extension DeviceNetworkManager {
    /// Brings a device into an unknown network over its setup access point.
    ///
    /// The phone joins the access point, sends the network and leaves. Then it asks the device for the outcome in the
    /// new network. If that fails, it asks over the access point again. `resolve` of this manager must also return the
    /// device's address at the access point.
    /// - Parameter confirmWithin: seconds in which the phone must reach the device over the new network, 5 to 600.
    ///   Otherwise the device returns to its access point. Pass nil if the phone may be in another network.
    /// - Throws: `notSwitched` with the reason: call again to retry. `accessPointNotJoined` if the phone did not join
    ///   the access point, `outcomeUnknown` if the device was not found again.
    @discardableResult
    public func onboard(
        into model: BackupWifiModel, through accessPoint: SetupAccessPointCredentials, on phone: some PhoneNetwork,
        confirmWithin: Int? = nil, onStep: @escaping @Sendable (OnboardingStep) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        onStep(.joiningAccessPoint)
        try await join(accessPoint, on: phone)
        let (phases, phaseUpdates) = AsyncStream.makeStream(of: SwitchPhase.self)
        let following = Task {
            var hasLeft = false
            for await phase in phases {
                onStep(.switching(phase))
                // Leave the access point now, because the device may close it.
                guard !hasLeft else { continue }
                hasLeft = true
                await phone.leave(accessPoint)
                onStep(.following)
            }
        }
        do {
            let outcome = try await session.switchNetwork(to: model.reference, confirmWithin: confirmWithin) {
                phaseUpdates.yield($0.phase)
            }
            phaseUpdates.finish()
            await following.value
            return try outcome.committed
        } catch {
            phaseUpdates.finish()
            await following.value
            guard case .outcomeUnknown(let id?) = error else { throw error }
            onStep(.returning)
            try await join(accessPoint, on: phone)
            let outcome = try await session.ask { client throws(ClientError) in try await client.switchStatus(id) }
            return try outcome.committed
        }
    }

    private func join(_ accessPoint: SetupAccessPointCredentials, on phone: some PhoneNetwork) async throws(ClientError)
    {
        do {
            try await phone.join(accessPoint)
        } catch is CancellationError {
            throw .cancelled
        } catch {
            throw .accessPointNotJoined("\(error)")
        }
    }
}

extension SwitchStatus {
    fileprivate var committed: SwitchStatus {
        get throws(ClientError) {
            guard phase == .committed else { throw .notSwitched(self) }
            return self
        }
    }
}
