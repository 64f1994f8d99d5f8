import ConnectivitySupport
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Two machines in namespaces of their own: the device at 10.9.0.2, and behind a router at 10.9.0.1 a server at
/// 10.8.0.1, and at 203.0.113.1 one that the internet knows. Their threads have the tests' process to themselves
/// (Makefile).
final class TestNetwork: Sendable {
    private let device: Int32
    private let router: Int32
    /// Everything that is done on it is done on the device.
    let group: MultiThreadedEventLoopGroup
    /// Everything that is done on it is done on the router.
    let routerGroup: MultiThreadedEventLoopGroup

    /// Whether this process may make one.
    static let isPossible = geteuid() == 0 && (try? Program.run(["/usr/bin/unshare", "--net", "true"])) != nil

    init() throws {
        let home = Self.ownNamespace()
        defer { close(home) }
        precondition(Self.call("unshare", Self.network), "no new network namespace")
        router = Self.ownNamespace()
        // Threads begin in the namespace of the one that makes them.
        routerGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        precondition(Self.call("unshare", Self.network), "no new network namespace")
        device = Self.ownNamespace()
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        precondition(Self.call("setns", home, Self.network), "the way back is barred")
        try onDevice(
            """
            ip link set lo up
            ip link add wlan0 type veth peer name ap0 netns /proc/\(getpid())/fd/\(router)
            ip address add 10.9.0.2/24 dev wlan0
            ip link set wlan0 up
            ip route add default via 10.9.0.1
            """)
        try onRouter(
            """
            ip link set lo up
            ip address add 10.9.0.1/24 dev ap0
            ip address add 10.8.0.1/32 dev lo
            ip address add 203.0.113.1/32 dev lo
            ip link set ap0 up
            echo 1 > /proc/sys/net/ipv4/ip_forward
            """)
    }

    /// The group's thread stays: what was cancelled needs it to end.
    deinit {
        close(device)
        close(router)
    }

    func onDevice(_ script: String) throws { try Program.run(entering(device) + ["/bin/sh", "-ec", script]) }
    func onRouter(_ script: String) throws { try Program.run(entering(router) + ["/bin/sh", "-ec", script]) }

    /// The command that starts a program on the server's side.
    var serverSide: [String] { entering(router) }

    /// From now on the router does that with what is sent to the server: `blackhole`, `unreachable`, `prohibit`.
    func cut(_ kind: String) throws {
        try onRouter("ip address del 10.8.0.1/32 dev lo; ip route add \(kind) 10.8.0.1/32")
    }

    /// From now on a firewall does that with what is sent to the server: `drop`, `reject`, `reject with tcp reset`.
    func firewall(_ rule: String) throws {
        try onRouter(
            """
            nft add table ip wall
            nft add chain ip wall in '{ type filter hook input priority 0; }'
            nft add rule ip wall in ip daddr 10.8.0.1 \(rule)
            """)
    }

    func takeFirewallDown() throws { try onRouter("nft delete table ip wall") }

    func heal() throws { try onRouter("ip route del 10.8.0.1/32; ip address add 10.8.0.1/32 dev lo") }

    /// The device's traffic so far.
    struct Traffic {
        /// As they were on the link (Ethernet).
        var bytes: Int
        var packets: Int
        /// How many of the packets were TCP's.
        var segments: Int
    }

    func traffic() throws -> Traffic {
        // Per direction eight numbers, of which the first is bytes and the second packets (proc(5)).
        let lines = try Program.run(entering(device) + ["/bin/cat", "/proc/net/dev"]).split(separator: "\n")
        guard let line = lines.first(where: { $0.contains("wlan0:") }) else { throw NothingHappened() }
        let numbers = line.split(separator: ":")[1].split(separator: " ").compactMap { Int($0) }
        precondition(numbers.count == 16)
        return Traffic(bytes: numbers[0] + numbers[8], packets: numbers[1] + numbers[9], segments: try segments())
    }

    /// InSegs and OutSegs of RFC 1213.
    private func segments() throws -> Int {
        let table = try Program.run(entering(device) + ["/bin/cat", "/proc/net/snmp"]).split(separator: "\n")
        // A line of names, and below a line of numbers.
        let lines = table.filter { $0.hasPrefix("Tcp:") }.map { $0.split(separator: " ") }
        guard lines.count == 2 else { throw NothingHappened() }
        let counters = Dictionary(
            uniqueKeysWithValues: zip(lines[0].dropFirst(), lines[1].dropFirst().map { Int($0) ?? 0 }))
        return counters["InSegs", default: 0] + counters["OutSegs", default: 0]
    }

    private func entering(_ namespace: Int32) -> [String] {
        ["/usr/bin/nsenter", "--net=/proc/\(getpid())/fd/\(namespace)"]
    }

    private static func ownNamespace() -> Int32 { open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC) }

    /// `CLONE_NEWNET`.
    private static let network: Int32 = 0x4000_0000

    /// The C library's module for Swift leaves out what needs _GNU_SOURCE.
    private static func call(_ name: String, _ first: Int32, _ second: Int32 = 0) -> Bool {
        typealias Function = @convention(c) (Int32, Int32) -> Int32
        guard let function = dlsym(nil, name) else { return false }
        return unsafeBitCast(function, to: Function.self)(first, second) == 0
    }
}

/// A name server that answers every question in the same way.
final class AnsweringNameServer: Sendable {
    enum Manner: Sendable {
        case silent
        /// RFC 1035, 4.1.1: 2 is its own failure (SERVFAIL), 3 is that there is no such name (NXDOMAIN).
        case code(UInt8)
        /// Every name is there (IPv4), and for 0 s.
        case address([UInt8])
    }

    private let manner = Mutex(Manner.silent)
    private let channel = Mutex<(any Channel)?>(nil)

    /// - Parameter group: on whose machine it is; on every address, port 53.
    init(on group: any EventLoopGroup) async throws {
        let loop = group.next()
        // A socket belongs to the namespace of the thread that makes it.
        let bound = try await loop.flatSubmit {
            DatagramBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Answers { [weak self] in self?.answer($0) })
                    }
                }
                .bind(host: "0.0.0.0", port: 53)
        }.get()
        channel.withLock { $0 = bound }
    }

    deinit { channel.withLock { $0?.close(promise: nil) } }

    func answers(_ new: Manner) { manner.withLock { $0 = new } }

    private func answer(_ query: [UInt8]) -> [UInt8]? {
        // Header, name, type and class; what comes behind the question is left out.
        guard query.count > 16, let end = query.dropFirst(12).firstIndex(of: 0), query.count >= end + 5 else {
            return nil
        }
        let question = query[12..<end + 5]
        let isIPv4 = question.suffix(4).elementsEqual([0, 1, 0, 1])
        let manner = manner.withLock { $0 }
        var (code, record) = (UInt8(0), [UInt8]())
        switch manner {
        case .silent: return nil
        case .code(let number): code = number
        case .address(let bytes): if isIPv4 { record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4] + bytes }
        }
        let counts: [UInt8] = [0, 1, 0, record.isEmpty ? 0 : 1, 0, 0, 0, 0]
        return Array(query[..<2]) + [0x81, 0x80 | code] + counts + Array(question) + record
    }
}

private final class Answers: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let answer: ([UInt8]) -> [UInt8]?

    init(_ answer: @escaping ([UInt8]) -> [UInt8]?) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let query = unwrapInboundIn(data)
        guard let answer = answer(Array(query.data.readableBytesView)) else { return }
        let envelope = AddressedEnvelope(remoteAddress: query.remoteAddress, data: ByteBuffer(bytes: answer))
        context.writeAndFlush(wrapOutboundOut(envelope), promise: nil)
    }
}
