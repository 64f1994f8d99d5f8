import AgentModel
import Connectivity
import ConnectivitySupport
import Testing

/// A network that is perfect up to a router, and beyond it not.
@Suite(
    .enabled(if: Server.areInstalled && TestNetwork.isPossible, "root and mosquitto are needed"),
    .timeLimit(.minutes(10)))
struct DeadPathTests {
    private let network: TestNetwork
    private let server: Program
    private let watch: Watch

    init() throws {
        network = try TestNetwork()
        server = try Server.mosquitto(at: "10.8.0.1", port: 1883, through: network.serverSide)
        watch = try Watch("broker=10.8.0.1:1883", on: network.group)
    }

    private func start(_ watch: Watch) {
        watch.connection.start(through: InterfaceNetwork(interface: "wlan0", on: network.group))
    }

    /// Nothing is said on the connection, and no error reports that it is dead.
    @Test func silenceIsNoticedInTheStatedTime() async throws {
        try server.start()
        start(watch)
        try await watch.becomes(.ready)
        try network.cut("blackhole")
        let heard = try #require(await watch.connection.lastHeard)
        #expect(try await watch.changes.next() == .failed(.timedOut))
        // The kernel's own timers are late by some of its ticks, never early.
        let took = watch.connection.status.since - heard
        #expect(took >= Watch.quick.detection - .milliseconds(50) && took < Watch.quick.detection + .seconds(1))
        #expect(try await watch.changes.next() == .doubt(.timedOut))
        #expect(await watch.connection.probe(within: .milliseconds(500)) == .timedOut)
        try network.heal()
        try await watch.becomes(.ready)
    }

    @Test(arguments: ["unreachable", "prohibit"])
    func aRouterThatRejectsIsHeard(kind: String) async throws {
        try server.start()
        // Routers say so seldom (Linux: icmp_ratelimit), and more frequent questions are not answered.
        let watch = try Watch("broker=10.8.0.1:1883", reconnection: Reconnection(), on: network.group)
        start(watch)
        try await watch.becomes(.ready)
        try network.cut(kind)
        // The connection dies of silence; new ones are rejected.
        try await watch.becomes(.failed(.unreachable))
        try network.heal()
        try await watch.becomes(.ready)
    }

    @Test func aBlackHoleFromTheBeginningIsWaitedOut() async throws {
        try network.cut("blackhole")
        start(watch)
        #expect(try await watch.changes.next() == .preparing)
        #expect(try await watch.changes.next() == .waiting(.timedOut))
        try network.heal()
        try server.start()
        try await watch.becomes(.ready)
    }

    @Test func withoutAWayItSaysSo() async throws {
        try network.onDevice("ip link set wlan0 down")
        start(watch)
        #expect(try await watch.changes.next() == .preparing)
        #expect(try await watch.changes.next() == .waiting(.noRoute))
        try server.start()
        try network.onDevice("ip link set wlan0 up; ip route add default via 10.9.0.1")
        // Between the two, every host is taken for a neighbour.
        try await watch.becomes(.ready)
        watch.connection.suspend()
        #expect(try await watch.changes.next() == .waiting(.noAddress))
        #expect(await watch.connection.probe(within: .seconds(1)) == .noAddress)
        watch.connection.restart(through: InterfaceNetwork(interface: "wlan0", on: network.group))
        #expect(try await watch.changes.next() == .preparing)
        #expect(try await watch.changes.next() == .ready)
    }
}
