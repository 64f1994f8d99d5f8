import AgentModel
import CNetlink
import Linux
import NetworkNamespaces
import Testing

@testable import Netlink

/// rtnetlink on this machine's own kernel, in network namespaces of the tests' own.
@Suite(
    .timeLimit(.minutes(10)), .enabled(if: NetworkNamespace.isAvailable, "needs root, to make a network namespace"))
@AgentLoop struct RouteMonitorTests {
    private let namespace = NetworkNamespace()
    private let journal = Journal<RouteEvent>()

    private func monitor(receiveBuffer: Int = 256 * 1024) async throws -> RouteMonitor {
        let journal = journal
        let socket = try namespace.within { try NetlinkSocket(.route, receiveBuffer: receiveBuffer) }
        return try await RouteMonitor(socket: socket) { journal.record($0) }
    }

    private func change(to name: String, where matches: @escaping (NetworkInterface) -> Bool) async throws
        -> NetworkInterface
    {
        let event = try await journal.next { event in
            if case .linkChanged(let link) = event { link.name == name && matches(link) } else { false }
        }
        guard case .linkChanged(let link) = event else { throw NothingHappened(instead: []) }
        return link
    }

    /// Two cables with both their ends in the namespace.
    private let cables = """
        ip link add near0 type veth peer name far0
        ip link add near1 type veth peer name far1
        for link in near0 far0 near1 far1; do ip link set $link up; done
        """

    @Test func knowsWhatIsThereAtTheStart() async throws {
        try await namespace.run(
            """
            \(cables)
            ip address add 192.0.2.2/24 dev near0
            ip route add default via 192.0.2.1 dev near0 metric 7
            """)
        let monitor = try await monitor()
        let near = try #require(monitor.links.values.first { $0.name == "near0" })
        #expect(near.isUp)
        #expect(near.hasCarrier)
        #expect(near.kind == .wired)
        #expect(monitor.links.values.first { $0.name == "lo" }?.kind == .other)
        let address = try #require(monitor.addresses.first { $0.bytes == [192, 0, 2, 2] })
        #expect(
            address
                == InterfaceAddress(
                    family: .ipv4, bytes: [192, 0, 2, 2], prefixLength: 24, scope: .global, index: near.index,
                    isTentative: false))
        #expect(
            monitor.defaultRoutes == [
                DefaultRoute(family: .ipv4, gateway: [192, 0, 2, 1], index: near.index, metric: 7)
            ])
        #expect(monitor.uplink == ActiveUplink(kind: .wired, interface: "near0", index: near.index))
        #expect(monitor.uplink(besides: nil) == .wired)
        #expect(monitor.uplink(besides: 1) == .wired)
        #expect(monitor.uplink(besides: near.index) == nil)
        #expect(journal.events.isEmpty)
    }

    @Test func followsTheUplink() async throws {
        let monitor = try await monitor()
        #expect(monitor.uplink == nil)
        try await namespace.run(cables)
        let first = try await change(to: "near0") { $0.hasCarrier }
        let second = try await change(to: "near1") { $0.hasCarrier }

        try await namespace.run(
            """
            ip address add 192.0.2.2/24 dev near0
            ip route add default via 192.0.2.1 dev near0 metric 600
            """)
        let slow = ActiveUplink(kind: .wired, interface: "near0", index: first.index)
        let fast = ActiveUplink(kind: .wired, interface: "near1", index: second.index)
        _ = try await journal.next { $0 == .uplinkChanged(slow) }
        try await namespace.run(
            """
            ip address add 198.51.100.2/24 dev near1
            ip route add default via 198.51.100.1 dev near1 metric 100
            """)
        _ = try await journal.next { $0 == .uplinkChanged(fast) }
        // The other end of the cable goes.
        try await namespace.run("ip link set far1 down")
        _ = try await journal.next { $0 == .uplinkChanged(slow) }
        try await namespace.run("ip link set far1 up")
        _ = try await journal.next { $0 == .uplinkChanged(fast) }
        // The interface itself goes down, and the kernel drops its routes without a word.
        try await namespace.run("ip link set near1 down")
        _ = try await journal.next { $0 == .uplinkChanged(slow) }
        let lost = DefaultRoute(family: .ipv4, gateway: [198, 51, 100, 1], index: second.index, metric: 100)
        _ = try await journal.next { $0 == .defaultRouteRemoved(lost) }
        #expect(monitor.defaultRoutes.map(\.index) == [first.index])
        // So it does when the address goes.
        try await namespace.run("ip address del 192.0.2.2/24 dev near0")
        _ = try await journal.next { $0 == .uplinkChanged(nil) }
        #expect(monitor.defaultRoutes.isEmpty)
        try await namespace.run("ip link del near0")
        _ = try await journal.next { if case .linkRemoved(let link) = $0 { link.name == "near0" } else { false } }
    }

    @Test func hearsOfAddressesAndTheirConfirmation() async throws {
        try await namespace.run(cables)
        let monitor = try await monitor()
        let index = try #require(monitor.links.values.first { $0.name == "near0" }).index
        let lease = InterfaceAddress(
            family: .ipv4, bytes: [192, 0, 2, 2], prefixLength: 24, scope: .global, index: index, isTentative: false)
        // The commands of a DHCP client with a new lease and with one that it finds still valid.
        let confirm = "ip address replace 192.0.2.2/24 dev near0 valid_lft 3600 preferred_lft 3600"
        for _ in 0..<3 {
            try await namespace.run(confirm)
            _ = try await journal.next { $0 == .addressAdded(lease) }
        }
        try await namespace.run("ip address del 192.0.2.2/24 dev near0")
        _ = try await journal.next { $0 == .addressRemoved(lease) }

        try await namespace.run("ip address add 2001:db8::2/64 dev near0")
        let isOurs = { (event: RouteEvent, isTentative: Bool) in
            guard case .addressAdded(let address) = event else { return false }
            return address.bytes.starts(with: [0x20, 0x01, 0x0d, 0xb8]) && address.isTentative == isTentative
        }
        _ = try await journal.next { isOurs($0, true) }
        _ = try await journal.next { isOurs($0, false) }
    }

    @Test func hearsOfReplacedRoutes() async throws {
        try await namespace.run("\(cables)\nip address add 192.0.2.2/24 dev near0")
        let monitor = try await monitor()
        for gateway in [UInt8](3...5) {
            try await namespace.run("ip route replace default via 192.0.2.\(gateway)")
            _ = try await journal.next { event in
                if case .defaultRouteAdded(let route) = event { route.gateway == [192, 0, 2, gateway] } else { false }
            }
            #expect(monitor.defaultRoutes.map(\.gateway) == [[192, 0, 2, gateway]])
        }
        try await namespace.run(
            "ip -6 address add 2001:db8::2/64 dev near0 nodad; ip -6 route add default via 2001:db8::1")
        _ = try await journal.next { event in
            if case .defaultRouteAdded(let route) = event {
                route.family == .ipv6 && route.metric == 1024
            } else {
                false
            }
        }
    }

    @Test func setsLinks() async throws {
        try await namespace.run(cables)
        let monitor = try await monitor()
        try await monitor.setLink("near0", up: false)
        _ = try await change(to: "near0") { !$0.isUp }
        try await monitor.setLink("near0", up: true)
        _ = try await change(to: "near0") { $0.isUp && $0.hasCarrier }
        await #expect { try await monitor.setLink("wlan9", up: true) } throws: { error in
            (error as? NetlinkError)?.reason == .interfaceMissing("wlan9")
        }
    }

    @Test func saysThatAnAnswerWasLost() async throws {
        try await namespace.run(cables)
        let socket = try namespace.within { try NetlinkSocket(.route, receiveBuffer: 4096) }
        var overruns = 0
        socket.onOverrun = { overruns += 1 }
        try socket.join(group: Int(RTNLGRP_IPV4_IFADDR.rawValue), named: "ipv4-ifaddr")
        await #expect {
            // The socket is not read before the question is asked.
            try namespace.runBlocking("for number in $(seq 1 50); do ip address add 10.0.0.$number/32 dev near0; done")
            try await socket.perform(.setLink(index: 1, up: true), attempting: "set lo up")
        } throws: { error in
            (error as? NetlinkError)?.reason == .answerLost
        }
        #expect(overruns == 1)
        try await socket.perform(.setLink(index: 1, up: true), attempting: "set lo up")
    }

    @Test func readsEverythingAnewAfterAnOverrun() async throws {
        try await namespace.run(cables)
        let monitor = try await monitor(receiveBuffer: 4096)
        // More news than fits, while the socket is not read.
        try namespace.runBlocking(
            """
            for number in $(seq 1 250); do echo address add 10.0.0.$number/32 dev near0; done | ip -batch -
            ip link set near1 down
            ip link del far0
            """)
        _ = try await journal.next { $0 == .resynchronise }
        #expect(Set(monitor.links.values.map(\.name)) == ["lo", "near1", "far1"])
        #expect(monitor.links.values.first { $0.name == "near1" }?.isUp == false)
        #expect(monitor.addresses.allSatisfy { $0.family == .ipv6 })
        // And goes on listening.
        try await namespace.run("ip address add 10.0.1.1/32 dev lo")
        _ = try await journal.next { event in
            if case .addressAdded(let address) = event { address.bytes == [10, 0, 1, 1] } else { false }
        }
    }
}
