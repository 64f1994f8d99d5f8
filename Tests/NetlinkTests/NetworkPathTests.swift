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
        var traits: NetworkInterface.Traits = .hasNeighbours
        var isTunnel = false
        var carrier: Uplink?
        var hasGateway = true
        var isLocal = false
        var isHopSilent = false
        var isCaptive = false
        var isOnDemand = false
        var isWithoutConnection = false
        var isDisconnected = false
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
            flags: [.reachable, .isCellular, .transientConnection]),
        Row(
            testDescription: "a modem that has no connection", kind: .cellular, hasCarrier: false,
            traits: .pointToPoint,
            hasGateway: false, flags: [.reachable, .connectionRequired, .isCellular, .transientConnection]),
        Row(
            testDescription: "a modem without an address", kind: .cellular, isWithoutConnection: true,
            flags: [.reachable, .connectionRequired, .isCellular]),
        Row(
            testDescription: "a modem that ModemManager has not connected", kind: .cellular, isDisconnected: true,
            flags: [.reachable, .connectionRequired, .isCellular]),
        Row(
            testDescription: "a modem that waits for traffic", kind: .cellular, traits: [.pointToPoint, .dormant],
            hasGateway: false,
            flags: [.reachable, .connectionRequired, .connectionOnTraffic, .isWWAN, .transientConnection]),
        Row(
            testDescription: "a modem that a program connects when it is wanted", kind: .cellular, hasCarrier: false,
            traits: .pointToPoint, hasGateway: false, isOnDemand: true,
            flags: [.reachable, .connectionRequired, .connectionOnDemand, .isWWAN, .transientConnection]),
        Row(
            testDescription: "a tunnel that a program makes when it is wanted", kind: .other, hasCarrier: false,
            traits: .pointToPoint, isTunnel: true, hasGateway: false, isOnDemand: true,
            flags: [.reachable, .connectionRequired, .connectionOnDemand, .transientConnection]),
        Row(
            testDescription: "a connection on demand that stands", kind: .cellular, isOnDemand: true,
            flags: [.reachable, .isWWAN]),
        Row(testDescription: "a modem that is down", kind: .cellular, isUp: false, hasCarrier: false, flags: []),
        Row(
            testDescription: "a tunnel", kind: .other, traits: .pointToPoint, isTunnel: true, carrier: .wifi,
            hasGateway: false, flags: [.reachable, .transientConnection]),
        Row(
            testDescription: "a tunnel with Ethernet headers", kind: .other, isTunnel: true, carrier: .wifi,
            hasGateway: false, flags: [.reachable, .isDirect, .transientConnection]),
        Row(
            testDescription: "a tunnel over a modem", kind: .other, traits: .pointToPoint, isTunnel: true,
            carrier: .cellular, hasGateway: false, flags: [.reachable, .isCellular, .transientConnection]),
        Row(
            testDescription: "a tunnel that waits for traffic", kind: .other, traits: [.pointToPoint, .dormant],
            isTunnel: true, hasGateway: false,
            flags: [.reachable, .connectionRequired, .connectionAutomatic, .transientConnection]),
        Row(
            testDescription: "a tunnel whose program is gone", kind: .other, hasCarrier: false, traits: .pointToPoint,
            isTunnel: true, hasGateway: false, flags: []),
        Row(testDescription: "a bridge", kind: .other, flags: .reachable),
        Row(
            testDescription: "the user has to sign in", isCaptive: true,
            flags: [.reachable, .connectionRequired, .interventionRequired]),
        Row(
            testDescription: "the network's own addresses need no signing in", hasGateway: false, isCaptive: true,
            flags: [.reachable, .isDirect]),
        Row(
            testDescription: "a tunnel out of a captive network", kind: .other, traits: .pointToPoint, isTunnel: true,
            hasGateway: false, isCaptive: true,
            flags: [.reachable, .connectionRequired, .interventionRequired, .transientConnection]),
    ]

    // covers: seed/reach-flags
    @Test(arguments: rows) func whatFollows(_ row: Row) {
        let gateway = row.hasGateway ? IPAddress("192.0.2.1") : nil
        let link = NetworkInterface(
            index: 3, name: "if3", isUp: row.isUp, hasCarrier: row.hasCarrier, kind: row.kind, traits: row.traits,
            tunnel: row.isTunnel ? NetworkInterface.Tunnel(lowerIndex: nil, farEnd: nil) : nil,
            isDisconnected: row.isDisconnected)
        #expect(
            ReachabilityFlags(
                route: RouteLookup(index: 3, gateway: gateway, isLocal: row.isLocal), link: link, carrier: row.carrier,
                isHopSilent: row.isHopSilent, isCaptive: row.isCaptive, isOnDemand: row.isOnDemand,
                isWithoutConnection: row.isWithoutConnection) == row.flags)
    }

    @Test func withoutAWayOrALinkNothingIsReachable() {
        let route = RouteLookup(index: 3, gateway: nil, isLocal: false)
        #expect(ReachabilityFlags(route: nil, link: nil, carrier: nil, isHopSilent: false, isCaptive: false) == [])
        #expect(ReachabilityFlags(route: route, link: nil, carrier: nil, isHopSilent: false, isCaptive: false) == [])
    }

    // covers: seed/reach-flags
    @Test(
        arguments: [
            ([], false), (.reachable, true), ([.reachable, .connectionRequired], false),
            ([.reachable, .connectionRequired, .connectionOnTraffic], true),
            ([.reachable, .connectionRequired, .connectionOnDemand], true),
            ([.reachable, .connectionRequired, .connectionAutomatic, .connectionOnDemand], true),
            ([.reachable, .connectionRequired, .connectionOnTraffic, .interventionRequired], false),
            ([.reachable, .connectionRequired, .connectionOnDemand, .interventionRequired], false),
            ([.connectionRequired, .connectionOnTraffic], false), ([.connectionOnDemand], false),
            ([.reachable, .connectionRequired, .interventionRequired], false),
            ([.reachable, .interventionRequired], true), ([.connectionRequired], false), ([.isDirect], false),
        ] as [(ReachabilityFlags, Bool)])
    func reachableMeansByItselfAndWithoutAPerson(_ flags: ReachabilityFlags, _ isReachable: Bool) {
        #expect(flags.isReachable == isReachable)
        #expect(NetworkPath(flags: flags, uplink: nil).isReachable == isReachable)
    }
}

/// The path as its readers see it.
@Suite(.timeLimit(.minutes(10))) struct ChangesTests {
    private func path(_ flags: ReachabilityFlags) -> NetworkPath { NetworkPath(flags: flags, uplink: nil) }

    @Test func theCurrentPathComesFirst() async {
        let board = CurrentPath()
        board.show(path(.reachable))
        var changes = board.changes().makeAsyncIterator()
        #expect(await changes.next() == path(.reachable))
    }

    @Test func nothingIsToldBeforeItIsKnown() async {
        let board = CurrentPath()
        var changes = board.changes().makeAsyncIterator()
        #expect(board.path == nil)
        async let first = changes.next()
        board.show(.none)
        #expect(await first == NetworkPath.none)
    }

    // covers: seed/reach-changes
    @Test func onlyChangesAreTold() async {
        let board = CurrentPath()
        board.show(.none)
        var changes = board.changes().makeAsyncIterator()
        #expect(await changes.next() == NetworkPath.none)
        board.show(.none)
        board.show(path(.reachable))
        #expect(await changes.next() == path(.reachable))
        // There and back while they are not read: the next that is told differs.
        board.show(.none)
        board.show(path(.reachable))
        board.show(path(.isDirect))
        #expect(await changes.next() == path(.isDirect))
        board.show(.none)
        board.show(path(.isDirect))
        async let next = changes.next()
        board.show(.none)
        #expect(await next == NetworkPath.none)
    }

    /// As after `SCNetworkReachabilityScheduleWithRunLoop`.
    @Test func aRestartTellsThePathAgain() async {
        let board = CurrentPath()
        board.beginRun()
        board.show(path(.reachable))
        var changes = board.changes().makeAsyncIterator()
        var other = board.changes().makeAsyncIterator()
        #expect(await changes.next() == path(.reachable))
        board.show(path(.reachable))
        board.beginRun()
        async let again = changes.next()
        board.show(path(.reachable))
        #expect(await again == path(.reachable))
        // The other reader was late, and is told once.
        #expect(await other.next() == path(.reachable))
        board.show(path(.reachable))
        board.show(.none)
        #expect(await other.next() == NetworkPath.none)
        #expect(await changes.next() == NetworkPath.none)
    }

    @Test func everybodyHasASequenceOfHisOwn() async {
        let board = CurrentPath()
        var first = board.changes().makeAsyncIterator()
        var second = board.changes().makeAsyncIterator()
        board.show(path(.reachable))
        #expect(await first.next() == path(.reachable))
        #expect(await second.next() == path(.reachable))
    }

    @Test func theyEndWithTheMonitorAndWithTheTask() async {
        var board: CurrentPath? = CurrentPath()
        var orphan = board?.changes().makeAsyncIterator()
        board = nil
        #expect(await orphan?.next() == nil)
        let kept = CurrentPath()
        let task = Task { [changes = kept.changes()] in
            for await _ in changes {}
            return true
        }
        task.cancel()
        #expect(await task.value)
    }
}
