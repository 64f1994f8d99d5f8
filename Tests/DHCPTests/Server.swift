import AgentModel
import Randomness

@testable import DHCP

/// A server that says what a test tells it to.
struct Server {
    static let client = HardwareAddress(bytes: [2, 0, 0, 0, 0, 1]) ?? .zero
    static let router = HardwareAddress(bytes: [2, 0, 0, 0, 0, 0xfe]) ?? .zero
    static let other = HardwareAddress(bytes: [2, 0, 0, 0, 0, 0x66]) ?? .zero
    static let address = IPv4Address("192.168.7.50") ?? .unspecified
    static let gateway = IPv4Address("192.168.7.1") ?? .unspecified

    static let neighbourHardware = HardwareAddress(bytes: [2, 0, 0, 0, 0, 9]) ?? .zero
    static let neighbour = IPv4Address("192.168.7.9") ?? .unspecified

    static func options(
        mask: [UInt8]? = [255, 255, 255, 0], gateway: [UInt8]? = Server.gateway.bytes,
        server: [UInt8]? = Server.gateway.bytes, seconds: UInt32? = 3600
    ) -> DHCPOptions {
        var options = DHCPOptions()
        for (option, value) in [
            (DHCPOption.serverIdentifier, server), (.leaseTime, seconds?.bytes), (.subnetMask, mask),
            (.routers, gateway),
        ] {
            if let value { options.append(option, value) }
        }
        return options
    }

    func message(
        _ kind: DHCPMessage.Kind, transaction: UInt32, options: DHCPOptions = Server.options()
    ) -> DHCPMessage {
        var message = DHCPMessage(.reply, kind, transaction: transaction, hardware: Self.client)
        message.yourAddress = Self.address
        message.options = options
        return message
    }

    /// The message as a packet from port 67 to port 68, without a checksum of UDP.
    static func packet(_ message: DHCPMessage) -> [UInt8] {
        var packet = UDPDatagram(source: gateway, destination: .broadcast, payload: message.bytes).packet
        packet.swapAt(21, 23)
        packet.replaceSubrange(26..<28, with: [0, 0])
        return packet
    }
}

/// A client, its time, and what it did.
struct Bench {
    var client: DHCPClient
    var now = Instant(milliseconds: 1_000_000)
    var done: [DHCPClient.Effect] = []
    /// Effects with their times.
    var history: [(Instant, DHCPClient.Effect)] = []

    init(_ settings: DHCPSettings = DHCPSettings(), seed: UInt64 = 1) {
        client = DHCPClient(settings: settings, random: SeededRandom(seed: seed))
    }

    mutating func handle(_ event: DHCPClient.Event) {
        done = client.handle(event, at: now)
        history += done.map { (now, $0) }
    }

    mutating func linkUp(_ remembered: Lease? = nil, isDated: Bool = true) {
        handle(.linkUp(hardware: Server.client, remembered: remembered, isDated: isDated))
    }

    /// Wakes the client at each of its deadlines until then.
    mutating func wait(_ duration: Duration) {
        let end = now + duration
        var all: [DHCPClient.Effect] = []
        while let deadline = client.deadline, deadline <= end {
            now = max(now, deadline)
            handle(.timer)
            all += done
        }
        (now, done) = (end, all)
    }

    mutating func answer(_ kind: DHCPMessage.Kind, _ change: (inout DHCPMessage) -> Void = { _ in }) {
        var message = Server().message(kind, transaction: sent.last?.transaction ?? 0)
        change(&message)
        handle(.packet(Server.packet(message)))
    }

    mutating func arp(
        _ operation: ARPMessage.Operation = .reply, from sender: IPv4Address, at hardware: HardwareAddress,
        to target: IPv4Address = Server.address
    ) {
        handle(.arp(ARPMessage(operation, from: sender, at: hardware, to: target, at: Server.client).bytes))
    }

    mutating func bind() {
        linkUp()
        answer(.offer)
        answer(.ack)
    }

    /// All messages of DHCP so far.
    var sent: [DHCPMessage] { history.compactMap { Self.message($0.1) } }

    /// What was sent by the last call.
    var sentNow: [DHCPMessage] { done.compactMap(Self.message) }

    static func message(_ effect: DHCPClient.Effect) -> DHCPMessage? {
        switch effect {
        case .broadcast(let packet): try? DHCPMessage(reading: packet.dropFirst(28))
        case .unicast(let bytes, _, _): try? DHCPMessage(reading: bytes)
        default: nil
        }
    }

    var problems: [DHCPProblem] { done.compactMap { if case .report(let problem) = $0 { problem } else { nil } } }

    /// `use`, `drop`, `remember`, `forget` and `clear` of the last call, by name.
    var words: [String] {
        done.compactMap {
            switch $0 {
            case .use(_, let isConfirmed): isConfirmed ? "use" : "try"
            case .drop(_, let reason): "drop \(reason)"
            case .remember: "remember"
            case .forget: "forget"
            case .clear: "clear"
            case .broadcast, .unicast, .sendARP, .report: nil
            }
        }
    }

    /// A lease as it is remembered, with half an hour left.
    var remembered: Lease {
        var lease = Lease(
            address: Server.address, prefixLength: 24, gateway: Server.gateway, server: Server.gateway,
            renewal: now + .seconds(600), rebinding: now + .seconds(1200), expiry: now + .seconds(1800),
            hardware: Server.client)
        lease.gatewayHardware = Server.router
        return lease
    }
}
