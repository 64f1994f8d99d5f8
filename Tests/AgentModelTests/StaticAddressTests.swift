import AgentModel
import Testing

@Suite struct StaticAddressTests {
    @Test(arguments: [
        ("192.168.1.20/24", nil), ("192.168.1.20/24", "192.168.1.1"), ("192.168.1.0/31", "192.168.1.1"),
        ("2001:db8::20/64", nil), ("2001:db8::20/64", "fe80::1"), ("2001:db8::20/64", "2001:db8::1"),
        ("2001:db8::20/128", "fe80::1"), ("2001:db8::/127", "2001:db8::1"), ("fd00::20/8", "fd00::1"),
        ("2001:db8::ffff:ffff:ffff:ffff/64", nil),
    ])
    func readsAddresses(text: String, gateway: String?) throws {
        let address = try StaticAddress(text, gateway: gateway.flatMap { IPAddress($0) })
        #expect(address.text == text)
        #expect(address.gateway?.description == gateway)
        #expect(address.isIPv4 == !text.contains(":"))
    }

    @Test(arguments: [
        "2001:db8::20", "2001:db8::20/064", "2001:db8::20/", "2001:db8::20/1000", "fe80::1%wlan0/64", "/64",
    ])
    func refusesOtherNotations(text: String) {
        #expect(throws: StaticAddressError.notation) { try StaticAddress(text) }
    }

    @Test(arguments: [("192.168.1.20/7", 7), ("192.168.1.20/33", 33), ("2001:db8::20/7", 7), ("2001:db8::20/129", 129)])
    func refusesPrefixLengths(text: String, length: Int) {
        #expect(throws: StaticAddressError.prefixLength(length)) { try StaticAddress(text) }
    }

    /// Every other part is wrong for the required family, too.
    @Test(arguments: [
        ("192.168.1.20/24", AddressFamily.ipv6), ("192.168.1.20/64", .ipv6), ("::ffff:192.168.1.20/120", .ipv6),
        ("2001:db8::20/64", .ipv4), ("fe80::20/129", .ipv4),
    ])
    func checksTheFamilyFirst(text: String, family: AddressFamily) throws {
        let address = try #require(IPAddress(text.prefix { $0 != "/" }))
        let gateway = try #require(IPAddress(family == .ipv4 ? "2001:db8::1" : "192.168.1.1"))
        #expect(throws: StaticAddressError.family(address)) {
            try StaticAddress(text, family: family, gateway: gateway)
        }
    }

    @Test(arguments: [("192.168.1.20/24", AddressFamily.ipv4), ("2001:db8::20/64", .ipv6)])
    func acceptsTheFamily(text: String, family: AddressFamily) throws {
        let address = try StaticAddress(text, family: family)
        #expect(address.text == text)
    }

    @Test(arguments: [
        "192.168.1.0/24", "192.168.1.255/24", "224.0.0.20/24", "2001:db8::/64", "fe80::20/64", "ff02::20/64", "::1/64",
        "::/64",
    ])
    func refusesAddressesThatNoHostCanHave(text: String) throws {
        let address = try #require(IPAddress(text.prefix { $0 != "/" }))
        #expect(throws: StaticAddressError.address(address)) { try StaticAddress(text) }
    }

    @Test(arguments: [
        ("192.168.1.20/24", "192.168.2.1"), ("192.168.1.20/24", "192.168.1.20"), ("192.168.1.20/24", "fe80::1"),
        ("192.168.1.20/24", "169.254.0.1"), ("2001:db8::20/64", "2001:db8:1::1"), ("2001:db8::20/64", "2001:db8::20"),
        ("2001:db8::20/64", "2001:db8::"), ("2001:db8::20/64", "192.168.1.1"), ("2001:db8::20/64", "169.254.0.1"),
        ("2001:db8::20/64", "ff02::1"),
    ])
    func refusesGateways(text: String, gateway: String) throws {
        let gateway = try #require(IPAddress(gateway))
        #expect(throws: StaticAddressError.gateway(gateway)) { try StaticAddress(text, gateway: gateway) }
    }

    @Test func limitsNameServers() throws {
        let server = try #require(IPAddress("2001:db8::53"))
        let most = try StaticAddress("2001:db8::20/64", nameServers: Array(repeating: server, count: 3))
        #expect(most.nameServers.count == StaticAddress.maximumServers)
        #expect(throws: StaticAddressError.tooManyServers(4)) {
            try StaticAddress("2001:db8::20/64", nameServers: Array(repeating: server, count: 4))
        }
        let group = try #require(IPAddress("ff02::1"))
        #expect(throws: StaticAddressError.nameServer(group)) {
            try StaticAddress("2001:db8::20/64", nameServers: [server, group])
        }
    }
}
