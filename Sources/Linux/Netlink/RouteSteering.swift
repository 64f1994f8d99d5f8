import AgentModel
import CNetlink
import Glibc
import Linux

/// Routes the device's traffic over one of the stations, or over another preferred uplink; existing connections keep
/// their station. Adds the routes and rules of a `SteeringPlan` and leaves the routes of other programs alone.
@AgentLoop
public final class RouteSteering {
    private let routes: RouteMonitor
    private let stations: [String]
    private var used: String
    /// Name of the preferred uplink; nil to leave the choice to the metrics.
    private var preferred: String?
    /// True once uplinks were checked or preferred. From then on, connections keep their uplink.
    private var keepsPaths = false
    /// True if the kernel may have routes or rules of the agent.
    private var mayHaveItems = true
    private var isFinished = false
    private let onProblem: (NetlinkError) -> Void
    private var following: RouteFollowing?
    private var work: Task<Void, Never>?
    private var isStale = false
    private var lastReported: NetlinkError?
    private var changes = SteeringChanges()
    private var retry: LoopTimer?
    private let endpoints: MultipathEndpoints?
    /// Indices of stations that already answer ARP for their own addresses only.
    private var modest: Set<Int> = []

    /// - Parameters:
    ///   - stations: interface names in a fixed order.
    ///   - used: name of the station in use.
    ///   - hasEndpoints: true to offer both stations to Multipath TCP.
    ///   - onProblem: called once per new problem.
    public init(
        _ stations: [String], using used: String, routes: RouteMonitor, hasEndpoints: Bool = false,
        onProblem: @escaping (NetlinkError) -> Void
    ) {
        (self.stations, self.used, self.routes, self.onProblem) = (stations, used, routes, onProblem)
        // At its start, an agent with one station only removes what an earlier run has left.
        endpoints = hasEndpoints ? MultipathEndpoints(onProblem: onProblem) : nil
        following = routes.follow { [weak self] _ in self?.review() }
        review()
    }

    /// Returns the station that carries the traffic, according to its routes. A restarted agent continues with it.
    public static func used(of stations: [String], in routes: RouteMonitor) -> String? {
        let indices = stations.map { name in routes.link(named: name)?.index }
        let best = routes.defaultRoutes.filter { indices.contains($0.index) }
            .min { ($0.family == .ipv4 ? 0 : 1, $0.metric) < ($1.family == .ipv4 ? 0 : 1, $1.metric) }
        return best.flatMap { best in indices.firstIndex(of: best.index) }.map { stations[$0] }
    }

    public func use(_ station: String) {
        guard station != used else { return }
        used = station
        review()
    }

    /// Gives an uplink's default routes lower metrics than all other uplinks'.
    /// - Parameter interface: name of the uplink; nil to give the metrics back.
    public func prefer(_ interface: String?) {
        guard interface != preferred else { return }
        preferred = interface
        keepsPaths = keepsPaths || interface != nil
        review()
    }

    /// Sends packets of each uplink's addresses over that uplink, until `finish`. A strict reverse path filter would
    /// otherwise drop the answers to checks.
    public func keepPaths() {
        guard !keepsPaths else { return }
        keepsPaths = true
        review()
    }

    /// Stops, and removes what another program would not expect: the preference, and with one station all rules.
    public func finish() async {
        (preferred, keepsPaths) = (nil, false)
        isFinished = true
        following = nil
        retry = nil
        await work?.value
        do throws(NetlinkError) { try await adjust() } catch { reportProblem(error) }
    }

    // MARK: Routes as they are, and as they should be

    private var isNeeded: Bool { stations.count > 1 || keepsPaths || mayHaveItems }

    private func review() {
        guard isNeeded, !isFinished else { return }
        isStale = true
        guard work == nil else { return }
        work = Task {
            while isStale, !isFinished {
                isStale = false
                do throws(NetlinkError) { try await adjust() } catch { reportProblem(error) }
                // Sets the endpoints after the routes, because the kernel connects from a new endpoint at once.
                await endpoints?.follow(
                    MultipathPlan(stations: indices, used: usedIndex, addresses: routes.addresses))
            }
            work = nil
        }
    }

    private var indices: [Int?] {
        stations.map { routes.link(named: $0).flatMap { $0.isUp ? $0.index : nil } }
    }

    private var usedIndex: Int? { routes.link(named: used)?.index }

    private func adjust() async throws(NetlinkError) {
        let present = try await Self.present(routes)
        let links = stations.map { routes.link(named: $0) }
        for link in links.compactMap(\.self)
        where stations.count > 1 && link.isUp && modest.insert(link.index).inserted {
            try? await routes.socket.perform(
                .answerForOwnAddressesOnly(index: link.index), attempting: "set up \(link.name)")
        }
        let plan = SteeringPlan(
            stations: stations.count > 1 || keepsPaths ? indices : [], used: usedIndex, addresses: routes.addresses,
            defaultRoutes: routes.defaultRoutes, preferred: preferred.flatMap { routes.link(named: $0)?.index },
            carriers: Set(routes.carriers.map(\.interface.index)), keepsPaths: keepsPaths)
        let step = changes.step(from: present, to: plan, at: .now)
        retry = step.retry.map { LoopTimer(after: $0) { [weak self] in self?.review() } }
        for item in step.additions {
            do throws(NetlinkError) { try await routes.change(item, isNew: true) } catch {
                guard error.errno != EEXIST else { continue }
                reportProblem(error)
            }
        }
        for item in step.removals {
            do throws(NetlinkError) { try await routes.change(item, isNew: false) } catch {
                // Ignores items that the kernel has removed already.
                guard ![ESRCH, ENOENT, ENODEV].contains(error.errno) else { continue }
                reportProblem(error)
            }
        }
        mayHaveItems = !plan.routes.isEmpty || !plan.rules.isEmpty
    }

    private func reportProblem(_ problem: NetlinkError) {
        guard problem != lastReported else { return }
        lastReported = problem
        onProblem(problem)
    }

    private static func present(_ routes: RouteMonitor) async throws(NetlinkError) -> Set<SteeringItem> {
        let found = try await routes.socket.dump(.dump(of: .routes), attempting: "list the routes") { message in
            Int(message.type) == RTM_NEWROUTE ? RouteDescription(message.payload).flatMap { OwnRoute($0) } : nil
        }
        let rules = try await routes.socket.dump(.rules, attempting: "list the rules") { OwnRule($0) }
        return Set(found.map(SteeringItem.route) + rules.map(SteeringItem.rule))
    }
}

extension RouteMonitor {
    fileprivate func change(_ item: SteeringItem, isNew: Bool) async throws(NetlinkError) {
        switch item {
        case .route(let route):
            try await socket.perform(
                .change(route, isNew: isNew),
                attempting: "\(isNew ? "add" : "remove") a route over interface \(route.index)")
        case .rule(let rule):
            try await socket.perform(
                .change(rule, isNew: isNew), attempting: "\(isNew ? "add" : "remove") a rule for an address")
        }
    }
}
