import AgentModel
import CNetlink
import Glibc
import Linux

/// Sets an interface's IPv4 address and routes, and removes only those that it has set. The kernel performs each
/// request before the call returns; `onProblem` reports refusals later. Needs `CAP_NET_ADMIN`.
@AgentLoop
public final class AddressSetter {
    public var onProblem: (NetlinkError) -> Void = { _ in }
    public private(set) var plan: AddressPlan?

    private let index: Int
    private let socket: NetlinkSocket

    /// Maximum number of pending requests: twice the number of addresses, routes and rules of one lease.
    private static let mostRequests = 256

    public init(on index: Int) throws(NetlinkError) {
        self.index = index
        socket = try NetlinkSocket(.route, maximumPending: Self.mostRequests)
    }

    /// Sets the address, routes and rule of a plan. Removes items of the former plan that the new one lacks.
    public func set(_ new: AddressPlan) {
        if let plan, (plan.address, plan.prefixLength) != (new.address, new.prefixLength) { remove() }
        send(.set(new), attempting: "give interface \(index) the address \(new.address)")
        if let rule = plan?.rule, rule != new.rule { remove(rule) }
        let wanted = Set(new.routes)
        for route in (plan?.routes ?? []).reversed() where !wanted.contains(route) { remove(route) }
        for route in new.routes {
            // Sends unchanged routes, too: the kernel may have removed them together with the link.
            send(
                .change(route, isNew: true), attempting: "add the route to \(route.name) on interface \(index)",
                tolerating: [EEXIST])
        }
        if let rule = new.rule {
            send(
                .change(rule, isNew: true, maker: LeasedRoute.maker),
                attempting: "add a rule for the address \(new.address)", tolerating: [EEXIST])
        }
        plan = new
    }

    public func forbidForwarding() {
        send(.forbidForwarding(on: index), attempting: "forbid forwarding from interface \(index)")
    }

    /// Makes the kernel resolve the gateways again. Behind another access point, other hosts may have their addresses.
    public func forgetGateways() {
        for gateway in Set((plan?.routes ?? []).compactMap(\.gateway)) {
            send(
                .forget(Neighbour.Key(index: index, address: gateway)),
                attempting: "probe the gateway \(gateway)",
                tolerating: [ENOENT, ENODEV])
        }
    }

    public func remove() {
        guard let plan else { return }
        if let rule = plan.rule { remove(rule) }
        for route in plan.routes.reversed() { remove(route) }
        remove(plan.address, prefixLength: plan.prefixLength)
        self.plan = nil
    }

    /// Removes leftovers of a killed agent: addresses with the agent's mark and their routes. The current plan stays.
    /// - Parameter remembered: another address to remove, for kernels before 5.18, which do not store the mark.
    /// - Throws: `NetlinkError` if addresses, rules or routes cannot be listed.
    public func removeLeftovers(remembered: IPAddress? = nil) async throws(NetlinkError) {
        let index = index
        let found = try await socket.dump(.dump(of: .addresses), attempting: "list the addresses") {
            LeasedAddress($0, on: index)
        }
        let former = found.filter { $0.isMarked || $0.address == remembered }
        let rules = try await socket.dump(.rules, attempting: "list the rules") {
            OwnRule($0, maker: LeasedRoute.maker)
        }
        // Removes rules of this interface, and of interfaces that no longer exist.
        for rule in rules.prefix(Self.mostRequests / 4) where rule != plan?.rule && isLeftover(rule) { remove(rule) }
        let routes = try await socket.dump(.dump(of: .routes), attempting: "list the routes") { message in
            guard Int(message.type) == RTM_NEWROUTE else { return LeasedRoute?.none }
            return RouteDescription(message.payload).flatMap { LeasedRoute($0, on: index) }
        }
        // The plan may have changed during the dump.
        let leftovers = former.filter { ($0.address, $0.prefixLength) != (plan?.address, plan?.prefixLength) }
        let sources = Set(former.map(\.address))
        // Removes routes through gateways first: they depend on the others.
        let own = routes.filter { route in
            (sources.contains(route.source) || route.table != RT_TABLE_MAIN.rawValue)
                && plan?.routes.contains { $0.isSamePath(as: route) } != true
        }
        .prefix(Self.mostRequests / 2)
        for route in own where route.gateway != nil { remove(route) }
        for route in own where route.gateway == nil { remove(route) }
        for leftover in leftovers.prefix(16) { remove(leftover.address, prefixLength: leftover.prefixLength) }
    }

    private func remove(_ route: LeasedRoute) {
        // Ignores missing routes: the kernel removes routes together with their link.
        send(
            .change(route, isNew: false), attempting: "remove the route to \(route.name) on interface \(index)",
            tolerating: [ESRCH, ENODEV])
    }

    private func isLeftover(_ rule: OwnRule) -> Bool {
        guard let index = LeasedRoute.index(ofTable: rule.table) else { return false }
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        return index == UInt32(clamping: self.index) || if_indextoname(index, &name) == nil
    }

    private func remove(_ rule: OwnRule) {
        send(
            .change(rule, isNew: false, maker: LeasedRoute.maker),
            attempting: "remove the rule for the address \(rule.source)", tolerating: [ENOENT])
    }

    private func remove(_ address: IPAddress, prefixLength: Int) {
        send(
            .remove(address, prefixLength: prefixLength, on: index),
            attempting: "remove the address \(address) of interface \(index)", tolerating: [EADDRNOTAVAIL, ENODEV])
    }

    private func send(_ request: NetlinkRequest, attempting attempt: String, tolerating tolerated: [Int32] = []) {
        socket.send(
            request, expecting: .acknowledged, attempting: attempt, within: NetlinkSocket.patience
        ) { [weak self] ending in
            guard case .failed(let error) = ending, !tolerated.contains(where: { $0 == error.errno }) else { return }
            self?.onProblem(error)
        }
    }
}

extension LeasedRoute {
    fileprivate var name: String { destination.map { "\($0)/\(prefixLength)" } ?? "default" }
}
