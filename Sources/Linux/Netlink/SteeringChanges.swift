import AgentModel
import CNetlink

/// A route or a rule of a `SteeringPlan`.
enum SteeringItem: Hashable {
    case route(OwnRoute)
    case rule(OwnRule)

    /// Position in the order of additions: rules after their tables, and routes of the main table last.
    fileprivate var turn: Int {
        switch self {
        case .route(let route) where route.table == RT_TABLE_MAIN.rawValue: 3
        case .route(let route) where route.gateway == nil: 0
        case .route: 1
        case .rule: 2
        }
    }
}

/// Decides which routes and rules to add and to remove. Restores those that another program has removed, each at most
/// once in 5 s, to avoid a fight. NetworkManager removes other programs' routes of an interface when it activates a
/// connection, and systemd-networkd also their rules when it configures a link.
struct SteeringChanges {
    static let truce = Duration.seconds(5)

    /// Time when each item was last added.
    private var added: [SteeringItem: Instant] = [:]

    /// Additions come before removals, so that packets always have a route.
    struct Step: Equatable {
        var additions: [SteeringItem] = []
        var removals: [SteeringItem] = []
        /// Time until a missing item may be added again, at most `truce`; nil if no item is held back.
        var retry: Duration?
    }

    /// - Parameter present: the agent's items that the kernel has.
    mutating func step(from present: Set<SteeringItem>, to plan: SteeringPlan, at now: Instant) -> Step {
        let wanted = Set(plan.routes.map(SteeringItem.route) + plan.rules.map(SteeringItem.rule))
        added = added.filter { wanted.contains($0.key) }
        let missing = wanted.subtracting(present)
        let due = missing.filter { item in added[item].map { now - $0 >= Self.truce } ?? true }
        let held = missing.subtracting(due).compactMap { item in added[item].map { Self.truce - (now - $0) } }
        for item in due { added[item] = now }
        return Step(
            additions: due.sorted { $0.turn < $1.turn },
            removals: present.subtracting(wanted).sorted { $0.turn > $1.turn }, retry: held.min())
    }
}
