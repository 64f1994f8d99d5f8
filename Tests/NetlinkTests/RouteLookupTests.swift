import AgentModel
import CNetlink
import Testing

@testable import Netlink

/// Neighbours, route lookups and host routes: what is asked, byte for byte, and what is read.
@Suite struct RouteLookupTests {
    private func message(_ type: Int, flags: UInt16 = 0, _ hex: String) -> RouteMessage? {
        RouteMessage(
            NetlinkMessage(type: UInt16(type), flags: flags, sequence: 0, port: 0, payload: bytes(hex)[...]))
    }

    private func key(_ index: Int, _ address: String) throws -> Neighbour.Key {
        Neighbour.Key(index: index, address: try #require(IPAddress(address)))
    }

    @Test func asksForARoute() throws {
        #expect(
            NetlinkRequest.routeLookup(to: try #require(IPAddress("192.0.2.1")))
                .encoded(flags: NLM_F_REQUEST | NLM_F_ACK, sequence: 5, port: 9)
                == bytes(
                    """
                    24000000            # length
                    1a00                # RTM_GETROUTE
                    0500                # flags: request, acknowledge
                    05000000            # sequence
                    09000000            # port
                    02 20 00 00         # AF_INET, /32, from anywhere, any type of service
                    00 00 00 00         # any table, protocol, scope, type
                    00000000            # no flags
                    0800 0100 c0000201  # RTA_DST
                    """))
        #expect(
            NetlinkRequest.routeLookup(to: try #require(IPAddress("2001:db8::1"))).encoded(
                flags: 0, sequence: 0, port: 0
            )
            .dropFirst(16)
                == bytes("0a 80 0000 00000000 00000000  1400 0100 20010db8000000000000000000000001")[...])
    }

    @Test func asksANeighbour() throws {
        #expect(
            NetlinkRequest.probe(try key(3, "192.0.2.1")).encoded(flags: NLM_F_REQUEST, sequence: 1, port: 0)
                == bytes(
                    """
                    24000000            # length
                    1c00                # RTM_NEWNEIGH
                    0100                # flags: request
                    01000000 00000000   # sequence, port
                    02 00 0000          # AF_INET
                    03000000            # index
                    1000                # NUD_PROBE
                    00 00               # no flags, any type
                    0800 0100 c0000201  # NDA_DST
                    """))
        #expect(
            NetlinkRequest.resolve(try key(3, "fe80::1")).encoded(flags: NLM_F_REQUEST, sequence: 1, port: 0)
                == bytes(
                    """
                    30000000            # length
                    1c00                # RTM_NEWNEIGH
                    0104                # flags: request, create
                    01000000 00000000   # sequence, port
                    0a 00 0000          # AF_INET6
                    03000000            # index
                    0000                # NUD_NONE
                    01 00               # NTF_USE, any type
                    1400 0100 fe800000000000000000000000000001  # NDA_DST
                    """))
    }

    @Test func readsANeighbour() throws {
        let hex = """
            02 00 0000 03000000 2000 00 01  # AF_INET, index 3, NUD_FAILED, no flags, unicast
            0800 0100 c0000201              # NDA_DST
            """
        #expect(message(28, hex) == .neighbour(Neighbour(key: try key(3, "192.0.2.1"), state: .failed)))
        #expect(message(29, hex) == .neighbourRemoved(try key(3, "192.0.2.1")))
        let router = "0a 00 0000 03000000 0200 80 01 1400 0100 fe800000000000000000000000000001"
        #expect(message(28, router) == .neighbour(Neighbour(key: try key(3, "fe80::1"), state: .reachable)))
    }

    @Test(
        arguments: [
            "02 00 0000 03000000 2000 08 01 0800 0100 c0000201",  // An answer for another address.
            "07 00 0000 03000000 2000 00 01 0800 0100 c0000201",  // A bridge's.
            "02 00 0000 00000000 2000 00 01 0800 0100 c0000201",  // Of no interface.
            "02 00 0000 ffffffff 2000 00 01 0800 0100 c0000201",
            "02 00 0000 03000000 2100 00 01 0800 0100 c0000201",  // In two states.
            "0a 00 0000 03000000 2000 00 01 0800 0100 c0000201",  // Too short for its family.
            "0a 00 0000 03000000 2000 00 01 1400 0100 00000000000000000000ffffc0000201",  // IPv4's, written as IPv6's.
            "02 00 0000 03000000 2000 00 01",
            "02 00 0000 03000000 2000 00",
        ])
    func otherwiseThereIsNoNeighbour(_ hex: String) { #expect(message(28, hex) == nil) }

    @Test func readsARoute() throws {
        func route(_ hex: String) -> RouteLookup? { RouteLookup(bytes(hex)[...]) }
        let gateway = "0800 0500 c0000201"
        let output = "0800 0100 c6336401 0800 0400 02000000"
        #expect(
            route("02 20 00 00 fe 00 00 01 00020000 \(output) \(gateway)")
                == RouteLookup(index: 2, gateway: IPAddress("192.0.2.1"), isLocal: false))
        #expect(
            route("02 20 00 00 fe 00 00 01 00020000 \(output)") == RouteLookup(index: 2, gateway: nil, isLocal: false))
        #expect(
            route("02 20 00 00 ff 00 00 02 00020000 \(output)") == RouteLookup(index: 2, gateway: nil, isLocal: true))
        #expect(route("02 20 00 00 ff 00 00 05 00020000 \(output)")?.isLocal == false, "multicast")
        // IPv6 says that it would be from anywhere.
        let any = "1400 0200 00000000000000000000000000000000"
        #expect(
            route("0a 80 80 00 fe 02 00 01 00000000 \(any) 0800 0400 03000000")
                == RouteLookup(index: 3, gateway: nil, isLocal: false))
        for type in ["06", "07", "08", "09"] {
            #expect(route("02 20 00 00 fe 00 00 \(type) 00020000 \(output)") == nil, "thrown away")
        }
        #expect(route("02 20 00 00 fe 00 00 01 00020000 \(gateway)") == nil, "by no interface")
        // An IPv4 address behind an IPv6 gateway (RFC 5549).
        let via = "1600 1200 0a00 fe800000000000000000000000000001 0000"
        #expect(
            route("02 20 00 00 fe 00 00 01 00020000 \(output) \(via)")?.gateway == IPAddress("fe80::1"))
    }

    @Test func readsHostRoutesThroughAGateway() throws {
        let output = "0800 0400 02000000 0800 0600 07000000"
        let destination = "0800 0100 c6336401"
        let gateway = "0800 0500 c0000201"
        let route = HostRoute(destination: try #require(IPAddress("198.51.100.1")), index: 2, metric: 7)
        let hex = "02 20 00 00 fe 10 00 01 00000000 \(destination) \(output) \(gateway)"
        #expect(message(24, hex) == .hostRoute(route, replaces: false))
        #expect(message(24, flags: 0x100, hex) == .hostRoute(route, replaces: true))
        #expect(message(25, hex) == .hostRouteRemoved(route))
        #expect(message(24, "02 20 00 00 fe 10 00 01 00000000 \(destination) \(output)") == nil, "on the link")
        #expect(message(24, "02 20 00 00 ff 10 00 01 00000000 \(destination) \(output) \(gateway)") == nil)
        #expect(message(24, "02 20 08 00 fe 10 00 01 00000000 \(destination) \(output) \(gateway)") == nil)
        #expect(message(24, "02 18 00 00 fe 10 00 01 00000000 \(destination) \(output) \(gateway)") == nil)
        #expect(message(24, "02 20 00 00 fe 10 00 01 00000000 \(output) \(gateway)") == nil)
        // Destinations of another family, of which the second is an address of IPv4 that is written as one of IPv6.
        let far = "1400 0100 20010db8000000000000000000000009"
        #expect(message(24, "02 20 00 00 fe 10 00 01 00000000 \(far) \(output) \(gateway)") == nil)
        let mapped = "1400 0100 00000000000000000000ffffc6336401"
        #expect(message(24, "0a 80 00 00 fe 10 00 01 00000000 \(mapped) \(output) \(gateway)") == nil)
        #expect(OwnRoute.read("02 00 00 00 fe af fd 01 00000000 \(far) \(output)") == nil)
        #expect(OwnRoute.read("02 00 00 00 fe af fd 01 00000000 \(output)")?.metric == 7)
    }

    // MARK: The table

    private func apply(_ state: Neighbour.State, of key: Neighbour.Key, to table: inout RouteTable) {
        #expect(table.apply(.neighbour(Neighbour(key: key, state: state)), from: .news) { _ in .other } == [])
    }

    @Test func aNeighbourIsSilentUntilItAnswers() throws {
        var table = RouteTable()
        let key = try key(2, "192.0.2.1")
        apply(.incomplete, of: key, to: &table)
        #expect(table.failedNeighbours.isEmpty)
        apply(.failed, of: key, to: &table)
        #expect(table.failedNeighbours == [key])
        apply(.incomplete, of: key, to: &table)
        #expect(table.failedNeighbours == [key], "asked again and not answered yet")
        apply(.reachable, of: key, to: &table)
        #expect(table.failedNeighbours.isEmpty)
        apply(.failed, of: key, to: &table)
        _ = table.apply(.neighbourRemoved(key), from: .news) { _ in .other }
        #expect(table.failedNeighbours.isEmpty)
        #expect(table.neighbours.isEmpty)
    }

    @Test func readingAnewForgetsWhoIsGone() throws {
        var table = RouteTable()
        let (kept, gone) = (try key(2, "192.0.2.1"), try key(2, "192.0.2.2"))
        for key in [kept, gone] { apply(.failed, of: key, to: &table) }
        let host = HostRoute(destination: kept.address, index: 2, metric: 0)
        _ = table.apply(.hostRoute(host, replaces: false), from: .news) { _ in .other }
        table.beginReading(.neighbours)
        apply(.failed, of: kept, to: &table)
        #expect(table.endReading(.neighbours) == [])
        #expect(table.failedNeighbours == [kept])
        table.beginReading(.routes)
        #expect(table.hostRoutes == [host])
        #expect(table.endReading(.routes) == [])
        #expect(table.hostRoutes.isEmpty)
    }
}

extension OwnRoute {
    fileprivate static func read(_ hex: String) -> OwnRoute? { RouteDescription(bytes(hex)[...]).flatMap { Self($0) } }
}
