import AgentModel

/// ARP message for IPv4 over Ethernet and Wi-Fi (RFC 826): 28 bytes after the link header.
public struct ARPMessage: Hashable, Sendable {
    public enum Operation: UInt16, Sendable {
        case request = 1
        case reply = 2
    }

    public let operation: Operation
    public let senderHardware: HardwareAddress
    public let sender: IPv4Address
    public let targetHardware: HardwareAddress
    public let target: IPv4Address

    public init(
        _ operation: Operation, from sender: IPv4Address, at senderHardware: HardwareAddress, to target: IPv4Address,
        at targetHardware: HardwareAddress = .zero
    ) {
        self.operation = operation
        (self.sender, self.senderHardware) = (sender, senderHardware)
        (self.target, self.targetHardware) = (target, targetHardware)
    }

    /// Creates a probe, which asks for a host without announcing the sender (RFC 5227, 1.1).
    static func probe(_ address: IPv4Address, from hardware: HardwareAddress) -> ARPMessage {
        ARPMessage(.request, from: .unspecified, at: hardware, to: address)
    }

    /// Creates an announcement of the address (RFC 5227, 1.1).
    static func announcement(_ address: IPv4Address, from hardware: HardwareAddress) -> ARPMessage {
        ARPMessage(.request, from: address, at: hardware, to: address)
    }

    /// Whether the sender has the address, or probes for it (RFC 5227, 2.1.1).
    func claims(_ address: IPv4Address) -> Bool {
        sender == address || operation == .request && sender == .unspecified && target == address
    }
}

public enum ARPMessageError: Error, Equatable, Sendable {
    case truncated
    /// The address type or the operation is unsupported.
    case unknown
    /// The sender's hardware address is zero or a group address.
    case noSender
}

extension ARPMessage {
    /// Parses a message. Ignores trailing bytes: links pad short frames.
    public init(reading bytes: some Collection<UInt8>) throws(ARPMessageError) {
        let bytes = Array(bytes.prefix(Self.length))
        guard bytes.count == Self.length, let operation = UInt16(bytes: bytes[6..<8]),
            let senderHardware = HardwareAddress(bytes: bytes[8..<14]),
            let sender = IPv4Address(bytes: bytes[14..<18]),
            let targetHardware = HardwareAddress(bytes: bytes[18..<24]),
            let target = IPv4Address(bytes: bytes[24..<28])
        else { throw .truncated }
        guard Array(bytes[..<6]) == Self.kind, let operation = Operation(rawValue: operation) else { throw .unknown }
        guard senderHardware.isInterface else { throw .noSender }
        self.init(operation, from: sender, at: senderHardware, to: target, at: targetHardware)
    }

    public var bytes: [UInt8] {
        Self.kind + operation.rawValue.bytes + senderHardware.bytes + sender.bytes + targetHardware.bytes
            + target.bytes
    }

    private static let length = 28
    /// Header of Ethernet (1) and IPv4 (0x0800), with their address lengths.
    private static let kind: [UInt8] = [0, 1, 8, 0, 6, 4]
}
