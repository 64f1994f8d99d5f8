import AgentModel
import Connectivity
import ConnectivitySupport
import Foundation
import Linux
import NIOCore
import NIOPosix
import Testing

@Suite(.enabled(if: TwoNamespaces.isPossible, "network namespaces need root and ip(8)"), .serialized)
struct InterfaceTests {
    private static let long = Duration.seconds(20)

    /// Tells each client its address.
    private func mirror(
        _ machines: TwoNamespaces, on address: String, of machine: MultiThreadedEventLoopGroup? = nil
    ) async throws -> any Channel {
        let loop = (machine ?? machines.server).next()
        return try await loop.flatSubmit {
            ServerBootstrap(group: loop)
                .childChannelInitializer { channel in
                    let text = channel.remoteAddress?.ipAddress ?? "?"
                    channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
                    return channel.eventLoop.makeSucceededVoidFuture()
                }
                .bind(host: address, port: 0)
        }.get()
    }

    private func sender(of network: InterfaceNetwork, to server: any Channel, host: String) async throws -> String? {
        let (words, continuation) = AsyncStream.makeStream(of: String.self)
        let port = server.localAddress?.port ?? 0
        let channel = try await network.connect(host: host, port: port, within: Self.long) { channel in
            try channel.pipeline.syncOperations.addHandler(TextReceiver(continuation))
        }
        let word = await words.first { _ in true }
        try await channel.close()
        return word
    }

    @Test func connectionsGoThroughTheirInterface() async throws {
        let machines = try await TwoNamespaces()
        let mirrors = [try await mirror(machines, on: "10.9.9.9"), try await mirror(machines, on: "2001:db8:9::9")]
        let ways: [(String?, String, String)] = [
            (nil, "10.9.1.2", "2001:db8:1::2"), ("left", "10.9.1.2", "2001:db8:1::2"),
            ("right", "10.9.2.2", "2001:db8:2::2"),
        ]
        for (interface, ipv4, ipv6) in ways {
            let network = InterfaceNetwork(interface: interface, on: machines.device)
            #expect(try await sender(of: network, to: mirrors[0], host: "10.9.9.9") == ipv4)
            #expect(try await sender(of: network, to: mirrors[1], host: "2001:db8:9::9") == ipv6)
        }
        for mirror in mirrors { try await mirror.close() }
        try await machines.end()
    }

    /// No word of a network, an address or a name, leads to a service on this machine.
    @Test func aNetworkDoesNotLeadToThisMachine() async throws {
        let machines = try await TwoNamespaces()
        let own = try await mirror(machines, on: "::", of: machines.device)
        let port = own.localAddress?.port ?? 0
        let addresses = [
            "127.0.0.1", "127.8.9.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "10.9.1.2", "10.9.2.2",
            "2001:db8:1::2",
            "2001:db8:2::2",
        ]
        let server = try await FakeNameServer.start(on: "10.9.9.9", machines.server) { query in
            [.bytes(query.message.answer(addresses: "127.0.0.1", "::1", "10.9.2.2", timeToLive: 0))]
        }
        let network = InterfaceNetwork(interface: "left", on: machines.device, asking: [("10.9.9.9", server.port)])
        for host in addresses + ["mine.example"] {
            await #expect(throws: ConnectFailure.ownAddress, "\(host)") {
                try await network.connect(host: host, port: port, within: Self.long)
            }
        }
        // Without an interface, or on the loopback one, it is what was meant.
        for (interface, host) in [(nil, "127.0.0.1"), (nil, "10.9.2.2"), ("lo", "127.0.0.1"), ("lo", "::1")] {
            let network = InterfaceNetwork(interface: interface, on: machines.device)
            #expect(try await sender(of: network, to: own, host: host) != nil, "\(host)")
        }
        await server.stop()
        try await own.close()
        try await machines.end()
    }

    /// By datagram, and by stream once what is to be said does not fit; the server says who asked.
    @Test(arguments: [false, true])
    func namesAreResolvedThroughTheirInterface(byStream: Bool) async throws {
        let machines = try await TwoNamespaces()
        let server = try await FakeNameServer.start(on: "10.9.9.9", machines.server) { query in
            guard byStream == query.isStream else { return [.bytes(query.message.answer(isTruncated: true))] }
            return [.bytes(query.message.answer(addresses: query.sender, timeToLive: 0))]
        }
        for (name, address) in [("left", "10.9.1.2"), ("right", "10.9.2.2")] {
            let network = InterfaceNetwork(
                interface: name, on: machines.device, asking: [("10.9.9.9", server.port)])
            let found = try await network.addresses(of: "who.example", within: Self.long)
            #expect(found.map(\.description) == [address])
        }
        await server.stop()
        try await machines.end()
    }

    /// A router's own address on the link (RFC 8106 allows it as a name server), which says nothing without an
    /// interface.
    @Test func aServerOnTheLinkIsAskedThere() async throws {
        let machines = try await TwoNamespaces()
        try await machines.run(
            on: machines.server, "ip address add fe80::9/64 dev right1 nodad; ip address add fe80::9/64 dev left1 nodad"
        )
        let server = try await FakeNameServer.start(on: "::", machines.server) {
            [.bytes($0.message.answer(addresses: "192.0.2.1"))]
        }
        try await machines.run(
            on: machines.device, "ip address add fe80::2/64 dev right nodad; ip address add fe80::2/64 dev left nodad")
        let network = InterfaceNetwork(interface: "right", on: machines.device, asking: [("fe80::9", server.port)])
        let found = try await network.addresses(of: "a.example", within: Self.long)
        #expect(found.map(\.description) == ["192.0.2.1"])
        await server.stop()
        try await machines.end()
    }

    /// A router's word about a datagram (ICMP, "prohibited") ends neither the question nor the program.
    @Test(arguments: ["10.8.8.8", "2001:db8:8::8"])
    func aRouterThatForbidsAServerIsSurvived(server: String) async throws {
        let machines = try await TwoNamespaces()
        try await machines.run(
            on: machines.server,
            """
            echo 1 >/proc/sys/net/ipv4/ip_forward
            echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
            ip route add prohibit 10.8.8.8/32
            ip route add prohibit 2001:db8:8::8/128
            """)
        let network = InterfaceNetwork(interface: "left", on: machines.device, asking: [(server, 53)])
        await #expect(throws: NameFailure.silent) {
            try await network.addresses(of: "a.example", within: .seconds(2))
        }
        try await machines.end()
    }

    @Test func whatIsWrongWithAWayIsTold() async throws {
        let machines = try await TwoNamespaces()
        let network = InterfaceNetwork(interface: "right", on: machines.device, asking: [("2001:db8:9::9", 53)])
        try await machines.run(on: machines.device, "ip route del default via 2001:db8:2::1 dev right")
        // The other interface's route does not count. (By IPv4 a socket that is bound takes every host for a
        // neighbour.)
        await #expect(throws: ConnectFailure.noRoute) {
            try await network.connect(host: "2001:db8:9::9", port: 80, within: Self.long)
        }
        await #expect(throws: NameFailure.unsent(.noRoute)) {
            try await network.addresses(of: "a.example", within: Self.long)
        }
        // A host that is not on the link.
        await #expect(throws: ConnectFailure.unreachable) {
            try await network.connect(host: "10.9.2.77", port: 80, within: Self.long)
        }
        try await machines.run(on: machines.device, "ip route add prohibit 10.9.9.9/32")
        await #expect(throws: ConnectFailure.notPermitted) {
            try await InterfaceNetwork(interface: nil, on: machines.device).connect(
                host: "10.9.9.9", port: 80, within: Self.long)
        }
        try await machines.run(on: machines.device, "ip link del right")
        await #expect(throws: ConnectFailure.noAddress) {
            try await network.connect(host: "10.9.9.9", port: 80, within: Self.long)
        }
        try await machines.end()
    }
}

private final class TextReceiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let texts: AsyncStream<String>.Continuation

    init(_ texts: AsyncStream<String>.Continuation) { self.texts = texts }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        texts.yield(String(buffer: unwrapInboundIn(data)))
    }
}

/// Two machines with two cables between them, of which the first one prefers one: two network namespaces, in each of
/// which one event loop lives, for a socket belongs to the namespace of the thread that makes it
/// (network_namespaces(7)). They have the tests' process to themselves (Makefile).
///
///     device  left 10.9.1.2, right 10.9.2.2        server  10.9.1.1, 10.9.2.1, on either way 10.9.9.9 and
///   2001:db8:9::9
struct TwoNamespaces {
    let device = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let server = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// Whether this process may have namespaces at all.
    static var isPossible: Bool {
        geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/sbin/ip")
    }

    init() async throws {
        let other = try await server.next().submit { try Self.leave() }.get()
        _ = try await device.next().submit { try Self.leave() }.get()
        try await run(
            on: device,
            """
            ip link set lo up
            ip link add left type veth peer name left1 netns \(other)
            ip link add right type veth peer name right1 netns \(other)
            \(Self.settingUp(["left", "right"], host: 2))
            """)
        try await run(
            on: server,
            """
            ip link set lo up
            ip address add 10.9.9.9/32 dev lo
            ip address add 2001:db8:9::9/128 dev lo nodad
            \(Self.settingUp(["left1", "right1"], host: 1))
            """)
        try await run(
            on: device,
            """
            ip route add default via 10.9.1.1 dev left metric 100
            ip route add default via 10.9.2.1 dev right metric 200
            ip route add default via 2001:db8:1::1 dev left metric 100
            ip route add default via 2001:db8:2::1 dev right metric 200
            """)
    }

    /// Lines of a shell that give each interface this host's addresses in the link's networks.
    private static func settingUp(_ interfaces: [String], host: Int) -> String {
        interfaces.enumerated().map { index, interface in
            """
            ip address add 10.9.\(index + 1).\(host)/24 dev \(interface)
            ip address add 2001:db8:\(index + 1)::\(host)/64 dev \(interface) nodad
            ip link set \(interface) up
            """
        }.joined(separator: "\n")
    }

    /// - Parameter lines: of a shell.
    func run(on group: MultiThreadedEventLoopGroup, _ lines: String) async throws {
        try await group.next().submit {
            let shell = try ChildProcess.start(
                "sh", ["-ec", lines], environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], output: .nothing)
            guard ChildProcess.wait(for: shell) == 0 else { throw POSIXError(.ENETDOWN) }
        }.get()
    }

    /// Nothing is left: a namespace goes with its last thread and socket.
    func end() async throws {
        try await device.shutdownGracefully()
        try await server.shutdownGracefully()
    }

    /// Has the calling thread leave the namespace that it is in for a new one.
    /// - Returns: the thread's number.
    private static func leave() throws -> String {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let symbol = dlsym(nil, "unshare") else { throw POSIXError(.ENOSYS) }
        // CLONE_NEWNET of sched.h
        guard unsafeBitCast(symbol, to: Unshare.self)(0x4000_0000) == 0 else { throw POSIXError(.EPERM) }
        let thread = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        return String(thread.split(separator: "/").last ?? "")
    }
}
