import AgentModel
import Testing

@testable import Netlink

/// Messages in the form of rtnetlink.h, little-endian.
@Suite struct AdvertisedNetworkTests {
    private static func message(_ type: UInt16, _ payload: String) throws -> NetlinkMessage {
        let bytes = try #require(Hex.bytes(payload.filter { !$0.isWhitespace }))
        return NetlinkMessage(type: type, flags: 0, sequence: 0, port: 0, payload: bytes[...])
    }

    private static let option =
        "1903 0000 00000258 fe800000000000000000000000000053"
    private static let source = "1400 0100 fe800000000000000000000000000001"

    @Test func anOptionThatIsLeftToPrograms() throws {
        let message = try Self.message(
            68, "0a00 1800 07000000 86 00 0000 00000000 \(Self.option) \(Self.source)")
        let option = try #require(AdvertisedOption(message, on: 7))
        #expect(option.bytes.count == 24 && option.bytes.prefix(2) == [25, 3])
        #expect(option.router == IPAddress("fe80::1"))
        #expect(AdvertisedOption(message, on: 8) == nil)
    }

    /// IPv4's, of a redirect, cut off, and without a router.
    @Test(arguments: [
        "0200 1800 07000000 86 00 0000 00000000 \(option) \(source)",
        "0a00 1800 07000000 89 00 0000 00000000 \(option) \(source)",
        "0a00 ffff 07000000 86 00 0000 00000000 \(option) \(source)",
        "0a00 1800 07000000 86 00 0000 00000000 \(option)", "0a00 1800 0700", "",
    ]) func noOption(payload: String) throws {
        #expect(AdvertisedOption(try Self.message(68, payload), on: 7) == nil)
    }

    /// IFLA_PROTINFO of IPv6's own news, and IFLA_AF_SPEC of the whole link.
    @Test(arguments: [
        ("0a00 0100 07000000 43100000 00000000  0c00 0c80  0800 0100 c0000000", true, true),
        ("0a00 0100 07000000 43100000 00000000  0c00 0c80  0800 0100 30000080", false, false),
        ("0000 0100 07000000 43100000 00000000  1000 1a80  0c00 0a80  0800 0100 80000000", false, true),
    ]) func flags(payload: String, isManaged: Bool, hasOther: Bool) throws {
        let message = try Self.message(16, payload)
        #expect(RouterFlags(message, on: 7) == RouterFlags(isManaged: isManaged, hasOther: hasOther))
        #expect(RouterFlags(message, on: 9) == nil)
    }

    @Test func aLinkThatSaysNothingOfIPv6() throws {
        #expect(RouterFlags(try Self.message(16, "0000 0100 07000000 43100000 00000000"), on: 7) == nil)
        #expect(RouterFlags(try Self.message(16, "0700 0100 07000000 43100000 00000000"), on: 7) == nil)
    }

    /// IFA_FLAGS and, on Linux 5.18 and later, IFA_PROTO.
    @Test(
        arguments: [
            ("00010000", "02", .advertised, true), ("00010000", nil, .advertised, true),
            ("01000000", nil, .advertised, true),
            ("00000000", nil, .other, true), ("80000000", nil, .other, true), ("80010000", nil, .other, true),
            ("44010000", "02", .advertised, true), ("40010000", "02", .advertised, false),
            ("48010000", "02", .advertised, false), ("40020000", "af", .own, false),
        ] as [(String, String?, IPv6InterfaceAddress.Origin, Bool)])
    func addresses(flags: String, maker: String?, origin: IPv6InterfaceAddress.Origin, isUsable: Bool) throws {
        let proto = maker.map { "0500 0b00 \($0)000000" } ?? ""
        let message = try Self.message(
            20, "0a 40 00 00 07000000  1400 0100 20010db8000000000000000000000007  0800 0800 \(flags) \(proto)")
        let address = try #require(IPv6InterfaceAddress(message, on: 7))
        #expect(address.address == IPAddress("2001:db8::7") && address.prefixLength == 64)
        #expect(address.origin == origin && address.isUsable == isUsable)
        #expect(address.isDuplicate == (flags == "48010000"))
        #expect(IPv6InterfaceAddress(message, on: 8) == nil)
    }

    private static func route(
        destination: String? = "20010db8000000000000000000000000", gateway: String? = nil, maker: String,
        type: String = "01", expires: String = "00000000"
    ) throws -> NetlinkMessage {
        let length = destination == nil ? "00" : "40"
        return try message(
            24,
            "0a \(length) 00 00 fe \(maker) 00 \(type) 00000000 " + (destination.map { "1400 0100 \($0)" } ?? "")
                + (gateway.map { "1400 0500 \($0)" } ?? "") + "0800 0400 07000000 0800 0600 00010000"
                + "2400 0c00 0000000000000000 \(expires) 00000000 00000000 00000000 00000000 00000000")
    }

    @Test func routesOfRouters() throws {
        let router = "fe800000000000000000000000000001"
        let way = try #require(AdvertisedRoute(try Self.route(destination: nil, gateway: router, maker: "09"), on: 7))
        #expect(way.destination == nil && way.metric == 256 && way.gateway?.count == 16)
        let prefix = try #require(AdvertisedRoute(try Self.route(maker: "02", expires: "e8030000"), on: 7))
        #expect(prefix.prefixLength == 64 && prefix.gateway == nil && prefix.isOfPrefix && !way.isOfPrefix)
        // Unlimited lifetime: without an expiry.
        #expect(try #require(AdvertisedRoute(try Self.route(maker: "02"), on: 7)).isOfPrefix)
        let request = NetlinkRequest.remove(way, on: 7).encoded(flags: 0, sequence: 1, port: 0)
        let written = try #require(Array(NetlinkDatagram(request)).first)
        #expect(written.type == 25 && RouteDescription(written.payload)?.metric == 256)
        // A static one, the link-local one, another link's, one of DHCP, a blackhole.
        #expect(AdvertisedRoute(try Self.route(maker: "04", expires: "e8030000"), on: 7) == nil)
        #expect(
            AdvertisedRoute(
                try Self.route(
                    destination: "fe80" + String(repeating: "0", count: 28), maker: "02", expires: "e8030000"),
                on: 7) == nil)
        #expect(AdvertisedRoute(try Self.route(maker: "09"), on: 8) == nil)
        #expect(AdvertisedRoute(try Self.route(maker: "10", expires: "e8030000"), on: 7) == nil)
        #expect(AdvertisedRoute(try Self.route(maker: "09", type: "06"), on: 7) == nil)
    }

    @Test func anAddressOfDHCP() throws {
        let plan = IPv6AddressPlan(
            try #require(IPAddress("2001:db8::9")), preferred: .seconds(7200), valid: .milliseconds(3_600_900))
        let bytes = NetlinkRequest.set(plan, on: 7).encoded(flags: 0, sequence: 1, port: 0)
        let message = try #require(Array(NetlinkDatagram(bytes)).first)
        let address = try #require(IPv6InterfaceAddress(message, on: 7))
        #expect(address.origin == .own && address.prefixLength == 128 && address.address == IPAddress("2001:db8::9"))
        // struct ifa_cacheinfo: not preferred for longer than valid.
        #expect(message.attributes(after: 8)[6]?.bytes.prefix(8) == [16, 14, 0, 0, 16, 14, 0, 0])
    }

    @Test(arguments: ["2001:db8::1", "fe80::1", nil]) func aStaticAddress(gateway: String?) throws {
        let router = gateway.flatMap { IPAddress($0) }
        let fixed = try StaticAddress("2001:db8::20/56", gateway: router)
        let plan = IPv6AddressPlan(fixed, on: 7, metric: 600)
        let bytes = NetlinkRequest.set(plan, on: 7).encoded(flags: 0, sequence: 1, port: 0)
        let message = try #require(Array(NetlinkDatagram(bytes)).first)
        let address = try #require(IPv6InterfaceAddress(message, on: 7))
        #expect(address.origin == .own && address.prefixLength == 56 && address.address == fixed.address)
        #expect(message.attributes(after: 8)[6]?.bytes.prefix(8).allSatisfy { $0 == 0xff } == true)

        let reports = plan.routes.compactMap { route in
            let bytes = NetlinkRequest.change(route, isNew: true).encoded(flags: 0, sequence: 1, port: 0)
            return Array(NetlinkDatagram(bytes)).first.flatMap { AdvertisedRoute($0, on: 7) }
        }
        let prefix = try #require(reports.first)
        #expect(prefix.destination == IPAddress("2001:db8::") && prefix.prefixLength == 56 && prefix.gateway == nil)
        #expect(reports.dropFirst().map(\.gateway) == (router.map { [$0.bytes] } ?? []))
        #expect(reports.dropFirst().allSatisfy { $0.destination == nil && $0.prefixLength == 0 })
        #expect(reports.allSatisfy { $0.metric == 600 })
        #expect(zip(reports, plan.routes).allSatisfy { $0.isSame(as: $1) })
        // Optimistic duplicate detection, or none; a change takes a new address.
        #expect(message.attributes(after: 8)[8]?.number(as: UInt32.self) == 0x204)
        let unchecked = IPv6AddressPlan(fixed, on: 7, metric: 600, detectsDuplicates: false)
        let other = try #require(
            Array(NetlinkDatagram(NetlinkRequest.set(unchecked, on: 7).encoded(flags: 0, sequence: 1, port: 0))).first)
        #expect(other.attributes(after: 8)[8]?.number(as: UInt32.self) == 0x202)
        #expect(!unchecked.isSameAddress(as: plan) && unchecked.routes == plan.routes)
        let next = IPv6AddressPlan(fixed, on: 7, metric: 610)
        #expect(!zip(reports, next.routes).contains { $0.isSame(as: $1) })
    }
}
