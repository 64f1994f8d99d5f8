/// A datagram of DHCP with the headers before it (RFC 791, RFC 768).
///
/// As long as the device has no address, the kernel neither makes nor takes such packets: a packet socket
/// (packet(7), `SOCK_DGRAM`) moves them from the IPv4 header on.
public struct UDPDatagram: Equatable, Sendable {
    public let source: IPv4Address
    public let destination: IPv4Address
    public let payload: [UInt8]

    /// The end that a datagram comes from.
    public enum Sender: Sendable {
        case client, server

        /// RFC 2131, 4.1.
        fileprivate var ports: (source: UInt16, destination: UInt16) {
            switch self {
            case .client: (68, 67)
            case .server: (67, 68)
            }
        }
    }

    /// - Parameter payload: a message of DHCP.
    public init(source: IPv4Address, destination: IPv4Address, payload: [UInt8]) {
        (self.source, self.destination, self.payload) = (source, destination, payload)
    }
}

/// What is known of the UDP checksum of a packet that was received.
public enum ChecksumState: Sendable, CaseIterable {
    /// The packet came over the air or a wire, so its checksum has to fit.
    case complete
    /// It came from this machine or from a virtual one: the sum is left to a network card that it does not pass
    /// (packet(7), `TP_STATUS_CSUMNOTREADY`).
    case partial
}

/// Why a packet is no datagram from a DHCP server to a client, or the other way.
public enum UDPDatagramError: Error, Equatable, Sendable {
    /// A header is cut off, or lengths contradict each other.
    case malformed
    /// A part of a packet: a server's answer fits into one.
    case fragment
    /// Another version, protocol or port. Nothing is wrong with it.
    case notForUs
    /// A checksum does not fit.
    case badChecksum
}

extension UDPDatagram {
    /// Reads a packet from its IPv4 header on. Bytes behind its end are left out: links fill up short frames.
    /// - Parameter sender: whose packets are read.
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
        // More fragments, or an offset.
        guard Self.number(bytes, at: 6) & 0x3fff == 0 else { throw .fragment }
        guard Self.checksum(of: bytes[..<headerLength]) == 0 else { throw .badChecksum }
        guard let source = IPv4Address(bytes: bytes[12..<16]), let destination = IPv4Address(bytes: bytes[16..<20])
        else { throw .malformed }
        let datagram = Array(bytes[headerLength..<Int(length)])
        guard datagram.count >= Self.udpHeaderLength,
            case let udpLength = Int(Self.number(datagram, at: 4)), udpLength >= Self.udpHeaderLength,
            udpLength <= datagram.count
        else { throw .malformed }
        let ports = sender.ports
        guard Self.number(datagram, at: 0) == ports.source, Self.number(datagram, at: 2) == ports.destination
        else { throw .notForUs }
        // Zero is a sender's way to say that it made none (RFC 768).
        if checksum == .complete, Self.number(datagram, at: 6) != 0 {
            let pseudo = Self.pseudoHeader(source, destination, length: UInt16(truncatingIfNeeded: udpLength))
            guard Self.checksum(of: pseudo + datagram.prefix(udpLength)) == 0 else { throw .badChecksum }
        }
        self.init(
            source: source, destination: destination,
            payload: Array(datagram[Self.udpHeaderLength..<udpLength]))
    }

    /// The packet from a client to servers. The payload is at most ``DHCPMessage/longest`` bytes.
    public var packet: [UInt8] { packet(from: .client) }

    /// The packet. The payload is at most ``DHCPMessage/longest`` bytes.
    public func packet(from sender: Sender) -> [UInt8] {
        let ports = sender.ports
        let udpLength = UInt16(truncatingIfNeeded: Self.udpHeaderLength + payload.count)
        let udp = ports.source.bytes + ports.destination.bytes + udpLength.bytes
        let pseudo = Self.pseudoHeader(source, destination, length: udpLength)
        let sum = Self.checksum(of: pseudo + udp + [0, 0] + payload)
        // Type of service 0x10 (low delay), as DHCP clients send it; no identification, for it may not be fragmented.
        let start: [UInt8] =
            [0x45, 0x10] + (udpLength + UInt16(Self.ipHeaderLength)).bytes + [0, 0, 0x40, 0, 64, Self.udp]
        let addresses = source.bytes + destination.bytes
        let header = start + Self.checksum(of: start + [0, 0] + addresses).bytes + addresses
        return header + udp + (sum == 0 ? .max : sum).bytes + payload
    }

    private static let udp: UInt8 = 17
    private static let ipHeaderLength = 20
    private static let udpHeaderLength = 8
    /// What is read of a packet: more than any answer that is taken.
    private static let longestPacket = 4096

    private static func pseudoHeader(_ source: IPv4Address, _ destination: IPv4Address, length: UInt16) -> [UInt8] {
        source.bytes + destination.bytes + [0, udp] + length.bytes
    }

    /// The caller has made sure that there are two bytes.
    private static func number(_ bytes: [UInt8], at place: Int) -> UInt16 {
        UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1])
    }

    /// The complement of the sum of all pairs of bytes (RFC 1071); 0 for bytes that hold their own checksum.
    static func checksum(of bytes: some Collection<UInt8>) -> UInt16 {
        // At most 4096 bytes and a header: 2^11 pairs of 2^16 are far from an overflow.
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
