import AgentModel
import Glibc
import Linux
import NetworkNamespaces
import Synchronization
import TestTime
import Testing

@testable import Netlink

/// The monitor on this machine's own kernel, in network namespaces of the tests' own.
@Suite(
    .timeLimit(.minutes(10)), .enabled(if: NetworkNamespace.isAvailable, "needs root, to make a network namespace"))
@AgentLoop struct ReachabilityMonitorTests {
    private let device = NetworkNamespace()
    private let gateway = NetworkNamespace()

    /// A cable between the two, and the gateway has 192.0.2.1.
    private let connect: String
    private let answer = """
        ip address add 192.0.2.1/24 dev far0
        ip -6 address add fe80::1/64 dev far0 nodad
        ip link set far0 up
        """

    init() {
        connect = """
            ip link set lo up
            ip link add near0 type veth peer name far0 netns \(gateway.path)
            ip address add 192.0.2.2/24 dev near0
            ip link set near0 up
            """
    }

    private func start(_ destination: Destination) async throws -> ReachabilityMonitor {
        let socket = try device.within { try NetlinkSocket(.route) }
        let monitor = ReachabilityMonitor(of: destination, routes: try await RouteMonitor(socket: socket) { _ in })
        monitor.start()
        return monitor
    }

    /// The next path with these flags; others may come in between while several things change.
    private func wait(
        _ changes: inout NetworkPathChanges.Iterator, for flags: ReachabilityFlags
    ) async throws -> NetworkPath {
        while let path = await changes.next() {
            if path.flags == flags { return path }
        }
        throw NothingHappened(instead: [])
    }

    // covers: seed/reach-changes
    @Test func theInternetComesAndGoes() async throws {
        try await device.run(connect)
        try await gateway.run(answer)
        let monitor = try await start(.internet)
        var changes = monitor.changes.makeAsyncIterator()
        #expect(await changes.next() == NetworkPath.none)
        try await device.run("ip route add default via 192.0.2.1")
        let path = try await wait(&changes, for: .reachable)
        #expect(path.uplink?.interface == "near0")
        #expect(path.uplink?.kind == .wired)
        #expect(monitor.flags == .reachable)
        // The other end of the cable goes.
        try await gateway.run("ip link set far0 down")
        #expect(try await wait(&changes, for: []).uplink == nil)
        #expect(!monitor.path.isReachable)
        try await gateway.run("ip link set far0 up")
        _ = try await wait(&changes, for: .reachable)
        try await device.run("ip route del default")
        _ = try await wait(&changes, for: [])
    }

    @Test func ipv6AloneLeadsToTheInternet() async throws {
        try await device.run(connect)
        try await gateway.run(answer)
        let monitor = try await start(.internet)
        var changes = monitor.changes.makeAsyncIterator()
        _ = try await wait(&changes, for: [])
        try await device.run(
            "ip -6 address add 2001:db8::2/64 dev near0 nodad; ip -6 route add default via fe80::1 dev near0")
        #expect(try await wait(&changes, for: .reachable).uplink?.interface == "near0")
    }

    // covers: seed/reach-names
    @Test func anAddressIsLocalDirectOrBeyond() async throws {
        try await device.run("\(connect)\nip -6 address add 2001:db8::2/64 dev near0 nodad")
        try await gateway.run(answer)
        let expected: [(String, ReachabilityFlags)] = [
            ("127.0.0.1", [.reachable, .isLocalAddress, .isDirect]),
            ("::1", [.reachable, .isLocalAddress, .isDirect]),
            ("192.0.2.2", [.reachable, .isLocalAddress, .isDirect]),
            ("2001:db8::2", [.reachable, .isLocalAddress, .isDirect]),
            ("192.0.2.77", [.reachable, .isDirect]), ("2001:db8::77", [.reachable, .isDirect]),
            ("198.51.100.1", []), ("2001:db8:1::1", []),
        ]
        for (text, flags) in expected {
            let monitor = try await start(.address(try #require(IPAddress(text))))
            var changes = monitor.changes.makeAsyncIterator()
            #expect(await changes.next()?.flags == flags, "\(text)")
        }
    }

    /// OpenVPN's way: two routes that together are more special than the default route, which stays.
    // covers: seed/under-tunnel
    @Test func aTunnelIsTransientAndItsCarrierNamed() async throws {
        try await device.run("\(connect)\nip route add default via 192.0.2.1")
        try await gateway.run(answer)
        let monitor = try await start(.internet)
        var changes = monitor.changes.makeAsyncIterator()
        _ = try await wait(&changes, for: .reachable)
        let program = try #require(device.within { openTunnel("tun0") })
        try await device.run(
            """
            ip address add 10.8.0.2/24 dev tun0
            ip link set tun0 up
            ip route add 0.0.0.0/1 dev tun0
            ip route add 128.0.0.0/1 dev tun0
            """)
        let path = try await wait(&changes, for: [.reachable, .transientConnection])
        #expect(path.uplink?.interface == "tun0")
        #expect(path.uplink?.kind == .other)
        #expect(path.uplink?.carrier?.interface == "near0")
        #expect(path.uplink?.carrier?.kind == .wired)
        // The tunnel goes with its program, and its routes with it.
        close(program)
        #expect(try await wait(&changes, for: .reachable).uplink?.interface == "near0")
    }

    /// WireGuard's way (wg-quick): another table, which a rule puts before the main one.
    @Test func aTunnelBehindARuleIsFoundToo() async throws {
        // IPv6 makes routes of its own accord, and nothing but the rule is to tell of the change.
        try await device.run("echo 1 | tee /proc/sys/net/ipv6/conf/*/disable_ipv6")
        try await device.run("\(connect)\nip route add default via 192.0.2.1")
        try await gateway.run(answer)
        let monitor = try await start(.internet)
        var changes = monitor.changes.makeAsyncIterator()
        _ = try await wait(&changes, for: .reachable)
        let program = try #require(device.within { openTunnel("tun0") })
        defer { close(program) }
        try await device.run(
            """
            ip address add 10.8.0.2/32 dev tun0
            ip link set tun0 up
            ip route add default dev tun0 table 51820
            ip rule add not fwmark 51820 table 51820
            """)
        let path = try await wait(&changes, for: [.reachable, .transientConnection])
        #expect(path.uplink?.carrier?.interface == "near0")
        try await device.run("ip rule del not fwmark 51820 table 51820")
        #expect(try await wait(&changes, for: .reachable).uplink?.interface == "near0")
    }

    @Test func aSilentGatewayIsNoPath() async throws {
        try await device.run("\(connect)\nip route add default via 192.0.2.1")
        try await gateway.run(answer)
        let socket = try device.within { try NetlinkSocket(.route) }
        let routes = try await RouteMonitor(socket: socket) { _ in }
        let monitor = ReachabilityMonitor(of: .internet, routes: routes)
        monitor.start()
        var changes = monitor.changes.makeAsyncIterator()
        _ = try await wait(&changes, for: .reachable)
        try await device.run("echo 100 > /proc/sys/net/ipv4/neigh/near0/retrans_time_ms")
        try await gateway.run("ip link set far0 arp off")
        let address = try #require(IPAddress("192.0.2.1"))
        #expect(!(await routes.probe(gateway: address, on: "near0", within: .seconds(20))))
        _ = try await wait(&changes, for: [])
        try await gateway.run("ip link set far0 arp on")
        #expect(await routes.probe(gateway: address, on: "near0", within: .seconds(20)))
        _ = try await wait(&changes, for: .reachable)
    }

    @Test func aCaptiveNetworkNeedsAPerson() async throws {
        try await device.run("\(connect)\nip route add default via 192.0.2.1")
        try await gateway.run(answer)
        let monitor = try await start(.internet)
        var changes = monitor.changes.makeAsyncIterator()
        _ = try await wait(&changes, for: .reachable)
        monitor.setCaptive(true, on: "wlan9")
        monitor.setCaptive(true, on: "near0")
        let path = try await wait(&changes, for: [.reachable, .connectionRequired, .interventionRequired])
        #expect(!path.isReachable)
        #expect(path.uplink?.interface == "near0")
        monitor.setCaptive(false, on: "near0")
        #expect(try await wait(&changes, for: .reachable).isReachable)
        try await eventually("the last look has ended") { !monitor.isLooking }
        // A fact that is known already is no reason to ask the kernel.
        monitor.setCaptive(false, on: "near0")
        monitor.setCaptive(true, on: "wlan9")
        #expect(!monitor.isLooking)
        monitor.setCaptive(false, on: "wlan9")
        #expect(monitor.isLooking)
    }

    // MARK: Names

    /// Answers as it is told, and counts how often it was asked.
    private final class Names: Sendable {
        let state = Mutex<(addresses: [String], asked: Int)>(([], 0))

        @Sendable func addresses(of name: String) async -> [IPAddress] {
            state.withLock { state in
                state.asked += 1
                return name == "broker.example" ? state.addresses.compactMap { IPAddress($0) } : []
            }
        }
    }

    // covers: seed/reach-names
    @Test func aNameIsAsGoodAsTheBestOfItsAddresses() async throws {
        try await device.run(connect)
        try await gateway.run(answer)
        let names = Names()
        names.state.withLock { $0.addresses = ["2001:db8:1::1", "192.0.2.77", "192.0.2.2"] }
        let monitor = try await start(.host("broker.example", addresses: names.addresses))
        var changes = monitor.changes.makeAsyncIterator()
        _ = try await wait(&changes, for: [.reachable, .isDirect])
        // Asked anew when the network changes.
        names.state.withLock { $0.addresses = ["192.0.2.2"] }
        try await device.run("ip address add 192.0.2.3/24 dev near0")
        _ = try await wait(&changes, for: [.reachable, .isLocalAddress, .isDirect])
        names.state.withLock { $0.addresses = [] }
        try await device.run("ip address del 192.0.2.3/24 dev near0")
        _ = try await wait(&changes, for: [])
    }

    /// /etc/hosts is the system's resolver's, too.
    // covers: seed/reach-names
    @Test func theSystemsResolverIsBuiltIn() async throws {
        try await device.run(connect)
        let monitor = try await start(.host("localhost"))
        var changes = monitor.changes.makeAsyncIterator()
        _ = try await wait(&changes, for: [.reachable, .isLocalAddress, .isDirect])
        #expect(await SystemNames.addresses(of: "localhost").allSatisfy(\.isLoopback))
        #expect(await SystemNames.addresses(of: "no such name.invalid") == [])
    }

    @Test func aConnectionThatAProgramMakesWhenItIsWanted() async throws {
        try await device.run("\(connect)\nip route add default via 192.0.2.1")
        try await gateway.run(answer)
        let monitor = try await start(.internet)
        var changes = monitor.changes.makeAsyncIterator()
        _ = try await wait(&changes, for: .reachable)
        try await gateway.run("ip link set far0 down")
        _ = try await wait(&changes, for: [])
        monitor.setOnDemand(true, on: "near0")
        #expect(try await wait(&changes, for: [.reachable, .connectionRequired, .connectionOnDemand]).isReachable)
        monitor.setOnDemand(false, on: "near0")
        _ = try await wait(&changes, for: [])
    }

    @Test func anAddressAsANameIsNotResolved() async throws {
        try await device.run(connect)
        let names = Names()
        let monitor = try await start(.host("127.0.0.1", addresses: names.addresses))
        var changes = monitor.changes.makeAsyncIterator()
        _ = try await wait(&changes, for: [.reachable, .isLocalAddress, .isDirect])
        #expect(names.state.withLock { $0.asked } == 0)
    }

    /// A resolver that never answers holds up nothing.
    @Test func aResolverThatHangsIsCancelled() async throws {
        try await device.run(connect)
        let (cancellations, continuation) = AsyncStream.makeStream(of: Void.self)
        let monitor = try await start(
            .host("broker.example") { _ in
                await withTaskCancellationHandler {
                    await untilCancelled()
                } onCancel: {
                    continuation.yield()
                }
                return [IPAddress("127.0.0.1")].compactMap { $0 }
            })
        var changes = monitor.changes.makeAsyncIterator()
        #expect(await changes.next() == NetworkPath.none)
        monitor.stop()
        var cancelled = cancellations.makeAsyncIterator()
        #expect(await cancelled.next() != nil)
        #expect(monitor.flags == [], "what a cancelled resolver says does not count")
    }

    // MARK: Start and stop

    // covers: seed/reach-restart
    @Test func nothingIsToldBetweenStopAndStart() async throws {
        try await device.run(connect)
        try await gateway.run(answer)
        let socket = try device.within { try NetlinkSocket(.route) }
        let journal = Journal<RouteEvent>()
        let routes = try await RouteMonitor(socket: socket) { journal.record($0) }
        let monitor = ReachabilityMonitor(of: .internet, routes: routes)
        monitor.start()
        monitor.start()
        var changes = monitor.changes.makeAsyncIterator()
        #expect(await changes.next() == NetworkPath.none)
        monitor.stop()
        try await device.run("ip route add default via 192.0.2.1")
        _ = try await journal.next { if case .defaultRouteAdded = $0 { true } else { false } }
        // The kernel has answered since, so a question asked before would be answered.
        _ = try await routes.routeLookup(to: try #require(IPAddress("192.0.2.1")))
        try await device.run("ip route del default")
        _ = try await journal.next { if case .defaultRouteRemoved = $0 { true } else { false } }
        monitor.start()
        #expect(await changes.next() == NetworkPath.none, "what came and went while it was stopped is not told")
        try await device.run("ip route add default via 192.0.2.1")
        _ = try await wait(&changes, for: .reachable)
        #expect(monitor.flags == .reachable)
    }

    /// Without a run under way the flags are those of the moment in which they are read.
    // covers: seed/reach-changes
    @Test func flagsAreReadBeforeTheStartAndAfterTheStop() async throws {
        try await device.run(connect)
        try await gateway.run(answer)
        let socket = try device.within { try NetlinkSocket(.route) }
        let routes = try await RouteMonitor(socket: socket) { _ in }
        let monitor = ReachabilityMonitor(of: .internet, routes: routes)
        /// As a program in the namespace reads it.
        func read() -> NetworkPath { device.within { monitor.path } }

        #expect(read() == .none)
        try await device.run("ip route add default via 192.0.2.1")
        #expect(read().flags == .reachable)
        #expect(read().uplink?.interface == "near0")
        #expect(await monitor.currentPath().flags == .reachable)
        monitor.setCaptive(true, on: "near0")
        #expect(read().flags == [.reachable, .connectionRequired, .interventionRequired])
        monitor.setCaptive(false, on: "near0")

        monitor.start()
        #expect(read().flags == .reachable, "before the first look")
        var changes = monitor.changes.makeAsyncIterator()
        _ = try await wait(&changes, for: .reachable)
        monitor.stop()
        try await device.run("ip route del default")
        #expect(read() == .none)
        #expect(await monitor.currentPath() == .none)
        try await device.run(
            "ip -6 address add 2001:db8::2/64 dev near0 nodad; ip -6 route add default via fe80::1 dev near0")
        #expect(read().flags == .reachable)
        try await device.run("ip link set near0 down")
        #expect(read() == .none)
    }

    /// A name that no run has resolved is resolved by `currentPath()`; what it found then counts for `path`.
    @Test func aNameIsReadWithoutAStart() async throws {
        try await device.run(connect)
        try await gateway.run(answer)
        let names = Names()
        names.state.withLock { $0.addresses = ["192.0.2.77"] }
        let socket = try device.within { try NetlinkSocket(.route) }
        let monitor = ReachabilityMonitor(
            of: .host("broker.example", addresses: names.addresses),
            routes: try await RouteMonitor(socket: socket) { _ in })
        #expect(device.within { monitor.flags } == [])
        #expect(await monitor.currentPath().flags == [.reachable, .isDirect])
        #expect(device.within { monitor.flags } == [.reachable, .isDirect])
    }

    /// The kernel has a route to the zero address, `local 0.0.0.0 dev lo`, on a device that is offline too.
    // covers: seed/reach-names
    @Test(arguments: ["0.0.0.0", "::", "::ffff:0.0.0.0"])
    func theZeroAddressMeansTheInternet(_ text: String) async throws {
        try await device.run(connect)
        try await gateway.run(answer)
        for destination in [Destination.address(try #require(IPAddress(text))), .host(text)] {
            let monitor = try await start(destination)
            var changes = monitor.changes.makeAsyncIterator()
            #expect(await changes.next() == NetworkPath.none)
            try await device.run("ip route add default via 192.0.2.1")
            _ = try await wait(&changes, for: .reachable)
            try await device.run("ip route del default")
            _ = try await wait(&changes, for: [])
        }
        let monitor = try await start(.address(try #require(IPAddress(text))))
        var changes = monitor.changes.makeAsyncIterator()
        #expect(await changes.next() == NetworkPath.none)
        try await device.run(
            "ip -6 address add 2001:db8::2/64 dev near0 nodad; ip -6 route add default via fe80::1 dev near0")
        _ = try await wait(&changes, for: .reachable)
    }

    /// Name servers that block a name answer with the zero address.
    @Test func aNameWithTheZeroAddressLeadsNowhere() async throws {
        try await device.run("\(connect)\nip route add default via 192.0.2.1")
        try await gateway.run(answer)
        let names = Names()
        names.state.withLock { $0.addresses = ["0.0.0.0", "::"] }
        let monitor = try await start(.host("broker.example", addresses: names.addresses))
        var changes = monitor.changes.makeAsyncIterator()
        #expect(await changes.next() == NetworkPath.none)
        #expect(await monitor.currentPath() == .none)
    }

    // covers: seed/reach-restart
    @Test func aRestartTellsTheFlagsAgain() async throws {
        try await device.run("\(connect)\nip route add default via 192.0.2.1")
        try await gateway.run(answer)
        let monitor = try await start(.internet)
        var changes = monitor.changes.makeAsyncIterator()
        _ = try await wait(&changes, for: .reachable)
        for _ in 1...3 {
            monitor.stop()
            monitor.start()
            #expect(await changes.next()?.flags == .reachable)
        }
    }

    @Test func theSequenceEndsWithTheMonitor() async throws {
        try await device.run(connect)
        var monitor: ReachabilityMonitor? = try await start(.internet)
        let changes = try #require(monitor?.changes)
        monitor = nil
        for await _ in changes {}
    }
}
