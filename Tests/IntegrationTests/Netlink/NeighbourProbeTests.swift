import AgentModel
import Linux
import NetworkNamespaces
import Testing

@testable import Netlink

/// A gateway that is asked whether it is there, and the route to it: on this machine's own kernel, with the gateway in
/// a network namespace of its own.
@Suite(
    .timeLimit(.minutes(10)), .enabled(if: NetworkNamespace.isAvailable, "needs root, to make a network namespace"))
@AgentLoop struct NeighbourProbeTests {
    private let device = NetworkNamespace()
    private let gateway = NetworkNamespace()
    private let journal = Journal<RouteSubject>()

    /// A cable between the two; the gateway has 192.0.2.1 and fe80::1, the device has the gateway as its default route.
    private func connect() async throws {
        try await device.run(
            """
            ip link set lo up
            ip link add near0 type veth peer name far0 netns \(gateway.path)
            ip address add 192.0.2.2/24 dev near0
            ip link set near0 up
            """)
        try await gateway.run(
            """
            ip address add 192.0.2.1/24 dev far0
            ip -6 address add fe80::1/64 dev far0 nodad
            ip link set far0 address 02:00:00:00:00:01 up
            """)
        try await device.run("ip route add default via 192.0.2.1")
    }

    private func monitor() async throws -> RouteMonitor {
        let socket = try device.within { try NetlinkSocket(.route) }
        return try await RouteMonitor(socket: socket) { _ in }
    }

    private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    private func state(_ monitor: RouteMonitor, _ text: String) throws -> Neighbour.State? {
        let index = try #require(monitor.links.values.first { $0.name == "near0" }).index
        return monitor.neighbourState(of: Neighbour.Key(index: index, address: try address(text)))
    }

    @Test func aGatewayThatIsThereAnswers() async throws {
        try await connect()
        let monitor = try await monitor()
        #expect(try state(monitor, "192.0.2.1") == nil)
        #expect(await monitor.probe(gateway: try address("192.0.2.1"), on: "near0", within: .seconds(10)))
        #expect(try state(monitor, "192.0.2.1") == .reachable)
        // Asked again, though the kernel believes that it knows.
        #expect(await monitor.probe(gateway: try address("192.0.2.1"), on: "near0", within: .seconds(10)))
        #expect(await monitor.probe(gateway: try address("fe80::1"), on: "near0", within: .seconds(10)))
    }

    @Test func severalMayAskAtOnce() async throws {
        try await connect()
        let monitor = try await monitor()
        let gateway = try address("192.0.2.1")
        async let first = monitor.probe(gateway: gateway, on: "near0", within: .seconds(10))
        async let second = monitor.probe(gateway: gateway, on: "near0", within: .seconds(10))
        async let absent = monitor.probe(gateway: try address("192.0.2.9"), on: "near0", within: .milliseconds(50))
        #expect(try await (first, second, absent) == (true, true, false))
    }

    /// The cable stays plugged in: nothing but the asking tells.
    @Test func aGatewayThatHasFrozenDoesNotAnswer() async throws {
        try await connect()
        let monitor = try await monitor()
        let journal = journal
        let following = monitor.follow { journal.record($0) }
        let index = try #require(monitor.links.values.first { $0.name == "near0" }).index
        #expect(await monitor.probe(gateway: try address("192.0.2.1"), on: "near0", within: .seconds(10)))
        try await device.run("echo 100 > /proc/sys/net/ipv4/neigh/near0/retrans_time_ms")
        try await gateway.run("ip link set far0 arp off")
        #expect(!(await monitor.probe(gateway: try address("192.0.2.1"), on: "near0", within: .seconds(20))))
        #expect(monitor.isSilent(try address("192.0.2.1"), on: index))
        #expect(journal.events.contains(.neighbours))
        #expect(monitor.links[index]?.hasCarrier == true)
        // It comes back.
        try await gateway.run("ip link set far0 arp on")
        #expect(await monitor.probe(gateway: try address("192.0.2.1"), on: "near0", within: .seconds(10)))
        #expect(!monitor.isSilent(try address("192.0.2.1"), on: index))
        following.cancel()
    }

    /// As after a failover between two routers that share an address.
    @Test func aGatewayWithAnotherHardwareAddressAnswers() async throws {
        try await connect()
        let monitor = try await monitor()
        #expect(await monitor.probe(gateway: try address("192.0.2.1"), on: "near0", within: .seconds(10)))
        try await device.run(
            """
            echo 100 > /proc/sys/net/ipv4/neigh/near0/retrans_time_ms
            ip neighbour replace 192.0.2.1 lladdr 02:00:00:00:00:77 dev near0 nud stale
            """)
        #expect(await monitor.probe(gateway: try address("192.0.2.1"), on: "near0", within: .seconds(20)))
    }

    @Test func theLimitIsKept() async throws {
        try await connect()
        let monitor = try await monitor()
        // The kernel gives up by itself after three seconds.
        try await device.run("echo 3600000 > /proc/sys/net/ipv4/neigh/near0/retrans_time_ms")
        let absent = try address("192.0.2.9")
        await ManualClock().run { clock in
            let probe = Task { await monitor.probe(gateway: absent, on: "near0", within: .seconds(10)) }
            await clock.untilTimer(of: .seconds(10))
            clock.advance(by: .seconds(10))
            #expect(!(await probe.value))
        }
    }

    @Test func whatCannotBeAskedIsAnsweredAtOnce() async throws {
        try await connect()
        try await device.run(
            """
            ip neighbour add 192.0.2.7 lladdr 02:00:00:00:00:77 dev near0 nud permanent
            ip tuntap add tun0 mode tun
            ip link add down0 type veth peer name other0
            ip link set down0 up
            """)
        let monitor = try await monitor()
        #expect(await monitor.probe(gateway: try address("192.0.2.7"), on: "near0", within: .seconds(10)))
        #expect(try state(monitor, "192.0.2.7") == .permanent, "it is not forgotten by asking")
        #expect(await monitor.probe(gateway: try address("127.0.0.1"), on: "lo", within: .seconds(10)))
        for interface in ["down0", "other0", "tun0", "missing"] {
            #expect(!(await monitor.probe(gateway: try address("192.0.2.1"), on: interface, within: .seconds(10))))
        }
    }

    // MARK: Routes

    @Test func theKernelTellsTheRoute() async throws {
        try await connect()
        let monitor = try await monitor()
        let near = try #require(monitor.links.values.first { $0.name == "near0" })
        let gateway = try address("192.0.2.1")
        #expect(
            try await monitor.routeLookup(to: address("198.51.100.1"))
                == RouteLookup(index: near.index, gateway: gateway, isLocal: false))
        #expect(
            try await monitor.routeLookup(to: address("192.0.2.9"))
                == RouteLookup(index: near.index, gateway: nil, isLocal: false))
        #expect(try await monitor.routeLookup(to: address("192.0.2.2"))?.isLocal == true)
        #expect(try await monitor.routeLookup(to: address("2001:db8::1")) == nil)
        for kind in ["unreachable", "prohibit", "blackhole"] {
            try await device.run("ip route replace \(kind) 203.0.113.0/24; ip -6 route replace \(kind) 2001:db8::/32")
            #expect(try await monitor.routeLookup(to: address("203.0.113.1")) == nil)
            #expect(try await monitor.routeLookup(to: address("2001:db8::1")) == nil)
            try await device.run("ip route del \(kind) 203.0.113.0/24; ip -6 route del \(kind) 2001:db8::/32")
        }
    }

    @Test func rulesAndHostRoutesAreHeardOf() async throws {
        // IPv6 makes routes of its own accord.
        try await device.run("echo 1 | tee /proc/sys/net/ipv6/conf/*/disable_ipv6")
        try await connect()
        let monitor = try await monitor()
        let journal = journal
        var following: RouteFollowing? = monitor.follow { journal.record($0) }
        try await device.run("ip rule add from 192.0.2.2 table 100")
        _ = try await journal.next { $0 == .routes }
        try await device.run("ip route add 198.51.100.1 via 192.0.2.1")
        _ = try await journal.next { $0 == .routes }
        try await device.run("ip address add 192.0.2.3/24 dev near0")
        _ = try await journal.next { $0 == .addresses }
        #expect(following != nil)
        // Nothing is told any more once it is let go.
        following = nil
        let count = journal.events.count
        try await device.run("ip link set near0 down")
        #expect(try await monitor.routeLookup(to: address("192.0.2.9")) == nil)
        #expect(journal.events.count == count)
    }

    @Test func aTunnelNamesItsCarrier() async throws {
        try await connect()
        try await device.run(
            """
            ip tuntap add tun0 mode tun
            ip address add 10.8.0.2/24 dev tun0
            ip link set tun0 up
            """)
        let monitor = try await monitor()
        let tunnel = try #require(monitor.links.values.first { $0.name == "tun0" })
        #expect(tunnel.kind == .other)
        #expect(tunnel.tunnel == NetworkInterface.Tunnel(lowerIndex: nil, farEnd: nil))
        #expect(tunnel.traits == [.pointToPoint])
        #expect(monitor.uplink(over: tunnel.index)?.carrier?.interface == "near0")
        #expect(monitor.uplink?.interface == "near0")
        #expect(monitor.uplink?.carrier == nil)
    }
}
