import AgentModel
import AppProtocol

/// The phone's Wi-Fi, as an app moves it: with `NEHotspotConfiguration` and its `joinOnce` on iOS, with
/// `WifiNetworkSpecifier` on Android.
public protocol PhoneNetwork: Sendable {
    /// Joins the device's access point for as long as the app needs it, and returns once the phone has an address there; at
    /// once where it is there already.
    func join(_ accessPoint: DeviceAccessPoint) async throws
    /// Leaves it. The phone then goes back to the network that it was in.
    func leave(_ accessPoint: DeviceAccessPoint) async
}

/// How far the way of a device into its network has come, for the user to see.
public enum OnboardingStep: Sendable, Equatable {
    /// The phone joins the device's access point.
    case joiningAccessPoint
    /// The device has the network, and tries it.
    case switching(SwitchPhase)
    /// The phone is back in its own network, and looks for the device there.
    case following
    /// The device was not found there: the phone goes back to the access point, and asks how it went.
    case returning
}

extension DeviceNetworkManager {
    /// Brings a device into a network that it does not know, through its own access point: a new device, or one whose
    /// networks are all gone.
    ///
    /// The phone joins the access point and hands the network over; the password travels sealed. Then it leaves, follows
    /// the device into the network and asks it for the outcome. If the device is not to be found there, the phone goes back to
    /// the access point, which the device opens again where it did not get in, and asks there. `resolve` of this manager
    /// has to name the device's address on its access point beside those in the user's network.
    ///
    /// - Parameters:
    ///   - confirmWithin: in seconds, 5 to 600: unless the phone reaches the device over the new network that soon, the
    ///     device goes back to its access point. Nil where the phone may be in another network.
    ///   - onStep: is told each step.
    /// - Returns: the outcome, which is `committed`.
    /// - Throws: `notSwitched` with the reason where the device did not get in; the phone may be on the access point or in its
    ///   own network then, and the same call tries anew. `accessPointNotJoined` where the phone did not get to the
    ///   device, `outcomeUnknown` where the device was found neither there nor here.
    @discardableResult
    public func onboard(
        into model: BackupWifiModel, through accessPoint: DeviceAccessPoint, on phone: some PhoneNetwork,
        confirmWithin: Int? = nil, onStep: @escaping @Sendable (OnboardingStep) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        onStep(.joiningAccessPoint)
        try await join(accessPoint, on: phone)
        let (phases, told) = AsyncStream.makeStream(of: SwitchPhase.self)
        let following = Task {
            var hasLeft = false
            for await phase in phases {
                onStep(.switching(phase))
                // The device has the network, and takes its access point away or not: the phone goes first.
                guard !hasLeft else { continue }
                hasLeft = true
                await phone.leave(accessPoint)
                onStep(.following)
            }
        }
        do {
            let outcome = try await session.switchNetwork(to: model.reference, confirmWithin: confirmWithin) {
                told.yield($0.phase)
            }
            told.finish()
            await following.value
            return try outcome.committed
        } catch {
            told.finish()
            await following.value
            guard case .outcomeUnknown(let id?) = error else { throw error }
            onStep(.returning)
            try await join(accessPoint, on: phone)
            let outcome = try await session.ask { client throws(ClientError) in try await client.switchStatus(id) }
            return try outcome.committed
        }
    }

    private func join(_ accessPoint: DeviceAccessPoint, on phone: some PhoneNetwork) async throws(ClientError) {
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
