import AgentModel
import CNetlink
import Glibc
import Linux

/// Keeps the endpoints of Multipath TCP as `MultipathPlan` has them: a connection of a program that uses it goes on over the other
/// station as soon as one is lost.
@AgentLoop
public final class MultipathEndpoints {
    private let routes: RouteMonitor
    private let stations: [String]
    private var used: String
    private let onProblem: (NetlinkError) -> Void
    private var socket: NetlinkSocket?
    private var family: UInt16?
    private var present = MultipathPlan()
    private var following: RouteFollowing?
    private var isAtWork = false
    private var isStale = false
    private var told: NetlinkError?

    /// - Parameters:
    ///   - stations: the names of the interfaces, always in the same order.
    ///   - used: the one in use.
    ///   - onProblem: is told once of what does not work; of a kernel without Multipath TCP nothing is told.
    public init(
        _ stations: [String], using used: String, routes: RouteMonitor, onProblem: @escaping (NetlinkError) -> Void
    ) {
        (self.stations, self.used, self.routes, self.onProblem) = (stations, used, routes, onProblem)
        Task { await begin() }
    }

    /// From now on this station carries the traffic.
    public func use(_ station: String) {
        guard station != used else { return }
        used = station
        review()
    }

    private func begin() async {
        do throws(NetlinkError) {
            let socket = try NetlinkSocket(.generic)
            let family = try await socket.family(named: MPTCP_PM_NAME).id
            (self.socket, self.family) = (socket, family)
            // Those of an agent that was killed.
            if let none = IPAddress(bytes: [0, 0, 0, 0]) {
                let nothing = MultipathPlan.Endpoint(address: none, index: 0, isBackup: false)
                for id in MultipathPlan.ids { try? await carryOut(.remove(id, nothing)) }
            }
        } catch {
            if case .familyMissing = error.reason { return }
            return onProblem(error)
        }
        following = routes.follow { [weak self] _ in self?.review() }
        review()
    }

    private func review() {
        isStale = true
        guard following != nil, !isAtWork else { return }
        isAtWork = true
        Task {
            while isStale {
                isStale = false
                await adjust()
            }
            isAtWork = false
        }
    }

    private func adjust() async {
        let plan = MultipathPlan(
            stations: stations.map { routes.link(named: $0).flatMap { $0.isUp ? $0.index : nil } },
            used: routes.link(named: used)?.index, addresses: routes.addresses)
        for change in plan.changes(from: present) {
            do throws(NetlinkError) { try await carryOut(change) } catch {
                guard error != told else { continue }
                told = error
                onProblem(error)
            }
        }
        present = plan
    }

    /// - Throws: where something is not done; that nothing was there to be removed is no error.
    private func carryOut(_ change: MultipathPlan.Change) async throws(NetlinkError) {
        guard let socket, let family else { return }
        for request in NetlinkRequest.multipath(change, family: family) {
            do throws(NetlinkError) {
                try await socket.perform(request, attempting: "set the endpoints of Multipath TCP")
            } catch {
                guard case .remove = change else { throw error }
            }
        }
    }
}
