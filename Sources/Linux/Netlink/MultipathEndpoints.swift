import AgentModel
import CNetlink
import Glibc
import Linux

/// Keeps the endpoints of Multipath TCP as `MultipathPlan` has them: a connection of a program that uses it goes on over the other
/// station as soon as one is lost. `RouteSteering` says when.
@AgentLoop
final class MultipathEndpoints {
    private let onProblem: (NetlinkError) -> Void
    private var path = Path.untried
    private var present = MultipathPlan()
    private var told: NetlinkError?

    /// The way to the kernel's path manager.
    private enum Path {
        case untried
        case open(NetlinkSocket, family: UInt16)
        /// The kernel has none.
        case missing
    }

    /// - Parameter onProblem: is told once of what does not work; of a kernel without Multipath TCP nothing is told.
    init(onProblem: @escaping (NetlinkError) -> Void) { self.onProblem = onProblem }

    /// One call ends before the next.
    func follow(_ plan: MultipathPlan) async {
        if case .untried = path { await open() }
        for change in plan.changes(from: present) {
            do throws(NetlinkError) { try await carryOut(change) } catch {
                guard error != told else { continue }
                told = error
                onProblem(error)
            }
        }
        present = plan
    }

    private func open() async {
        path = .missing
        do throws(NetlinkError) {
            let socket = try NetlinkSocket(.generic)
            path = .open(socket, family: try await socket.family(named: MPTCP_PM_NAME).id)
        } catch {
            if case .familyMissing = error.reason { return }
            return onProblem(error)
        }
        // Those of an agent that was killed.
        guard let none = IPAddress(bytes: [0, 0, 0, 0]) else { return }
        let nothing = MultipathPlan.Endpoint(address: none, index: 0, isBackup: false)
        for id in MultipathPlan.ids { try? await carryOut(.remove(id, nothing)) }
    }

    /// - Throws: where something is not done; that nothing was there to be removed is no error.
    private func carryOut(_ change: MultipathPlan.Change) async throws(NetlinkError) {
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
