import AgentModel
import Randomness

@testable import DHCP

extension FuzzTarget {
    /// A message is read or refused, reads the same once it is written, and what it gives can be used or is refused.
    static let dhcp = FuzzTarget(
        "dhcp", "what a DHCP server or any host in the network sends", longest: 1472,
        seeds: { DHCPSample.all }
    ) { bytes in
        _ = try? UDPDatagram(reading: bytes)
        if let message = try? ARPMessage(reading: bytes) {
            precondition(Array(bytes.prefix(28)) == message.bytes, "a message of ARP reads otherwise")
        }
        guard let message = try? DHCPMessage(reading: bytes) else { return }
        let written = message.bytes
        if written.count <= DHCPMessage.longest {
            precondition(
                (try? DHCPMessage(reading: written)) == message, "a message reads otherwise once it is written")
        }
        guard let (lease, _) = try? Lease.read(message, from: Instant(milliseconds: 0)) else { return }
        precondition(lease.subnet.hasHost(lease.address), "an address of no host")
        precondition(lease.renewal < lease.rebinding && lease.rebinding < lease.expiry, "times out of order")
        precondition(lease.nameServers.allSatisfy(\.isHost) && lease.routes.count <= 64, "a server of no host")
        precondition(lease.searchDomains.allSatisfy { !$0.contains { $0.isWhitespace } }, "a name of two lines")
    }

    /// The client keeps its promises whatever is sent to it, and whenever.
    static let dhcpClient = FuzzTarget(
        "dhcp-client", "what a DHCP server and hosts in the network send, one after the other", longest: 256,
        seeds: { DHCPSample.histories }
    ) { bytes in
        var input = FuzzInput(bytes)
        var client = DHCPClient(random: SeededRandom(seed: 1))
        var now = Instant(milliseconds: 1000)
        var used: Lease?
        var transaction: UInt32 = 0
        func handle(_ event: DHCPClient.Event) {
            for effect in client.handle(event, at: now) {
                switch effect {
                case .use(let lease, _): used = lease
                case .drop: used = nil
                case .broadcast(let packet): transaction = UInt32(bytes: packet[32..<36]) ?? transaction
                case .unicast(let message, _, _): transaction = UInt32(bytes: message[4..<8]) ?? transaction
                case .sendARP, .remember, .forget, .clear, .report: break
                }
            }
            precondition(client.deadline.map { $0 > now } ?? true, "a deadline in the past")
            precondition(used.map { $0.expiry > now } ?? true, "an address is used after its end")
            precondition(client.lease?.address == used?.address, "another address is told than is used")
        }
        handle(.linkUp(hardware: DHCPSample.client, remembered: nil))
        while !input.isEmpty {
            switch input.byte() % 8 {
            case 0:
                let end = now + .milliseconds(input.number(below: 4_000_000))
                while let deadline = client.deadline, deadline <= end {
                    now = deadline
                    handle(.timer)
                }
                now = end
            case 1: handle(.roamed)
            case 2: handle(.renew)
            case 3: handle(.arp(input.bytes(28)))
            case 4: handle(.linkUp(hardware: DHCPSample.client, remembered: used))
            case 5: handle(.doubted)
            default:
                // An answer to the last question, with options of the input's choice.
                let kind = DHCPMessage.Kind(rawValue: UInt8(input.byte() % 10)) ?? .ack
                let options = input.bytes(input.byte())
                let message = DHCPSample.message(kind, transaction, options)
                handle(.packet(DHCPSample.packet(message), checksum: .partial))
            }
        }
    }

    /// The server gives no address to two clients at a time, and none that is not a host's, whatever is sent to it.
    static let dhcpServer = FuzzTarget(
        "dhcp-server", "what phones in the setup access point send by DHCP", longest: 512,
        seeds: { DHCPSample.questions }
    ) { bytes in
        guard let own = IPv4Address("192.168.73.1") else { return }
        var server = DHCPServer(settings: DHCPServer.Settings(address: own, prefixLength: 28, portal: "http://a/"))
        var now = Instant(milliseconds: 1000)
        // The sender is the client that the message names, behind the headers of IPv4 and UDP.
        _ = server.handle(bytes, from: HardwareAddress(bytes: Array(bytes.dropFirst(56).prefix(6))) ?? .zero, at: now)
        var input = FuzzInput(bytes)
        while !input.isEmpty {
            now = now + .milliseconds(input.number(below: 400_000))
            let hardware = HardwareAddress(bytes: [2, 0, 0, 0, 0, UInt8(input.byte() % 32)]) ?? .zero
            let kind = DHCPMessage.Kind(rawValue: UInt8(input.byte() % 10)) ?? .discover
            var message = DHCPMessage(.request, kind, transaction: 7, hardware: hardware)
            let choice = input.byte()
            let address = IPv4Address(bits: own.bits - 1 + UInt32(choice % 24))
            if choice & 0x80 != 0 { message.clientAddress = address }
            var options = message.bytes.prefix(243) + [53, 1, kind.rawValue, 55, 2, 1, 114]
            if choice & 0x40 != 0 { options += [50, 4] + address.bytes }
            if choice & 0x20 != 0 { options += [54, 4] + own.bytes }
            options += input.bytes(input.byte() % 64) + [255]
            let before = server.leases(at: now)
            let packet = UDPDatagram(source: message.clientAddress, destination: .broadcast, payload: Array(options))
            let answer = server.handle(packet.packet, from: hardware, checksum: .partial, at: now)
            let leases = server.leases(at: now)
            precondition(Set(leases.values).count == leases.count && leases.count <= 13, "an address of two clients")
            precondition(
                leases.values.allSatisfy { Subnet(of: own, prefixLength: 28).hasHost($0) && $0 != own },
                "an address that is no client's")
            for (client, address) in before where client != hardware {
                precondition(leases[client] == address, "a client has lost its address to another one")
            }
            guard let answer else { continue }
            guard let datagram = try? UDPDatagram(reading: answer.packet),
                (try? DHCPMessage(reading: datagram.payload)) != nil
            else { preconditionFailure("an answer cannot be read") }
        }
    }

    /// The keeper of a static address keeps its promises whatever hosts in the network say, and whenever.
    static let staticAddress = FuzzTarget(
        "static-address", "what hosts in the network say by ARP, one after the other", longest: 1024,
        seeds: { DHCPSample.claims }
    ) { bytes in
        guard let address = try? StaticAddress("192.168.7.50/24", gateway: IPAddress("192.168.7.1")) else { return }
        var input = FuzzInput(bytes)
        var client = StaticAddressClient(random: SeededRandom(seed: 1))
        var now = Instant(milliseconds: 1000)
        var isUsed = false
        func handle(_ event: StaticAddressClient.Event) {
            for effect in client.handle(event, at: now) {
                switch effect {
                case .use:
                    precondition(!isUsed, "an address in use is used again")
                    isUsed = true
                case .drop:
                    precondition(isUsed, "an address that is not in use is dropped")
                    isUsed = false
                case .sendARP, .clear, .foundGateway, .report: break
                }
            }
            precondition(client.deadline.map { $0 > now } ?? true, "a deadline in the past")
            precondition((client.address != nil) == isUsed, "another address is told than is used")
        }
        handle(.linkUp(address, hardware: DHCPSample.client))
        while !input.isEmpty {
            switch input.byte() % 8 {
            case 0...2:
                let end = now + .milliseconds(input.number(below: 100_000))
                while let deadline = client.deadline, deadline <= end {
                    now = deadline
                    handle(.timer)
                }
                now = end
            case 3: handle(.roamed)
            case 4: handle(.linkDown)
            case 5: handle(.linkUp(address, hardware: DHCPSample.client))
            default: handle(.arp(input.bytes(28)))
            }
        }
        // Left in peace, it is in use in the end, whatever has been said.
        handle(.linkUp(address, hardware: DHCPSample.client))
        for _ in 0..<100 where !isUsed {
            guard let deadline = client.deadline else { break }
            now = deadline
            handle(.timer)
        }
        precondition(isUsed, "an address that no host claims is not used")
    }
}

private enum DHCPSample {
    static let client = HardwareAddress(bytes: [2, 0, 0, 0, 0, 1]) ?? .zero

    /// Server, time, mask and gateway.
    private static let options: [UInt8] = [
        54, 4, 192, 168, 7, 1, 51, 4, 0, 0, 14, 16, 1, 4, 255, 255, 255, 0, 3, 4, 192, 168, 7, 1,
    ]
    private static let more: [UInt8] =
        [
            119, 9, 3, 108, 97, 110, 0, 1, 97, 192, 0, 121, 8, 24, 10, 1, 2, 192, 168, 7, 9, 26, 2, 5, 120, 114, 9,
        ] + Array("https://a".utf8) + [43, 15] + Array("ANDROID_METERED".utf8)

    static let all: [[UInt8]] = [
        message(.offer, 7, options), message(.ack, 7, options + more), message(.nak, 7, [54, 4, 192, 168, 7, 1]),
        packet(message(.ack, 7, options)), arp,
    ]

    static let histories: [[UInt8]] = [
        answer(.offer) + answer(.ack) + [0, 30, 0, 0] + answer(.ack) + [0, 60, 0, 0],
        answer(.offer) + [3] + arp + answer(.ack) + [2] + answer(.nak), [0, 10, 0, 0, 1, 4] + answer(.ack),
    ]

    static let questions: [[UInt8]] = [
        [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 3, 0x62, 0], [0, 0, 0, 1, 1, 0, 2, 80, 0, 0, 0, 9, 2, 3, 0x70, 0],
        [0, 0, 0, 1, 3, 0x81, 0, 0, 0, 0, 1, 4, 0x6a, 0, 0, 0, 0, 1, 7, 0xaa, 0],
    ]

    static let claims: [[UInt8]] = [
        [0, 0, 0, 150, 6] + arp + [0, 0, 1, 0], [6] + arp + [0, 0, 30, 0],
        [0, 0, 0, 250, 6] + arp + [0, 0, 0, 20, 7] + arp + [3, 0, 0, 9, 9, 4],
    ]

    private static func answer(_ kind: DHCPMessage.Kind) -> [UInt8] {
        [5, kind.rawValue, UInt8(options.count)] + options
    }

    private static let arp: [UInt8] =
        [0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 0xfe, 192, 168, 7, 50] + client.bytes + [192, 168, 7, 50]

    static func message(_ kind: DHCPMessage.Kind, _ transaction: UInt32, _ options: [UInt8]) -> [UInt8] {
        var message = DHCPMessage(.reply, kind, transaction: transaction, hardware: client)
        message.yourAddress = IPv4Address(bits: 0xc0a8_0732)
        let bytes = message.bytes.prefix(243)
        return bytes + options + [255]
    }

    static func packet(_ message: [UInt8]) -> [UInt8] {
        var packet =
            UDPDatagram(source: IPv4Address(bits: 0xc0a8_0701), destination: .broadcast, payload: message).packet
        packet.swapAt(21, 23)
        return packet
    }
}
