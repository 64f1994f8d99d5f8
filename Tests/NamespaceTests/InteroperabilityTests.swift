import AddressIO
import AgentModel
import DHCP
import Foundation
import Glibc
import Linux
import NetworkNamespaces
import Randomness
import Testing

/// altnet gets an address wherever another client does. With `ALTNET_TESTS=thorough` the output has the table of
/// Docs/results/address.md.
@Suite(
    .timeLimit(.minutes(5)), .serialized,
    .enabled(if: AddressNetwork.isPossible, "needs root, dnsmasq and nft, to make networks with a server"))
@AgentLoop struct InteroperabilityTests {
    enum Client: String, CaseIterable {
        case altnet, udhcpc, dhcpcd
        case networkd = "systemd-networkd"

        /// dhcpcd and systemd-networkd wait for seconds.
        static let used = allCases.filter { $0.isInstalled && (Rounds.areAll || $0 == .altnet || $0 == .udhcpc) }

        private var isInstalled: Bool {
            switch self {
            case .altnet: true
            case .udhcpc: access("/usr/bin/busybox", X_OK) == 0
            case .dhcpcd: access("/usr/sbin/dhcpcd", X_OK) == 0
            case .networkd: access(networkdProgram, X_OK) == 0
            }
        }

        /// Runs until `wlan0` has an address, 8 s at most.
        func script(_ folder: String) -> String {
            switch self {
            case .altnet: ""
            case .udhcpc:
                """
                printf '#!/bin/sh\\n[ "$1" != bound ] || ip address add $ip/${mask:-24} dev $interface\\n' > \(folder)/script
                chmod +x \(folder)/script
                busybox udhcpc -f -i wlan0 -n -q -t 4 -T 2 -s \(folder)/script > \(folder)/udhcpc.log 2>&1
                """
            case .dhcpcd:
                """
                timeout 20 unshare -m sh -ec '
                mkdir -p /run/dhcpcd
                mount -t tmpfs tmpfs /var/lib/dhcpcd; mount -t tmpfs tmpfs /run/dhcpcd
                exec dhcpcd -4 -1 -A -B -L -t 8 --nodelay -c /bin/true wlan0' > \(folder)/dhcpcd.log 2>&1
                """
            case .networkd:
                """
                \(networkdScript("[Match]\\nName=wlan0\\n[Network]\\nDHCP=ipv4\\nLinkLocalAddressing=ipv6\\n", folder, "client"))
                for i in $(seq 80); do
                    sleep 0.1
                    ip -4 -o address show dev wlan0 scope global | grep -q inet && break
                done
                # At an end of its own it would remove the address.
                kill -9 $(cat \(folder)/client.pid)
                """
            }
        }
    }

    enum Server: CaseIterable {
        case dnsmasq, isc, kea, udhcpd, networkd, own, relay

        var name: String {
            switch self {
            case .dnsmasq: "dnsmasq"
            case .isc: "ISC dhcpd"
            case .kea: "Kea"
            case .udhcpd: "udhcpd"
            case .networkd: "systemd-networkd"
            case .own: "altnet's setup access point"
            case .relay: "ISC dhcpd behind dhcrelay"
            }
        }

        var isInstalled: Bool {
            switch self {
            case .dnsmasq: AddressNetwork.Server.dnsmasq.isInstalled
            case .isc: AddressNetwork.Server.isc.isInstalled
            case .kea: access("/usr/sbin/kea-dhcp4", X_OK) == 0
            case .udhcpd: AddressNetwork.Server.udhcpd.isInstalled
            case .networkd: access(networkdProgram, X_OK) == 0
            case .own: true
            case .relay: AddressNetwork.Server.isc.isInstalled && access("/usr/sbin/dhcrelay", X_OK) == 0
            }
        }
    }

    // MARK: Tests

    @Test func everyServer() async throws {
        report(Client.used)
        for server in Server.allCases where server.isInstalled {
            let network = try await AddressNetwork()
            let running = try await start(server, in: network)
            try await compare(server.name, in: network)
            try await running.end()
            try await network.end()
        }
    }

    @Test(.enabled(if: HostileServer.isInstalled, "needs python3-scapy")) func everyQuirk() async throws {
        report(Client.used)
        let network = try await AddressNetwork()
        let server = try await HostileServer(quirkyIn: network)
        for quirk in Quirk.all {
            try await quirk.play(in: network)
            try await compare(quirk.testDescription, in: network)
        }
        try await server.end()
        try await network.end()
    }

    private func compare(_ name: String, in network: AddressNetwork) async throws {
        var bound: [Client: Bool] = [:]
        for client in Client.used {
            bound[client] = try await hasAddress(client, in: network)
        }
        report(name, Client.used.compactMap { bound[$0] })
        #expect(bound[.altnet] == true || !bound.values.contains(true), "\(name): \(bound)")
        #expect(bound.values.contains(true), "\(name): no client gets an address")
    }

    private func hasAddress(_ client: Client, in network: AddressNetwork) async throws -> Bool {
        guard client == .altnet else {
            try await network.device.run(client.script(network.folder) + " || true")
            let found = "\(network.folder)/found"
            try await network.device.run(
                "ip -4 -o address show dev wlan0 scope global > \(found); ip -4 address flush dev wlan0")
            return try String(contentsOfFile: found, encoding: .utf8).contains("inet")
        }
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        defer { runner.linkDown() }
        return (try? await network.lease(within: .seconds(8))) != nil
    }

    // MARK: Servers

    /// Resources of a running server.
    private struct Running {
        var own: AddressServer?
        var behind: NetworkNamespace?
        let network: AddressNetwork

        @AgentLoop func end() async throws {
            own?.close()
            try await network.router.run(
                """
                for file in \(network.folder)/server.pid \(network.folder)/relay.pid; do
                    [ ! -s $file ] || kill $(cat $file)
                done
                """)
        }
    }

    private func start(_ server: Server, in network: AddressNetwork) async throws -> Running {
        var running = Running(network: network)
        let folder = network.folder
        switch server {
        case .dnsmasq: try await network.start(.dnsmasq)
        case .isc: try await network.start(.isc)
        case .udhcpd: try await network.start(.udhcpd)
        case .kea:
            // It leaves an interface without a carrier alone.
            try await network.router.run(
                """
                cat > \(folder)/kea.json <<'CONF'
                {"Dhcp4": {"interfaces-config": {"interfaces": ["br0"]}, "valid-lifetime": 3600,
                 "lease-database": {"type": "memfile", "persist": false},
                 "subnet4": [{"id": 1, "subnet": "10.7.0.0/24", "pools": [{"pool": "10.7.0.50-10.7.0.60"}],
                              "option-data": [{"name": "routers", "data": "10.7.0.1"}]}]}}
                CONF
                until ip link show br0 | grep -q LOWER_UP; do sleep 0.01; done
                KEA_PIDFILE_DIR=\(folder) KEA_LOCKFILE_DIR=none kea-dhcp4 -c \(folder)/kea.json > \(folder)/log 2>&1 &
                echo $! > \(folder)/server.pid
                until grep -q DHCP4_STARTED \(folder)/log; do sleep 0.01; done
                """)
        case .networkd:
            let settings =
                "[Match]\\nName=br0\\n[Network]\\nAddress=10.7.0.1/24\\nDHCPServer=yes\\n[DHCPServer]\\nPoolOffset=50\\n"
            try await network.router.run(
                """
                ip -4 address flush dev br0
                \(networkdScript(settings, folder, "server"))
                until ss -Huln sport = :67 | grep -q .; do sleep 0.01; done
                """)
        case .own:
            let address = try #require(IPv4Address("10.7.0.1"))
            running.own = try network.router.within {
                try AddressServer(interface: Int(if_nametoindex("br0")), settings: .init(address: address)) {
                    Issue.record("\($0)")
                }
            }
        case .relay:
            let behind = NetworkNamespace()
            running.behind = behind
            try await network.router.run(
                """
                ip link add up0 type veth peer name eth0 netns \(behind.path)
                ip address add 10.6.0.2/24 dev up0
                ip link set up0 up
                sysctl -qw net.ipv4.ip_forward=1
                """)
            try await behind.run(
                """
                ip address add 10.6.0.1/24 dev eth0
                ip link set eth0 up
                ip route add 10.7.0.0/24 via 10.6.0.2
                cat > \(folder)/conf <<'CONF'
                authoritative;
                ping-check false;
                subnet 10.6.0.0 netmask 255.255.255.0 { }
                subnet 10.7.0.0 netmask 255.255.255.0 { range 10.7.0.50 10.7.0.60; option routers 10.7.0.1; }
                CONF
                : > \(folder)/leases
                dhcpd -q -4 -cf \(folder)/conf -lf \(folder)/leases -pf \(folder)/server.pid eth0
                """)
            try await network.router.run(
                """
                dhcrelay -d -4 -id br0 -iu up0 10.6.0.1 > \(folder)/relay.log 2>&1 &
                echo $! > \(folder)/relay.pid
                until grep -q 'Listening on.*br0' \(folder)/relay.log; do sleep 0.01; done
                """)
        }
        return running
    }

    // MARK: The table

    private func report(_ clients: [Client]) {
        printAtOnce("| server | \(clients.map(\.rawValue).joined(separator: " | ")) |")
        printAtOnce("|---\(String(repeating: "|---", count: clients.count))|")
    }

    private func report(_ name: String, _ bound: [Bool]) {
        printAtOnce("| \(name) | \(bound.map { $0 ? "yes" : "no" }.joined(separator: " | ")) |")
    }
}

private let networkdProgram = "/usr/lib/systemd/systemd-networkd"

/// Starts systemd-networkd with folders of its own. With a writable /sys it would wait for udev.
private func networkdScript(_ settings: String, _ folder: String, _ name: String) -> String {
    """
    printf '\(settings)' > \(folder)/\(name).network
    unshare -m sh -ec '
    mount -t tmpfs tmpfs /run
    mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
    chown -R systemd-network /run/systemd/netif
    cp \(folder)/\(name).network /run/systemd/network
    umount -l /sys; mount -t sysfs -o ro sysfs /sys
    exec env SYSTEMD_LOG_TARGET=console \(networkdProgram)' > \(folder)/\(name).log 2>&1 &
    echo $! > \(folder)/\(name).pid
    """
}
