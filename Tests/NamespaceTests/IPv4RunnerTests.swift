import AgentModel
import DHCP
import Linux
import NetworkNamespaces
import Testing

@testable import AddressIO
@testable import Netlink

/// The client against real servers, on this machine's own kernel.
@Suite(
    .timeLimit(.minutes(10)), .serialized,
    .enabled(if: AddressNetwork.isPossible, "needs root, dnsmasq and nft, to make networks with a server"))
@AgentLoop struct IPv4RunnerTests {
    @Test(arguments: AddressNetwork.Server.installed) func aNewNetwork(server: AddressNetwork.Server) async throws {
        let network = try await AddressNetwork()
        try await network.start(server)
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        let lease = try await network.lease()
        let addresses = try #require(IPv4Address("10.7.0.50"))...(try #require(IPv4Address("10.7.0.60")))
        #expect(addresses.contains(lease.address) && lease.gateway == IPv4Address("10.7.0.1"))
        // It can be used when it is told, and not later.
        try network.device.runBlocking(
            """
            ip -4 address show dev wlan0 | grep 'inet \(lease.address)/24 .*brd 10.7.0.255 scope global dynamic'
            ip route | grep '^default via 10.7.0.1 dev wlan0 proto dhcp src \(lease.address) metric 3007'
            ip route | grep '^10.7.0.0/24 dev wlan0 proto kernel scope link src \(lease.address) metric 3007'
            """)
        try await network.ping()
        #expect(try await network.fullLease().gatewayHardware?.description == "02:00:00:00:00:01")
        #expect(network.problems == [])
        runner.release()
        try network.device.runBlocking("[ -z \"$(ip -4 address show dev wlan0)$(ip route)\" ]")
        try await network.end()
    }

    @Test func routesAndMTUOfTheLease() async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        _ = try await network.lease()
        try network.device.runBlocking(
            """
            ip route | grep '^default via 10.7.0.1 .* mtu 1400'
            \(Self.ownTable) | grep '^10.8.0.0/16 via 10.7.0.2 dev wlan0 proto dhcp .* metric 3007 .*mtu 1400'
            """)
        // The other host has the route's network. A program that does not choose an address finds it.
        try await network.other.run("ip address add 10.7.0.2/24 dev eth0; ip address add 10.8.0.1/32 dev lo")
        let connection = try network.connection(to: network.other, at: "10.8.0.1")
        try connection.echo()
        connection.end()
        // The agent prefers another interface.
        runner.metric = 4007
        try network.device.runBlocking(
            """
            [ $(ip route | grep -c 'metric 4007') = 2 ]; [ $(ip route | wc -l) = 2 ]
            [ $(\(Self.ownTable) | grep -c 'metric 4007') = 1 ]; [ $(\(Self.ownTable) | wc -l) = 1 ]
            """)
        runner.linkDown()
        try network.device.runBlocking(Self.nothingIsLeft)
        #expect(network.problems == [])
        try await network.end()
    }

    /// The table of the interface with ``AddressNetwork/index``.
    private static let ownTable = "ip route show table 175000007"
    private static let nothingIsLeft =
        "[ -z \"$(ip -4 address show dev wlan0)$(ip route)$(\(ownTable) 2>/dev/null)\" ]; [ $(ip rule | wc -l) = 3 ]"

    /// TunnelVision (CVE-2024-3661) and TunnelCrack's LocalNet (CVE-2023-36672): a server that lies names routes, or a
    /// network of the device's own, to have what is for a VPN.
    @Test(arguments: [
        // As OpenVPN and others make them.
        "ip route add 0.0.0.0/1 dev vpn0; ip route add 128.0.0.0/1 dev vpn0; ip route add 10.100.0.0/16 dev vpn0",
        // As wg-quick does.
        """
        ip route add default dev vpn0 table 51820
        ip rule add not fwmark 0xca6c table 51820; ip rule add table main suppress_prefixlength 0
        """,
        // A cable, which comes before Wi-Fi.
        "ip route add default dev vpn0 metric 100",
    ])
    func noRouteOfAServerLeadsOutOfAVPN(vpn: String) async throws {
        let network = try await AddressNetwork()
        try await network.device.run(
            """
            ip link add vpn0 type veth peer name far; ip link set far up; ip link set vpn0 up
            ip address add 10.200.0.2/32 dev vpn0
            \(vpn)
            """)
        let lies = "198.51.100.7/32,10.7.0.66,10.100.3.0/24,10.7.0.66,8.8.8.0/24,0.0.0.0,0.0.0.0/0,10.7.0.66"
        try await network.start(.dnsmasq, routes: lies)
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        let address = try await network.lease().address
        try network.device.runBlocking(
            """
            for host in 198.51.100.7 10.100.3.5 8.8.8.8 1.1.1.1; do ip route get $host | grep ' dev vpn0 '; done
            ip route get 10.7.0.9 | grep ' dev wlan0 '
            ip route get 198.51.100.7 from \(address) | grep ' via 10.7.0.66 dev wlan0 '
            ip route get 8.8.8.8 from \(address) | grep '^8.8.8.8 from \(address) dev wlan0 '
            """)
        runner.linkDown()
        // An address beside the hosts that are wanted, with a gateway among them.
        let setter = try network.device.within { try AddressSetter(on: AddressNetwork.index) }
        let own = try #require(IPAddress("198.51.100.50"))
        for prefixLength in [24, 32] {
            setter.set(
                AddressPlan(
                    address: own, prefixLength: prefixLength, on: AddressNetwork.index, lasting: .seconds(1000),
                    gateway: IPAddress("198.51.100.7"), metric: 3007))
            try network.device.runBlocking(
                """
                for host in 198.51.100.7 198.51.100.9; do ip route get $host | grep ' dev vpn0 '; done
                ip route get 198.51.100.7 from 198.51.100.50 | grep '^198.51.100.7 from 198.51.100.50 dev wlan0 '
                ip route | grep '^default via 198.51.100.7 dev wlan0 proto dhcp src 198.51.100.50 metric 3007 onlink'
                """)
        }
        // A private address with a prefix that reaches beyond the private ones.
        setter.set(
            AddressPlan(
                address: try #require(IPAddress("192.168.0.5")), prefixLength: 8, on: AddressNetwork.index,
                lasting: .seconds(1000), gateway: nil, metric: 3007))
        try network.device.runBlocking("ip route get 192.0.2.9 | grep ' dev vpn0 '")
        setter.remove()
        try network.device.runBlocking("[ -z \"$(\(Self.ownTable) 2>/dev/null)$(ip rule | grep 175000007)\" ]")
        #expect(network.problems == [])
        try await network.end()
    }

    /// As some providers do: an address alone, and a router beyond it.
    @Test func aGatewayBeyondTheAddressesNetwork() async throws {
        let network = try await AddressNetwork()
        try await network.router.run("ip route add 10.9.9.9/32 dev br0")
        let setter = try network.device.within { try AddressSetter(on: AddressNetwork.index) }
        let address = try #require(IPAddress("10.9.9.9"))
        setter.onProblem = { Issue.record("\($0)") }
        setter.set(
            AddressPlan(
                address: address, prefixLength: 32, on: AddressNetwork.index, lasting: .seconds(1000),
                gateway: IPAddress("10.7.0.1"), metric: 3007))
        try await network.ping()
        let connection = try network.connection()
        try connection.echo()
        connection.end()
        setter.remove()
        try network.device.runBlocking(Self.nothingIsLeft)
        try await network.end()
    }

    @Test(arguments: AddressNetwork.Server.installed) func aKnownNetwork(server: AddressNetwork.Server) async throws {
        let network = try await AddressNetwork()
        try await network.start(server)
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        let lease = try await network.fullLease()
        runner.linkDown()
        _ = try await network.journal.next { $0 == .dropped(lease, .linkDown) }
        try network.device.runBlocking("[ -z \"$(ip -4 address show dev wlan0)$(ip route)\" ]")

        runner.linkUp(hardware: AddressNetwork.hardware, remembered: lease)
        // The gateway or the server answers first; in the end the server has said so too.
        let report = try await network.journal.next {
            if case .inUse(_, isConfirmed: true) = $0 { true } else { false }
        }
        guard case .inUse(let confirmed, _) = report else { return }
        #expect(confirmed.address == lease.address)
        try await network.ping()
        #expect(network.problems == [])
        try await network.end()
    }

    /// RFC 4436: the gateway is enough.
    @Test func aKnownNetworkWithoutItsServer() async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        let lease = try await network.fullLease()
        runner.linkDown()
        try await network.stopServer()
        runner.linkUp(hardware: AddressNetwork.hardware, remembered: lease)
        _ = try await network.journal.next { $0 == .inUse(lease, isConfirmed: false) }
        try await network.ping()
        try await network.end()
    }

    @Test func theFirstPacketIsLost() async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        try await network.loseFirstQuestion()
        let runner = try network.runner()
        let begin = Instant.now
        runner.linkUp(hardware: AddressNetwork.hardware)
        _ = try await network.lease()
        print("an address \((Instant.now - begin).milliseconds) ms after the link, the first packet lost")
        // One was lost.
        try await network.router.run("nft list table ip loss | grep 'used'")
        #expect(network.problems == [])
        try await network.end()
    }

    @Test func anotherNetworkThanBefore() async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        let runner = try network.runner()
        var lease = Lease(
            address: try #require(IPv4Address("10.99.0.5")), prefixLength: 24, gateway: IPv4Address("10.99.0.1"),
            server: try #require(IPv4Address("10.99.0.1")), renewal: .now + .seconds(600),
            rebinding: .now + .seconds(900), expiry: .now + .seconds(1200), hardware: AddressNetwork.hardware)
        lease.gatewayHardware = AddressNetwork.otherHardware
        runner.linkUp(hardware: AddressNetwork.hardware, remembered: lease)
        try await network.problem("address is refused")
        #expect(try await network.lease().address == IPv4Address("10.7.0.50"))
        #expect(network.journal.events.contains(.forget))
        try await network.ping()
        try network.device.runBlocking("! ip route | grep 10.99")
        try await network.end()
    }

    @Test func anAddressInUseIsDeclined() async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        try await network.other.run("ip address add 10.7.0.50/24 dev eth0")
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        try await network.problem("by \(AddressNetwork.otherHardware)")
        #expect(try await network.lease().address == IPv4Address("10.7.0.51"))
        try await network.ping()
        try network.device.runBlocking("! ip -4 address show | grep 10.7.0.50")
        try await network.end()
    }

    @Test func aDeadServerIsToldInOneLine() async throws {
        let network = try await AddressNetwork()
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        try await network.problem("no server answers")
        #expect(network.problems.count == 1 && runner.lease == nil)
        // It goes on asking.
        try await network.start(.dnsmasq)
        _ = try await network.lease()
        try await network.end()
    }

    /// By unicast: no other server is asked.
    @Test(arguments: AddressNetwork.Server.installed) func moreTime(server: AddressNetwork.Server) async throws {
        let network = try await AddressNetwork()
        try await network.start(server)
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        let lease = try await network.fullLease()
        try await network.router.run(
            """
            nft add table ip count
            nft add chain ip count in '{ type filter hook prerouting priority -300; }'
            nft add rule ip count in ip saddr \(lease.address) ip daddr 10.7.0.1 udp sport 68 udp dport 67 counter
            """)
        runner.renew()
        let renewed = try await network.lease()
        #expect(renewed.address == lease.address && renewed.expiry > lease.expiry)
        try await network.router.run("nft list table ip count | grep 'packets 1 '")
        #expect(network.problems == [])
        try await network.end()
    }

    /// A killed agent takes nothing away; the next one does, and leaves alone what is not its own.
    @Test func leftovers() async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        var runner: IPv4Runner? = try network.runner()
        runner?.linkUp(hardware: AddressNetwork.hardware)
        _ = try await network.lease()
        // The routes and the rule follow the lease.
        try await network.device.run(
            """
            timeout 5 sh -c 'until [ $(ip route | wc -l) = 2 ] && [ $(ip rule | wc -l) = 4 ] &&
                [ $(\(Self.ownTable) | wc -l) = 1 ]; do sleep 0.01; done'
            """)
        runner = nil
        try await network.device.run(
            """
            ip address add 10.5.0.2/24 dev wlan0 valid_lft 1000 preferred_lft 1000
            ip route add default via 10.5.0.1 proto dhcp src 10.5.0.2 metric 9
            [ $(ip route | wc -l) = 4 ]
            # Of an interface that is gone, and of another program.
            ip rule add from 10.6.0.1 table 175000099 priority 25862 protocol dhcp
            ip rule add from 10.6.0.2 table 25862 priority 25862 protocol dhcp
            [ $(ip rule | wc -l) = 6 ]; [ $(\(Self.ownTable) | wc -l) = 1 ]
            """)
        let next = try network.runner()
        await next.removeLeftovers()
        try await network.device.run(
            """
            [ $(ip -4 address show dev wlan0 | grep -c inet) = 1 ]
            [ $(ip route | wc -l) = 2 ]
            ip route | grep '^default via 10.5.0.1'
            [ $(ip rule | wc -l) = 4 ]; ip rule | grep 10.6.0.2
            [ -z "$(\(Self.ownTable) 2>/dev/null)" ]
            """)
        // A kernel that knows no mark.
        await next.removeLeftovers(remembered: IPv4Address("10.5.0.2"))
        try await network.device.run("[ -z \"$(ip -4 address show dev wlan0)$(ip route)\" ]")
        #expect(network.problems == [])
        try await network.end()
    }

    // MARK: A static address

    @Test func aStaticAddress() async throws {
        let network = try await AddressNetwork()
        let runner = try network.runner()
        let address = try network.staticAddress()
        let begin = Instant.now
        runner.linkUp(hardware: AddressNetwork.hardware, fixed: address)
        _ = try await network.journal.next { $0 == .inUseStatic(address) }
        print("a static address \((Instant.now - begin).milliseconds) ms after the link")
        try network.device.runBlocking(
            """
            ip -4 address show dev wlan0 | grep 'inet 10.7.0.20/24 .*brd 10.7.0.255 scope global'
            ip -4 address show dev wlan0 | grep 'valid_lft forever'
            ip route | grep '^default via 10.7.0.1 dev wlan0 proto dhcp src 10.7.0.20 metric 3007'
            """)
        let router = try #require(HardwareAddress(bytes: [2, 0, 0, 0, 0, 1]))
        _ = try await network.journal.next { $0 == .foundGateway(router) }
        try await network.ping()
        runner.metric = 4007
        try network.device.runBlocking("[ $(ip route | grep -c 'metric 4007') = 2 ]; [ $(ip route | wc -l) = 2 ]")
        runner.linkDown()
        try network.device.runBlocking("[ -z \"$(ip -4 address show dev wlan0)$(ip route)\" ]")
        #expect(network.problems == [])
        try await network.end()
    }

    @Test func aStaticAddressInUseIsNotTaken() async throws {
        let network = try await AddressNetwork()
        try await network.other.run("ip address add 10.7.0.20/24 dev eth0")
        let runner = try network.runner()
        let address = try network.staticAddress()
        runner.linkUp(hardware: AddressNetwork.hardware, fixed: address)
        try await network.problem("by \(AddressNetwork.otherHardware)")
        try network.device.runBlocking("[ -z \"$(ip -4 address show dev wlan0)\" ]")
        // It is tried again.
        try await network.other.run("ip address del 10.7.0.20/24 dev eth0")
        _ = try await network.journal.next { $0 == .inUseStatic(address) }
        #expect(network.problems.count == 1)
        // A killed agent leaves it, and the next one finds it again.
        let next = try network.runner()
        await next.removeLeftovers()
        try network.device.runBlocking("[ -z \"$(ip -4 address show dev wlan0)$(ip route)\" ]")
        try await network.end()
    }

    // MARK: Another agent, the same link

    /// The agent is restarted while the link is up: a connection goes on, and its packets are not interrupted.
    @Test(arguments: [true, false]) func aRestartDoesNotInterruptTraffic(isStatic: Bool) async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        var runner: IPv4Runner? = try network.runner()
        var remembered: Lease?
        let fixed = try network.staticAddress()
        if isStatic {
            runner?.linkUp(hardware: AddressNetwork.hardware, fixed: fixed)
            _ = try await network.journal.next { $0 == .inUseStatic(fixed) }
        } else {
            runner?.linkUp(hardware: AddressNetwork.hardware)
            let lease = try await network.fullLease()
            // As the key file has it: without routes and MTU.
            remembered = Lease(
                stored: lease.address, prefixLength: lease.prefixLength, gateway: lease.gateway,
                gatewayHardware: lease.gatewayHardware, server: lease.server, nameServers: lease.nameServers,
                expiry: lease.expiry, hardware: lease.hardware, at: .now)
        }
        runner = nil
        // What an even earlier network has left, and what is another's.
        try network.leave("10.5.0.2", gateway: "10.5.0.1")
        try await network.device.run("ip address add 10.4.0.2/24 dev wlan0")
        try await network.watchAddresses()
        let connection = try network.connection()
        let next = try network.runner()
        if isStatic {
            next.linkUp(hardware: AddressNetwork.hardware, fixed: fixed)
            _ = try await network.journal.next { $0 == .inUseStatic(fixed) }
        } else {
            next.linkUp(hardware: AddressNetwork.hardware, remembered: remembered)
            _ = try await network.journal.next {
                if case .inUse(_, isConfirmed: true) = $0 { true } else { false }
            }
        }
        #expect(try await network.removed("10.5.0.2") == ["10.5.0.2/24"])
        try connection.echo()
        connection.end()
        try await network.ping()
        try await network.device.run(
            """
            ip -4 address show dev wlan0 | grep 'inet \(isStatic ? "10.7.0.20" : "10.7.0.50")/24'
            ip -4 address show dev wlan0 | grep 'inet 10.4.0.2/24'
            [ -z "$(ip -4 address show dev wlan0 | grep 10.5.0.2)" ]
            [ $(ip route | grep -c ^default) = 1 ]
            """)
        #expect(network.problems == [])
        next.linkDown()
        try await network.end()
    }

    /// The device is in another network than its former address tells.
    @Test func theFormerAddressGoesWhereTheNetworkIsAnother() async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        let other = try #require(IPv4Address("10.99.0.5"))
        try network.leave("10.99.0.5", gateway: "10.99.0.1")
        try await network.watchAddresses()
        let runner = try network.runner()
        runner.linkUp(
            hardware: AddressNetwork.hardware,
            remembered: Lease(
                stored: other, prefixLength: 24, gateway: IPv4Address("10.99.0.1"),
                gatewayHardware: AddressNetwork.otherHardware, server: try #require(IPv4Address("10.99.0.1")),
                nameServers: [], expiry: .now + .seconds(1000), hardware: AddressNetwork.hardware, at: .now))
        #expect(try await network.lease().address == IPv4Address("10.7.0.50"))
        #expect(try await network.removed("10.99.0.5") == ["10.99.0.5/24"])
        try await network.ping()
        try await network.end()
    }

    /// No packet that is not for the client wakes the device.
    @Test func filters() async throws {
        let network = try await AddressNetwork()
        let arrived = Journal<[UInt8]>()
        let client = AddressNetwork.hardware
        let (here, there) = (try #require(IPv4Address("10.7.0.50")), try #require(IPv4Address("10.7.0.9")))
        func socket(_ kind: PacketSocket.Kind, _ host: NetworkNamespace, _ index: Int) throws -> PacketSocket {
            try host.within { try PacketSocket(kind, on: index) { arrived.record($0.bytes) } }
        }
        let (device, other) = (
            try socket(.arp, network.device, AddressNetwork.index), try socket(.arp, network.other, 9)
        )
        let question = ARPMessage(.request, from: there, at: AddressNetwork.otherHardware, to: here)
        let claim = ARPMessage(.request, from: here, at: AddressNetwork.otherHardware, to: here)
        let answer = ARPMessage(.reply, from: there, at: AddressNetwork.otherHardware, to: here, at: client)
        var reverse = question.bytes
        reverse[7] = 3
        for bytes in [reverse, question.bytes, claim.bytes, answer.bytes] { try other.send(bytes, to: .broadcast) }
        _ = try await arrived.next { $0.starts(with: answer.bytes) }
        #expect(arrived.events.map { Array($0.prefix(28)) } == [question.bytes, claim.bytes, answer.bytes])
        device.listen(about: here)
        for bytes in [question.bytes, claim.bytes, answer.bytes] { try other.send(bytes, to: client) }
        _ = try await arrived.next { $0.starts(with: answer.bytes) }
        #expect(arrived.events.dropFirst(3).map { Array($0.prefix(28)) } == [claim.bytes, answer.bytes])

        let listener = try socket(.dhcp, network.device, AddressNetwork.index)
        defer { withExtendedLifetime(listener) {} }
        let sender = try socket(.dhcp, network.other, 9)
        let toServer = UDPDatagram(source: there, destination: .broadcast, payload: [1, 2, 3]).packet
        var toClient = toServer
        toClient.swapAt(21, 23)
        var fragment = toClient
        fragment[6] = 0x20
        var tcp = toClient
        tcp[9] = 6
        // A bridge may leave out what has a bad checksum.
        for bytes in [toServer, Self.sealed(fragment), Self.sealed(tcp), toClient] {
            try sender.send(bytes, to: client)
        }
        _ = try await arrived.next { $0.starts(with: toClient) }
        #expect(arrived.events.count == 6)
        try await network.end()
    }

    /// With the checksum of its header (RFC 791, 3.1).
    private static func sealed(_ packet: [UInt8]) -> [UInt8] {
        var packet = packet
        packet.replaceSubrange(10..<12, with: [0, 0])
        var sum = stride(from: 0, to: 20, by: 2).reduce(UInt32(0)) {
            $0 + UInt32(packet[$1]) << 8 + UInt32(packet[$1 + 1])
        }
        while sum > 0xffff { sum = sum >> 16 + sum & 0xffff }
        packet.replaceSubrange(10..<12, with: [UInt8(~sum >> 8 & 0xff), UInt8(~sum & 0xff)])
        return packet
    }
}
