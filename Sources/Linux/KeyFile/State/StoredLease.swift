import AgentModel

/// Last IPv4 lease of a network, requested again at the next join.
public struct StoredLease: Sendable, Hashable {
    public var address: IPAddress
    /// Prefix length of the address's network, 8 to 32.
    public var prefixLength: Int
    public var gateway: IPAddress?
    /// Hardware address of the gateway, to recognise the network (RFC 4436).
    public var gatewayHardware: HardwareAddress?
    /// Address of the DHCP server, from its server identifier option.
    public var server: IPAddress
    /// The device's hardware address that received the lease.
    public var hardware: HardwareAddress
    /// Name servers, at most ``maximumServers``; a commit drops the rest.
    public var nameServers: [IPAddress]
    /// End of the lease in seconds since 1970. Renewals are not stored, so the lease may last longer.
    public var expiry: UInt32

    public static let maximumServers = 3

    public init(
        address: IPAddress, prefixLength: Int, gateway: IPAddress?, gatewayHardware: HardwareAddress?,
        server: IPAddress, hardware: HardwareAddress, nameServers: [IPAddress] = [], expiry: UInt32
    ) {
        (self.address, self.prefixLength) = (address, prefixLength)
        (self.gateway, self.gatewayHardware) = (gateway, gatewayHardware)
        (self.server, self.hardware) = (server, hardware)
        (self.nameServers, self.expiry) = (nameServers, expiry)
    }
}
