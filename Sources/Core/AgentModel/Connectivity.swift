/// Reachability through a network, from the nearest to the farthest level. Each level includes the levels before it.
public enum ReachLevel: String, Sendable, CaseIterable, Comparable {
    case link
    case lan
    /// The validation source or a target at a public address answers as expected.
    case internet
    /// The device's targets answer, for example its broker or its app's server.
    case target

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Whether the current network has internet access.
public enum InternetState: String, Sendable, CaseIterable {
    /// Internet access was not checked yet, or there is no validation source.
    case unknown
    case yes
    case no
    /// The user must sign in first.
    case captive
}

public enum ReachProblem: String, Sendable, CaseIterable {
    /// The device has no source address.
    case noAddress
    case noRoute
    /// The gateway does not answer ARP or neighbour discovery.
    case gatewaySilent
    case noNameServer
    case nameServerSilent
    /// The name server reports that the name does not exist.
    case nameUnknown
    /// The name server returns an error or an invalid response.
    case nameServerFailed
    /// No program listens on the port (TCP RST).
    case connectionRefused
    /// The peer reset the connection.
    case connectionReset
    /// A router reports the destination as unreachable (ICMP).
    case unreachable
    case timedOut
    /// The peer's certificate is not accepted, or the peer does not speak TLS.
    case tlsFailed
    /// TLS failed while the device does not know the time, so it cannot judge certificates. Not the network's fault.
    case clockNotSet
    case unexpectedAnswer
    /// The user must sign in first.
    case captive
}

/// State of a connection to a target, named after Network.framework's `NWConnection.State`.
public enum ConnectionState: String, Sendable, CaseIterable {
    case setup
    /// Name resolution, connection setup or TLS handshake is in progress.
    case preparing
    /// There is no route at present. The agent tries again.
    case waiting
    case ready
    /// The connection broke. The agent tries again.
    case failed
    case cancelled
}

/// Current state of the connection to a target.
public struct ConnectionStatus: Sendable, Equatable {
    public var state: ConnectionState
    /// The reason if the state is `waiting` or `failed`.
    public var reason: ReachProblem?
    /// Whether the target answers at a public address. A middlebox can redirect the name to a local address.
    public var isFar: Bool
    /// Time at which the connection entered `state`.
    public var since: Instant

    public var isOnline: Bool { state == .ready }

    public init(state: ConnectionState, reason: ReachProblem? = nil, isFar: Bool = false, since: Instant) {
        self.state = state
        self.reason = reason
        self.isFar = isFar
        self.since = since
    }
}

/// Path between the device and a destination, with the names and raw values of Apple's `SCNetworkReachabilityFlags`.
public struct ReachabilityFlags: OptionSet, Sendable, Hashable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The path uses a transient connection such as a VPN.
    public static let transientConnection = ReachabilityFlags(rawValue: 1 << 0)
    /// A path exists, perhaps through a connection that must be established first.
    public static let reachable = ReachabilityFlags(rawValue: 1 << 1)
    /// A connection must be established first.
    public static let connectionRequired = ReachabilityFlags(rawValue: 1 << 2)
    /// Traffic establishes the required connection.
    public static let connectionOnTraffic = ReachabilityFlags(rawValue: 1 << 3)
    /// Apple's other name for `connectionOnTraffic`.
    public static let connectionAutomatic = connectionOnTraffic
    /// The user must act first, for example sign in.
    public static let interventionRequired = ReachabilityFlags(rawValue: 1 << 4)
    /// A program on the device establishes the required connection on demand.
    public static let connectionOnDemand = ReachabilityFlags(rawValue: 1 << 5)
    /// The destination is an address of the device.
    public static let isLocalAddress = ReachabilityFlags(rawValue: 1 << 16)
    /// The destination is on the link. Traffic does not pass a gateway.
    public static let isDirect = ReachabilityFlags(rawValue: 1 << 17)
    /// The path uses a cellular link.
    public static let isCellular = ReachabilityFlags(rawValue: 1 << 18)
    /// Apple's name for `isCellular` (`kSCNetworkReachabilityFlagsIsWWAN`).
    public static let isWWAN = isCellular

    /// Whether the destination is reachable without an action of the user.
    public var isReachable: Bool {
        guard contains(.reachable) else { return false }
        guard contains(.connectionRequired) else { return true }
        return !isDisjoint(with: [.connectionOnTraffic, .connectionOnDemand]) && !contains(.interventionRequired)
    }
}

public enum Uplink: String, Sendable, CaseIterable, Codable {
    case wifi
    case wired
    case cellular
    /// Any other link, such as a tunnel or a bridge.
    case other
}

public enum ValidationFinding: Sendable, Equatable {
    /// The validation source answered as expected.
    case online
    /// Another server answered, so the user must sign in. `portal` is the URL if known (printable ASCII).
    case captive(portal: String?)
    case failed(ReachProblem)
}

/// State that a captive portal API reports (RFC 8908, 5).
public struct CaptiveState: Sendable, Equatable {
    public var isCaptive: Bool
    /// HTTPS URL of the sign-in page, in printable ASCII. Nil if missing or unusable.
    public var userPortal: String?
    /// URL of the operator's page about the venue, in printable ASCII.
    public var venueInfo: String?
    /// Whether ``userPortal`` can extend the session.
    public var canExtendSession: Bool?
    /// Seconds until the session ends, at the time of the request. Not negative.
    public var secondsRemaining: Int?
    /// Bytes until the session ends, in both directions. Not negative.
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
