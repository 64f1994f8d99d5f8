import AgentModel

/// DHCP server for clients of the setup access point (RFC 2131).
///
/// The server is a value: it takes packets and the time, and returns packets. The pool limits its memory. As the
/// network's only server, it sends a NAK for an unavailable address (RFC 2131, 4.3.2).
///
/// It announces itself as router and name server although it forwards nothing. A phone without a default route leaves
/// the network and never opens the page (Android's IpClient requires address, route and name server). The phone still
/// uses mobile data, because its validation probe fails on Wi-Fi.
public struct DHCPServer: Sendable {
    public struct Settings: Sendable, Equatable {
        public var address: IPv4Address
        /// Prefix length, 8 to 30.
        public var prefixLength: Int
        /// URL of the captive portal API (RFC 8910), for clients that ask for it. Omitted if longer than 255 bytes.
        public var portal: String?

        public init(address: IPv4Address, prefixLength: Int = 24, portal: String? = nil) {
            (self.address, self.portal) = (address, portal)
            self.prefixLength = min(max(prefixLength, 8), 30)
        }
    }

    public struct Answer: Sendable, Equatable {
        /// Packet to send, starting with the IPv4 header.
        public let packet: [UInt8]
        /// Hardware address of the destination.
        public let hardware: HardwareAddress
    }

    public let settings: Settings
    private let subnet: Subnet
    private var bindings: [IPv4Address: Binding] = [:]
    private var addresses: [HardwareAddress: IPv4Address] = [:]

    private struct Binding {
        /// Client of the address; nil if a client declined it because another host uses it.
        var client: HardwareAddress?
        var end: Instant
        var isOffer: Bool
    }

    /// Maximum number of addresses, above what an access point can serve.
    private static let poolSize: UInt32 = 200
    /// Lease time, which is short to free the addresses of absent phones.
    private static let leaseTime = Duration.seconds(600)
    /// Time for which an offer is reserved. A client requests one of its offers within seconds.
    private static let offerTime = Duration.seconds(30)
    /// Time for which a declined address stays unused.
    private static let declineTime = Duration.seconds(600)
    /// Maximum number of declined addresses. The limit is needed because any station can decline one after the other.
    static let mostDeclined = 8

    public init(settings: Settings) {
        self.settings = settings
        subnet = Subnet(of: settings.address, prefixLength: settings.prefixLength)
    }

    /// Clients with a valid lease.
    public func leases(at now: Instant) -> [HardwareAddress: IPv4Address] {
        addresses.filter { bindings[$0.value].map { !$0.isOffer && $0.end > now } ?? false }
    }

    /// Handles an untrusted packet, starting with the IPv4 header. `sender` is the packet's hardware address. It must
    /// match the message, or else one station could take the whole pool.
    public mutating func handle(
        _ packet: [UInt8], from sender: HardwareAddress, checksum: ChecksumState = .complete, at now: Instant
    ) -> Answer? {
        guard let datagram = try? UDPDatagram(reading: packet, from: .client, checksum: checksum),
            let message = try? DHCPMessage(reading: datagram.payload), message.hardware == sender
        else { return nil }
        return handle(message, at: now)
    }

    mutating func handle(_ message: DHCPMessage, at now: Instant) -> Answer? {
        guard message.operation == .request, message.hardware.isInterface else { return nil }
        switch message.kind {
        case .discover: return offer(to: message, at: now)
        case .request: return acknowledge(message, at: now)
        case .decline: decline(message, at: now)
        case .release: release(message, at: now)
        case .inform: return inform(message)
        default: break
        }
        return nil
    }

    // MARK: Messages of clients

    private mutating func offer(to message: DHCPMessage, at now: Instant) -> Answer? {
        let wish = Self.address(.requestedAddress, in: message)
        guard let address = free(for: message.hardware, wishing: wish, at: now) else { return nil }
        // Rapid commit (RFC 4039) takes two messages instead of four.
        let isRapid = message.options[.rapidCommit] != nil
        bind(address, to: message.hardware, isOffer: !isRapid, at: now)
        var answer = self.answer(isRapid ? .ack : .offer, to: message, address)
        if isRapid { answer.options.append(.rapidCommit, []) }
        return send(answer, to: message)
    }

    private mutating func acknowledge(_ message: DHCPMessage, at now: Instant) -> Answer? {
        let server = Self.address(.serverIdentifier, in: message)
        if let server, server != settings.address {
            // The client chose another server.
            drop(offerTo: message.hardware)
            return nil
        }
        let wish =
            message.clientAddress == .unspecified
            ? Self.address(.requestedAddress, in: message) : message.clientAddress
        guard let wish else { return nil }
        guard isInPool(wish), isFree(wish, for: message.hardware, at: now) else {
            return refuse(message)
        }
        bind(wish, to: message.hardware, isOffer: false, at: now)
        return send(answer(.ack, to: message, wish), to: message)
    }

    private mutating func decline(_ message: DHCPMessage, at now: Instant) {
        guard Self.address(.serverIdentifier, in: message) == settings.address,
            let address = Self.address(.requestedAddress, in: message), addresses[message.hardware] == address
        else { return }
        addresses[message.hardware] = nil
        let declined = bindings.filter { $0.value.client == nil }
        if declined.count >= Self.mostDeclined, let oldest = declined.min(by: { $0.value.end < $1.value.end })?.key {
            bindings[oldest] = nil
        }
        bindings[address] = Binding(client: nil, end: now + Self.declineTime, isOffer: false)
    }

    private mutating func release(_ message: DHCPMessage, at now: Instant) {
        guard Self.address(.serverIdentifier, in: message) == settings.address,
            addresses[message.hardware] == message.clientAddress
        else { return }
        // Keeps the binding, so that a returning client gets the same address.
        bindings[message.clientAddress]?.end = now
    }

    private func inform(_ message: DHCPMessage) -> Answer? {
        guard subnet.hasHost(message.clientAddress) else { return nil }
        return send(answer(.ack, to: message, nil), to: message)
    }

    // MARK: Addresses

    /// First address and size of the pool: the upper part of the subnet, without the device's address.
    private var pool: (first: UInt32, count: UInt32) {
        let hosts = subnet.last.bits - subnet.network.bits - 1
        let count = min(Self.poolSize, hosts)
        return (subnet.last.bits - count, count)
    }

    private func isInPool(_ address: IPv4Address) -> Bool {
        let (first, count) = pool
        return address.bits >= first && address.bits - first < count && address != settings.address
    }

    private func isFree(_ address: IPv4Address, for client: HardwareAddress, at now: Instant) -> Bool {
        guard let binding = bindings[address] else { return true }
        return binding.client == client || binding.end <= now
    }

    /// Picks the client's last address, else the requested one, else one derived from its hardware address. The derived
    /// address stays the same after a power loss of the device.
    private func free(for client: HardwareAddress, wishing wish: IPv4Address?, at now: Instant) -> IPv4Address? {
        for address in [addresses[client], wish].compactMap(\.self)
        where isInPool(address) && isFree(address, for: client, at: now) {
            return address
        }
        let (first, count) = pool
        guard count > 0 else { return nil }
        let start = client.bytes.reduce(UInt32(0x811c_9dc5)) { ($0 ^ UInt32($1)) &* 0x0100_0193 } % count
        var former: IPv4Address?
        for step in 0..<count {
            let address = IPv4Address(bits: first + (start + step) % count)
            guard isInPool(address) else { continue }
            if bindings[address] == nil { return address }
            if former == nil, isFree(address, for: client, at: now) { former = address }
        }
        if let former { return former }
        // Replaces an unanswered offer if the pool is exhausted.
        return bindings.filter { $0.value.isOffer }.min { ($0.value.end, $0.key) < ($1.value.end, $1.key) }?.key
    }

    private mutating func bind(_ address: IPv4Address, to client: HardwareAddress, isOffer: Bool, at now: Instant) {
        if let other = bindings[address]?.client, other != client { addresses[other] = nil }
        if let former = addresses[client], former != address { bindings[former] = nil }
        // An offer does not shorten an active lease.
        if isOffer, let binding = bindings[address], binding.client == client, !binding.isOffer, binding.end > now {
            return
        }
        addresses[client] = address
        bindings[address] = Binding(
            client: client, end: now + (isOffer ? Self.offerTime : Self.leaseTime + Self.grace), isOffer: isOffer)
    }

    /// Tolerance for slow client clocks.
    private static let grace = Duration.seconds(10)

    private mutating func drop(offerTo client: HardwareAddress) {
        guard let address = addresses[client], bindings[address]?.isOffer == true else { return }
        (addresses[client], bindings[address]) = (nil, nil)
    }

    // MARK: Answers

    /// - Parameter address: Nil for INFORM, because the client already has an address.
    private func answer(_ kind: DHCPMessage.Kind, to message: DHCPMessage, _ address: IPv4Address?) -> DHCPMessage {
        var answer = empty(kind, to: message)
        if let address {
            answer.yourAddress = address
            answer.options.append(.leaseTime, UInt32(clamping: Self.leaseTime.components.seconds).bytes)
        }
        answer.options.append(.subnetMask, subnet.mask.bytes)
        answer.options.append(.routers, settings.address.bytes)
        answer.options.append(.nameServers, settings.address.bytes)
        if let portal = settings.portal, !portal.isEmpty, portal.utf8.count <= 255,
            message.options[.parameterList]?.contains(DHCPOption.captivePortal.rawValue) == true
        {
            answer.options.append(.captivePortal, portal.utf8)
        }
        return answer
    }

    private func refuse(_ message: DHCPMessage) -> Answer? { send(empty(.nak, to: message), to: message) }

    private func empty(_ kind: DHCPMessage.Kind, to message: DHCPMessage) -> DHCPMessage {
        var answer = DHCPMessage(.reply, kind, transaction: message.transaction, hardware: message.hardware)
        answer.wantsBroadcast = message.wantsBroadcast
        if kind == .ack { answer.clientAddress = message.clientAddress }
        answer.options.append(.serverIdentifier, settings.address.bytes)
        return answer
    }

    /// Sends an answer (RFC 2131, 4.1): unicast to the current or future address, broadcast for a NAK or on request.
    private func send(_ answer: DHCPMessage, to message: DHCPMessage) -> Answer {
        let isForAll = answer.kind == .nak || message.clientAddress == .unspecified && message.wantsBroadcast
        let destination =
            isForAll
            ? .broadcast : message.clientAddress == .unspecified ? answer.yourAddress : message.clientAddress
        let datagram = UDPDatagram(source: settings.address, destination: destination, payload: answer.bytes)
        return Answer(packet: datagram.packet(from: .server), hardware: isForAll ? .broadcast : message.hardware)
    }

    private static func address(_ option: DHCPOption, in message: DHCPMessage) -> IPv4Address? {
        try? message.options.address(option).get()
    }
}

extension Subnet {
    /// Finds the first /24 without overlap, from 192.168.73.0/24 up to 192.168.255.0/24, then from 192.168.0.0/24.
    /// Returns nil if there is none.
    public static func free(besides others: [Subnet]) -> Subnet? {
        let thirds = Array(UInt32(73)...255) + Array(UInt32(0)..<73)
        return thirds.lazy
            .map { Subnet(of: IPv4Address(bits: 0xc0a8_0000 | $0 << 8), prefixLength: 24) }
            .first { candidate in !others.contains { $0.overlaps(candidate) } }
    }

    public func overlaps(_ other: Subnet) -> Bool { contains(other.network) || other.contains(network) }

    public var first: IPv4Address { IPv4Address(bits: network.bits | 1) }
}
