import AgentModel
import Glibc
import NetworkNamespaces
import Testing

@testable import Netlink

/// The interface that carries the traffic out of the device, and the one underneath a tunnel.
@Suite struct UplinkTests {
    /// Links by their numbers; all that is said of them besides is in the messages.
    private struct World {
        var table = RouteTable()

        init(_ links: LinkReport..., kinds: [Int: Uplink] = [:]) {
            for link in links {
                _ = table.apply(.link(link), from: .news) { kinds[$0.index] ?? .wired }
            }
        }

        mutating func route(_ index: Int, _ family: AddressFamily = .ipv4, metric: Int = 0) {
            let route = DefaultRoute(family: family, gateway: nil, index: index, metric: metric)
            _ = table.apply(.defaultRoutes([route], replaces: false), from: .news) { _ in .other }
        }

        mutating func route(to destination: String, _ index: Int, metric: Int = 0, replaces: Bool = false) throws {
            let route = HostRoute(destination: try #require(IPAddress(destination)), index: index, metric: metric)
            _ = table.apply(.hostRoute(route, replaces: replaces), from: .news) { _ in .other }
        }

        mutating func address(_ text: String, _ prefixLength: Int, _ index: Int) throws {
            let address = try #require(IPAddress(text))
            let entry = InterfaceAddress(
                family: address.family, bytes: address.bytes, prefixLength: prefixLength, scope: .global, index: index,
                isTentative: false)
            _ = table.apply(.address(entry), from: .news) { _ in .other }
        }

        func carrier(of index: Int) throws -> Int? {
            table.carrier(of: try #require(table.links[index]?.tunnel))?.index
        }

        var carrier: Int? { table.bestCarrier?.index }
    }

    private static let connected: UInt32 = 0x10001

    private func link(
        _ index: Int, _ flags: UInt32 = connected, kind: String? = nil, hardware: UInt16 = 1, lower: Int? = nil,
        farEnd: [UInt8]? = nil, inOtherNamespace: Bool = false
    ) throws -> LinkReport {
        var payload: [UInt8] = [0, 0]
        payload.append(number: hardware)
        payload.append(number: Int32(index))
        payload.append(number: flags)
        payload.append(number: UInt32(0))
        var attributes = AttributeWriter()
        attributes.put(3, string: "if\(index)")
        if let lower { attributes.put(5, UInt32(lower)) }
        if let farEnd { attributes.put(2, bytes: farEnd) }
        if inOtherNamespace { attributes.put(37, Int32(0)) }
        if let kind { attributes.putNested(18) { $0.put(1, string: kind) } }
        return try #require(LinkReport((payload + attributes.bytes)[...]))
    }

    @Test func theFirstRouteThatWorksCarriesTheTraffic() throws {
        var world = World(try link(2), try link(3), try link(4, 0x1), try link(5, 0x10000))
        #expect(world.carrier == nil)
        world.route(3, metric: 5)
        #expect(world.carrier == 3)
        world.route(4)
        world.route(5)
        world.route(9)
        #expect(world.carrier == 3, "neither without carrier, nor down, nor without its link")
        world.route(2, metric: 4)
        #expect(world.carrier == 2)
    }

    /// Whatever its interface and its routes look like.
    // covers: seed/reach-cellular
    @Test func aModemWithoutAConnectionCarriesNothing() throws {
        var world = World(try link(2), try link(3), kinds: [2: .cellular])
        world.route(2)
        world.route(3, metric: 5)
        #expect(world.carrier == 3, "it has no address")
        try world.address("10.64.0.2", 30, 2)
        #expect(world.carrier == 2)
        #expect(world.table.setDisconnected(["if2"]).contains(.uplinkChanged(world.table.uplink)))
        #expect(world.carrier == 3 && world.table.links[2]?.hasCarrier == false)
        // The kernel tells of the link anew, which says nothing of the modem.
        _ = world.table.apply(.link(try link(2)), from: .news) { _ in .cellular }
        #expect(world.carrier == 3)
        #expect(world.table.setDisconnected(["if2"]).isEmpty)
        #expect(world.table.setDisconnected([]).count == 2)
        #expect(world.carrier == 2)
    }

    @Test func theOlderFamilyComesFirst() throws {
        var world = World(try link(2), try link(3))
        world.route(2, .ipv6)
        #expect(world.carrier == 2)
        world.route(3, metric: 100)
        #expect(world.carrier == 3)
    }

    /// Traffic through it leaves the device by another interface.
    @Test func aTunnelOrABridgeIsNoCarrier() throws {
        var world = World(
            try link(2), try link(5, kind: "wireguard"), try link(6, kind: "bridge"), kinds: [5: .other, 6: .other])
        world.route(5)
        world.route(6)
        #expect(world.carrier == nil)
        #expect(world.table.uplink == ActiveUplink(kind: .other, interface: "if5", index: 5))
        world.route(2, metric: 9)
        #expect(world.carrier == 2)
        let carrier = ActiveUplink.Carrier(kind: .wired, interface: "if2", index: 2)
        #expect(world.table.uplink == ActiveUplink(kind: .other, interface: "if5", index: 5, carrier: carrier))
    }

    @Test func whatATunnelIsTiedToCarriesIt() throws {
        var world = World(
            try link(2), try link(3), try link(5, kind: "vti", lower: 3), try link(6, kind: "gre", lower: 5),
            try link(7, kind: "gre", lower: 9), try link(8, kind: "gre", lower: 3, inOtherNamespace: true),
            kinds: [5: .other, 6: .other, 7: .other, 8: .other])
        world.route(2)
        #expect(try world.carrier(of: 5) == 3)
        #expect(try world.carrier(of: 6) == 3)
        #expect(try world.carrier(of: 7) == 2, "tied to a link that is not there")
        #expect(try world.carrier(of: 8) == 2, "tied to a link of another namespace")
    }

    @Test func tunnelsTiedInACircleEnd() throws {
        var world = World(
            try link(2), try link(5, kind: "gre", lower: 6), try link(6, kind: "gre", lower: 5),
            kinds: [5: .other, 6: .other])
        world.route(2)
        #expect(try world.carrier(of: 5) == 2)
    }

    @Test func theWayToItsFarEndCarriesATunnel() throws {
        var world = World(
            try link(2), try link(3), try link(4), try link(5, kind: "ipip", hardware: 768, farEnd: [192, 0, 2, 9]),
            try link(6, kind: "ipip", hardware: 768, farEnd: [0, 0, 0, 0]),
            try link(7, kind: "gretap", farEnd: [192, 0, 2, 9]),
            kinds: [5: .other, 6: .other, 7: .other])
        world.route(2)
        #expect(try world.carrier(of: 5) == 2)
        try world.address("192.0.0.1", 16, 4)
        #expect(try world.carrier(of: 5) == 4)
        try world.address("192.0.2.1", 24, 3)
        #expect(try world.carrier(of: 5) == 3, "the longer prefix")
        try world.route(to: "192.0.2.8", 2)
        #expect(try world.carrier(of: 5) == 3)
        try world.route(to: "192.0.2.9", 2)
        #expect(try world.carrier(of: 5) == 2)
        // Its own address is no way to its far end.
        try world.address("192.0.2.9", 32, 5)
        #expect(try world.carrier(of: 5) == 2)
        #expect(try world.carrier(of: 6) == 2, "any far end")
        #expect(try world.carrier(of: 7) == 2, "an Ethernet broadcast address is no far end")
    }

    @Test func theRouteToTheServerNamesTheCarrierWhereTheDefaultRouteIsTheTunnels() throws {
        var world = World(
            try link(2), try link(3), try link(5, kind: "tun", hardware: 65534), kinds: [5: .other])
        world.route(5)
        #expect(try world.carrier(of: 5) == nil)
        try world.route(to: "198.51.100.7", 5)
        #expect(try world.carrier(of: 5) == nil)
        try world.route(to: "198.51.100.7", 3, metric: 10)
        #expect(try world.carrier(of: 5) == 3)
        try world.route(to: "198.51.100.7", 2, metric: 10, replaces: true)
        #expect(try world.carrier(of: 5) == 2)
        world.route(3, metric: 100)
        #expect(try world.carrier(of: 5) == 3, "a default route that is left says more")
    }

    @Test func aPlainLinkIsNoTunnel() throws {
        let world = World(try link(2), try link(3, kind: "veth", lower: 2), try link(4, kind: "bridge"))
        #expect(world.table.links.values.allSatisfy { $0.tunnel == nil })
    }

    @Test func readsHowALinkBehaves() throws {
        #expect(try link(2, 0x1003).traits == [.hasNeighbours], "Ethernet")
        #expect(try link(2, 0x21003).traits == [.hasNeighbours, .dormant])
        #expect(try link(2, 0x1091).traits == [.pointToPoint], "tun")
        #expect(try link(2, 0x82).traits == [], "dummy")
        #expect(try link(2, 0x9).traits == [], "lo")
    }

    /// Side reports of wireless extensions have no name and no kind.
    @Test func aTunnelStaysOneWhereAMessageSaysLess() throws {
        var world = World(try link(2), try link(5, kind: "tun"), kinds: [5: .other])
        var payload: [UInt8] = [0, 0, 1, 0]
        for number: UInt32 in [5, 0, 0] { payload.append(number: number) }
        _ = world.table.apply(.link(try #require(LinkReport(payload[...]))), from: .news) { _ in .wired }
        let link = try #require(world.table.links[5])
        #expect(link.tunnel != nil)
        #expect(link.kind == .other)
        #expect(!link.isUp)
    }

    @Test(
        arguments: [
            (1, nil, "wlan", nil, "wlan0", Uplink.wifi), (1, nil, "wlan", nil, "wwlan", .wifi),
            (1, nil, nil, nil, "eth0", .wired), (1, nil, nil, "bcmgenet", "eth0", .wired),
            (1, "veth", nil, nil, "veth0", .wired), (1, "vlan", nil, nil, "lan.7", .wired),
            (1, "veth", nil, nil, "wwveth", .wired), (1, "bond", nil, nil, "bond0", .wired),
            (1, "bridge", "bridge", nil, "br0", .other), (1, "dummy", nil, nil, "dummy0", .other),
            (65534, "wireguard", "wireguard", nil, "wwg0", .other), (1, "tun", nil, nil, "tap0", .other),
            (768, "ipip", nil, nil, "tunl0", .other), (65534, "xfrm", nil, nil, "ipsec0", .other),
            (1, nil, "wwan", nil, "usb0", .cellular), (1, nil, "wwan", "cdc_ether", "usb0", .cellular),
            (519, nil, nil, nil, "rmnet0", .cellular), (512, "ppp", "ppp", nil, "ppp0", .cellular),
            (772, nil, nil, nil, "lo", .other), (65534, "wwan", nil, nil, "modem", .cellular),
            (1, nil, nil, nil, "wwp0s20u4", .cellular), (1, "dummy", nil, nil, "wwan0", .cellular),
            (1, nil, nil, "cdc_mbim", "eth1", .cellular), (1, nil, nil, "qmi_wwan", "eth1", .cellular),
            (1, nil, nil, "rndis_host", "usb0", .cellular), (1, nil, nil, "ipheth", "eth1", .cellular),
            (1, nil, nil, "cdc_ncm", "eth1", .wired), (1, nil, nil, "cdc_ether", "eth1", .wired),
            (1, "vlan", nil, "rndis_host", "usb0.7", .wired),
        ] as [(UInt16, String?, String?, String?, String, Uplink)])
    func tellsLinksApart(
        _ hardware: UInt16, _ kind: String?, _ type: String?, _ driver: String?, _ name: String, _ expected: Uplink
    ) {
        #expect(
            Uplink(hardwareType: hardware, virtualKind: kind, deviceType: type, driver: driver, name: name) == expected)
    }
}

@Suite struct LinkFilesTests {
    /// A folder as the kernel has it, with one modem in it that its driver does not mark, and what it says to be read.
    private func withFiles(_ body: (LinkFiles) throws -> Void) throws {
        var template = Array("/tmp/links-XXXXXX".utf8CString)
        let made = try #require(mkdtemp(&template))
        let folder = String(cString: made)
        defer { try? Shell.runBlocking("rm -r \(folder)") }
        try Shell.runBlocking(
            """
            cd \(folder)
            mkdir -p bus/usb/drivers/qmi_wwan usb1 eth1/statistics wlan0/statistics long0/statistics
            ln -s ../bus/usb/drivers/qmi_wwan usb1/driver
            ln -s ../usb1 eth1/device
            mkdir -p bus/usb/drivers/usb 1-1/1-1:1.0 bus/usb/drivers/brcmfmac wlan1
            ln -s ../bus/usb/drivers/usb 1-1/driver
            ln -s ../../bus/usb/drivers/brcmfmac 1-1/1-1:1.0/driver
            ln -s ../1-1 wlan1/device
            printf 'INTERFACE=eth1\\nIFINDEX=7\\n' > eth1/uevent
            printf 'INTERFACE=wlan0\\nDEVTYPE=wlan\\nIFINDEX=3\\n' > wlan0/uevent
            printf '18446744073709551615\\n' > wlan0/statistics/tx_packets
            printf -- '-1\\n' > eth1/statistics/tx_packets
            head -c 5000 /dev/zero > long0/uevent
            head -c 5000 /dev/zero > long0/statistics/tx_packets
            """)
        try body(LinkFiles(folder: folder))
    }

    @Test func readsWhatTheKernelSays() throws {
        try withFiles { files in
            #expect(files.driver(of: "eth1") == "qmi_wwan")
            #expect(files.deviceType(of: "eth1") == nil)
            #expect(files.deviceType(of: "wlan0") == "wlan")
            #expect(files.driver(of: "wlan0") == nil)
            #expect(files.driver(of: "wlan1") == "brcmfmac")
            #expect(files.deviceType(of: "long0") == nil)
            #expect(files.frames(.sent, of: "wlan0") == .max)
            #expect(files.frames(.sent, of: "eth1") == nil)
            #expect(files.frames(.sent, of: "long0") == nil)
        }
    }

    @Test(arguments: ["", ".", "..", "eth1/../wlan0", "missing", "a\0b"])
    func aNameThatIsNoneHasNothing(_ name: String) throws {
        try withFiles { files in
            #expect(files.deviceType(of: name) == nil)
            #expect(files.driver(of: name) == nil)
            #expect(files.frames(.sent, of: name) == nil)
        }
    }
}
