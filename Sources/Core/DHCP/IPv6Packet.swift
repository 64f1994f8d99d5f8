import AgentModel

/// DHCPv6 datagram with its headers (RFC 8200, RFC 768), for a packet socket, so that no port is open.
public struct IPv6Datagram: Equatable, Sendable {
    public let source: IPAddress
    public let destination: IPAddress
    public let payload: [UInt8]

    /// UDP port of clients (RFC 8415, 7.2).
    static let clientPort: UInt16 = 546
    static let serverPort: UInt16 = 547

    /// - Parameter source: Link-local address of the interface.
    public init(source: IPAddress, destination: IPAddress, payload: [UInt8]) {
        (self.source, self.destination, self.payload) = (source, destination, payload)
    }
}

extension IPv6Datagram {
    /// Parses a packet for a client, starting with the IPv6 header. Ignores trailing bytes. Rejects packets with
    /// extension headers, which servers do not send.
    public init(
        reading packet: some Collection<UInt8>, checksum: ChecksumState = .complete
    ) throws(UDPDatagramError) {
        let bytes = Array(packet.prefix(Self.longestPacket))
        guard let first = bytes.first else { throw .malformed }
        guard first >> 4 == 6 else { throw .notForUs }
        guard bytes.count >= IPv6Header.length, let length = UInt16(bytes: bytes[4..<6]),
            bytes.count - IPv6Header.length >= Int(length)
        else { throw .malformed }
        guard bytes[6] != IPv6Header.fragment else { throw .fragment }
        guard bytes[6] == IPv6Header.udp else { throw .notForUs }
        guard let source = IPAddress(bytes: bytes[8..<24]), let destination = IPAddress(bytes: bytes[24..<40]) else {
            throw .malformed
        }
        let datagram = bytes[IPv6Header.length..<(IPv6Header.length + Int(length))]
        guard let from = UInt16(bytes: datagram.prefix(2)), let to = UInt16(bytes: datagram.dropFirst(2).prefix(2)),
            let udpLength = UInt16(bytes: datagram.dropFirst(4).prefix(2)), udpLength >= Self.udpHeaderLength,
            udpLength <= datagram.count
        else { throw .malformed }
        guard from == Self.serverPort, to == Self.clientPort else { throw .notForUs }
        let own = datagram.prefix(Int(udpLength))
        // The checksum is mandatory, unlike in IPv4 (RFC 8200, 8.1).
        if checksum == .complete {
            let pseudo = bytes[8..<40] + UInt32(udpLength).bytes + [0, 0, 0, IPv6Header.udp]
            guard UDPDatagram.checksum(of: pseudo + own) == 0 else { throw .badChecksum }
        }
        self.init(source: source, destination: destination, payload: Array(own.dropFirst(Self.udpHeaderLength)))
    }

    /// Packet from a client to servers.
    public var packet: [UInt8] {
        let length = UInt16(clamping: Self.udpHeaderLength + payload.count)
        let udp = Self.clientPort.bytes + Self.serverPort.bytes + length.bytes
        let header = IPv6Header(next: IPv6Header.udp, hopLimit: 1, source: source, destination: destination)
        let sum = header.checksum(of: udp + [0, 0] + payload)
        return header.bytes(before: length) + udp + (sum == 0 ? .max : sum).bytes + payload
    }

    private static let udpHeaderLength = 8
    /// Maximum number of bytes parsed, above any valid answer.
    private static let longestPacket = 4096
}

/// Router solicitation (RFC 4861, 4.1).
public struct RouterSolicitation: Equatable, Sendable {
    /// Link-local address of the interface; nil if there is none yet.
    let source: IPAddress?
    let hardware: HardwareAddress

    public init(from source: IPAddress?, hardware: HardwareAddress) {
        (self.source, self.hardware) = (source, hardware)
    }

    /// Packet of the message, starting with the IPv6 header; nil if `source` is IPv4.
    public var packet: [UInt8]? {
        guard let anyone = IPAddress("::"), let routers = IPv6Group.routers.address,
            (source ?? anyone).family == .ipv6
        else { return nil }
        // Without a source address, the hardware address must be omitted (RFC 4861, 4.1).
        let body: [UInt8] = [133, 0, 0, 0, 0, 0, 0, 0] + (source == nil ? [] : [1, 1] + hardware.bytes)
        let header = IPv6Header(next: IPv6Header.icmp, hopLimit: 255, source: source ?? anyone, destination: routers)
        let sum = header.checksum(of: body)
        let summed = Array(body.prefix(2)) + sum.bytes + Array(body.dropFirst(4))
        return header.bytes(before: UInt16(clamping: body.count)) + summed
    }
}

/// Link-local multicast groups.
public enum IPv6Group: Sendable {
    /// All routers: ff02::2 (RFC 4291, 2.7.1).
    case routers
    /// All DHCPv6 servers: ff02::1:2 (RFC 8415, 7.1).
    case dhcpServers

    public var address: IPAddress? {
        switch self {
        case .routers: IPAddress("ff02::2")
        case .dhcpServers: IPAddress("ff02::1:2")
        }
    }

    /// Multicast hardware address (RFC 2464, 7).
    public var hardware: HardwareAddress {
        address.flatMap { HardwareAddress(bytes: [0x33, 0x33] + $0.bytes.suffix(4)) } ?? .broadcast
    }
}

/// IPv6 header (RFC 8200, 3).
private struct IPv6Header {
    let next: UInt8
    let hopLimit: UInt8
    let source: IPAddress
    let destination: IPAddress

    static let length = 40
    static let udp: UInt8 = 17
    static let icmp: UInt8 = 58
    static let fragment: UInt8 = 44

    /// Checksum of the payload and the pseudo-header (RFC 8200, 8.1).
    func checksum(of body: [UInt8]) -> UInt16 {
        let pseudo = source.bytes + destination.bytes + UInt32(clamping: body.count).bytes + [0, 0, 0, next]
        return UDPDatagram.checksum(of: pseudo + body)
    }

    func bytes(before length: UInt16) -> [UInt8] {
        [0x60, 0, 0, 0] + length.bytes + [next, hopLimit] + source.bytes + destination.bytes
    }
}
