import AgentModel
import AppProtocol

/// The Unix socket for programs of this machine.
public struct UnixListenerSettings: Sendable, Hashable {
    /// The folder must exist.
    public var path: String
    /// The socket file's permissions. With `readers` every user may connect besides, because a file has one group only;
    /// a user in neither group gets a refusal.
    public var mode: UInt32
    /// The group that the socket file belongs to; nil for the process's own. Its members may do everything.
    public var group: UInt32?
    /// The group whose members may ask and listen, but change nothing; nil if there is none.
    public var readers: UInt32?
    /// The programs that carry requests of others, such as the bridge to a broker; nil if there are none. They have to
    /// be able to open the socket file besides.
    public var relays: RelayAccess?

    /// The permissions that the file gets in the end.
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

/// The programs that carry requests of others.
public struct RelayAccess: Sendable, Hashable {
    /// The group that all of them are in.
    public let group: UInt32
    /// The most that they may have done. Whatever it is, they are bound by the rules for relays.
    public let role: Role

    public init(group: UInt32, role: Role) { (self.group, self.role) = (group, role) }
}

/// The TCP port for apps in the device's network.
public struct LANListenerSettings: Sendable {
    /// TCP, on every address that the device has or gets; 0 for any free port.
    public var port: Int
    public var door: Door

    public init(port: Int = ProtocolLimits.port, door: Door) {
        self.port = port
        self.door = door
    }
}

extension AppServer {
    /// The server's limits.
    public struct Limits: Sendable {
        /// Connections to the Unix socket at the same time. One more is answered `busy` and closed.
        public var connections: Int
        /// How long a connection that sent too long a line, or is not served, may go on sending before it is cut off.
        public var lingering: Duration
        /// Connections to the Unix socket that are not served and are given that time, besides those that are. One more
        /// is told why as well, and closed at once.
        public var farewells = 8
        /// Limits of the network, counted apart from the Unix socket.
        public var lan: LANLimits

        public init(connections: Int = 32, lingering: Duration = .seconds(2), lan: LANLimits = LANLimits()) {
            self.connections = connections
            self.lingering = lingering
            self.lan = lan
        }
    }

    /// Limits of the apps in the network. An address means a site: an IPv4 address, or an IPv6 network of
    /// 64 bits.
    ///
    /// The defaults suit a small board: 32 connections with a line of at most 64 KiB each, and a household's apps far
    /// below the rates.
    public struct LANLimits: Sendable {
        /// Connections at the same time. One more is answered `busy` and closed.
        public var connections = 32
        /// Connections from one address at the same time; so is one more of these.
        public var connectionsPerAddress = 8
        /// Connections that have not proved that they have the key, until they are closed. If there is no room for
        /// another, the one whose handshake began longest ago gives way.
        public var handshakes = 64
        /// The same of one address.
        public var handshakesPerAddress = 16
        /// Handshakes that wait after wrong keys, part of `handshakes`.
        var waitingHandshakes: Int { max(1, handshakes / 2) }
        /// How long a handshake may take.
        public var handshakeTime = Duration.seconds(10)
        /// How long a connection may stay without a request, unless it is subscribed to events.
        public var idleTime = Duration.seconds(300)
        /// How long a client may keep the server from sending by not reading.
        public var writeTime = Duration.seconds(20)
        /// Requests of one connection.
        public var requests = RequestRate(perSecond: 30, burst: 60)
        /// Requests of all connections of one address.
        public var requestsPerAddress = RequestRate(perSecond: 60, burst: 120)
        /// How long handshakes wait after wrong keys.
        public var wrongKeys = WrongKeyLimits()

        public init() {}
    }

    /// How often something may happen in the long run, and how many times at once after a rest.
    public struct RequestRate: Sendable {
        /// 1 to 1,000,000.
        public let perSecond: Int
        /// 1 to 1,000,000.
        public let burst: Int

        /// Values out of range are brought into it.
        public init(perSecond: Int, burst: Int) {
            self.perSecond = min(max(1, perSecond), 1_000_000)
            self.burst = min(max(1, burst), 1_000_000)
        }
    }

    /// A handshake waits after wrong keys from its address. None is ever refused for it, and one right key ends it.
    public struct WrongKeyLimits: Sendable {
        /// The wait after one wrong key in a row, after two, and so on.
        public var waits = BackOff(first: .milliseconds(250), last: .seconds(4))
        /// How long after the last wrong key an address has a clean slate.
        public var memory = Duration.seconds(600)
        /// How many addresses are remembered; the one whose last wrong key is longest ago is forgotten first.
        public var addresses = 256

        public init() {}
    }
}
