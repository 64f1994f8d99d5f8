import AgentModel
import CNetlink
import Testing

@testable import Netlink

/// The routes and rules that two stations need.
@Suite struct SteeringPlanTests {
    private let main = RT_TABLE_MAIN.rawValue

    private func address(_ bytes: [UInt8], on index: Int, prefix: Int = 24) -> InterfaceAddress {
        InterfaceAddress(
            family: bytes.count == 4 ? .ipv4 : .ipv6, bytes: bytes, prefixLength: prefix, scope: .global, index: index,
            isTentative: false)
    }

    private func route(_ gateway: [UInt8], on index: Int, metric: Int) -> DefaultRoute {
        DefaultRoute(family: gateway.count == 4 ? .ipv4 : .ipv6, gateway: gateway, index: index, metric: metric)
    }

    private var home: InterfaceAddress { address([10, 1, 0, 23], on: 3) }
    private var backup: InterfaceAddress { address([10, 2, 0, 42], on: 4) }
    private var homeRoute: DefaultRoute { route([10, 1, 0, 1], on: 3, metric: 3003) }
    private var backupRoute: DefaultRoute { route([10, 2, 0, 1], on: 4, metric: 3004) }

    private func plan(
        using used: Int?, _ addresses: [InterfaceAddress]? = nil, _ routes: [DefaultRoute]? = nil,
        stations: [Int?] = [3, 4]
    ) -> SteeringPlan {
        SteeringPlan(
            stations: stations, used: used, addresses: addresses ?? [home, backup],
            defaultRoutes: routes ?? [homeRoute, backupRoute])
    }

    private func preferred(_ plan: SteeringPlan) -> [OwnRoute] {
        plan.routes.filter { $0.table == main && $0.prefixLength == 0 }
    }

    // covers: rule/route-default
    @Test func theStationInUseComesBeforeBothDHCPClientsRoutes() throws {
        for (used, gateway) in [(3, [10, 1, 0, 1]), (4, [10, 2, 0, 1] as [UInt8])] {
            let route = try #require(preferred(plan(using: used)).first)
            #expect(preferred(plan(using: used)).count == 1)
            #expect(route.index == used && route.gateway == gateway)
            #expect(route.metric < 3003 && route.metric > 2000, "and after a cable's")
            #expect(route.source == IPAddress(bytes: used == 3 ? home.bytes : backup.bytes))
        }
    }

    // covers: rule/route-source
    @Test func packetsLeaveByTheStationWhoseAddressTheyHave() {
        let plan = plan(using: 3)
        for (address, gateway, table) in [(home, homeRoute, UInt32(25_863)), (backup, backupRoute, 25_864)] {
            let rule = IPAddress(bytes: address.bytes).map { OwnRule(from: $0, table: table, priority: table) }
            #expect(rule.map(plan.rules.contains) == true)
            let inTable = plan.routes.filter { $0.table == table }
            #expect(inTable.count == 2)
            #expect(
                inTable.contains { $0.prefixLength == 0 && $0.gateway == gateway.gateway && $0.index == address.index })
            #expect(inTable.contains { $0.prefixLength == 24 && $0.gateway == nil && $0.index == address.index })
        }
    }

    /// The routes that a plan has made are no part of the next one.
    @Test func itsOwnRouteIsNotItsReason() {
        var own = homeRoute
        own.isOwn = true
        #expect(preferred(plan(using: 3, nil, [own])).isEmpty)
    }

    @Test func aStationWithoutAddressOrDownHasNothing() {
        #expect(plan(using: 3, []) == plan(using: nil, [], []))
        #expect(plan(using: 3, [home], [homeRoute]).rules.count == 1)
        #expect(plan(using: 3, stations: [nil, nil]).routes.isEmpty)
        // The route of the DHCP client is not there yet.
        #expect(preferred(plan(using: 3, nil, [])).isEmpty)
    }

    @Test func nothingComesBeforeARouteWithoutMetric() {
        #expect(preferred(plan(using: 3, nil, [route([10, 1, 0, 1], on: 3, metric: 0)])).isEmpty)
        #expect(preferred(plan(using: 3, nil, [route([10, 1, 0, 1], on: 3, metric: 1)])).map(\.metric) == [0])
    }

    // covers: rule/route-same-subnet
    @Test func twoNetworksWithTheSameNumbers() {
        let twin = address([10, 1, 0, 99], on: 4)
        let near = plan(using: 4, [home, twin], [homeRoute, route([10, 1, 0, 1], on: 4, metric: 3004)]).routes
            .filter { $0.table == main && $0.prefixLength == 24 }
        #expect(near.map(\.index) == [4])
        #expect(plan(using: 4).routes.allSatisfy { $0.table != main || $0.prefixLength == 0 })
    }

    @Test func ipv6() throws {
        let address = address([0x20, 1, 0xd, 0xb8] + [UInt8](repeating: 0, count: 11) + [7], on: 3, prefix: 64)
        let gateway: [UInt8] = [0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [1]
        let plan = plan(using: 3, [address], [route(gateway, on: 3, metric: 1024)])
        #expect(preferred(plan).map(\.metric) == [960])
        #expect(preferred(plan).first?.source == nil)
        #expect(plan.rules.count == 1)
        #expect(plan.routes.count { $0.table == 25_863 } == 3, "with the link-local network")
    }

    // MARK: The preferred uplink

    private var cable: InterfaceAddress { address([10, 9, 0, 2], on: 7) }

    private func preferring(
        _ preferred: Int, _ routes: [DefaultRoute], stations: [Int?] = [3], addresses: [InterfaceAddress]? = nil
    ) -> [OwnRoute] {
        self.preferred(
            SteeringPlan(
                stations: stations, used: 3, addresses: addresses ?? [home, cable], defaultRoutes: routes,
                preferred: preferred, carriers: [3, 4, 7], keepsPaths: true))
    }

    // covers: rule/route-preferred
    @Test func thePreferredUplinkComesBeforeACable() throws {
        let routes = preferring(3, [homeRoute, route([10, 9, 0, 1], on: 7, metric: 100)])
        #expect(routes.map(\.metric) == [99] && routes.first?.index == 3)
        #expect(routes.first?.gateway == homeRoute.gateway && routes.first?.source == IPAddress(bytes: home.bytes))
    }

    /// Or else a strict reverse path filter drops the answers to checks through the cable.
    @Test func packetsOfTheCablesAddressLeaveByTheCable() {
        let plan = SteeringPlan(
            stations: [3], used: 3, addresses: [home, cable],
            defaultRoutes: [homeRoute, route([10, 9, 0, 1], on: 7, metric: 100)], preferred: 3, carriers: [3, 7],
            keepsPaths: true)
        #expect(Set(plan.rules.map(\.table)) == [25_863, 25_865, main])
        let early = plan.rules.filter { $0.table == main }
        #expect(early.count == 2 && early.allSatisfy { $0.skipsDefaultRoutes && $0.priority < 25_863 })
        #expect(plan.routes.filter { $0.table == 25_865 }.allSatisfy { $0.index == 7 })
    }

    @Test func oneStationNeedsNoRouteOfItsOwn() {
        let plan = SteeringPlan(stations: [3], used: 3, addresses: [home], defaultRoutes: [homeRoute])
        #expect(preferred(plan).isEmpty && Set(plan.rules.map(\.table)) == [25_863, main])
    }

    /// A check needs them before anything is preferred, and a modem's connections after Wi-Fi has returned.
    @Test func theRulesStandWithoutAPreference() {
        let plan = SteeringPlan(
            stations: [3], used: 3, addresses: [home, cable],
            defaultRoutes: [homeRoute, route([10, 9, 0, 1], on: 7, metric: 100)], carriers: [3, 7], keepsPaths: true)
        #expect(Set(plan.rules.map(\.table)) == [25_863, 25_865, main])
        #expect(plan.routes.contains { $0.table == 25_865 && $0.prefixLength == 0 && $0.index == 7 })
        #expect(preferred(plan).isEmpty)
    }

    /// A modem without IPv6: the other family's traffic stays where it is.
    @Test func anUplinkWithoutADefaultRouteOfAFamilyIsNotPreferredInIt() {
        let gateway: [UInt8] = [0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [1]
        let global = address([0x20, 1, 0xd, 0xb8] + [UInt8](repeating: 0, count: 11) + [7], on: 7, prefix: 64)
        let routes = preferring(
            7, [homeRoute, route(gateway, on: 3, metric: 1024), route([10, 9, 0, 1], on: 7, metric: 5000)],
            addresses: [home, cable, global])
        #expect(routes.map(\.family) == [.ipv4] && routes.map(\.index) == [7])
    }

    /// Cable and Wi-Fi of one router.
    @Test func theSameNetworkByCableBelongsToThePreferredUplink() {
        let twin = address([10, 1, 0, 77], on: 7)
        let routes = SteeringPlan(
            stations: [3], used: 3, addresses: [home, twin],
            defaultRoutes: [homeRoute, route([10, 1, 0, 1], on: 7, metric: 100)], preferred: 3, carriers: [3, 7],
            keepsPaths: true
        ).routes.filter { $0.table == main && $0.prefixLength == 24 }
        #expect(routes.map(\.index) == [3] && routes.map(\.metric) == [0])
    }

    /// The kernel puts the newer of two such routes first.
    @Test func aCableWithoutMetricIsPassedToo() {
        #expect(preferring(3, [homeRoute, route([10, 9, 0, 1], on: 7, metric: 0)]).map(\.metric) == [0])
    }

    @Test func ipv6HasNoMetricBelowOne() {
        let gateway: [UInt8] = [0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [1]
        let own = route(gateway, on: 3, metric: 2048)
        #expect(preferring(3, [own, route(gateway, on: 7, metric: 1024)]).map(\.metric) == [1023])
        #expect(preferring(3, [own, route(gateway, on: 7, metric: 1)]).isEmpty)
    }

    /// The VPN's default route stays the best.
    @Test func aTunnelIsNoRival() {
        let routes = [homeRoute, route([10, 9, 0, 1], on: 7, metric: 100), route([10, 8, 0, 1], on: 9, metric: 50)]
        #expect(preferring(3, routes).map(\.metric) == [99])
    }

    @Test func aModemComesBeforeBothStations() throws {
        let modem = route([10, 9, 0, 1], on: 7, metric: 5000)
        let routes = preferring(
            7, [homeRoute, backupRoute, modem], stations: [3, 4], addresses: [home, backup, cable])
        let best = try #require(routes.min { $0.metric < $1.metric })
        #expect(best.index == 7 && routes.filter { $0.metric == best.metric }.count == 1)
    }

    @Test func withoutRivalsNothingIsPreferred() {
        #expect(preferring(3, [homeRoute]).isEmpty)
        #expect(preferring(7, [homeRoute]).isEmpty)
    }

    // MARK: Changes

    private func items(_ plan: SteeringPlan) -> Set<SteeringItem> {
        Set(plan.routes.map(SteeringItem.route) + plan.rules.map(SteeringItem.rule))
    }

    /// systemd-networkd removes the rules, and NetworkManager the routes of an interface.
    @Test func whatAnotherProgramHasRemovedIsRestored() {
        let plan = plan(using: 3)
        let rules = Set(plan.rules.map(SteeringItem.rule))
        var changes = SteeringChanges()
        var now = Instant(milliseconds: 0)
        #expect(Set(changes.step(from: [], to: plan, at: now).additions) == items(plan))
        #expect(changes.step(from: items(plan), to: plan, at: now) == SteeringChanges.Step())
        now = now + .seconds(60)
        let restored = changes.step(from: items(plan).subtracting(rules), to: plan, at: now)
        #expect(Set(restored.additions) == rules && restored.removals.isEmpty && restored.retry == nil)
        // Removed again at once: no fight.
        now = now + .seconds(1)
        let held = changes.step(from: items(plan).subtracting(rules), to: plan, at: now)
        #expect(held == SteeringChanges.Step(retry: .seconds(4)))
        // Other changes meanwhile do not delay it.
        now = now + .seconds(3)
        let again = changes.step(from: items(plan).subtracting(rules), to: plan, at: now)
        #expect(again == SteeringChanges.Step(retry: .seconds(1)))
        now = now + .seconds(1)
        #expect(Set(changes.step(from: items(plan).subtracting(rules), to: plan, at: now).additions) == rules)
    }

    /// A rule needs its table, and the main table's route moves the traffic.
    @Test func packetsHaveARouteAtEachMoment() throws {
        let plan = plan(using: 3)
        var changes = SteeringChanges()
        let now = Instant(milliseconds: 0)
        let added = changes.step(from: [], to: plan, at: now).additions
        let lastTable = try #require(
            added.lastIndex { if case .route(let route) = $0 { route.table != main } else { false } })
        let firstRule = try #require(added.firstIndex { if case .rule = $0 { true } else { false } })
        let removed = changes.step(from: items(plan), to: self.plan(using: nil, [], []), at: now)
        #expect(lastTable < firstRule && added.last == preferred(plan).first.map(SteeringItem.route))
        #expect(removed.additions.isEmpty && Set(removed.removals) == items(plan))
        #expect(removed.removals.first == preferred(plan).first.map(SteeringItem.route))
    }
}
