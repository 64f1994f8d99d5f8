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

/// A network that wants somebody to sign in (RFC 8908).
public struct Portal: Sendable, Equatable {
    /// The states of a hotspot's sign-in.
    public enum State: String, Sendable, CaseIterable {
        case inactive, evaluating, authenticating, presentingUI, authenticated, maintaining
    }

    /// Where a person signs in, if the network told.
    public var url: String?
    public var state: State
    /// The provider that signs in, if one claimed the network.
    public var provider: String?
    /// How long, in seconds, and for how many bytes the sign-in lasts, where the network tells.
    public var secondsRemaining: Int?
    public var bytesRemaining: Int?

    public init(
        url: String? = nil, state: State = .inactive, provider: String? = nil, secondsRemaining: Int? = nil,
        bytesRemaining: Int? = nil
    ) {
        self.url = url
        self.state = state
        self.provider = provider
        self.secondsRemaining = secondsRemaining
        self.bytesRemaining = bytesRemaining
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

/// What a person is asked for so that the device can sign in: the body of `portal.request`.
public struct PortalRequest: Sendable, Equatable {
    public struct Field: Sendable, Equatable {
        public enum Kind: String, Sendable, CaseIterable {
            case text, password, checkbox
        }

        /// Names the answer.
        public var name: String
        public var label: String
        public var kind: Kind
        public var isRequired: Bool

        public init(name: String, label: String, kind: Kind, isRequired: Bool) {
            self.name = name
            self.label = label
            self.kind = kind
            self.isRequired = isRequired
        }
    }

    public var id: Int
    public var provider: String
    public var network: NetworkName
    public var title: String
    public var message: String
    /// A page that the person may open instead.
    public var url: String?
    public var fields: [Field]

    public init(
        id: Int, provider: String, network: NetworkName, title: String, message: String, url: String? = nil,
        fields: [Field]
    ) {
        self.id = id
        self.provider = provider
        self.network = network
        self.title = title
        self.message = message
        self.url = url
        self.fields = fields
    }
}

/// What the person answered: the body of `portal.answer`.
public struct PortalAnswer: Sendable, Equatable {
    public var id: Int
    /// By the fields' names; nil: the person does not want to.
    public var values: [String: Secret]?

    public init(id: Int, values: [String: Secret]?) {
        self.id = id
        self.values = values
    }
}

/// What was found when every layer was looked at in turn: the answer to `diagnosis.get`.
public struct Diagnosis: Sendable, Equatable {
    public enum Layer: String, Sendable, CaseIterable {
        case radio, association, address, gateway, names, internet, target
    }

    public enum Result: String, Sendable, CaseIterable {
        case good
        case broken
        /// It works, and not as well as it should.
        case doubtful
        /// Not looked at, because a layer below is broken or nothing of the kind is set.
        case skipped
    }

    public struct Step: Sendable, Equatable {
        public var layer: Layer
        public var result: Result
        /// What was found, in words, without secrets.
        public var found: String
        /// What to do about it; nil where nothing is to be done.
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

    public init(steps: [Step]) { self.steps = steps }
}
