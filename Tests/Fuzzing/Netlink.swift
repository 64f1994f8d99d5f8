import AgentModel
import CNetlink

@testable import Netlink

extension FuzzTarget {
    /// Every message is read as everything that the kernel tells. Each result is the same when it is written
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

/// A request of the agent to the kernel reads as it was meant.
private func checkRoutes(_ message: NetlinkMessage) {
    if let report = RouteDescription(message.payload), let route = OwnRoute(report), isPossible(route) {
        let payload = encoded(.change(route, isNew: true))
        precondition(
            RouteDescription(payload).flatMap { OwnRoute($0) } == route, "a route reads otherwise once it is written")
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

extension FuzzTarget {
    /// A protected network is never taken for an open one, and an element that is unknown changes nothing.
    static let informationElements = FuzzTarget(
        "information-elements", "what an access point beacons: its name and how it is joined (RSN, WPA, OWE)",
        longest: 768, goal: 100_000_000, seeds: { ElementSample.all }
    ) { bytes in
        let elements = InformationElements(bytes[...])
        let open = elements.security(isPrivate: false)
        let isProtected = elements.rsn != nil || elements.wpa != nil || elements.hasBrokenSecurity
        precondition(!isProtected || open != .open, "a protected network passes for an open one")
        precondition(elements.security(isPrivate: true) != .open, "a private network passes for an open one")
        if let ssid = elements.ssid { check(ssid) }
        for unknown: [UInt8] in [[7, 2, 0x44, 0x45], [221, 3, 0, 0x50, 0xf2]] {
            precondition(InformationElements((unknown + bytes)[...]) == elements, "an unknown element counts")
        }
        if let body = SecurityElement(bytes[...]) {
            precondition(!body.pairwiseCiphers.isEmpty && !body.keyManagement.isEmpty)
        }
    }
}

private func check(_ ssid: SSID) {
    precondition((1...SSID.maximumLength).contains(ssid.bytes.count))
    precondition(ssid.description.unicodeScalars.allSatisfy(\.isPlain), "a name that cannot be shown")
}

private enum ElementSample {
    static let all: [[UInt8]] = [
        // WPA2, PSK and SAE, WPA, OWE's transition mode, an enterprise network, PMF required, a load.
        "0004486f6d65 3014 0100 000fac04 0100 000fac04 0100 000fac02 0000",
        "0004486f6d65 0b05 0300 80 ffff",
        "0004486f6d65 3018 0100 000fac04 0100 000fac04 0200 000fac02 000fac08 8000",
        "0004486f6d65 dd16 0050f201 0100 0050f202 0100 0050f202 0100 0050f202",
        "0003436166 dd0f 506f9a1c 020000000200 04 486f6d65",
        "3014 0100 000fac04 0100 000fac04 0100 000fac01 c000",
        "3018 0100 000fac04 0100 000fac04 0100 000fac12 c000 0000",
        "0020ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff 010882848b960c121824",
    ].map { Hex.bytes($0.filter { $0 != " " }) ?? [] }
}

/// Messages of a real kernel (Tests/NetlinkTests has them with their meaning).
enum NetlinkSample {
    static let messages: [[UInt8]] = [
        // home
        """
        38010000200002001361016bf90040912201000008002e0003000000080003001c0000000c009900010000000d000000
        08012f000a000100020000000100000004000e000c000300560c62c8c5600600440006000004486f6d65010882848b96
        0c1218240301012a010432043048606c30140100000fac040100000fac040100000fac0200003b0251007f0804004002
        000000400c000d008b4366c8c56006004a000b000004486f6d65010882848b960c1218240301010504000200002a0104
        32043048606c30140100000fac040100000fac040100000fac0200003b0251007f080400400200000040000006000400
        640000000600050011040000080002006c090000080014000000000008000c000000000008000a00000000000c000f00
        862ffb06080000000800070048f4ffff0800090001000000
        """,
        // transition
        """
        e40000002000020003000000830000be2201000008002e001000000008000300090000000c0099000100000004000000
        b4002f000a000100020000000102000004000e000c00030053ba73c7c56006004e000600000a7472616e736974696f6e
        010882848b960c1218240301012a010432043048606c30180100000fac040100000fac040200000fac02000fac088000
        3b0251007f080400400200000040000006000400640000000600050011040000080002006c0900000800140000000000
        08000c000000000008000a00180000000c000f00e2049353040000000800070074f5ffff
        """,
        // interface
        """
        680000002000020002000000830040930701000008000300050000000a000400776c616e300000000800010001000000
        08000500020000000c00990001000000010000000a000600020000000000000008002e00150000000500530000000000
        08006200d0070000
        """,
        // signalLow
        """
        38000000200000000000000000000000400100000800010010000000080003002000000014005e000800030000000000
        08000900bfffffff
        """,
        // beaconLoss
        """
        2c000000200000000000000000000000400100000800010013000000080003002400000008005e0004000800
        """,
        // connected
        """
        ac0000002000000000000000000000002e010000080001000d000000080003001c0000000a0006000200000001000000
        06004800000000004f004d000004486f6d65010802040b160c12182432043048606c30140100000fac040100000fac04
        0100000fac0200007f0b04004a02014040400001203b10515153547374757677787c7d7e7f80820023004e0001088284
        8b960c12182432043048606c7f0804004002000000405a0324010000
        """,
        // refused
        """
        380000002000000000000000000000002e0100000800010019000000080003002c000000060048000100000004004100
        0800f80000000000
        """,
        // lost
        """
        2c00000020000000000000000000000030010000080001001300000008000300240000000600360004000000
        """,
        // regulatoryCN
        """
        2c000000200000000000000000000000240100000500300001000000050031000000000007002100434e0000
        """,
        // scanFinished
        """
        4000000020000000000000000000000022010000080001000700000008000300140000000c0099000100000007000000
        04002d000c002c00080000006c090000
        """,
        // radioFirst
        """
        9400000020000200030000008300409303010000080001000100000009000200706879310000000008002e0005000000
        05003d000700000005003e000400000008003f00ffffffff08004000ffffffff050059000000000005002b0004000000
        05007b0000000000060038003d08000006007c0000000000050085000000000004006800040073000400820004008b00
        04008c00
        """,
        // radioChannels
        """
        6800000020000200030000008300409303010000080001000100000009000200706879310000000008002e0005000000
        3800160034000000300001002c000000080001006c09000008001400000000000400090004000b0004000c0004001a00
        08000600d0070000
        """,
        // radioCombinations
        """
        b400000020000200030000008300409303010000080001000100000009000200706879310000000008002e0005000000
        0c0079000400040004000600780078007400010050000100140001000800010001000000080002000400010024000200
        080001000008000018000200040002000400030004000700040008000400090014000300080001000100000008000200
        04000a000800040001000000080002000208000008000500ef0000000800060000000000
        """,
        // radioFeatures
        """
        4400000020000200030000008300409303010000080001000100000009000200706879310000000008002e0005000000
        0500ce00020000000c00d900432200e410b60120
        """,
    ].map { Hex.bytes($0.filter { !$0.isNewline }) ?? [] }
}
