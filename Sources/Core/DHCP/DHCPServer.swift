import AgentModel

/// Gives the clients of the device's own access point their addresses (RFC 2131).
///
/// A pure value: a packet and the time go in, packets come out. What it keeps is bounded by its pool. The device is the
/// only server in that network, so it says no where an address cannot be had (RFC 2131, 4.3.2).
///
/// It names itself as router and as name server, though it forwards nothing: a phone without a default route takes the
/// network for a broken one, leaves it, and never asks for the page (Android's IpClient wants address, route and name
/// server). Nothing of the phone's traffic gets lost by that: as long as its system's probe does not find the internet, it
/// keeps using its mobile network.
public struct DHCPServer: Sendable {
    public struct Settings: Sendable, Equatable {
        /// The device's own address in the network.
        public var address: IPv4Address
        /// 8 to 30.
        public var prefixLength: Int
        /// How long an address is a client's. Short: a phone that went away needs none.
        public var leaseTime: Duration
        /// The address of the captive portal (RFC 8910), for clients that ask for it; at most 255 bytes are told.
        public var portal: String?

        public init(
            address: IPv4Address, prefixLength: Int = 24, leaseTime: Duration = .seconds(600), portal: String? = nil
        ) {
            (self.address, self.leaseTime, self.portal) = (address, leaseTime, portal)
            self.prefixLength = min(max(prefixLength, 8), 30)
        }
    }

    /// A packet to send by the interface.
    public struct Answer: Sendable, Equatable {
        /// From the IPv4 header on.
        public let packet: [UInt8]
        /// To whom on the link.
        public let hardware: HardwareAddress
    }

    public let settings: Settings
    private let subnet: Subnet
    private var bindings: [IPv4Address: Binding] = [:]
    private var addresses: [HardwareAddress: IPv4Address] = [:]

    private struct Binding {
        /// Nil for an address that another host is said to have.
        var client: HardwareAddress?
        var end: Instant
        /// Offered, and not asked for yet.
        var isOffer: Bool
    }

    /// The most addresses that are given out: more phones than an access point takes.
    private static let poolSize: UInt32 = 200
    /// A client that was offered several addresses asks for one within seconds.
    private static let offerTime = Duration.seconds(30)
    /// An address that another host has is left alone.
    private static let declineTime = Duration.seconds(600)
    /// The most addresses that are left alone. Any station can decline one after the other.
    static let mostDeclined = 8

    public init(settings: Settings) {
        self.settings = settings
        subnet = Subnet(of: settings.address, prefixLength: settings.prefixLength)
    }

    /// The clients that have an address at that time.
    public func leases(at now: Instant) -> [HardwareAddress: IPv4Address] {
        addresses.filter { bindings[$0.value].map { !$0.isOffer && $0.end > now } ?? false }
    }

    /// Handles a packet that arrived at the interface.
    /// - Parameters:
    ///   - packet: from the IPv4 header on; anything may be in it.
    ///   - sender: the hardware address that sent it. A station asks for itself alone: else one of them could take
    ///     every address of the pool, each in another name.
    /// - Returns: the answer, if there is one.
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
        // RFC 4039: two messages in the place of four.
        let isRapid = message.options[.rapidCommit] != nil
        bind(address, to: message.hardware, isOffer: !isRapid, at: now)
        var answer = self.answer(isRapid ? .ack : .offer, to: message, address)
        if isRapid { answer.options.append(.rapidCommit, []) }
        return send(answer, to: message)
    }

    private mutating func acknowledge(_ message: DHCPMessage, at now: Instant) -> Answer? {
        let server = Self.address(.serverIdentifier, in: message)
        if let server, server != settings.address {
            // It takes another server's.
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
        // The client may come back, and then gets the same.
        bindings[message.clientAddress]?.end = now
    }

    private func inform(_ message: DHCPMessage) -> Answer? {
        guard subnet.hasHost(message.clientAddress) else { return nil }
        return send(answer(.ack, to: message, nil), to: message)
    }

    // MARK: Addresses

    /// The first address that is given out, and how many there are: the upper part of the network's hosts, and never the
    /// device's own.
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

    /// The address that the client has or had, the one that it asks for, or one that follows from its hardware address, so
    /// that it is the same after the device was without power.
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
        // Offers that were not taken up make way for a client that is there.
        return bindings.filter { $0.value.isOffer }.min { ($0.value.end, $0.key) < ($1.value.end, $1.key) }?.key
    }

    private mutating func bind(_ address: IPv4Address, to client: HardwareAddress, isOffer: Bool, at now: Instant) {
        if let other = bindings[address]?.client, other != client { addresses[other] = nil }
        if let former = addresses[client], former != address { bindings[former] = nil }
        // An offer to a client that has the address takes nothing from it.
        if isOffer, let binding = bindings[address], binding.client == client, !binding.isOffer, binding.end > now {
            return
        }
        addresses[client] = address
        bindings[address] = Binding(
            client: client, end: now + (isOffer ? Self.offerTime : settings.leaseTime + Self.grace), isOffer: isOffer)
    }

    /// The client's clock may be a little slow.
    private static let grace = Duration.seconds(10)

    private mutating func drop(offerTo client: HardwareAddress) {
        guard let address = addresses[client], bindings[address]?.isOffer == true else { return }
        (addresses[client], bindings[address]) = (nil, nil)
    }

    // MARK: Answers

    /// - Parameter address: nil where the client has one and asks for the rest alone.
    private func answer(_ kind: DHCPMessage.Kind, to message: DHCPMessage, _ address: IPv4Address?) -> DHCPMessage {
        var answer = empty(kind, to: message)
        if let address {
            answer.yourAddress = address
            answer.options.append(.leaseTime, UInt32(clamping: settings.leaseTime.components.seconds).bytes)
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

    /// RFC 2131, 4.1: to the address that the client has, to all where it cannot receive otherwise, or to the one that it
    /// is about to have.
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
    /// The first of the networks 192.168.73.0/24 to 192.168.255.0/24, and then of those below, that overlaps with none of
    /// these; nil where all do.
    public static func free(besides others: [Subnet]) -> Subnet? {
        let thirds = Array(UInt32(73)...255) + Array(UInt32(0)..<73)
        return thirds.lazy
            .map { Subnet(of: IPv4Address(bits: 0xc0a8_0000 | $0 << 8), prefixLength: 24) }
            .first { candidate in !others.contains { $0.overlaps(candidate) } }
    }

    public func overlaps(_ other: Subnet) -> Bool { contains(other.network) || other.contains(network) }

    /// The address of its first host.
    public var first: IPv4Address { IPv4Address(bits: network.bits | 1) }
}
