import AgentModel
import AppClient
import AppProtocol

extension Device {
    /// How far the network in use leads, as the device has told last.
    public nonisolated var connectivity: Connectivity? { status?.connectivity }

    /// Waits until it says of how far its network leads what `condition` looks for.
    public func connectivity(
        within limit: Duration, _ what: String, _ condition: (Connectivity) -> Bool
    ) async throws {
        do {
            try await eventually(within: limit, what) { connectivity.map(condition) ?? false }
        } catch {
            throw LabError.unexpected("\(error); it says \(connectivity.map { "\($0)" } ?? "nothing")")
        }
    }

    /// Waits until its broker is in this state, for this reason.
    public func broker(
        _ state: ConnectionState, because reason: ReachProblem? = nil, within limit: Duration
    ) async throws {
        let what = "the broker to be \(state.rawValue)\(reason.map { ", \($0.rawValue)" } ?? "")"
        try await connectivity(within: limit, what) { connectivity in
            connectivity.targets.contains { $0.state == state && $0.reason == reason }
        }
    }

    /// Where it is connected, as it says when it is asked.
    public func network() async throws(ClientError) -> NetworkStatus {
        try await ask { client throws(ClientError) in try await client.network() }
    }

    /// Has it look at every layer.
    public func diagnosis() async throws(ClientError) -> Diagnosis {
        try await ask { client throws(ClientError) in try await client.diagnose() }
    }
}
