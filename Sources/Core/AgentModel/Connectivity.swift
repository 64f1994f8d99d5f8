/// How far a network leads. Each level includes those before it.
public enum ReachLevel: String, Sendable, CaseIterable, Comparable {
    /// Joined, with an address and a default route.
    case link
    /// The gateway answers.
    case lan
    /// The source of validation answers as it should, or a target at a public address does.
    case internet
    /// The device's targets answer: its own broker, its app's server.
    case target

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Whether the network in use leads to the internet.
public enum InternetState: String, Sendable, CaseIterable {
    /// Not asked yet, or there is no source of validation to ask.
    case unknown
    case yes
    case no
    /// The user has to sign in first.
    case captive
}

/// Why something could not be reached.
public enum ReachProblem: String, Sendable, CaseIterable {
    /// There is no address to send from.
    case noAddress
    /// There is no route.
    case noRoute
    /// The gateway does not answer to its address.
    case gatewaySilent
    /// The network names no name server.
    case noNameServer
    /// No name server answers.
    case nameServerSilent
    /// The name server says that there is no such name.
    case nameUnknown
    /// The name server answers with an error or with what is no answer.
    case nameServerFailed
    /// No program listens there (RST).
    case connectionRefused
    /// The other side broke off.
    case connectionReset
    /// A router says that there is no way there (ICMP).
    case unreachable
    /// No answer in time.
    case timedOut
    /// The other side is not who it should be, or does not speak TLS.
    case tlsFailed
    /// An answer, but not the one that was to be expected.
    case unexpectedAnswer
    /// The user has to sign in first.
    case captive
}

/// The state of a connection to a target: as Network.framework's `NWConnection.State` tells it.
public enum ConnectionState: String, Sendable, CaseIterable {
    case setup
    /// The name is being resolved, the connection made, keys agreed upon.
    case preparing
    /// There is no way there at present; the agent tries again.
    case waiting
    /// The other side answers.
    case ready
    /// It broke; the agent tries again.
    case failed
    /// Ended on purpose.
    case cancelled
}

/// How it stands with a target.
public struct ConnectionStatus: Sendable, Equatable {
    public var state: ConnectionState
    /// Why, where the state is `waiting` or `failed`.
    public var reason: ReachProblem?
    /// Whether it is ready at an address of the internet: a device in between may have led the name to the house, or to
    /// the device itself.
    public var isFar: Bool
    /// When `state` was entered, on the clock that the connection was given.
    public var since: Instant

    public var isOnline: Bool { state == .ready }

    public init(state: ConnectionState, reason: ReachProblem? = nil, isFar: Bool = false, since: Instant) {
        self.state = state
        self.reason = reason
        self.isFar = isFar
        self.since = since
    }
}

/// The path between the device and a destination. The names are those of Apple's `SCNetworkReachabilityFlags`.
public struct ReachabilityFlags: OptionSet, Sendable, Hashable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// There is a way there, perhaps over a connection that has to be made first.
    public static let reachable = ReachabilityFlags(rawValue: 1 << 0)
    /// A connection has to be made first.
    public static let connectionRequired = ReachabilityFlags(rawValue: 1 << 1)
    /// The destination is one of the device's own addresses.
    public static let isLocalAddress = ReachabilityFlags(rawValue: 1 << 2)
    /// The destination is on the link itself: no gateway is in between.
    public static let isDirect = ReachabilityFlags(rawValue: 1 << 3)
    /// The way leads over a cellular link.
    public static let isCellular = ReachabilityFlags(rawValue: 1 << 4)
    /// The same by the name that it has on Apple's systems (`kSCNetworkReachabilityFlagsIsWWAN`).
    public static let isWWAN = isCellular
    /// The way leads through something that comes and goes on top of a carrier, such as a VPN.
    public static let transient = ReachabilityFlags(rawValue: 1 << 5)
    /// A user has to do something first, such as sign in.
    public static let interventionRequired = ReachabilityFlags(rawValue: 1 << 6)

    /// Traffic makes the connection that is required.
    public static let connectionOnTraffic = ReachabilityFlags(rawValue: 1 << 7)
    /// A program on the device makes the connection that is required, when it is wanted.
    public static let connectionOnDemand = ReachabilityFlags(rawValue: 1 << 8)
    /// `connectionOnTraffic` by its other name, which it has on Apple's systems as well.
    public static let connectionAutomatic = connectionOnTraffic

    /// Reachable, and, if a connection is required, one that is made by itself and without a user.
    public var isReachable: Bool {
        guard contains(.reachable) else { return false }
        guard contains(.connectionRequired) else { return true }
        return !isDisjoint(with: [.connectionOnTraffic, .connectionOnDemand]) && !contains(.interventionRequired)
    }
}

/// The kind of link that carries the default route.
public enum Uplink: String, Sendable, CaseIterable, Codable {
    case wifi
    case wired
    case cellular
    /// Anything else: a tunnel, a bridge.
    case other
}

/// The result of asking the source of validation.
public enum ValidationFinding: Sendable, Equatable {
    /// The answer was what it has to be.
    case online
    /// Another server answered in its place: the user has to sign in first.
    ///
    /// - Parameter portal: where to, if the network told; printable ASCII.
    case captive(portal: String?)
    case failed(ReachProblem)
}

/// The state of a network by its captive portal API (RFC 8908, 5).
public struct CaptiveState: Sendable, Equatable {
    /// Whether the user has to sign in first.
    public var isCaptive: Bool
    /// The page to sign in at; printable ASCII, always https. Nil if not said, or not so that it can be used.
    public var userPortal: String?
    /// A page of the operator about the place; printable ASCII.
    public var venueInfo: String?
    /// Whether ``userPortal`` lets a user stay on before the time or the bytes run out.
    public var canExtendSession: Bool?
    /// Until the network closes again, from 0; counted from when it was asked.
    public var secondsRemaining: Int?
    /// Until the network closes again, from 0, both directions.
    public var bytesRemaining: Int?

    public init(
        isCaptive: Bool, userPortal: String? = nil, venueInfo: String? = nil, canExtendSession: Bool? = nil,
        secondsRemaining: Int? = nil, bytesRemaining: Int? = nil
    ) {
        (self.isCaptive, self.canExtendSession) = (isCaptive, canExtendSession)
        (self.userPortal, self.venueInfo) = (userPortal, venueInfo)
        (self.secondsRemaining, self.bytesRemaining) = (secondsRemaining, bytesRemaining)
    }
}
