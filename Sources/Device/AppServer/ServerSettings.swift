import AgentModel
import AppProtocol

/// The Unix socket for programs on this machine.
public struct UnixListenerSettings: Sendable, Hashable {
    /// Path of the socket. Its folder must exist.
    public var path: String
    /// Mode of the socket. With `readers`, all users may connect, because a file has one group only. Users in neither
    /// group are refused.
    public var mode: UInt32
    /// Group of the socket, whose members may do everything; nil for the process's own group.
    public var group: UInt32?
    /// Group whose members may query and subscribe only; nil for none.
    public var readers: UInt32?
    /// Programs that relay requests of others; nil for none. They also need permission to open the socket file.
    public var relays: RelayAccess?

    var effectiveMode: UInt32 { readers == nil ? mode : mode | 0o006 }

    public init(
        path: String, mode: UInt32 = 0o660, group: UInt32? = nil, readers: UInt32? = nil, relays: RelayAccess? = nil
    ) {
        self.path = path
        self.mode = mode
        self.group = group
        self.readers = readers
        self.relays = relays
    }
}

/// Programs that relay requests of others.
public struct RelayAccess: Sendable, Hashable {
    public let group: UInt32
    /// Highest role of relayed requests. The rules for relays apply in addition.
    public let role: Role

    public init(group: UInt32, role: Role) { (self.group, self.role) = (group, role) }
}

/// The TCP port for apps in the network.
public struct LANListenerSettings: Sendable {
    /// TCP port on all addresses; 0 for any free port.
    public var port: Int
    public var credentials: AppCredentials

    public init(port: Int, credentials: AppCredentials) {
        self.port = port
        self.credentials = credentials
    }
}

extension AppServer {
    public struct Limits: Sendable {
        /// Maximum number of connections to the Unix socket. Further connections get the error `busy` and are closed.
        public var connections: Int
        /// Time in which a refused connection may still send before it is closed.
        public var lingering: Duration
        /// Maximum number of refused connections to the Unix socket that get `lingering`. Further refused connections
        /// are closed right after the error.
        public var farewells = 8
        public var lan: LANLimits

        public init(connections: Int = 32, lingering: Duration = .seconds(2), lan: LANLimits = LANLimits()) {
            self.connections = connections
            self.lingering = lingering
            self.lan = lan
        }
    }

    /// Limits of network clients. "Address" means a site: an IPv4 address or an IPv6 /64. The defaults suit a small
    /// board.
    public struct LANLimits: Sendable {
        /// Maximum number of connections. Further connections get the error `busy` and are closed.
        public var connections = 32
        public var connectionsPerAddress = 8
        /// Maximum number of connections without a proved key. A newcomer displaces a connection of the busiest
        /// address. If each address has only one, it displaces the slowest.
        public var handshakes = 64
        public var handshakesPerAddress = 16
        /// Maximum number of handshakes that wrong keys delay. These count for `handshakes` as well.
        var waitingHandshakes: Int { max(1, handshakes / 2) }
        public var handshakeTime = Duration.seconds(10)
        /// Longest time without a request, except for subscribers of events.
        public var idleTime = Duration.seconds(300)
        /// Longest time in which a client may block writes by not reading.
        public var writeTime = Duration.seconds(20)
        public var requests = RequestRate(perSecond: 30, burst: 60)
        public var requestsPerAddress = RequestRate(perSecond: 60, burst: 120)
        public var wrongKeys = WrongKeyLimits()

        public init() {}
    }

    public struct RequestRate: Sendable {
        /// Sustained rate per second, 1 to 1,000,000.
        public let perSecond: Int
        /// Size of a burst, 1 to 1,000,000.
        public let burst: Int

        /// Clamps values to their ranges.
        public init(perSecond: Int, burst: Int) {
            self.perSecond = min(max(1, perSecond), 1_000_000)
            self.burst = min(max(1, burst), 1_000_000)
        }
    }

    /// Delays of handshakes after wrong keys from a site. A right key ends them.
    public struct WrongKeyLimits: Sendable {
        /// Delays after one, two and more consecutive wrong keys.
        public var waits = BackOff(first: .milliseconds(250), last: .seconds(4))
        /// Longest delay of clients on this machine. All apps at the broker are among them, and one wrong key must not
        /// keep the others out. The bridge opens at most one connection a second.
        public var longestOnLoopback = Duration.seconds(1)
        /// Time after the last wrong key until the count resets.
        public var memory = Duration.seconds(600)
        /// Maximum number of sites remembered; the oldest entry is dropped first.
        public var addresses = 256

        public init() {}
    }
}
