import AgentModel
import Testing

@testable import Netlink

@Suite struct RouteTableTests {
    private func link(_ index: Int, _ name: String?, up: Bool = true, carrier: Bool = true) -> RouteMessage {
        let flags: UInt32 = (up ? 1 : 0) | (carrier ? 0x10000 : 0)
        var payload: [UInt8] = [0, 0, 1, 0]
        payload.append(number: Int32(index))
        payload.append(number: flags)
        payload.append(number: UInt32(0))
        var attributes = AttributeWriter()
        if let name { attributes.put(3, string: name) }
        return .link(LinkReport((payload + attributes.bytes)[...])!)
    }

    private func route(_ index: Int, metric: Int, family: AddressFamily = .ipv4, gateway: UInt8 = 1) -> DefaultRoute {
        let gateway = Array(repeating: gateway, count: family.byteCount)
        return DefaultRoute(family: family, gateway: gateway, index: index, metric: metric)
    }

    private func uplink(_ index: Int, _ name: String) -> ActiveUplink {
        ActiveUplink(kind: .wired, interface: name, index: index)
    }

    private let address = InterfaceAddress(
        family: .ipv4, bytes: [192, 0, 2, 2], prefixLength: 24, scope: .global, index: 2, isTentative: false)

    private func apply(
        _ message: RouteMessage, to table: inout RouteTable, from source: RouteTable.Source = .news
    ) -> [RouteEvent] {
        table.apply(message, from: source) { _ in .wired }
    }

    @Test func theBestRouteOverALinkWithACarrierIsTheUplink() {
        var table = RouteTable()
        let slow = route(2, metric: 600)
        let fast = route(3, metric: 100)
        _ = apply(link(2, "wlan0"), to: &table)
        _ = apply(link(3, "eth0", carrier: false), to: &table)
        #expect(
            apply(.defaultRoutes([slow], replaces: false), to: &table)
                == [.defaultRouteAdded(slow), .uplinkChanged(uplink(2, "wlan0"))])
        #expect(apply(.defaultRoutes([fast], replaces: false), to: &table) == [.defaultRouteAdded(fast)])
        #expect(apply(link(3, "eth0"), to: &table).last == .uplinkChanged(uplink(3, "eth0")))
        #expect(apply(link(3, "eth0"), to: &table) == [])
        #expect(apply(link(3, "eth0", up: false), to: &table).last == .uplinkChanged(uplink(2, "wlan0")))
        #expect(
            apply(.defaultRoutesRemoved([slow]), to: &table) == [.defaultRouteRemoved(slow), .uplinkChanged(nil)])
        #expect(table.uplink == nil)
    }

    @Test func ipv4DecidesWhileItHasARoute() {
        var table = RouteTable()
        _ = apply(link(2, "wlan0"), to: &table)
        _ = apply(link(3, "eth0"), to: &table)
        _ = apply(.defaultRoutes([route(2, metric: 100, family: .ipv6)], replaces: false), to: &table)
        #expect(table.uplink == uplink(2, "wlan0"))
        _ = apply(.defaultRoutes([route(3, metric: 5000)], replaces: false), to: &table)
        #expect(table.uplink == uplink(3, "eth0"))
    }

    @Test func aRouteMayComeBeforeItsLink() {
        var table = RouteTable()
        _ = apply(.defaultRoutes([route(2, metric: 1)], replaces: false), to: &table)
        #expect(table.uplink == nil)
        #expect(apply(link(2, "wlan0"), to: &table).last == .uplinkChanged(uplink(2, "wlan0")))
        #expect(apply(.linkRemoved(index: 2), to: &table).last == .uplinkChanged(nil))
    }

    @Test func aReplacementEndsTheRoutesOfItsMetric() {
        var table = RouteTable()
        let (old, other, new) = (route(2, metric: 1), route(2, metric: 9), route(2, metric: 1, gateway: 7))
        _ = apply(.defaultRoutes([old, other], replaces: false), to: &table)
        #expect(
            apply(.defaultRoutes([new], replaces: true), to: &table)
                == [.defaultRouteRemoved(old), .defaultRouteAdded(new)])
        #expect(table.defaultRoutes == [new, other])
    }

    /// A host that announces a thousand routers takes neither memory nor the place of another interface.
    @Test func aFloodOfRoutersIsLimitedForItsInterface() {
        var table = RouteTable()
        _ = apply(link(2, "wlan0"), to: &table)
        let forged = (0..<1000).map { number in
            let gateway =
                [0xfe, 0x80] + Array(repeating: UInt8(0), count: 12) + [UInt8(number >> 8), UInt8(number & 255)]
            return DefaultRoute(family: .ipv6, gateway: gateway, index: 2, metric: 1024)
        }
        for route in forged { _ = apply(.defaultRoutes([route], replaces: false), to: &table) }
        #expect(table.defaultRoutes.count == RouteTable.maximumDefaultRoutes && table.lacksDefaultRoutes)
        let others = [route(2, metric: 600), route(3, metric: 100, family: .ipv6), route(3, metric: 100)]
        for route in others { _ = apply(.defaultRoutes([route], replaces: false), to: &table) }
        #expect(table.defaultRoutes.isSuperset(of: others))
        // Once the routers of before have gone, a reading finds the one that was left out.
        for route in forged.dropLast() { _ = apply(.defaultRoutesRemoved([route]), to: &table) }
        table.beginReading(.routes)
        for route in others + forged.suffix(1) {
            _ = apply(.defaultRoutes([route], replaces: false), to: &table, from: .reading)
        }
        _ = table.endReading(.routes)
        #expect(table.defaultRoutes == Set(others + forged.suffix(1)) && !table.lacksDefaultRoutes)
    }

    @Test func aConfirmedAddressIsAnEvent() {
        var table = RouteTable()
        #expect(apply(.address(address), to: &table) == [.addressAdded(address)])
        #expect(apply(.address(address), to: &table) == [.addressAdded(address)])
        #expect(apply(.address(address), to: &table, from: .reading) == [])
        #expect(apply(.addressRemoved(address), to: &table) == [.addressRemoved(address)])
        #expect(apply(.addressRemoved(address), to: &table) == [])
    }

    @Test func readingAnewTellsOnlyWhatChanged() {
        var table = RouteTable()
        let (kept, gone) = (route(2, metric: 1), route(3, metric: 2))
        for message in [link(2, "wlan0"), link(3, "eth0"), link(4, "eth1"), .address(address)] {
            _ = apply(message, to: &table)
        }
        _ = apply(.defaultRoutes([kept, gone], replaces: false), to: &table)

        table.beginReading(.links)
        #expect(apply(link(2, "wlan0"), to: &table, from: .reading) == [])
        // News in the midst of it counts as read.
        _ = apply(link(5, "eth2"), to: &table)
        #expect(table.endReading(.links).count == 2)
        #expect(Set(table.links.keys) == [2, 5])

        table.beginReading(.routes)
        #expect(apply(.defaultRoutes([kept], replaces: false), to: &table, from: .reading) == [])
        #expect(table.endReading(.routes) == [.defaultRouteRemoved(gone)])

        table.beginReading(.addresses)
        #expect(table.endReading(.addresses) == [.addressRemoved(address)])
        #expect(table.endReading(.addresses) == [])
    }

    @Test func aLinkKeepsItsNameWhereAMessageHasNone() {
        var table = RouteTable()
        #expect(apply(link(2, nil), to: &table) == [])
        _ = apply(link(2, "wlan0"), to: &table)
        #expect(apply(link(2, nil), to: &table) == [])
        #expect(apply(link(2, nil, carrier: false), to: &table).count == 1)
        #expect(table.links[2]?.name == "wlan0")
    }

    // MARK: Messages

    private func message(_ type: Int, flags: UInt16 = 0, _ hex: String) -> RouteMessage? {
        RouteMessage(
            NetlinkMessage(type: UInt16(type), flags: flags, sequence: 0, port: 0, payload: bytes(hex)[...]))
    }

    @Test func readsAnAddress() {
        let hex = """
            02 18 80 00 02000000    # AF_INET, /24, permanent, universe, index 2
            0800 0100 c0000201      # IFA_ADDRESS: the other end
            0800 0200 c0000202      # IFA_LOCAL
            0800 0800 80000000      # IFA_FLAGS
            """
        #expect(message(20, hex) == .address(address))
        #expect(message(21, hex) == .addressRemoved(address))
        let tentative = "0a 40 40 fd 02000000 1400 0100 fe800000000000000000000000000001"
        guard case .address(let ipv6) = message(20, tentative) else {
            Issue.record("not read")
            return
        }
        #expect(ipv6.isTentative)
        #expect(ipv6.scope == .link)
        #expect(ipv6.bytes.count == 16)
        #expect(message(20, "0a 40 40 fd 02000000 0800 0100 c0000201") == nil)
        #expect(message(20, "07 40 40 fd 02000000 0800 0100 c0000201") == nil)
        #expect(message(20, "02 18 80") == nil)
    }

    @Test func readsDefaultRoutesOnly() {
        let attributes = "0800 0f00 fe000000  0800 0500 c0000201  0800 0400 02000000  0800 0600 58020000"
        let expected = DefaultRoute(family: .ipv4, gateway: [192, 0, 2, 1], index: 2, metric: 600)
        #expect(
            message(24, "02 00 00 00 fe 10 00 01 00000000 \(attributes)") == .defaultRoutes([expected], replaces: false)
        )
        #expect(
            message(24, flags: 0x100, "02 00 00 00 fe 10 00 01 00000000 \(attributes)")
                == .defaultRoutes([expected], replaces: true))
        #expect(message(25, "02 00 00 00 fe 10 00 01 00000000 \(attributes)") == .defaultRoutesRemoved([expected]))
        // From a network, to a network, of another type, of another table.
        #expect(message(24, "02 00 08 00 fe 10 00 01 00000000 \(attributes)") == nil)
        #expect(message(24, "02 18 00 00 fe 10 00 01 00000000 \(attributes)") == nil)
        #expect(message(24, "02 00 00 00 fe 10 00 06 00000000 \(attributes)") == nil)
        #expect(message(24, "02 00 00 00 ff 10 00 01 00000000 0800 0f00 ff000000 0800 0400 02000000") == nil)
        #expect(message(24, "02 00 00 00 fe 10 00 01") == nil)
    }

    @Test func readsEveryNextHop() {
        let hex = """
            02 00 00 00 fe 10 00 01 00000000
            2400 0900                               # RTA_MULTIPATH
            1000 00 00 02000000 0800 0500 c0000201  #   by index 2
            1000 00 00 03000000 0800 0500 c0000202  #   by index 3
            """
        guard case .defaultRoutes(let routes, _) = message(24, hex) else {
            Issue.record("not read")
            return
        }
        #expect(routes.map(\.index) == [2, 3])
        #expect(routes.map(\.gateway) == [[192, 0, 2, 1], [192, 0, 2, 2]])
    }

    @Test func aBridgesPortIsNotALink() {
        #expect(message(17, "07 00 0100 02000000 00000000 00000000 0900 0300 65746830 00000000") == nil)
        #expect(message(17, "00 00 0100 02000000 00000000 00000000") == .linkRemoved(index: 2))
        #expect(message(16, "00 00 0100 00000000 00000000 00000000") == nil)
        #expect(message(16, "00 00 0100 ffffffff 00000000 00000000") == nil)
    }
}
