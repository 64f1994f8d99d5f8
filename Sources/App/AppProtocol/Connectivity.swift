import AgentModel

/// Connectivity of the network in use: `connectivity` in `network.get` and `network.changed`.
public struct Connectivity: Sendable, Equatable {
    /// Highest level that the last check reached; nil without a link.
    public var level: ReachLevel?
    /// The level that a network must reach to be kept.
    public var required: ReachLevel
    public var internet: InternetState
    /// Whether the device asks a server for internet access. If not, it detects a captive portal only if the network
    /// announces it (RFC 8910).
    public var checksInternet: Bool
    /// Reason why a level was not reached, if known.
    public var problem: ReachProblem?
    public var portal: Portal?
    /// The device's own servers, in the order of the settings.
    public var targets: [TargetStatus]
    public var reachability: ReachabilityFlags
    /// Time of the last check; nil before the first.
    public var checked: Timestamp?

    public init(
        level: ReachLevel? = nil, required: ReachLevel = .link, internet: InternetState = .unknown,
        checksInternet: Bool = true, problem: ReachProblem? = nil, portal: Portal? = nil,
        targets: [TargetStatus] = [], reachability: ReachabilityFlags = [], checked: Timestamp? = nil
    ) {
        self.level = level
        self.required = required
        self.internet = internet
        self.checksInternet = checksInternet
        self.problem = problem
        self.portal = portal
        self.targets = targets
        self.reachability = reachability
        self.checked = checked
    }
}

/// The state of one of the device's own servers; also the body of `target.changed`.
public struct TargetStatus: Sendable, Equatable {
    public var name: String
    public var host: String
    /// Port number, 1 to 65535.
    public var port: Int
    public var state: ConnectionState
    /// Reason of the states `waiting` and `failed`.
    public var reason: ReachProblem?
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
        case level, required, internet, checksInternet, problem, portal, targets, reachability, checked
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            level: try container.decodeIfPresent(ReachLevel.self, forKey: .level),
            required: try container.decode(ReachLevel.self, forKey: .required),
            internet: try container.decode(InternetState.self, forKey: .internet),
            // Missing in older devices.
            checksInternet: try container.decodeIfPresent(Bool.self, forKey: .checksInternet) ?? true,
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
        try container.encode(checksInternet, forKey: .checksInternet)
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
    public static let allNames: [(name: String, flag: ReachabilityFlags)] = [
        ("reachable", .reachable), ("connectionRequired", .connectionRequired),
        ("connectionOnTraffic", .connectionOnTraffic), ("connectionOnDemand", .connectionOnDemand),
        ("isLocalAddress", .isLocalAddress), ("isDirect", .isDirect), ("isCellular", .isCellular),
        ("transientConnection", .transientConnection), ("interventionRequired", .interventionRequired),
    ]

    public var names: [String] { Self.allNames.filter { contains($0.flag) }.map(\.name) }

    /// Reads the names of flags, and ignores unknown ones.
    public init(names: [String]) {
        self.init(Self.allNames.filter { names.contains($0.name) }.map(\.flag))
    }
}

extension ReachLevel: WireScalar {
    package static var complaint: String { "is not a level such as internet" }
}

extension InternetState: WireScalar {
    /// Reads unknown states of newer devices as `unknown`.
    package init?(wire: String) { self = InternetState(rawValue: wire) ?? .unknown }
    package static var complaint: String { "is not an internet state such as yes" }
}

extension ReachProblem: WireScalar {
    /// Reads unknown problems of newer devices as `unexpectedAnswer`.
    package init?(wire: String) { self = ReachProblem(rawValue: wire) ?? .unexpectedAnswer }
    package static var complaint: String { "is not a problem such as connectionRefused" }
}

extension ConnectionState: WireScalar {
    package static var complaint: String { "is not a state of a connection" }
}

extension ReachProblem {
    public var words: String {
        switch self {
        case .noAddress: "no address"
        case .noRoute: "no route"
        case .gatewaySilent: "the gateway does not answer"
        case .noNameServer: "the network has no name server"
        case .nameServerSilent: "no name server answers"
        case .nameUnknown: "no such name"
        case .nameServerFailed: "the name server failed"
        case .connectionRefused: "connection refused"
        case .connectionReset: "connection reset"
        case .unreachable: "destination unreachable"
        case .timedOut: "no answer in time"
        case .tlsFailed: "TLS failed"
        case .clockNotSet: "TLS failed while the device's clock is not set"
        case .unexpectedAnswer: "unexpected answer"
        case .captive: "sign-in needed"
        }
    }
}

/// Result of a check of every layer: answer to `diagnosis.get`.
public struct Diagnosis: Sendable, Equatable, Codable {
    /// A checked layer. The cases are in order, the lowest layer first.
    public enum Layer: String, Sendable, CaseIterable, Codable {
        case radio, association, address, gateway, names, internet, target
    }

    /// Finding about a layer.
    public enum Result: String, Sendable, CaseIterable, Codable {
        case good
        case broken
        /// The layer works, but not as well as it should.
        case doubtful
        /// The layer was not checked, because a lower one is broken or no server for the check is set.
        case skipped
    }

    /// Finding about one layer, in sentences for a user.
    public struct Step: Sendable, Equatable, Codable {
        public var layer: Layer
        public var result: Result
        /// Finding as a sentence, without secrets.
        public var found: String
        /// Remedy as a sentence; nil if none is needed.
        public var remedy: String?

        public init(layer: Layer, result: Result, found: String, remedy: String? = nil) {
            self.layer = layer
            self.result = result
            self.found = found
            self.remedy = remedy
        }
    }

    /// Layers from the radio upwards, then one step for each target.
    public var steps: [Step]
    /// Time of the diagnosis. Requests that follow soon return the same diagnosis.
    public var checked: Timestamp?

    public init(steps: [Step], checked: Timestamp? = nil) { (self.steps, self.checked) = (steps, checked) }

    public var isGood: Bool { !steps.contains { $0.result == .broken } }
}
