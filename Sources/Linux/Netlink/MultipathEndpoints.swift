import AgentModel
import CNetlink
import Linux

/// Sets the Multipath TCP endpoints of a `MultipathPlan` in the kernel: connections continue over the other station
/// after a link loss.
@AgentLoop
final class MultipathEndpoints {
    private let onProblem: (NetlinkError) -> Void
    private var path = Path.untried
    private var present = MultipathPlan()
    private var lastReported: NetlinkError?

    /// State of the kernel's path manager.
    private enum Path {
        case untried
        case open(NetlinkSocket, family: UInt16)
        /// The kernel lacks Multipath TCP, or its path manager did not answer.
        case missing
    }

    /// - Parameter onProblem: called once per new problem; not called on kernels without Multipath TCP.
    init(onProblem: @escaping (NetlinkError) -> Void) { self.onProblem = onProblem }

    /// Applies the plan. Calls must not overlap.
    func follow(_ plan: MultipathPlan) async {
        if case .untried = path { await open() }
        for change in plan.changes(from: present) {
            do throws(NetlinkError) { try await perform(change) } catch {
                guard error != lastReported else { continue }
                lastReported = error
                onProblem(error)
            }
        }
        present = plan
    }

    /// Finds the kernel's path manager. Tries once: after a failure the plan has no effect.
    private func open() async {
        path = .missing
        do throws(NetlinkError) {
            let socket = try NetlinkSocket(.generic)
            path = .open(socket, family: try await socket.family(named: MPTCP_PM_NAME).id)
        } catch {
            if case .familyMissing = error.reason { return }
            return onProblem(error)
        }
        // Removes endpoints of a killed agent.
        guard let none = IPAddress(bytes: [0, 0, 0, 0]) else { return }
        let nothing = MultipathPlan.Endpoint(address: none, index: 0, isBackup: false)
        for id in MultipathPlan.ids { try? await perform(.remove(id, nothing)) }
    }

    /// Sends the change to the kernel. Ignores failed removals.
    private func perform(_ change: MultipathPlan.Change) async throws(NetlinkError) {
        guard case .open(let socket, let family) = path else { return }
        for request in NetlinkRequest.multipath(change, family: family) {
            do throws(NetlinkError) {
                try await socket.perform(request, attempting: "set the endpoints of Multipath TCP")
            } catch {
                guard case .remove = change else { throw error }
            }
        }
    }
}
