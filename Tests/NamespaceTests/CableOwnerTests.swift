import AgentModel
import Foundation
import Linux
import NetworkNamespaces
import Testing

@testable import Netlink

/// Programs that configure a cable beside the agent. Both give its default routes the metric 5000.
private enum CableOwner: String {
    case networkd = "/usr/lib/systemd/systemd-networkd"
    case networkManager = "/usr/sbin/NetworkManager"

    var isInstalled: Bool {
        NetworkNamespace.isAvailable
            && [rawValue, "/usr/bin/dbus-daemon", "/usr/sbin/dnsmasq"].allSatisfy {
                FileManager.default.isExecutableFile(atPath: $0)
            }
    }

    /// Lines of a shell that write the settings below /run.
    var settings: String {
        switch self {
        case .networkd:
            """
            mkdir -p /run/systemd/network /run/systemd/netif
            chown systemd-network /run/systemd/netif
            cat >/run/systemd/network/00-cable.network <<'FILE'
            [Match]
            Name=cable0
            [Network]
            DHCP=ipv4
            [DHCPv4]
            RouteMetric=5000
            UseHostname=no
            [IPv6AcceptRA]
            RouteMetric=5000
            FILE
            """
        case .networkManager:
            """
            mkdir -p /run/profiles /run/empty
            mount -t tmpfs tmpfs /var/lib/NetworkManager
            cat >/run/main.conf <<'FILE'
            [main]
            plugins=keyfile
            dns=none
            no-auto-default=*
            [keyfile]
            path=/run/profiles
            unmanaged-devices=except:interface-name:cable0
            FILE
            cat >/run/profiles/cable.nmconnection <<'FILE'
            [connection]
            id=cable
            uuid=00000000-0000-4000-8000-000000000001
            type=ethernet
            interface-name=cable0
            [ipv4]
            method=auto
            route-metric=5000
            [ipv6]
            method=auto
            route-metric=5000
            ip6-privacy=0
            FILE
            chmod 600 /run/profiles/cable.nmconnection
            """
        }
    }

    var command: String {
        switch self {
        case .networkd: rawValue
        case .networkManager: rawValue + " --debug --config=/run/main.conf --config-dir=/run/empty"
        }
    }

    /// Commands after which the owner asks its DHCP server again.
    var renewals: [String] {
        switch self {
        case .networkd: ["networkctl renew cable0", "networkctl reconfigure cable0"]
        case .networkManager:
            ["nmcli device modify cable0 ipv4.dhcp-hostname device", "nmcli connection up cable"]
        }
    }

    /// Has the owner review its settings, which are as before.
    var reload: String {
        switch self {
        case .networkd: "networkctl reload"
        case .networkManager: "nmcli device reapply cable0"
        }
    }
}

/// A device with a station, for which a cable stands, and a cable to a router with DHCP and router advertisements.
@AgentLoop
private final class OwnedCable {
    let device = NetworkNamespace()
    private let router = NetworkNamespace()
    private let owner: CableOwner
    private let folder = NSTemporaryDirectory() + "altnet-owner-" + UUID().uuidString

    init(of owner: CableOwner) async throws {
        self.owner = owner
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await router.run(
            """
            sysctl -qw net.ipv6.conf.default.accept_dad=0
            ip link set lo up
            ip link add port0 type veth peer name cable0
            ip link set cable0 netns \(device.path)
            ip link add ap0 type veth peer name wlan0
            ip link set wlan0 netns \(device.path)
            ip link add br0 address 02:00:00:00:00:01 type bridge
            # The other port keeps the bridge's carrier while the cable is pulled.
            for port in port0 ap0; do ip link set $port master br0; done
            ip address add 10.200.0.1/24 dev br0
            ip address add 2001:db8:c::1/64 dev br0
            for link in ap0 port0 br0; do ip link set $link up; done
            dnsmasq --conf-file=/dev/null --port=0 --interface=br0 --bind-interfaces --no-ping --dhcp-authoritative \
            --dhcp-range=10.200.0.50,10.200.0.60,255.255.255.0,3600 --dhcp-range=2001:db8:c::,ra-only --enable-ra \
            --user=root --dhcp-leasefile=\(folder)/leases --log-facility=\(folder)/dhcp --log-dhcp \
            --pid-file=\(folder)/dnsmasq.pid
            """)
        try await device.run(
            """
            ip link set lo up
            sysctl -qw net.ipv6.conf.cable0.accept_ra=0 net.ipv6.conf.wlan0.accept_ra=0
            ip link set wlan0 up
            ip address add 192.0.2.2/24 dev wlan0
            ip route add default via 192.0.2.1 dev wlan0 metric 3003
            ip -6 address add 2001:db8:a::2/64 dev wlan0 nodad
            ip -6 route add default via fe80::1 dev wlan0 metric 3003
            cat >\(folder)/bus.conf <<'FILE'
            <busconfig>
              <listen>unix:path=/run/dbus/system_bus_socket</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow user="*"/> <allow send_destination="*"/> <allow receive_sender="*"/> <allow own="*"/>
              </policy>
            </busconfig>
            FILE
            cat >\(folder)/bus <<'SCRIPT'
            mount -t tmpfs tmpfs /run
            # NetworkManager waits for udev unless /sys is read-only.
            mount -t sysfs -o ro sysfs /sys
            mkdir /run/dbus
            \(owner.settings)
            echo $$ >\(folder)/bus.pid
            exec dbus-daemon --config-file=\(folder)/bus.conf --nofork --nopidfile --print-address=1
            SCRIPT
            unshare --mount sh -e \(folder)/bus >\(folder)/address 2>\(folder)/bus.log &
            timeout 10 sh -c 'until [ -s \(folder)/address ]; do sleep 0.01; done' || { cat \(folder)/bus.log; exit 1; }
            """)
    }

    /// Runs a command among the owner's own files.
    func run(_ command: String) async throws {
        try await device.run("nsenter --mount=/proc/$(cat \(folder)/bus.pid)/ns/mnt sh -ec '\(command)'")
    }

    /// Starts the owner and waits for its default routes.
    func start() async throws {
        try await run("\(owner.command) >>\(folder)/owner 2>&1 & echo $! >\(folder)/owner.pid")
        try await hasRoutes()
    }

    func stop() async throws {
        try await device.run(
            """
            kill $(cat \(folder)/owner.pid)
            timeout 10 sh -c 'while kill -0 $(cat \(folder)/owner.pid) 2>/dev/null; do sleep 0.01; done'
            """)
    }

    func hasRoutes() async throws {
        try await device.run(
            """
            timeout 25 sh -c '
            until ip route show default proto dhcp | grep -q "via 10.200.0.1 dev cable0 .*metric 5000" &&
                ip -6 route show default proto ra | grep -q "dev cable0 .*metric 5000" &&
                ! ip address show dev cable0 | grep -q tentative; do
                sleep 0.05
            done' || { tail -n 3 \(folder)/owner; ip route; ip -6 route; exit 1; }
            """)
    }

    /// Runs a command of the owner and waits until it has a lease again.
    func renew(_ command: String) async throws {
        try await device.run("grep -c DHCPACK \(folder)/dhcp >\(folder)/acknowledged")
        try await run(command)
        try await device.run(
            """
            timeout 25 sh -c '
            until [ $(grep -c DHCPACK \(folder)/dhcp) -gt $(cat \(folder)/acknowledged) ]; do sleep 0.05; done'
            """)
        try await hasRoutes()
    }

    /// Pulls the cable, waits until the owner has removed its routes, and plugs the cable in again.
    func pullAndPlug() async throws {
        try await router.run("ip link set port0 down")
        try await device.run(
            "timeout 25 sh -c 'while ip route | grep -q \"default via 10.200.0.1 .*proto dhcp\"; do sleep 0.05; done'")
        try await router.run("ip link set port0 up")
        try await hasRoutes()
    }

    /// Notes the owner's addresses and routes, and the agent's routes and rules, under a name.
    private func listing(_ name: String) -> String {
        """
        { ip -o address; ip -o route show table all; } | grep -v 'proto 175' \
            | sed -E 's/ (expires|valid_lft|preferred_lft) [0-9a-z]+//g' | sort >\(folder)/owners-\(name)
        { ip -o route show table all proto 175; ip rule; ip -6 rule; } | sort >\(folder)/own-\(name)
        """
    }

    func note(_ name: String) async throws { try await device.run(listing(name)) }

    /// Waits until the listings are as they were under the names.
    func isAgain(owners: String, own: String) async throws {
        try await device.run(
            """
            cat >\(folder)/compare <<'SCRIPT'
            \(listing("now"))
            diff \(folder)/owners-\(owners) \(folder)/owners-now && diff \(folder)/own-\(own) \(folder)/own-now
            SCRIPT
            timeout 25 sh -c 'until sh -e \(folder)/compare >/dev/null; do sleep 0.05; done' \
                || sh -e \(folder)/compare
            """)
    }

    func way(_ words: String, contains part: String) async throws {
        try await device.run(
            "timeout 25 sh -c 'until ip route get \(words) | grep -q \"\(part)\"; do sleep 0.05; done'")
    }

    func end() async throws {
        // dnsmasq removes its file as it ends.
        try await device.run(
            """
            for pid in \(folder)/*.pid; do kill $(cat $pid) || true; done
            while [ -e \(folder)/dnsmasq.pid ]; do sleep 0.01; done
            """)
        try FileManager.default.removeItem(atPath: folder)
    }
}

/// The agent prefers a cable that another program configures, beside that program as it really behaves.
@Suite(.serialized, .timeLimit(.minutes(5)))
@AgentLoop struct CableOwnerTests {
    // covers: seed/other-managers
    @Test(.enabled(if: CableOwner.networkd.isInstalled, "needs root, systemd, dbus-daemon and dnsmasq"))
    func systemdNetworkdKeepsItsRoutes() async throws { try await bothKeepTheirRoutes(.networkd) }

    // covers: seed/other-managers
    @Test(.enabled(if: CableOwner.networkManager.isInstalled, "needs root, network-manager, dbus-daemon and dnsmasq"))
    func networkManagerKeepsItsRoutes() async throws { try await bothKeepTheirRoutes(.networkManager) }

    private func bothKeepTheirRoutes(_ owner: CableOwner) async throws {
        let cable = try await OwnedCable(of: owner)
        do { try await bothKeepTheirRoutes(cable, owner) } catch { Issue.record(error) }
        try await cable.end()
    }

    private func bothKeepTheirRoutes(_ cable: OwnedCable, _ owner: CableOwner) async throws {
        try await cable.start()
        try await cable.note("alone")
        let socket = try cable.device.within { try NetlinkSocket(.route) }
        let monitor = try await RouteMonitor(socket: socket) { _ in }
        let steering = RouteSteering(["wlan0"], using: "wlan0", routes: monitor) { Issue.record("\($0)") }
        try await cable.way("203.0.113.1", contains: "dev wlan0")
        steering.prefer("cable0")
        for host in ["203.0.113.1", "2001:db8:9::1"] { try await cable.way(host, contains: "dev cable0") }
        try await cable.note("steered")
        try await cable.isAgain(owners: "alone", own: "steered")

        for command in owner.renewals {
            try await cable.renew(command)
            try await cable.isAgain(owners: "alone", own: "steered")
        }
        try await cable.run(owner.reload)
        try await cable.isAgain(owners: "alone", own: "steered")
        try await cable.pullAndPlug()
        try await cable.isAgain(owners: "alone", own: "steered")
        try await cable.stop()
        try await cable.start()
        try await cable.isAgain(owners: "alone", own: "steered")

        await steering.finish()
        try await cable.device.run(
            "[ -z \"$(ip route show table all proto 175; ip -6 route show table all proto 175)\" ]")
        try await cable.note("none")
        try await cable.isAgain(owners: "alone", own: "none")
        try await cable.way("203.0.113.1", contains: "dev wlan0")
    }
}
