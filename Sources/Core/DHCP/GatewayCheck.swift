import AgentModel

/// Asks for the gateway's hardware address: to recognize a known network (RFC 4436), or to remember a new one.
struct GatewayCheck: Hashable, Sendable {
    private let gateway: IPv4Address
    private let address: IPv4Address
    private let hardware: HardwareAddress
    /// Gateway's known hardware address; nil for a new network.
    private let expected: HardwareAddress?
    private var sent = 0
    /// Time of the next request.
    private(set) var deadline: Instant?

    enum Finding: Hashable {
        case same
        case other(HardwareAddress)
        case found(HardwareAddress)
    }

    /// - Returns: nil without a gateway, or, if `isKnown`, without its hardware address.
    init?(of lease: Lease, from hardware: HardwareAddress, isKnown: Bool, at now: Instant) {
        guard let gateway = lease.gateway, !isKnown || lease.gatewayHardware != nil else { return nil }
        self.init(
            of: gateway, for: lease.address, from: hardware, expected: isKnown ? lease.gatewayHardware : nil, at: now)
    }

    /// - Parameter expected: Nil for a new network.
    init(
        of gateway: IPv4Address, for address: IPv4Address, from hardware: HardwareAddress,
        expected: HardwareAddress? = nil, at now: Instant
    ) {
        (self.gateway, self.address, self.hardware) = (gateway, address, hardware)
        (self.expected, deadline) = (expected, now)
    }

    /// - Returns: the message and its destination hardware address.
    mutating func due(at now: Instant) -> (ARPMessage, HardwareAddress)? {
        guard let deadline, deadline <= now else { return nil }
        let waits = expected == nil ? Self.searchWaits : Self.checkWaits
        self.deadline = waits.indices.contains(sent) ? now + waits[sent] : nil
        sent += 1
        // Asks only the remembered host, by unicast, to hide the address from other networks (RFC 4436, 2.1.1).
        return (ARPMessage(.request, from: address, at: hardware, to: gateway), expected ?? .broadcast)
    }

    mutating func heard(_ message: ARPMessage) -> Finding? {
        guard message.operation == .reply, message.sender == gateway, message.target == address,
            message.targetHardware == hardware
        else { return nil }
        deadline = nil
        guard let expected else { return .found(message.senderHardware) }
        return message.senderHardware == expected ? .same : .other(message.senderHardware)
    }

    /// Waits between requests, as short as for requests to the server.
    private static let checkWaits: [Duration] = [.milliseconds(100), .milliseconds(200)]
    private static let searchWaits: [Duration] = [.seconds(1), .seconds(2)]
}
