import AgentModel
import Linux
import NetworkNamespaces
import Testing

@testable import Netlink

/// Two stations on this machine's own kernel, in a network namespace of the test's own; cables stand for them.
@Suite(
    .timeLimit(.minutes(10)), .enabled(if: NetworkNamespace.isAvailable, "needs root, to make a network namespace"))
@AgentLoop struct RouteSteeringTests {
    private let namespace = NetworkNamespace()
    private let journal = Journal<RouteEvent>()
    private let stations = ["near0", "near1"]

    private func monitor() async throws -> RouteMonitor {
        let journal = journal
        let socket = try namespace.within { try NetlinkSocket(.route) }
        return try await RouteMonitor(socket: socket) { journal.record($0) }
    }

    /// Both stations with what their DHCP clients have set.
    private func connect() async throws {
        try await namespace.run(
            """
            ip link add near0 type veth peer name far0
            ip link add near1 type veth peer name far1
            for link in near0 far0 near1 far1; do ip link set $link up; done
            ip address add 192.0.2.2/24 dev near0
            ip route add default via 192.0.2.1 dev near0 metric 3003
            ip address add 198.51.100.2/24 dev near1
            ip route add default via 198.51.100.1 dev near1 metric 3004
            """)
    }

    private func way(_ words: String, contains part: String) async throws {
        let end = ContinuousClock.now + .seconds(600)
        while true {
            do {
                return try await namespace.run("ip route get \(words) | grep -q '\(part)'")
            } catch  where ContinuousClock.now < end {
                continue
            }
        }
    }

    private func marked(_ count: Int) async throws {
        let end = ContinuousClock.now + .seconds(600)
        while true {
            do {
                return try await namespace.run(
                    """
                    routes=$(ip route show table all proto 175 | wc -l)
                    rules=$(ip rule show | grep -c 'lookup 2586' || true)
                    [ $((routes + rules)) = \(count) ] || { ip route show table all proto 175; ip rule show; exit 1; }
                    """)
            } catch  where ContinuousClock.now < end {
                continue
            }
        }
    }

    // covers: rule/route-arp
    @Test func theStationInUseCarriesTheTrafficAndTheOtherWhatIsItsOwn() async throws {
        try await connect()
        let monitor = try await monitor()
        #expect(RouteSteering.used(of: stations, in: monitor) == "near0")
        let steering = RouteSteering(stations, using: "near0", routes: monitor) { Issue.record("\($0)") }
        // For each station a rule and two routes, and the one that is preferred.
        try await marked(7)
        try await way("203.0.113.1", contains: "dev near0 src 192.0.2.2")
        steering.use("near1")
        try await way("203.0.113.1", contains: "dev near1 src 198.51.100.2")
        try await way("203.0.113.1 from 192.0.2.2", contains: "via 192.0.2.1 dev near0")
        try await way("203.0.113.1 from 198.51.100.2", contains: "via 198.51.100.1 dev near1")
        try await way("192.0.2.77 from 192.0.2.2", contains: "dev near0")
        try await marked(7)
        #expect(RouteSteering.used(of: stations, in: monitor) == "near1")
        try await namespace.run(
            "[ $(cat /proc/sys/net/ipv4/conf/near0/arp_ignore) = 1 ] && [ $(cat /proc/sys/net/ipv4/conf/near1/arp_announce) = 2 ]"
        )
        // The old network is left: its DHCP client takes back what it set.
        try await namespace.run("ip route del default dev near0; ip address del 192.0.2.2/24 dev near0")
        try await marked(4)
        try await way("203.0.113.1", contains: "dev near1")
    }

    @Test func whatAnotherProgramTakesAwayIsSetAgain() async throws {
        try await connect()
        let monitor = try await monitor()
        let steering = RouteSteering(stations, using: "near1", routes: monitor) { Issue.record("\($0)") }
        try await marked(7)
        try await namespace.run("ip route del default proto 175 table main; ip rule del lookup 25863")
        try await marked(7)
        withExtendedLifetime(steering) {}
    }

    @Test func whatAKilledAgentLeftIsTakenOverOrRemoved() async throws {
        try await connect()
        let first = try await monitor()
        var steering: RouteSteering? = RouteSteering(stations, using: "near1", routes: first) { Issue.record("\($0)") }
        try await marked(7)
        steering = nil
        try await namespace.run("ip route add default via 192.0.2.1 dev near0 metric 17 proto 175")
        let second = try await monitor()
        steering = RouteSteering(stations, using: "near1", routes: second) { Issue.record("\($0)") }
        try await marked(7)
        try await way("203.0.113.1", contains: "dev near1")
        // An agent with one station removes them.
        steering = RouteSteering(["near0"], using: "near0", routes: second) { Issue.record("\($0)") }
        try await marked(0)
        withExtendedLifetime(steering) {}
    }

    /// A cable beside the station, whose default route has the metric 0.
    @Test func thePreferredUplinkCarriesTheTrafficUntilTheAgentLeaves() async throws {
        try await connect()
        try await namespace.run(
            """
            ip link add cable0 type veth peer name cable1
            for link in cable0 cable1; do ip link set $link up; done
            ip address add 10.200.0.2/24 dev cable0
            ip route add default via 10.200.0.1 dev cable0
            ip -6 address add 2001:db8:1::2/64 dev near0 nodad
            ip -6 address add 2001:db8:2::2/64 dev cable0 nodad
            ip -6 route add default via fe80::1 dev near0 metric 2048
            ip -6 route add default via fe80::2 dev cable0 metric 1024
            """)
        let monitor = try await monitor()
        let steering = RouteSteering(["near0"], using: "near0", routes: monitor) { Issue.record("\($0)") }
        try await way("203.0.113.1", contains: "dev cable0")
        #expect(monitor.carriers.map(\.interface.name) == ["cable0", "near0", "near1"])
        // A check of Wi-Fi beside the cable: a strict reverse path filter takes its answers.
        steering.keepPaths()
        try await way("203.0.113.1 from 192.0.2.2", contains: "via 192.0.2.1 dev near0")
        try await way("203.0.113.1", contains: "dev cable0")
        steering.prefer("near0")
        try await way("203.0.113.1", contains: "dev near0 src 192.0.2.2")
        try await way("2001:db8:9::1", contains: "dev near0")
        #expect(monitor.carriers.map(\.interface.name) == ["cable0", "near0", "near1"])
        steering.prefer(nil)
        try await way("203.0.113.1", contains: "dev cable0")
        // Connections over the station go on.
        try await way("203.0.113.1 from 192.0.2.2", contains: "via 192.0.2.1 dev near0")
        steering.prefer("near0")
        try await way("203.0.113.1", contains: "dev near0")
        await steering.finish()
        try await marked(0)
        try await way("203.0.113.1", contains: "dev cable0")
    }
}
