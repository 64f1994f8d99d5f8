import AgentModel
import DHCP
import Dispatch
import Foundation
import Glibc
import Linux
import NetworkNamespaces

@testable import AddressIO
@testable import Netlink

/// A network with a DHCP server: the device with its interface `wlan0`, a router at 10.7.0.1 with the server, and another
/// host without an address.
@AgentLoop
final class AddressNetwork {
    let device = NetworkNamespace()
    let router = NetworkNamespace()
    let other = NetworkNamespace()
    let journal = Journal<IPv4Event>()
    let folder: String

    static let index = 7
    static let hardware = HardwareAddress(bytes: [2, 0, 0, 0, 0, 7]) ?? .zero
    static let otherHardware = HardwareAddress(bytes: [2, 0, 0, 0, 0, 9]) ?? .zero

    /// A server that gives 10.7.0.50 to 10.7.0.60; dnsmasq the first of them that is free.
    enum Server: String, CaseIterable, Sendable {
        case dnsmasq, udhcpd, isc

        var program: String {
            switch self {
            case .dnsmasq: "/usr/sbin/dnsmasq"
            case .udhcpd: "/usr/bin/busybox"
            case .isc: "/usr/sbin/dhcpd"
            }
        }

        var isInstalled: Bool { access(program, X_OK) == 0 }
        static var installed: [Server] { allCases.filter(\.isInstalled) }
    }

    nonisolated static let isPossible =
        NetworkNamespace.isAvailable && Server.dnsmasq.isInstalled && access("/usr/sbin/nft", X_OK) == 0

    init() async throws {
        folder = NSTemporaryDirectory() + "altnet-address-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await router.run(
            """
            ip link add br0 address 02:00:00:00:00:01 type bridge
            ip address add 10.7.0.1/24 dev br0
            ip link set lo up
            ip link set br0 up
            """)
        try await attach(device, "wlan0", index: Self.index, hardware: Self.hardware, port: "ap0")
        try await attach(other, "eth0", index: 9, hardware: Self.otherHardware, port: "ap1")
    }

    private func attach(
        _ host: NetworkNamespace, _ name: String, index: Int, hardware: HardwareAddress, port: String
    ) async throws {
        try await host.run(
            """
            ip link set lo up
            ip link add \(name) index \(index) address \(hardware) type veth peer name \(port)
            ip link set \(port) netns \(router.path)
            ip link set \(name) up
            """)
        try await router.run("ip link set \(port) master br0; ip link set \(port) up")
    }

    func end() async throws {
        try await stopServer()
        try FileManager.default.removeItem(atPath: folder)
    }

    // MARK: The server

    /// - Parameter routes: dnsmasq's option 121.
    func start(
        _ server: Server, lease seconds: Int = 3600, routes: String = "10.8.0.0/16,10.7.0.2,0.0.0.0/0,10.7.0.1"
    ) async throws {
        let folder = folder
        switch server {
        case .dnsmasq:
            try await router.run(
                """
                dnsmasq --conf-file=/dev/null --port=0 --interface=br0 --bind-interfaces --no-ping --dhcp-authoritative \
                --dhcp-sequential-ip --dhcp-range=10.7.0.50,10.7.0.60,255.255.255.0,\(seconds) --user=root \
                --dhcp-option=121,\(routes) --dhcp-option=26,1400 \
                --dhcp-leasefile=\(folder)/leases --log-facility=\(folder)/log --log-dhcp --pid-file=\(folder)/pid
                """)
        case .udhcpd:
            try await router.run(
                """
                cat > \(folder)/conf <<'CONF'
                start 10.7.0.50
                end 10.7.0.60
                interface br0
                lease_file \(folder)/leases
                pidfile \(folder)/pid
                option subnet 255.255.255.0
                option router 10.7.0.1
                option lease \(seconds)
                CONF
                : > \(folder)/leases
                busybox udhcpd -a 50 \(folder)/conf
                """)
        case .isc:
            try await router.run(
                """
                cat > \(folder)/conf <<'CONF'
                authoritative;
                ping-check false;
                default-lease-time \(seconds);
                dhcp-cache-threshold 0;
                subnet 10.7.0.0 netmask 255.255.255.0 { range 10.7.0.50 10.7.0.60; option routers 10.7.0.1; }
                CONF
                : > \(folder)/leases
                dhcpd -q -4 -cf \(folder)/conf -lf \(folder)/leases -pf \(folder)/pid br0
                """)
        }
    }

    /// The other host becomes a router of a network of its own on the same link, 10.66.0.0/24, whose dnsmasq refuses the
    /// addresses of every other network.
    func startSecondRouter() async throws {
        try await other.run(
            """
            ip address add 10.66.0.1/24 dev eth0
            dnsmasq --conf-file=/dev/null --port=0 --interface=eth0 --bind-interfaces --no-ping --dhcp-authoritative \
            --dhcp-range=10.66.0.50,10.66.0.60,255.255.255.0,3600 --user=root \
            --dhcp-leasefile=\(folder)/leases2 --log-facility=\(folder)/log2 --log-dhcp --pid-file=\(folder)/pid2
            """)
    }

    func stopServer() async throws {
        try await router.run(
            """
            for file in \(folder)/pid \(folder)/pid2; do
                [ ! -s $file ] || kill $(cat $file); rm -f $file
            done
            """)
    }

    /// The first packet to the server is lost. Other hosts of the bridge hear it: where the machine has br_netfilter, a hook
    /// before the routing would see theirs too.
    func loseFirstQuestion() async throws { try await loseQuestions("quota until 400 bytes") }

    /// Whether the server hears anything.
    func hears(_ isHearing: Bool) async throws {
        if isHearing { try await router.run("nft delete table ip loss") } else { try await loseQuestions() }
    }

    /// - Parameter which: the condition of the rule; all of them without one.
    private func loseQuestions(_ which: String = "") async throws {
        try await router.run(
            """
            nft delete table ip loss 2>/dev/null || true
            nft add table ip loss
            nft add chain ip loss in '{ type filter hook input priority 0; }'
            nft add rule ip loss in udp dport 67 \(which) drop
            """)
    }

    // MARK: The device

    /// What it reports goes to the journal.
    func runner(metric: Int = 3007) throws -> IPv4Runner {
        let journal = journal
        return try device.within {
            try IPv4Runner(interface: Self.index, metric: metric) { journal.record($0) }
        }
    }

    /// The next lease in use.
    func lease(within limit: Duration = .seconds(20)) async throws -> Lease {
        let report = try await journal.next(within: limit) {
            if case .inUse = $0 { true } else { false }
        }
        guard case .inUse(let lease, _) = report else { throw NothingHappened(instead: []) }
        return lease
    }

    /// A lease with the gateway's hardware address, as it is remembered.
    func fullLease() async throws -> Lease {
        let report = try await journal.next {
            if case .remember(let lease) = $0 { lease.gatewayHardware != nil } else { false }
        }
        guard case .remember(let lease) = report else { throw NothingHappened(instead: []) }
        return lease
    }

    func problem(_ text: String) async throws {
        _ = try await journal.next { if case .problem(let problem) = $0 { problem.contains(text) } else { false } }
    }

    /// Asks the gateway each millisecond until it answers, and tells when.
    @discardableResult
    func ping() async throws -> ContinuousClock.Instant {
        let socket = device.within { Glibc.socket(AF_INET, Int32(SOCK_RAW.rawValue) | O_NONBLOCK, Int32(IPPROTO_ICMP)) }
        defer { close(socket) }
        return try await withCheckedThrowingContinuation { found in
            DispatchQueue.global().async {
                let last = ContinuousClock.now + .seconds(30)
                var gateway = sockaddr_in()
                gateway.sin_family = sa_family_t(AF_INET)
                inet_pton(AF_INET, "10.7.0.1", &gateway.sin_addr)
                // An echo request with its checksum.
                let question: [UInt8] = [8, 0, 0xf7, 0xff, 0, 0, 0, 0]
                var answer = [UInt8](repeating: 0, count: 256)
                while ContinuousClock.now < last {
                    withUnsafePointer(to: &gateway) {
                        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                            _ = sendto(
                                socket, question, question.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                        }
                    }
                    _ = Readiness.readable.wait(on: socket, within: .milliseconds(1))
                    while case let count = recv(socket, &answer, answer.count, 0), count > 20 {
                        // An echo reply.
                        if answer[20] == 0 { return found.resume(returning: .now) }
                    }
                    usleep(500)
                }
                found.resume(throwing: NothingHappened(instead: []))
            }
        }
    }

    func staticAddress() throws -> StaticAddress {
        guard let address = IPAddress("10.7.0.20"), let gateway = IPAddress("10.7.0.1") else {
            throw NothingHappened(instead: [])
        }
        return try StaticAddress(address: address, prefixLength: 24, gateway: gateway)
    }

    // MARK: What an earlier agent has left

    /// An address with the agent's mark and a default route by the first address of its network.
    func leave(_ address: String, gateway: String) throws {
        guard let address = IPAddress(address), let gateway = IPAddress(gateway) else {
            throw NothingHappened(instead: [])
        }
        let setter = try device.within { try AddressSetter(on: Self.index) }
        setter.set(
            AddressPlan(
                address: address, prefixLength: 24, on: Self.index, lasting: .seconds(1000), gateway: gateway,
                metric: 9000))
    }

    func watchAddresses() async throws {
        try await device.run(
            """
            : > \(folder)/changes
            ip -o -4 monitor address > \(folder)/changes &
            echo $! > \(folder)/monitor
            # It tells of this one once it listens.
            until grep -q 10.3.0.1 \(folder)/changes; do
                ip address add 10.3.0.1/32 dev lo; ip address del 10.3.0.1/32 dev lo
            done
            """)
    }

    /// Waits until the address is gone.
    /// - Returns: all that have gone since ``watchAddresses()``.
    func removed(_ address: String) async throws -> Set<String> {
        try await device.run(
            """
            tail -n +1 -f --pid $(cat \(folder)/monitor) \(folder)/changes | {
                grep -q -m 1 '^Deleted.* \(address)/'
                kill $(cat \(folder)/monitor)
            }
            """)
        let lines = try String(contentsOfFile: folder + "/changes", encoding: .utf8).split(separator: "\n")
        return Set(
            lines.filter { $0.hasPrefix("Deleted") && $0.contains("wlan0") }.compactMap { line in
                line.split(separator: " ").drop { $0 != "inet" }.dropFirst().first.map(String.init)
            })
    }

    /// A connection of TCP from the device to the router, or to another host.
    func connection(to host: NetworkNamespace? = nil, at address: String = "10.7.0.1") throws -> TestConnection {
        let listener = (host ?? router).within { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        defer { close(listener) }
        var server = sockaddr_in()
        server.sin_family = sa_family_t(AF_INET)
        server.sin_port = UInt16(7).bigEndian
        inet_pton(AF_INET, address, &server.sin_addr)
        let client = device.within { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        let isOpen = withUnsafePointer(to: &server) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                let length = socklen_t(MemoryLayout<sockaddr_in>.size)
                return bind(listener, $0, length) == 0 && listen(listener, 1) == 0 && connect(client, $0, length) == 0
            }
        }
        guard isOpen else { throw NothingHappened(instead: ["no connection: \(errno)"]) }
        return TestConnection(client: client, server: accept(listener, nil, nil))
    }

    var problems: [String] {
        journal.events.compactMap { if case .problem(let problem) = $0 { problem } else { nil } }
    }
}

/// Both ends of a connection.
struct TestConnection {
    let client: Int32
    let server: Int32

    /// Moves a byte there and one back.
    func echo() throws {
        var byte: UInt8 = 1
        for (from, to) in [(client, server), (server, client)] {
            guard send(from, &byte, 1, Int32(MSG_NOSIGNAL)) == 1,
                Readiness.readable.wait(on: to, within: .seconds(5)),
                recv(to, &byte, 1, 0) == 1
            else { throw NothingHappened(instead: ["the connection is broken"]) }
        }
    }

    func end() {
        close(client)
        close(server)
    }
}
