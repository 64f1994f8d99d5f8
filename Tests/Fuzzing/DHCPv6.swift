import AgentModel
import Randomness

@testable import DHCP
@testable import Netlink

extension FuzzTarget {
    /// A message is read or refused, reads the same once it is written, and what it gives can be used or is refused.
    static let dhcpv6 = FuzzTarget(
        "dhcpv6", "what a DHCPv6 server or any host in the network sends", longest: 1472,
        seeds: { DHCPv6Sample.all }
    ) { bytes in
        _ = try? IPv6Datagram(reading: bytes)
        guard let message = try? DHCPv6Message(reading: bytes) else { return }
        precondition((try? DHCPv6Message(reading: message.bytes)) == message, "a message reads otherwise")
        check(NetworkConfiguration.read(message.options).0)
        let start = Instant(milliseconds: 0)
        let found = try? IPv6Lease.read(
            message, association: DHCPv6Sample.association, hardware: DHCPv6Sample.hardware, from: start)
        guard let (lease, _) = found else { return }
        precondition(lease.isUsable, "an address of no host")
        precondition(start < lease.renewal && lease.renewal < lease.rebinding, "times out of order")
        precondition(lease.rebinding < lease.expiry, "times behind the end")
        precondition(lease.addresses.allSatisfy { $0.preferredUntil <= $0.validUntil && $0.validUntil > start })
    }

    /// The client keeps its promises whatever is sent to it, and whenever.
    static let dhcpv6Client = FuzzTarget(
        "dhcpv6-client", "what a DHCPv6 server sends, one after the other", longest: 1024,
        seeds: { DHCPv6Sample.histories }
    ) { bytes in
        var input = FuzzInput(bytes)
        var client = DHCPv6Client(random: SeededRandom(seed: 1))
        var now = Instant(milliseconds: 1000)
        var used: IPv6Lease?
        var configuration = NetworkConfiguration()
        var transaction: UInt32 = 0
        func handle(_ event: DHCPv6Client.Event) {
            for effect in client.handle(event, at: now) {
                switch effect {
                case .use(let lease): used = lease
                case .drop: used = nil
                case .configure(let new): configuration = new
                case .send(let message): transaction = UInt32(bytes: [0] + message[1..<4]) ?? transaction
                case .report(let problem): precondition("\(problem)".utf8.allSatisfy { $0 >= 32 }, "no line")
                }
            }
            precondition(client.deadline.map { $0 > now } ?? true, "a deadline in the past")
            precondition(used.map { $0.expiry > now } ?? true, "an address is used after its end")
            precondition(client.lease == used, "another lease is told than is used")
            precondition(client.configuration == configuration, "another configuration is told than is used")
        }
        handle(.linkUp(hardware: DHCPv6Sample.hardware, wants: .stateful, remembered: nil))
        while !input.isEmpty {
            switch input.byte() % 10 {
            case 0:
                let end = now + .milliseconds(input.number(below: 4_000_000))
                while let deadline = client.deadline, deadline <= end {
                    now = deadline
                    handle(.timer)
                }
                now = end
                handle(.timer)
            case 1: handle(.roamed)
            case 2: handle(.renew)
            case 3: handle(.wants(input.byte() % 2 == 0 ? .stateless : .stateful))
            case 4:
                let mode: DHCPv6Client.Mode = input.byte() % 2 == 0 ? .stateless : .stateful
                handle(.linkUp(hardware: DHCPv6Sample.hardware, wants: mode, remembered: used))
            case 5: if let address = used?.addresses.first { handle(.conflict(address.address)) }
            default:
                // An answer to the last question, with options of the input's choice.
                let kind = DHCPv6Message.Kind(rawValue: UInt8(input.byte() % 12)) ?? .reply
                let options = DHCPv6Sample.identity + input.bytes(input.byte())
                let head = [kind.rawValue] + transaction.bytes.dropFirst()
                handle(.packet(DHCPv6Sample.packet(head + options), checksum: .partial))
            }
        }
    }

    /// What routers say is bounded, holds until its end, and is told in lines.
    static let routerOptions = FuzzTarget(
        "router-options", "options of router advertisements, one after the other", longest: 1024,
        seeds: { DHCPv6Sample.options }
    ) { bytes in
        var input = FuzzInput(bytes)
        var state = RouterAdvertisements()
        var now = Instant(milliseconds: 1000)
        while !input.isEmpty {
            let (router, wait, length) = (input.byte(), input.byte(), input.byte())
            now = now + .seconds(wait)
            let address = IPAddress(bytes: [0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [UInt8(router % 16)])
            guard let address else { continue }
            for flaw in state.receive(input.bytes(length), from: address, at: now) {
                precondition("\(flaw)".utf8.allSatisfy { $0 >= 32 }, "no line")
            }
            check(state.configuration)
            precondition(state.deadline.map { $0 > now } ?? true, "what has ended holds")
        }
        for message in NetlinkDatagram(bytes) {
            _ = AdvertisedOption(message, on: 1)
            _ = RouterFlags(message, on: 1)
            _ = IPv6InterfaceAddress(message, on: 1)
            _ = AdvertisedRoute(message, on: 1)
        }
    }
}

private func check(_ configuration: NetworkConfiguration) {
    precondition(configuration.nameServers.count <= 8 && configuration.nameServers.allSatisfy(\.isIPv6Host))
    precondition(configuration.timeServers.count <= 8 && configuration.timeServers.allSatisfy(\.isIPv6Host))
    precondition(configuration.searchDomains.count <= 32 && configuration.nat64Prefixes.count <= 8)
    precondition(configuration.searchDomains.allSatisfy { !$0.contains { $0.isWhitespace } }, "a name of two lines")
    precondition(configuration.portal?.utf8.allSatisfy { (0x21...0x7e).contains($0) } ?? true, "no address")
}

private enum DHCPv6Sample {
    static let hardware = HardwareAddress(bytes: [2, 0, 0, 0, 0, 1]) ?? .zero
    static let association: UInt32 = 1

    /// The client's DUID and the server's.
    static let identity: [UInt8] =
        [0, 1, 0, 10, 0, 3, 0, 1] + hardware.bytes + [0, 2, 0, 10, 0, 3, 0, 1, 2, 0, 0, 0, 0, 0xfe]

    private static let prefix: [UInt8] = [0x20, 1, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11)

    /// IAID, T1, T2, and an address for 1800 and 3600 s.
    private static let address: [UInt8] =
        [0, 3, 0, 40, 0, 0, 0, 1, 0, 0, 3, 0x84, 0, 0, 5, 0xa0, 0, 5, 0, 24] + prefix + [
            0x50, 0, 0, 7, 8, 0, 0, 14, 16,
        ]
    private static let refusal: [UInt8] = [0, 3, 0, 18, 0, 0, 0, 1] + zeros(8) + [0, 13, 0, 2, 0, 3]
    private static let services: [UInt8] =
        [0, 23, 0, 16] + prefix + [0x53, 0, 24, 0, 5, 3, 108, 97, 110, 0, 0, 103, 0, 9] + Array("https://a".utf8)
        + [0, 56, 0, 20, 0, 1, 0, 16] + prefix + [0x7b, 0, 32, 0, 4, 0, 0, 14, 16]

    static let all: [[UInt8]] = [
        [2, 0, 0, 7] + identity + address, [7, 0, 0, 7] + identity + address + services,
        [7, 0, 0, 7] + identity + refusal, packet([7, 0, 0, 7] + identity + services),
    ]

    static let histories: [[UInt8]] = [
        answer(2, address) + answer(7, address) + [0, 15, 0, 0] + answer(7, address) + [0, 60, 0, 0],
        answer(7, [0, 14, 0, 0] + address) + [2] + answer(7, refusal) + answer(7, address) + [5] + answer(7, []),
        [4, 0] + answer(7, services) + [3, 1] + answer(2, address) + answer(7, address) + [1]
            + answer(7, [0, 13, 0, 2, 0, 4]),
        answer(2, address) + answer(7, address) + [4, 1] + answer(7, []),
    ]

    static let options: [[UInt8]] = [
        [1, 0, 24, 25, 3, 0, 0, 0, 0, 2, 0x58] + prefix + [0x53, 2, 200, 16, 31, 2, 0, 0, 0, 0, 0, 9, 3, 108, 97, 110]
            + zeros(4) + [1, 9, 16, 38, 2, 3, 0x20, 0, 0x64, 0xff, 0x9b] + zeros(8),
        [1, 0, 16, 37, 2] + Array("https://a.b/c".utf8) + [0],
    ]

    private static func answer(_ kind: UInt8, _ options: [UInt8]) -> [UInt8] {
        [6, kind, UInt8(options.count)] + options
    }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    static func packet(_ message: [UInt8]) -> [UInt8] {
        guard let router = IPAddress("fe80::1") else { return [] }
        var packet = IPv6Datagram(source: router, destination: router, payload: message).packet
        packet.swapAt(41, 43)
        return packet
    }
}
