import AgentModel

/// What a network tells a device that joins it beside its addresses, by DHCP and router advertisements together.
public struct NetworkConfiguration: Hashable, Sendable {
    /// In the order in which they are to be asked.
    public var nameServers: [IPAddress] = []
    /// Where short names are looked for.
    public var searchDomains: [String] = []
    public var timeServers: [IPAddress] = []
    /// The network's captive portal API (RFC 8908): https and printable ASCII.
    public var portal: String?

    public init() {}
}
