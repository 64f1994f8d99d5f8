import AgentModel

extension Connectivity: Codable {
    private enum CodingKeys: String, CodingKey {
        case level, required, internet, problem, portal, targets, reachability, checked
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            level: try container.decodeIfPresent(ReachLevel.self, forKey: .level),
            required: try container.decode(ReachLevel.self, forKey: .required),
            internet: try container.decode(InternetState.self, forKey: .internet),
            problem: try container.decodeIfPresent(ReachProblem.self, forKey: .problem),
            portal: try container.decodeIfPresent(Portal.self, forKey: .portal),
            targets: try container.decodeIfPresent([TargetStatus].self, forKey: .targets) ?? [],
            reachability: ReachabilityFlags(
                names: try container.decodeIfPresent([String].self, forKey: .reachability) ?? []),
            checked: try container.decodeIfPresent(Timestamp.self, forKey: .checked))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(level, forKey: .level)
        try container.encode(required, forKey: .required)
        try container.encode(internet, forKey: .internet)
        try container.encodeIfPresent(problem, forKey: .problem)
        try container.encodeIfPresent(portal, forKey: .portal)
        try container.encode(targets, forKey: .targets)
        try container.encode(reachability.names, forKey: .reachability)
        try container.encodeIfPresent(checked, forKey: .checked)
    }
}

extension TargetStatus: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, host, port, state, online, reason, since
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: try container.decode(String.self, forKey: .name),
            host: try container.decode(String.self, forKey: .host),
            port: try container.decode(Int.self, forKey: .port),
            state: try container.decode(ConnectionState.self, forKey: .state),
            reason: try container.decodeIfPresent(ReachProblem.self, forKey: .reason),
            since: try container.decode(Timestamp.self, forKey: .since))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(host, forKey: .host)
        try container.encode(port, forKey: .port)
        try container.encode(state, forKey: .state)
        try container.encode(isOnline, forKey: .online)
        try container.encodeIfPresent(reason, forKey: .reason)
        try container.encode(since, forKey: .since)
    }
}

extension ReachabilityFlags {
    /// The names under which the flags travel, in their order.
    public static let allNames: [(name: String, flag: ReachabilityFlags)] = [
        ("reachable", .reachable), ("connectionRequired", .connectionRequired), ("isLocalAddress", .isLocalAddress),
        ("isDirect", .isDirect), ("isCellular", .isCellular), ("transient", .transient),
        ("interventionRequired", .interventionRequired),
    ]

    /// The names of those that are set.
    public var names: [String] { Self.allNames.filter { contains($0.flag) }.map(\.name) }

    /// Leaves out names that this version does not know.
    public init(names: [String]) {
        self.init(Self.allNames.filter { names.contains($0.name) }.map(\.flag))
    }
}

extension ReachLevel: WireScalar {
    package static var complaint: String { "is not a level such as internet" }
}

extension InternetState: WireScalar {
    /// One that a newer device knows reads as `unknown`.
    package init?(wire: String) { self = InternetState(rawValue: wire) ?? .unknown }
    package static var complaint: String { "is not a state of the internet" }
}

extension ReachProblem: WireScalar {
    /// One that a newer device knows reads as `unexpectedAnswer`.
    package init?(wire: String) { self = ReachProblem(rawValue: wire) ?? .unexpectedAnswer }
    package static var complaint: String { "is not a problem" }
}

extension ConnectionState: WireScalar {
    package static var complaint: String { "is not a state of a connection" }
}
