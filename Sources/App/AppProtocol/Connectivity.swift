import AgentModel

/// What is known of how far the network in use leads: `connectivity` in `network.get` and `network.changed`.
public struct Connectivity: Sendable, Equatable {
    /// The highest level reached when it was last looked; nil where not even the link is there.
    public var level: ReachLevel?
    /// The level that a network must reach to be kept.
    public var required: ReachLevel
    public var internet: InternetState
    /// Why it is no further, where that is known.
    public var problem: ReachProblem?
    public var portal: Portal?
    /// In the order of the settings.
    public var targets: [TargetStatus]
    /// What lies between the device and the internet.
    public var reachability: ReachabilityFlags
    /// When it was last looked; nil before the first time.
    public var checked: Timestamp?

    public init(
        level: ReachLevel? = nil, required: ReachLevel = .link, internet: InternetState = .unknown,
        problem: ReachProblem? = nil, portal: Portal? = nil, targets: [TargetStatus] = [],
        reachability: ReachabilityFlags = [], checked: Timestamp? = nil
    ) {
        self.level = level
        self.required = required
        self.internet = internet
        self.problem = problem
        self.portal = portal
        self.targets = targets
        self.reachability = reachability
        self.checked = checked
    }
}
