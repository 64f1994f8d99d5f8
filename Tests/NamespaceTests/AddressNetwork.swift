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
    let journal = Journal<AddressKeeper.Report>()
    private let folder: String

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

    func start(_ server: Server, lease seconds: Int = 3600) async throws {
        let folder = folder
        switch server {
        case .dnsmasq:
            try await router.run(
                """
                dnsmasq --conf-file=/dev/null --port=0 --interface=br0 --bind-interfaces --no-ping --dhcp-authoritative \
                --dhcp-sequential-ip --dhcp-range=10.7.0.50,10.7.0.60,255.255.255.0,\(seconds) --user=root \
                --dhcp-option=121,10.8.0.0/16,10.7.0.2,0.0.0.0/0,10.7.0.1 --dhcp-option=26,1400 \
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

    func stopServer() async throws {
        try await router.run("[ ! -s \(folder)/pid ] || kill $(cat \(folder)/pid); rm -f \(folder)/pid")
    }

    /// The first packet to the server is lost.
    func loseFirstQuestion() async throws {
        try await router.run(
            """
            nft delete table ip loss 2>/dev/null || true
            nft add table ip loss
            nft add chain ip loss in '{ type filter hook prerouting priority -300; }'
            nft add rule ip loss in udp dport 67 quota until 400 bytes drop
            """)
    }

    // MARK: The device

    /// What it reports goes to the journal.
    func keeper(metric: Int = 3007) throws -> AddressKeeper {
        let journal = journal
        return try device.within {
            try AddressKeeper(interface: Self.index, metric: metric) { journal.record($0) }
        }
    }

    /// The next lease in use.
    func lease() async throws -> Lease {
        let report = try await journal.next {
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

    var problems: [String] {
        journal.events.compactMap { if case .problem(let problem) = $0 { problem } else { nil } }
    }
}
