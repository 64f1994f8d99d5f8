import AgentModel
import CNetlink
import Glibc
import Linux

/// Follows the kernel's IPv6 router state at an interface, removes the state of a former network, and sets DHCPv6 and
/// static addresses. Needs `CAP_NET_ADMIN`.
@AgentLoop
public final class AdvertisedNetwork {
    public enum News: Hashable, Sendable {
        case advertisement
        /// An advertised option for user space, starting with its type and length bytes.
        case option([UInt8], router: IPAddress)
        /// DHCPv6 flags of the routers, reported after each advertisement.
        case flags(RouterFlags)
        case linkLocal(IPAddress?)
        /// Another host uses an address of this interface.
        case conflict(IPAddress)
        /// The kernel has refused an address or a route, because IPv6 is disabled.
        case disabled
        /// The kernel has dropped messages.
        case overrun
    }

    public var onProblem: (NetlinkError) -> Void = { _ in }

    private let index: Int
    private let socket: NetlinkSocket
    private let onNews: (News) -> Void
    private var linkLocal: IPAddress?
    private var plans: [IPv6AddressPlan] = []
    private var isReadingFlags = false
    /// True if another advertisement arrived while the flags were read.
    private var isStale = false

    /// Maximum number of pending requests: twice the number of a former network's items.
    private static let mostRequests = 256

    public init(
        on index: Int, onNews: @escaping @AgentLoop @Sendable (News) -> Void
    ) throws(NetlinkError) {
        (self.index, self.onNews) = (index, onNews)
        socket = try NetlinkSocket(.route, maximumPending: Self.mostRequests)
        socket.onNotification = { [weak self] in self?.handle($0) }
        socket.onOverrun = { [weak self] in self?.resynchronise() }
        for (group, name) in Self.groups { try socket.join(group: Int(group.rawValue), named: name) }
        readAddresses()
    }

    private static let groups: [(rtnetlink_groups, String)] = [
        (RTNLGRP_ND_USEROPT, "nd-useropt"), (RTNLGRP_IPV6_IFINFO, "ipv6-ifinfo"), (RTNLGRP_IPV6_PREFIX, "ipv6-prefix"),
        (RTNLGRP_IPV6_IFADDR, "ipv6-ifaddr"), (RTNLGRP_IPV6_ROUTE, "ipv6-route"),
    ]

    /// Message `RTM_NEWPREFIX`, sent for each prefix of each advertisement (`struct prefixmsg`).
    private static let prefixNews = UInt16(RTM_NEWPREFIX)

    // MARK: News

    private func handle(_ message: NetlinkMessage) {
        if let option = AdvertisedOption(message, on: index) {
            onNews(.option(option.bytes, router: option.router))
            advertised()
        } else if let address = IPv6InterfaceAddress(message, on: index) {
            handle(address, isNew: Int(message.type) == RTM_NEWADDR)
        } else if RouterFlags(message, on: index) != nil || isDefaultRoute(message) || isPrefix(message) {
            advertised()
        }
    }

    private func isDefaultRoute(_ message: NetlinkMessage) -> Bool {
        AdvertisedRoute(message, on: index).map { $0.destination == nil && $0.maker == UInt8(RTPROT_RA) } ?? false
    }

    private func isPrefix(_ message: NetlinkMessage) -> Bool {
        message.type == Self.prefixNews
            && AttributeValue(bytes: message.payload.dropFirst(4)).number(as: Int32.self).map(Int.init) == index
    }

    private func handle(_ address: IPv6InterfaceAddress, isNew: Bool) {
        if address.isDuplicate { onNews(.conflict(address.address)) }
        guard address.address.isLinkLocal else { return }
        let isThere = isNew && address.isUsable
        guard isThere ? linkLocal == nil : linkLocal == address.address else { return }
        linkLocal = isThere ? address.address : nil
        onNews(.linkLocal(linkLocal))
    }

    /// Reads the DHCPv6 flags. The kernel stores them before it reports anything else of an advertisement (ndisc.c,
    /// `ndisc_router_discovery`). It sends its own report only for changed flags.
    private func advertised() {
        onNews(.advertisement)
        guard !isReadingFlags else {
            isStale = true
            return
        }
        (isReadingFlags, isStale) = (true, false)
        let index = index
        var flags: RouterFlags?
        socket.send(
            .link(index), expecting: .reply, attempting: "read the flags of interface \(index)",
            within: NetlinkSocket.patience, onPart: { flags = flags ?? RouterFlags($0, on: index) }
        ) { [weak self] _ in
            guard let self else { return }
            isReadingFlags = false
            // Reads again after another advertisement: these flags may belong to the former network.
            guard !isStale else { return advertised() }
            if let flags { onNews(.flags(flags)) }
        }
    }

    private func resynchronise() {
        readAddresses()
        onNews(.overrun)
    }

    private func readAddresses() {
        let index = index
        var found: IPv6InterfaceAddress?
        socket.send(
            .dumpIPv6(.addresses), expecting: .dump, attempting: "list the addresses", within: NetlinkSocket.patience,
            onPart: { message in
                guard let address = IPv6InterfaceAddress(message, on: index), address.address.isLinkLocal,
                    address.isUsable
                else { return }
                found = found ?? address
            }
        ) { [weak self] ending in
            guard let self, case .complete = ending, found?.address != linkLocal else { return }
            linkLocal = found?.address
            onNews(.linkLocal(linkLocal))
        }
    }

    // MARK: Changes

    /// Removes advertised addresses and routes, and DHCPv6 and static ones not set by ``set(_:)``. Items of users and
    /// other programs stay.
    /// - Parameter onEnd: called when all removals are sent.
    public func removeAdvertised(onEnd: @escaping () -> Void) {
        let index = index
        var routes: [AdvertisedRoute] = []
        // Lists the routes first: the address of a user's prefix route is then in the list of addresses.
        socket.send(
            .dumpIPv6(.routes), expecting: .dump, attempting: "list the routes", within: NetlinkSocket.patience,
            onPart: { message in
                if routes.count < Self.mostRequests / 2, let route = AdvertisedRoute(message, on: index) {
                    routes.append(route)
                }
            }
        ) { [weak self] ending in
            if case .failed(let error) = ending { self?.onProblem(error) }
            self?.removeAdvertised(routes, onEnd: onEnd)
        }
    }

    private func removeAdvertised(_ routes: [AdvertisedRoute], onEnd: @escaping () -> Void) {
        let index = index
        var found: [IPv6InterfaceAddress] = []
        socket.send(
            .dumpIPv6(.addresses), expecting: .dump, attempting: "list the addresses", within: NetlinkSocket.patience,
            onPart: { message in if let address = IPv6InterfaceAddress(message, on: index) { found.append(address) } }
        ) { [weak self] ending in
            guard let self else { return }
            var routes = routes
            if case .failed(let error) = ending {
                onProblem(error)
                // Without the addresses, a user's prefix routes are unknown.
                routes.removeAll { $0.isOfPrefix }
            }
            let leaving = found.filter { $0.origin == .advertised || $0.origin == .own && !isWanted($0) }
            let users = found.filter { $0.origin == .other }
            let wanted = plans.flatMap(\.routes)
            for route in routes where !wanted.contains(where: { route.isSame(as: $0) }) {
                if route.isOfPrefix, users.contains(where: { route.leads(to: $0) }) { continue }
                send(
                    .remove(route, on: index), attempting: "remove an advertised route of interface \(index)",
                    tolerating: [ESRCH, ENODEV])
            }
            for address in leaving.prefix(Self.mostRequests / 4) { remove(address.address, address.prefixLength) }
            onEnd()
        }
    }

    /// An address that failed duplicate detection in an earlier run is not wanted: the kernel checks it again only
    /// after its removal.
    private func isWanted(_ address: IPv6InterfaceAddress) -> Bool {
        !address.isDuplicate
            && plans.contains { $0.address == address.address && $0.prefixLength == address.prefixLength }
    }

    /// Sets DHCPv6 and static addresses, and their routes. Removes former ones that are not in `new`.
    public func set(_ new: [IPv6AddressPlan]) {
        let wanted = new.flatMap(\.routes)
        for route in plans.flatMap(\.routes).reversed() where !wanted.contains(route) {
            send(
                .change(route, isNew: false), attempting: "remove a static route of interface \(index)",
                tolerating: [ESRCH, ENODEV])
        }
        for plan in plans where !new.contains(where: { $0.isSameAddress(as: plan) }) {
            remove(plan.address, plan.prefixLength)
        }
        for plan in new {
            send(.set(plan, on: index), attempting: "give interface \(index) the address \(plan.address)")
        }
        for route in wanted {
            // Sends unchanged routes, too: the kernel may have removed them together with the link.
            send(
                .change(route, isNew: true), attempting: "add a static route on interface \(index)",
                tolerating: [EEXIST])
        }
        plans = new
    }

    private func remove(_ address: IPAddress, _ prefixLength: Int) {
        send(
            .removeIPv6(address, prefixLength: prefixLength, on: index),
            attempting: "remove the address \(address) of interface \(index)", tolerating: [EADDRNOTAVAIL, ENODEV])
    }

    private func send(_ request: NetlinkRequest, attempting attempt: String, tolerating tolerated: [Int32] = []) {
        socket.send(
            request, expecting: .acknowledged, attempting: attempt, within: NetlinkSocket.patience
        ) { [weak self] ending in
            guard case .failed(let error) = ending, !tolerated.contains(where: { $0 == error.errno }) else { return }
            // The kernel answers so if IPv6 is off at the interface, and if it is off everywhere.
            if [EACCES, EOPNOTSUPP].contains(error.errno) { self?.onNews(.disabled) } else { self?.onProblem(error) }
        }
    }
}
