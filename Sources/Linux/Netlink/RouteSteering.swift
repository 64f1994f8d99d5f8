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
    /// True once an uplink was preferred. From then on, connections keep their station.
    private var hasPreferred = false
    /// True if the kernel may have routes or rules of the agent.
    private var mayHaveItems = true
    private var isFinished = false
    private let onProblem: (NetlinkError) -> Void
    private var following: RouteFollowing?
    private var work: Task<Void, Never>?
    private var isStale = false
    private var lastReported: NetlinkError?
    /// Time when each item was added. Repeated additions wait 5 s, to avoid a fight with another program.
    private var added: [Item: Instant] = [:]
    private var retry: LoopTimer?
    private let endpoints: MultipathEndpoints?
    /// Indices of stations that already answer ARP for their own addresses only.
    private var modest: Set<Int> = []

    fileprivate enum Item: Hashable {
        case route(OwnRoute)
        case rule(OwnRule)
    }

    private static let truce = Duration.seconds(5)

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
        hasPreferred = hasPreferred || interface != nil
        review()
    }

    /// Stops, and removes what another program would not expect: the preference, and with one station all rules.
    public func finish() async {
        (preferred, hasPreferred) = (nil, false)
        isFinished = true
        following = nil
        retry = nil
        await work?.value
        do throws(NetlinkError) { try await adjust() } catch { reportProblem(error) }
    }

    // MARK: Routes as they are, and as they should be

    private var isNeeded: Bool { stations.count > 1 || hasPreferred || mayHaveItems }

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
            stations: stations.count > 1 || hasPreferred ? indices : [], used: usedIndex, addresses: routes.addresses,
            defaultRoutes: routes.defaultRoutes, preferred: preferred.flatMap { routes.link(named: $0)?.index },
            carriers: Set(routes.carriers.map(\.interface.index)))
        let wanted = plan.routes.map(Item.route) + plan.rules.map(Item.rule)
        added = added.filter { wanted.contains($0.key) }
        // Adds before removing, so that packets always have a route. Adds rules after their tables, and routes of the
        // main table last.
        for item in wanted.filter({ !present.contains($0) }).sorted(by: { $0.turn < $1.turn }) { await add(item) }
        for item in present.subtracting(wanted).sorted(by: { $0.turn > $1.turn }) {
            do throws(NetlinkError) { try await routes.change(item, isNew: false) } catch {
                // Ignores items that the kernel has removed already.
                guard ![ESRCH, ENOENT, ENODEV].contains(error.errno) else { continue }
                reportProblem(error)
            }
        }
        mayHaveItems = !wanted.isEmpty
    }

    private func add(_ item: Item) async {
        if let last = added[item], Instant.now - last < Self.truce {
            retry = LoopTimer(after: Self.truce) { [weak self] in self?.review() }
            return
        }
        added[item] = .now
        do throws(NetlinkError) { try await routes.change(item, isNew: true) } catch {
            guard error.errno != EEXIST else { return }
            reportProblem(error)
        }
    }

    private func reportProblem(_ problem: NetlinkError) {
        guard problem != lastReported else { return }
        lastReported = problem
        onProblem(problem)
    }

    private static func present(_ routes: RouteMonitor) async throws(NetlinkError) -> Set<Item> {
        let found = try await routes.socket.dump(.dump(of: .routes), attempting: "list the routes") { message in
            Int(message.type) == RTM_NEWROUTE ? RouteDescription(message.payload).flatMap { OwnRoute($0) } : nil
        }
        let rules = try await routes.socket.dump(.rules, attempting: "list the rules") { OwnRule($0) }
        return Set(found.map(Item.route) + rules.map(Item.rule))
    }
}

extension RouteSteering.Item {
    fileprivate var turn: Int {
        switch self {
        case .route(let route) where route.table == RT_TABLE_MAIN.rawValue: 3
        case .route(let route) where route.gateway == nil: 0
        case .route: 1
        case .rule: 2
        }
    }
}

extension RouteMonitor {
    fileprivate func change(_ item: RouteSteering.Item, isNew: Bool) async throws(NetlinkError) {
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
