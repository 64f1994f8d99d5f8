import AgentModel

/// The connectivity of the network in use: `connectivity` in `network.get` and `network.changed`.
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
    /// Properties of the path from the device to the internet.
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

/// How it stands with one of the device's own servers: also the body of `target.changed`.
public struct TargetStatus: Sendable, Equatable {
    /// As in the settings.
    public var name: String
    public var host: String
    public var port: Int
    public var state: ConnectionState
    /// Why, where the state is `waiting` or `failed`.
    public var reason: ReachProblem?
    /// When `state` was entered.
    public var since: Timestamp

    public var isOnline: Bool { state == .ready }

    public init(
        name: String, host: String, port: Int, state: ConnectionState, reason: ReachProblem? = nil, since: Timestamp
    ) {
        self.name = name
        self.host = host
        self.port = port
        self.state = state
        self.reason = reason
        self.since = since
    }
}

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
        ("reachable", .reachable), ("connectionRequired", .connectionRequired),
        ("connectionOnTraffic", .connectionOnTraffic), ("connectionOnDemand", .connectionOnDemand),
        ("isLocalAddress", .isLocalAddress), ("isDirect", .isDirect), ("isCellular", .isCellular),
        ("transient", .transient), ("interventionRequired", .interventionRequired),
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

extension ReachProblem {
    /// Why something was not reached, in a few words for a user: `connection refused`.
    public var words: String {
        switch self {
        case .noAddress: "no address"
        case .noRoute: "no route"
        case .gatewaySilent: "the gateway does not answer"
        case .noNameServer: "the network names no name server"
        case .nameServerSilent: "no name server answers"
        case .nameUnknown: "there is no such name"
        case .nameServerFailed: "the name server fails"
        case .connectionRefused: "connection refused"
        case .connectionReset: "connection broken off"
        case .unreachable: "no way there"
        case .timedOut: "no answer in time"
        case .tlsFailed: "TLS failed"
        case .unexpectedAnswer: "unexpected answer"
        case .captive: "sign-in needed"
        }
    }
}

/// The findings of a check of every layer: the answer to `diagnosis.get`.
public struct Diagnosis: Sendable, Equatable, Codable {
    public enum Layer: String, Sendable, CaseIterable, Codable {
        case radio, association, address, gateway, names, internet, target
    }

    public enum Result: String, Sendable, CaseIterable, Codable {
        case good
        case broken
        /// It works, and not as well as it should.
        case doubtful
        /// Not looked at, because a layer below is broken or nothing of the kind is set.
        case skipped
    }

    public struct Step: Sendable, Equatable, Codable {
        public var layer: Layer
        public var result: Result
        /// The finding in words, without secrets.
        public var found: String
        /// The remedy; nil if none is needed.
        public var remedy: String?

        public init(layer: Layer, result: Result, found: String, remedy: String? = nil) {
            self.layer = layer
            self.result = result
            self.found = found
            self.remedy = remedy
        }
    }

    /// From the radio upwards; of targets one for each.
    public var steps: [Step]
    /// Time of the diagnosis. Requests soon after it get the same one.
    public var checked: Timestamp?

    public init(steps: [Step], checked: Timestamp? = nil) { (self.steps, self.checked) = (steps, checked) }

    /// Whether nothing was found broken.
    public var isGood: Bool { !steps.contains { $0.result == .broken } }
}
