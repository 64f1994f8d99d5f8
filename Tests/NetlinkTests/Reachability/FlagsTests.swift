import AgentModel
import Testing

@testable import Netlink

/// The rules, one row each.
@Suite struct FlagsTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var kind = Uplink.wifi
        var isUp = true
        var hasCarrier = true
        var traits: Link.Traits = .hasNeighbours
        var isTunnel = false
        var carrier: Uplink?
        var hasGateway = true
        var isLocal = false
        var isHopSilent = false
        var isCaptive = false
        let flags: ReachabilityFlags
    }

    private static let rows = [
        Row(testDescription: "through a gateway", flags: .reachable),
        Row(testDescription: "on the link", hasGateway: false, flags: [.reachable, .isDirect]),
        Row(
            testDescription: "itself", hasGateway: false, isLocal: true,
            flags: [.reachable, .isLocalAddress, .isDirect]),
        Row(
            testDescription: "itself, whatever the link", isUp: false, hasCarrier: false, hasGateway: false,
            isLocal: true,
            isHopSilent: true, isCaptive: true, flags: [.reachable, .isLocalAddress, .isDirect]),
        Row(testDescription: "a link that is down", isUp: false, flags: []),
        Row(testDescription: "Wi-Fi that has joined nothing", hasCarrier: false, flags: []),
        Row(testDescription: "Wi-Fi that is not let in yet", traits: [.hasNeighbours, .dormant], flags: []),
        Row(testDescription: "no cable", kind: .wired, hasCarrier: false, flags: []),
        Row(testDescription: "wired", kind: .wired, flags: .reachable),
        Row(testDescription: "a silent gateway", isHopSilent: true, flags: []),
        Row(testDescription: "a silent neighbour", hasGateway: false, isHopSilent: true, flags: []),
        Row(
            testDescription: "a modem with Ethernet headers", kind: .cellular, flags: [.reachable, .isCellular]),
        Row(
            testDescription: "a modem without", kind: .cellular, traits: .pointToPoint, hasGateway: false,
            flags: [.reachable, .isCellular, .transient]),
        Row(
            testDescription: "a modem that has no connection", kind: .cellular, hasCarrier: false,
            traits: .pointToPoint,
            hasGateway: false, flags: [.reachable, .connectionRequired, .isCellular, .transient]),
        Row(
            testDescription: "a modem that waits for traffic", kind: .cellular, traits: [.pointToPoint, .dormant],
            hasGateway: false, flags: [.reachable, .connectionRequired, .isCellular, .transient]),
        Row(testDescription: "a modem that is down", kind: .cellular, isUp: false, hasCarrier: false, flags: []),
        Row(
            testDescription: "a tunnel", kind: .other, traits: .pointToPoint, isTunnel: true, carrier: .wifi,
            hasGateway: false, flags: [.reachable, .transient]),
        Row(
            testDescription: "a tunnel with Ethernet headers", kind: .other, isTunnel: true, carrier: .wifi,
            hasGateway: false, flags: [.reachable, .isDirect, .transient]),
        Row(
            testDescription: "a tunnel over a modem", kind: .other, traits: .pointToPoint, isTunnel: true,
            carrier: .cellular, hasGateway: false, flags: [.reachable, .isCellular, .transient]),
        Row(
            testDescription: "a tunnel that waits for traffic", kind: .other, traits: [.pointToPoint, .dormant],
            isTunnel: true, hasGateway: false, flags: [.reachable, .connectionRequired, .transient]),
        Row(
            testDescription: "a tunnel whose program is gone", kind: .other, hasCarrier: false, traits: .pointToPoint,
            isTunnel: true, hasGateway: false, flags: []),
        Row(testDescription: "a bridge", kind: .other, flags: .reachable),
        Row(
            testDescription: "somebody has to sign in", isCaptive: true,
            flags: [.reachable, .connectionRequired, .interventionRequired]),
        Row(
            testDescription: "the network's own addresses need no signing in", hasGateway: false, isCaptive: true,
            flags: [.reachable, .isDirect]),
        Row(
            testDescription: "a tunnel out of a captive network", kind: .other, traits: .pointToPoint, isTunnel: true,
            hasGateway: false, isCaptive: true,
            flags: [.reachable, .connectionRequired, .interventionRequired, .transient]),
    ]

    @Test(arguments: rows) func whatFollows(_ row: Row) {
        let gateway = row.hasGateway ? IPAddress("192.0.2.1") : nil
        let link = Link(
            index: 3, name: "if3", isUp: row.isUp, hasCarrier: row.hasCarrier, kind: row.kind, traits: row.traits,
            tunnel: row.isTunnel ? Link.Tunnel(lowerIndex: nil, farEnd: nil) : nil)
        #expect(
            ReachabilityFlags(
                way: Way(index: 3, gateway: gateway, isLocal: row.isLocal), link: link, carrier: row.carrier,
                isHopSilent: row.isHopSilent, isCaptive: row.isCaptive) == row.flags)
    }

    @Test func withoutAWayOrALinkNothingIsReachable() {
        let way = Way(index: 3, gateway: nil, isLocal: false)
        #expect(ReachabilityFlags(way: nil, link: nil, carrier: nil, isHopSilent: false, isCaptive: false) == [])
        #expect(ReachabilityFlags(way: way, link: nil, carrier: nil, isHopSilent: false, isCaptive: false) == [])
    }

    @Test(
        arguments: [
            ([], false), (.reachable, true), ([.reachable, .connectionRequired], true),
            ([.reachable, .connectionRequired, .interventionRequired], false),
            ([.reachable, .interventionRequired], true), ([.connectionRequired], false), ([.isDirect], false),
        ] as [(ReachabilityFlags, Bool)])
    func reachableMeansWithoutAPerson(_ flags: ReachabilityFlags, _ isReachable: Bool) {
        #expect(flags.isReachable == isReachable)
        #expect(NetworkPath(flags: flags, uplink: nil).isReachable == isReachable)
    }
}
