/// Something in the network that announces a service (RFC 6763).
public struct ServiceInstance: Sendable, Equatable {
    /// What people call it; arbitrary text of the one who announces it, to be escaped before it is shown.
    public let name: String
    /// Its host's name, such as `lamp.local`.
    public let host: DNSName
    public let port: Int
    /// IPv4 first, then IPv6; link-local ones with their zone (`fe80::1%wlan0`).
    public let addresses: [String]
    /// What else it says of itself, by keys in lower case.
    public let attributes: [String: [UInt8]]

    public init(name: String, host: DNSName, port: Int, addresses: [String], attributes: [String: [UInt8]]) {
        self.name = name
        self.host = host
        self.port = port
        self.addresses = addresses
        self.attributes = attributes
    }
}

extension ServiceInstance {
    /// A device's id, where it says one that can be one: 1 to 64 printable ASCII characters without spaces.
    public var deviceId: String? {
        guard let id = attributes["id"], (1...64).contains(id.count), id.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        return String(decoding: id, as: UTF8.self)
    }
}
