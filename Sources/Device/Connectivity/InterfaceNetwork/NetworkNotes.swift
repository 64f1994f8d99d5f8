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
