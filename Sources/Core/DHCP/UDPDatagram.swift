/// DHCP datagram with its headers (RFC 791, RFC 768), for a packet socket (packet(7), `SOCK_DGRAM`).
///
/// The kernel itself neither sends nor receives such packets while the interface has no address.
public struct UDPDatagram: Equatable, Sendable {
    public let source: IPv4Address
    public let destination: IPv4Address
    public let payload: [UInt8]

    public enum Sender: Sendable {
        case client, server

        /// UDP ports of the message (RFC 2131, 4.1).
        fileprivate var ports: (source: UInt16, destination: UInt16) {
            switch self {
            case .client: (68, 67)
            case .server: (67, 68)
            }
        }
    }

    public init(source: IPv4Address, destination: IPv4Address, payload: [UInt8]) {
        (self.source, self.destination, self.payload) = (source, destination, payload)
    }
}

/// Checksum state of a received packet.
public enum ChecksumState: Sendable, CaseIterable {
    /// The packet came from the air or a wire, so the checksum must be valid.
    case complete
    /// This machine, or a virtual machine on it, sent the packet and left the checksum to a network card (packet(7),
    /// `TP_STATUS_CSUMNOTREADY`).
    case partial
}

public enum UDPDatagramError: Error, Equatable, Sendable {
    case malformed
    /// The packet is an IP fragment. Valid answers fit into one packet.
    case fragment
    /// The packet has another IP version, protocol or destination port.
    case notForUs
    case badChecksum
}

extension UDPDatagram {
    /// Parses a packet, starting with the IPv4 header. Ignores trailing bytes: links pad short frames.
    /// - Parameter sender: Expected sender.
    public init(
        reading packet: some Collection<UInt8>, from sender: Sender = .server, checksum: ChecksumState = .complete
    ) throws(UDPDatagramError) {
        let bytes = Array(packet.prefix(Self.longestPacket))
        guard let first = bytes.first else { throw .malformed }
        guard first >> 4 == 4 else { throw .notForUs }
        let headerLength = Int(first & 0xf) * 4
        guard headerLength >= Self.ipHeaderLength, bytes.count >= headerLength,
            case let length = Self.number(bytes, at: 2), length >= headerLength, length <= bytes.count
        else { throw .malformed }
        guard bytes[9] == Self.udp else { throw .notForUs }
        // Rejects a packet with the flag for more fragments, or with a fragment offset.
        guard Self.number(bytes, at: 6) & 0x3fff == 0 else { throw .fragment }
        guard Self.checksum(of: bytes[..<headerLength]) == 0 else { throw .badChecksum }
        guard let source = IPv4Address(bytes: bytes[12..<16]), let destination = IPv4Address(bytes: bytes[16..<20])
        else { throw .malformed }
        let datagram = Array(bytes[headerLength..<Int(length)])
        guard datagram.count >= Self.udpHeaderLength,
            case let udpLength = Int(Self.number(datagram, at: 4)), udpLength >= Self.udpHeaderLength,
            udpLength <= datagram.count
        else { throw .malformed }
        // Servers behind some relays and NATs answer from another port.
        guard Self.number(datagram, at: 2) == sender.ports.destination else { throw .notForUs }
        // Zero means no checksum (RFC 768).
        if checksum == .complete, Self.number(datagram, at: 6) != 0 {
            let pseudo = Self.pseudoHeader(source, destination, length: UInt16(truncatingIfNeeded: udpLength))
            guard Self.checksum(of: pseudo + datagram.prefix(udpLength)) == 0 else { throw .badChecksum }
        }
        self.init(
            source: source, destination: destination,
            payload: Array(datagram[Self.udpHeaderLength..<udpLength]))
    }

    /// Packet from a client. The payload must not exceed ``DHCPMessage/longest`` bytes.
    public var packet: [UInt8] { packet(from: .client) }

    public func packet(from sender: Sender) -> [UInt8] {
        let ports = sender.ports
        let udpLength = UInt16(truncatingIfNeeded: Self.udpHeaderLength + payload.count)
        let udp = ports.source.bytes + ports.destination.bytes + udpLength.bytes
        let pseudo = Self.pseudoHeader(source, destination, length: udpLength)
        let sum = Self.checksum(of: pseudo + udp + [0, 0] + payload)
        // Type of service is 0x10 (low delay), as usual for DHCP clients. The identification is 0, because DF is set.
        let start: [UInt8] =
            [0x45, 0x10] + (udpLength + UInt16(Self.ipHeaderLength)).bytes + [0, 0, 0x40, 0, 64, Self.udp]
        let addresses = source.bytes + destination.bytes
        let header = start + Self.checksum(of: start + [0, 0] + addresses).bytes + addresses
        return header + udp + (sum == 0 ? .max : sum).bytes + payload
    }

    private static let udp: UInt8 = 17
    private static let ipHeaderLength = 20
    private static let udpHeaderLength = 8
    /// Maximum number of bytes parsed, above any valid answer.
    private static let longestPacket = 4096

    private static func pseudoHeader(_ source: IPv4Address, _ destination: IPv4Address, length: UInt16) -> [UInt8] {
        source.bytes + destination.bytes + [0, udp] + length.bytes
    }

    /// Returns the number in the two bytes at `place`, which must exist.
    private static func number(_ bytes: [UInt8], at place: Int) -> UInt16 {
        UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1])
    }

    /// Internet checksum (RFC 1071); 0 for bytes that include a valid checksum.
    static func checksum(of bytes: some Collection<UInt8>) -> UInt16 {
        // The sum cannot overflow: at most 4096 bytes and a header have 2^11 pairs, each below 2^16.
        var sum: UInt32 = 0
        var isHigh = true
        for byte in bytes {
            sum += isHigh ? UInt32(byte) << 8 : UInt32(byte)
            isHigh.toggle()
        }
        while sum >> 16 != 0 { sum = sum >> 16 + sum & 0xffff }
        return ~UInt16(truncatingIfNeeded: sum)
    }
}
