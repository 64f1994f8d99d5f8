import AgentModel

/// The IPv4 address that a network's server has last given the device: asked for again when the network is joined again.
public struct StoredLease: Sendable, Hashable {
    public var address: IPAddress
    /// Of the network that the address is in; 8 to 32.
    public var prefixLength: Int
    public var gateway: IPAddress?
    /// The gateway's hardware address, by which the network is known again (RFC 4436).
    public var gatewayHardware: HardwareAddress?
    /// The identifier of the server that gave the address.
    public var server: IPAddress
    /// The hardware address that it was given to.
    public var hardware: HardwareAddress
    /// At most ``maximumServers``, a commit drops the rest.
    public var nameServers: [IPAddress]
    /// In seconds since 1970. A lease that has been renewed since lasts longer: renewals are worth no write.
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
