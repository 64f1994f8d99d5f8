import AgentModel
import DHCP
import Foundation
import Glibc
import Linux
import NetworkNamespaces
import Testing

@testable import AddressIO

/// Two networks with routers, 2001:db8:a::/64 and 2001:db8:b::/64, and a device whose cable leads to one of them.
@AgentLoop
private final class RouterNetwork {
    let device = NetworkNamespace()
    let router = NetworkNamespace()
    let journal = Journal<IPv6Event>()
    private let folder = NSTemporaryDirectory() + "altnet-ipv6-" + UUID().uuidString

    static let index = 7
    static let hardware = HardwareAddress(bytes: [2, 0, 0, 0, 0, 7]) ?? .zero

    nonisolated static let isPossible =
        NetworkNamespace.isAvailable && access("/usr/sbin/dnsmasq", X_OK) == 0

    init() async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await router.run(
            """
            sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.all.forwarding=1
            ip link set lo up
            for net in a b; do
              ip link add br$net address 02:00:00:00:00:0$net type bridge
              ip link set br$net up
              ip address add 2001:db8:$net::1/64 dev br$net
              # Keeps the bridge's carrier, so that no router notices when the device comes.
              ip link add x$net type veth peer name y$net
              ip link set y$net addrgenmode none
              ip link set x$net master br$net; ip link set x$net up; ip link set y$net up
            done
            """)
        try await device.run(
            """
            sysctl -qw net.ipv6.conf.default.optimistic_dad=1 net.ipv6.conf.default.use_optimistic=1
            ip link set lo up
            ip link add wlan0 index \(Self.index) address \(Self.hardware) type veth peer name ap0
            ip link set ap0 netns \(router.path)
            ip link set wlan0 up
            """)
    }

    /// - Parameter range: what dnsmasq has behind `--dhcp-range=`, but for the network.
    func start(_ net: String, range: [String], options: String = "") async throws {
        let ranges = range.map { "--dhcp-range=" + $0.replacingOccurrences(of: "NET", with: "2001:db8:\(net):") }
        try await router.run(
            """
            dnsmasq --conf-file=/dev/null --port=0 --interface=br\(net) --bind-interfaces --enable-ra --user=root \
            --dhcp-authoritative \(ranges.joined(separator: " ")) --ra-param=br\(net),600,1800 \(options) \
            --dhcp-option=option6:dns-server,[2001:db8:\(net)::53] --dhcp-option=option6:domain-search,\(net).example \
            --dhcp-leasefile=\(folder)/leases-\(net) --log-facility=\(folder)/log-\(net) --log-dhcp \
            --pid-file=\(folder)/pid-\(net)
            """)
    }

    func connect(to net: String) async throws {
        try await router.run("ip link set ap0 down; ip link set ap0 master br\(net); ip link set ap0 up")
    }

    func disconnect() async throws { try await router.run("ip link set ap0 down") }

    func end() async throws {
        // Each takes its file away as it ends.
        try await router.run(
            """
            for pid in \(folder)/pid-*; do
              [ ! -s $pid ] || kill $(cat $pid)
              while [ -e $pid ]; do sleep 0.01; done
            done
            """)
        try FileManager.default.removeItem(atPath: folder)
    }

    /// - Parameter sibling: address of another interface of the device.
    func runner(sibling: IPAddress? = nil) throws -> IPv6Runner {
        let journal = journal
        return try device.within {
            try IPv6Runner(interface: Self.index, metric: 600, isOfSibling: { $0 == sibling }) { journal.record($0) }
        }
    }

    func configuration(where matches: @escaping (NetworkConfiguration) -> Bool) async throws -> NetworkConfiguration {
        let report = try await journal.next {
            if case .configuration(let configuration) = $0 { matches(configuration) } else { false }
        }
        guard case .configuration(let configuration) = report else { throw NothingHappened(instead: []) }
        return configuration
    }

    func lease() async throws -> IPv6Lease {
        let report = try await journal.next { if case .lease(.some) = $0 { true } else { false } }
        guard case .lease(let lease?) = report else { throw NothingHappened(instead: []) }
        return lease
    }

    var problems: [String] {
        journal.events.compactMap { if case .problem(let problem) = $0 { problem } else { nil } }
    }

    /// Waits until the kernel has an address that begins so.
    func address(_ prefix: String) async throws {
        try await device.run(
            "timeout 10 sh -c 'until ip -6 address show dev wlan0 | grep -q \"inet6 \(prefix)\"; do sleep 0.005; done'")
    }
}

/// IPv6 with the kernel's own SLAAC and dnsmasq's advertisements and DHCPv6.
@Suite(
    .timeLimit(.minutes(10)), .serialized,
    .enabled(if: RouterNetwork.isPossible, "needs root and dnsmasq, to make networks with routers"))
@AgentLoop struct IPv6RunnerTests {
    /// A carrier that comes makes Linux ask no router, where the interface was up before.
    @Test func theNextNetworkAtOnce() async throws {
        let network = try await RouterNetwork()
        try await network.start("a", range: ["NET:,ra-only"])
        try await network.start("b", range: ["NET:,ra-only"])
        let runner = try network.runner()
        try await network.connect(to: "a")
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        let first = try await network.configuration { !$0.nameServers.isEmpty }
        #expect(first.nameServers == [IPAddress("2001:db8:a::53")] && first.searchDomains == ["a.example"])
        try await network.address("2001:db8:a:")
        // What a user has set stays.
        try await network.device.run(
            """
            ip address add 2001:db8:cc::7/64 dev wlan0
            ip address add 2001:db8:dd::7/64 dev wlan0 valid_lft 1000 preferred_lft 1000
            ip -6 route add 2001:db8:ee::/64 via fe80::99 dev wlan0
            ip -6 route | grep '^default .* proto ra'
            """)

        try await network.disconnect()
        runner.linkDown(leavingNetwork: true)
        _ = try await network.configuration { $0 == NetworkConfiguration() }
        try await network.device.run(
            """
            timeout 5 sh -c 'while ip -6 address show dev wlan0 | grep -q 2001:db8:a:; do sleep 0.005; done'
            [ $(ip -6 address show dev wlan0 scope global | grep -c inet6) = 2 ]
            timeout 5 sh -c 'while ip -6 route | grep -qE "proto ra|2001:db8:a:"; do sleep 0.005; done'
            ip -6 route | grep 2001:db8:cc::/64
            ip -6 route | grep 2001:db8:dd::/64
            ip -6 route | grep 2001:db8:ee::/64
            """)

        try await network.connect(to: "b")
        let begin = ContinuousClock.now
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        try await network.address("2001:db8:b:")
        print("an address of the next network after \((ContinuousClock.now - begin) / .milliseconds(1)) ms")
        let second = try await network.configuration { !$0.nameServers.isEmpty }
        #expect(second.nameServers == [IPAddress("2001:db8:b::53")] && second.searchDomains == ["b.example"])
        try network.device.runBlocking("! ip -6 address show dev wlan0 | grep 2001:db8:a:")
        #expect(network.problems == [])
        try await network.end()
    }

    /// The device moves while nothing tells that it has left.
    @Test func anotherNetworkWithoutAnEnd() async throws {
        let network = try await RouterNetwork()
        try await network.start("a", range: ["NET:100,NET:1ff,64,1h"])
        try await network.start("b", range: ["NET:100,NET:1ff,64,1h"])
        let runner = try network.runner()
        try await network.connect(to: "a")
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        let lease = try await network.lease()
        try await network.connect(to: "b")
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        let next = try await network.lease()
        #expect(lease.addresses.first?.address != next.addresses.first?.address)
        try network.device.runBlocking(
            """
            [ -z "$(ip -6 address show dev wlan0 | grep 2001:db8:a:)" ]
            ip -6 address show dev wlan0 | grep 'inet6 2001:db8:b::1.*/128 scope global .*dynamic'
            """)
        #expect(network.problems == [])
        try await network.end()
    }

    @Test func stateless() async throws {
        let network = try await RouterNetwork()
        try await network.start(
            "a", range: ["NET:,ra-stateless"], options: "--dhcp-option=option6:ntp-server,[2001:db8:a::123]")
        let runner = try network.runner()
        try await network.connect(to: "a")
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        // Of the advertisement or the server; the time server is in the server's answer alone.
        let configuration = try await network.configuration { !$0.timeServers.isEmpty }
        #expect(configuration.timeServers == [IPAddress("2001:db8:a::123")])
        #expect(configuration.nameServers == [IPAddress("2001:db8:a::53")])
        #expect(runner.lease == nil && network.problems == [])
        try await network.end()
    }

    @Test func stateful() async throws {
        let network = try await RouterNetwork()
        try await network.start("a", range: ["NET:100,NET:1ff,64,1h"])
        let runner = try network.runner()
        try await network.connect(to: "a")
        let begin = ContinuousClock.now
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        let lease = try await network.lease()
        print("a lease of DHCPv6 after \((ContinuousClock.now - begin) / .milliseconds(1)) ms")
        let address = try #require(lease.addresses.first).address
        let router = try #require(IPAddress("2001:db8:a::1"))
        #expect(address.shares(prefix: 64, with: router))
        try network.device.runBlocking(
            "ip -6 address show dev wlan0 | grep 'inet6 \(address)/128 scope global .*dynamic noprefixroute'")
        runner.renew()
        let renewed = try await network.lease()
        #expect(renewed.addresses.first?.address == address && renewed.expiry > lease.expiry)

        // The same network again: the address is confirmed.
        runner.linkDown(leavingNetwork: true)
        _ = try await network.configuration { $0 == NetworkConfiguration() }
        try network.device.runBlocking("! ip -6 address show dev wlan0 | grep '\(address)'")
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true, remembered: renewed)
        #expect(try await network.lease() == renewed)
        // The link was away for a moment.
        runner.linkDown(leavingNetwork: false)
        try network.device.runBlocking("ip -6 address show dev wlan0 | grep '\(address)'")
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: false)
        try network.device.runBlocking("ip -6 address show dev wlan0 | grep '\(address)'")
        runner.release()
        try network.device.runBlocking("! ip -6 address show dev wlan0 | grep '\(address)'")
        #expect(network.problems == [])
        try await network.end()
    }

    /// Another host has the address: the kernel finds it, and the server is told.
    @Test func anAddressInUseIsDeclined() async throws {
        let network = try await RouterNetwork()
        try await network.start("a", range: ["NET:100,NET:100,64,1h"])
        let other = NetworkNamespace()
        try await network.router.run("ip link set ya netns \(other.path)")
        try await other.run("ip link set ya up; ip address add 2001:db8:a::100/64 dev ya nodad")
        let runner = try network.runner()
        try await network.connect(to: "a")
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        _ = try await network.journal.next {
            if case .problem(let problem) = $0 { problem.contains("2001:db8:a::100") } else { false }
        }
        try network.device.runBlocking("! ip -6 address show dev wlan0 | grep 2001:db8:a::100/")
        try await network.end()
    }

    // MARK: A static address

    private static let isGone =
        "[ -z \"$(ip -6 address show dev wlan0 scope global; ip -6 route | grep proto.dhcp)\" ]"

    @Test func aStaticAddressBesideAdvertisedOnes() async throws {
        let network = try await RouterNetwork()
        try await network.start("a", range: ["NET:,ra-only"])
        let runner = try network.runner()
        try await network.connect(to: "a")
        let servers = [try #require(IPAddress("2001:db8:a::54")), try #require(IPAddress("2001:db8:a::53"))]
        let router = try #require(IPAddress("2001:db8:a::1"))
        let address = try StaticAddress("2001:db8:a::20/64", gateway: router, nameServers: [servers[0]])
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        runner.use(address)
        _ = try await network.configuration { $0.nameServers == servers }
        try await network.address("2001:db8:a::ff:")
        try network.device.runBlocking(
            """
            ip -6 address show dev wlan0 | grep -A 1 'inet6 2001:db8:a::20/64 scope global' | grep 'valid_lft forever'
            ip -6 route | grep '^2001:db8:a::/64 dev wlan0 proto dhcp metric 600'
            ip -6 route | grep '^default via 2001:db8:a::1 dev wlan0 proto dhcp metric 600'
            ip -6 route | grep '^default .* proto ra'
            """)
        // The owner changes it: a router by its link-local address.
        let local = try #require(IPAddress("fe80::1"))
        runner.use(try StaticAddress("2001:db8:a::21/64", gateway: local))
        try network.device.runBlocking(
            """
            ip -6 address show dev wlan0 | grep 'inet6 2001:db8:a::21/64 scope global'
            [ -z "$(ip -6 address show dev wlan0 | grep 2001:db8:a::20)" ]
            ip -6 route | grep '^default via fe80::1 dev wlan0 proto dhcp metric 600'
            ! ip -6 route | grep '^default via 2001:db8:a::1'
            """)
        // The link is away for a moment.
        runner.linkDown(leavingNetwork: false)
        try network.device.runBlocking(
            "ip -6 address show dev wlan0 | grep 2001:db8:a::ff:; ! ip -6 address show dev wlan0 | grep 2001:db8:a::21")
        runner.linkDown(leavingNetwork: true)
        try await network.device.run("timeout 5 sh -c 'until \(Self.isGone); do sleep 0.005; done'")
        #expect(network.problems == [])
        try await network.end()
    }

    @Test func aStaticAddressInUseIsTriedAgain() async throws {
        let network = try await RouterNetwork()
        let other = NetworkNamespace()
        try await network.router.run("ip link set ya netns \(other.path)")
        try await other.run("ip link set ya up; ip address add 2001:db8:a::20/64 dev ya nodad")
        let runner = try network.runner()
        try await network.connect(to: "a")
        let address = try StaticAddress("2001:db8:a::20/64")
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        runner.use(address)
        let problem = "\(StaticIPv6Problem.conflict(address.address))"
        _ = try await network.journal.next { $0 == .problem(problem) }
        try network.device.runBlocking(Self.isGone)
        try await other.run("ip address del 2001:db8:a::20/64 dev ya")
        try await network.device.run(
            """
            timeout 20 sh -c \
              'until ip -6 address show dev wlan0 -tentative | grep -q 2001:db8:a::20; do sleep 0.01; done'
            """)
        #expect(network.problems == [problem])
        runner.use(nil)
        try network.device.runBlocking(Self.isGone)
        try await network.end()
    }

    @Test func aStaticAddressOfASiblingIsUsed() async throws {
        let network = try await RouterNetwork()
        try await network.device.run(
            """
            ip link add wlan1 type veth peer name ap1
            ip link set ap1 netns \(network.router.path)
            ip link set wlan1 up; ip address add 2001:db8:a::20/64 dev wlan1 nodad
            """)
        try await network.router.run("ip link set ap1 master bra; ip link set ap1 up")
        let address = try StaticAddress("2001:db8:a::20/64")
        let runner = try network.runner(sibling: address.address)
        try await network.connect(to: "a")
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        runner.use(address)
        try await network.device.run(
            """
            timeout 20 sh -c \
              'until ip -6 address show dev wlan0 | grep "2001:db8:a::20/64 .*nodad"; do sleep 0.01; done'
            ip -6 route | grep '^2001:db8:a::/64 dev wlan0 proto dhcp metric 600'
            ip -6 address show dev wlan1 | grep 2001:db8:a::20/64
            """)
        #expect(network.problems == [])
        runner.use(nil)
        try network.device.runBlocking("! ip -6 address show dev wlan0 | grep 2001:db8:a::20")
        try await network.end()
    }

    /// An agent restarts: it keeps the network's address, and removes the one of an earlier network.
    @Test func aStaticAddressOverARestart() async throws {
        let network = try await RouterNetwork()
        try await network.connect(to: "a")
        let router = try #require(IPAddress("2001:db8:a::1"))
        let address = try StaticAddress("2001:db8:a::20/64", gateway: router)
        var runner: IPv6Runner? = try network.runner()
        runner?.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        runner?.use(address)
        try network.device.runBlocking("ip -6 address show dev wlan0 | grep 2001:db8:a::20")
        runner = nil
        // What an even earlier network has left.
        try await network.device.run(
            """
            ip -6 route add 2001:db8:b::/64 dev wlan0 proto dhcp metric 600
            ip -6 route add default via fe80::9 dev wlan0 proto dhcp metric 610
            """)
        let next = try network.runner()
        next.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        next.use(address)
        try await network.device.run(
            """
            timeout 5 sh -c 'while ip -6 route | grep -E "2001:db8:b:|fe80::9"; do sleep 0.005; done'
            ip -6 address show dev wlan0 | grep 2001:db8:a::20/64
            ip -6 route | grep '^2001:db8:a::/64 dev wlan0 proto dhcp'
            ip -6 route | grep '^default via 2001:db8:a::1 dev wlan0 proto dhcp'
            """)
        // The next agent finds another network.
        let last = try network.runner()
        last.linkDown(leavingNetwork: true)
        try await network.device.run("timeout 5 sh -c 'until \(Self.isGone); do sleep 0.005; done'")
        #expect(network.problems == [])
        try await network.end()
    }

    @Test func whereIPv6IsDisabled() async throws {
        let network = try await RouterNetwork()
        let runner = try network.runner()
        try await network.connect(to: "a")
        try await network.device.run("sysctl -qw net.ipv6.conf.wlan0.disable_ipv6=1")
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        runner.use(try StaticAddress("2001:db8:a::20/64", gateway: IPAddress("fe80::1")))
        let problem = "\(StaticIPv6Problem.disabled)"
        _ = try await network.journal.next { $0 == .problem(problem) }
        try await network.device.run("sysctl -qw net.ipv6.conf.wlan0.disable_ipv6=0")
        try await network.address("2001:db8:a::20/64")
        #expect(network.problems == [problem])
        try await network.end()
    }

    /// RFC 8781, and a name server with a link-local address.
    @Test func whatNoServerSends() async throws {
        let network = try await RouterNetwork()
        let runner = try network.runner()
        try await network.connect(to: "a")
        runner.linkUp(hardware: RouterNetwork.hardware, isAnother: true)
        try await network.device.run("timeout 5 sh -c 'until ip -6 address show dev wlan0 | grep -q fe80; do :; done'")
        // Without a lifetime as a router, to all: the translator's prefix, and fe80::53 for names.
        let sender = network.router.within {
            Glibc.socket(AF_INET6, Int32(SOCK_RAW.rawValue), Int32(IPPROTO_ICMPV6))
        }
        defer { close(sender) }
        var hops: Int32 = 255
        setsockopt(sender, Int32(IPPROTO_IPV6), IPV6_MULTICAST_HOPS, &hops, 4)
        let index = network.router.within { if_nametoindex("bra") }
        var group = sockaddr_in6()
        group.sin6_family = sa_family_t(AF_INET6)
        inet_pton(AF_INET6, "ff02::1", &group.sin6_addr)
        group.sin6_scope_id = index
        let advertisement: [UInt8] =
            [134, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + [38, 2, 2, 0x58, 0, 0x64, 0xff, 0x9b]
            + [UInt8](repeating: 0, count: 8) + [25, 3, 0, 0, 0, 0, 2, 0x58, 0xfe, 0x80]
            + [UInt8](repeating: 0, count: 13) + [0x53]
        let sent = withUnsafePointer(to: &group) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    sender, advertisement, advertisement.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
        #expect(sent == advertisement.count)
        let configuration = try await network.configuration { !$0.nat64Prefixes.isEmpty && !$0.nameServers.isEmpty }
        #expect(configuration.nat64Prefixes.map(\.description) == ["64:ff9b::/96"])
        #expect(configuration.nameServers == [IPAddress("fe80::53")])
        #expect(network.problems == [])
        try await network.end()
    }
}
