import AgentModel

/// Asks the gateway for its hardware address: of a known network, to know it again (RFC 4436), and of a new one, to
/// know it the next time.
struct GatewayCheck: Hashable, Sendable {
    private let gateway: IPv4Address
    private let address: IPv4Address
    private let hardware: HardwareAddress
    /// Nil where it is to be found out.
    private let expected: HardwareAddress?
    private var sent = 0
    /// When it is asked next.
    private(set) var deadline: Instant?

    enum Finding: Hashable {
        /// The gateway is the one that is remembered.
        case same
        /// Another host answers at its address.
        case other(HardwareAddress)
        /// What is to be remembered.
        case found(HardwareAddress)
    }

    /// - Returns: nil where the lease names no gateway, or, with `isKnown`, no hardware address of it.
    init?(of lease: Lease, from hardware: HardwareAddress, isKnown: Bool, at now: Instant) {
        guard let gateway = lease.gateway, !isKnown || lease.gatewayHardware != nil else { return nil }
        self.init(
            of: gateway, for: lease.address, from: hardware, expected: isKnown ? lease.gatewayHardware : nil, at: now)
    }

    /// - Parameter expected: nil where it is to be found out.
    init(
        of gateway: IPv4Address, for address: IPv4Address, from hardware: HardwareAddress,
        expected: HardwareAddress? = nil, at now: Instant
    ) {
        (self.gateway, self.address, self.hardware) = (gateway, address, hardware)
        (self.expected, deadline) = (expected, now)
    }

    /// - Returns: what to send, and the hardware address to send it to.
    mutating func due(at now: Instant) -> (ARPMessage, HardwareAddress)? {
        guard let deadline, deadline <= now else { return nil }
        let waits = expected == nil ? Self.searchWaits : Self.checkWaits
        self.deadline = waits.indices.contains(sent) ? now + waits[sent] : nil
        sent += 1
        // RFC 4436, 2.1.1: to the remembered host alone, so that no other host of another network learns the address.
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

    /// Between the questions; as quick as those to the server.
    private static let checkWaits: [Duration] = [.milliseconds(100), .milliseconds(200)]
    private static let searchWaits: [Duration] = [.seconds(1), .seconds(2)]
}
