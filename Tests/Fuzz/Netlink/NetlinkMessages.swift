import AgentModel
import CNetlink

@testable import Netlink

extension FuzzTarget {
    /// Every message is read as everything that the kernel tells. Whatever can be read is the same when it is written
    /// and read again, and what is kept is bounded by what arrived.
    static let netlink = FuzzTarget(
        "netlink", "datagrams of the kernel: attributes, dumps and news of nl80211 and rtnetlink", longest: 1024,
        goal: 100_000_000, seeds: { NetlinkSample.messages + routeMessages }
    ) { bytes in
        let messages = Array(NetlinkDatagram(bytes))
        precondition(messages.count * NetlinkMessage.headerLength <= bytes.count)
        for message in messages {
            readAsRadioNews(message)
            writeAgain(message.attributes(after: GenericNetlinkFamily.headerLength))
            checkRoutes(message)
        }
        keep(messages)
        if let phy = Phy(messages) {
            _ = phy.stationConcurrency
            precondition(zip(phy.channels, phy.channels.dropFirst()).allSatisfy { $0.frequency < $1.frequency })
        }
    }
}

private func readAsRadioNews(_ message: NetlinkMessage) {
    if let acknowledgement = Acknowledgement(message) { precondition(acknowledgement.errno >= 0) }
    _ = GenericNetlinkFamily(message)
    let now = Instant(milliseconds: 1 << 40)
    if let bss = BSS(message, now: now) {
        precondition(bss.lastSeen <= now, "an access point was heard in the future")
        precondition(BSS(message, now: now) == bss)
    }
    _ = BSS.isAssociated(message)
    _ = StationInfo(message)?.strength
    _ = WirelessInterface(message)
    _ = RadioEvent(message)
    _ = RouteLookup(message.payload)
}

/// Attributes that are written as they were read are read the same.
private func writeAgain(_ attributes: Attributes) {
    let read = Array(attributes)
    var writer = AttributeWriter()
    for (type, value) in read { writer.put(type, bytes: value.bytes) }
    let again = Array(Attributes(writer.bytes[...]))
    precondition(
        read.count == again.count
            && zip(read, again).allSatisfy { $0.type == $1.type && $0.value.bytes == $1.value.bytes })
}

/// What the agent asks the kernel for reads as what it had in mind.
private func checkRoutes(_ message: NetlinkMessage) {
    if let report = RouteReport(message.payload), let route = OwnRoute(report), isPossible(route) {
        let payload = encoded(.change(route, isNew: true))
        precondition(
            RouteReport(payload).flatMap { OwnRoute($0) } == route, "a route reads otherwise once it is written")
    }
    if let neighbour = Neighbour(message.payload) {
        precondition(Neighbour(encoded(.probe(neighbour.key)))?.key == neighbour.key)
    }
    if let rule = OwnRule(message) {
        let written = NetlinkRequest.change(rule, isNew: true).encoded(flags: 0, sequence: 1, port: 0)
        precondition(Array(NetlinkDatagram(written)).compactMap { OwnRule($0) } == [rule])
    }
}

/// A kernel tells of no others; nor does the agent make any.
private func isPossible(_ route: OwnRoute) -> Bool {
    route.index > 0 && route.prefixLength <= route.family.byteCount * 8
        && (route.gateway.map { $0.count == route.family.byteCount } ?? true)
}

private func encoded(_ request: NetlinkRequest) -> ArraySlice<UInt8> {
    NetlinkDatagram(request.encoded(flags: 0, sequence: 1, port: 0)).lazy.map(\.payload).first { _ in true } ?? []
}

/// Links, addresses, routes and neighbours are told as news. A reading that is given up changes nothing, and one that
/// comes across nothing leaves nothing.
private func keep(_ messages: [NetlinkMessage]) {
    var table = RouteTable()
    for message in messages {
        for type in UInt16(RTM_NEWLINK)...UInt16(RTM_GETRULE) {
            // Every payload is tried as every kind of message.
            let message = NetlinkMessage(
                type: type, flags: message.flags, sequence: 0, port: 0, payload: message.payload)
            _ = RouteSubject(message)
            guard let news = RouteMessage(message) else { continue }
            _ = table.apply(news, from: .news) { _ in .other }
            for link in table.links.values { _ = table.uplink(over: link) }
        }
    }
    precondition(table.links.count <= messages.count && table.addresses.count <= messages.count)
    precondition(table.neighbours.count <= messages.count && table.hostRoutes.count <= messages.count)
    let links = table.links
    for subject in RouteSubject.allCases {
        table.beginReading(subject)
        table.abandonReading(subject)
    }
    precondition(table.links == links, "a reading that was given up has changed something")
    for subject in RouteSubject.allCases {
        table.beginReading(subject)
        _ = table.endReading(subject)
    }
    precondition(table.links.isEmpty && table.addresses.isEmpty && table.defaultRoutes.isEmpty)
    precondition(table.neighbours.isEmpty && table.hostRoutes.isEmpty && table.uplink == nil)
}

/// As the kernel tells of routes and neighbours; what the agent sends has the same form.
private var routeMessages: [[UInt8]] {
    guard let host = IPAddress("192.0.2.9"), let far = IPAddress("2001:db8::9") else { return [] }
    let rule = OwnRule(from: host, table: 1000, priority: 100)
    let requests: [NetlinkRequest] = [
        .change(OwnRoute(.ipv4, through: [192, 0, 2, 1], on: 3, table: 254, metric: 20, source: host), isNew: true),
        .change(
            OwnRoute(.ipv4, to: host.bytes, prefixLength: 32, through: [192, 0, 2, 1], on: 3, table: 254), isNew: true),
        .change(OwnRoute(.ipv6, to: far.bytes, prefixLength: 64, through: nil, on: 3, table: 254), isNew: true),
        .change(rule, isNew: true), .probe(.init(index: 3, address: host)), .probe(.init(index: 3, address: far)),
        .answerForOwnAddressesOnly(index: 3), .rules,
    ]
    // struct ifinfomsg and struct ifaddrmsg, little-endian.
    let link =
        """
        34000000 1000 0000 00000000 00000000 0000 0100 03000000 43000100 00000000 0a00 0300 776c616e30000000 \
        0800 0500 01000000
        """
    let address = "28000000 1400 0000 00000000 00000000 02 18 80 00 03000000 0800 0100 c0000205 0800 0200 c0000205"
    return requests.map { $0.encoded(flags: 0, sequence: 1, port: 0) }
        + [link, address].map { Hex.bytes($0.filter { $0 != " " }) ?? [] }
}
