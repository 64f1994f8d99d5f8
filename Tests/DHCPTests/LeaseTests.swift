import AgentModel
import Testing

@testable import DHCP

/// What a server can say, and what the device makes of it.
@Suite struct LeaseTests {
    private static let start = Instant(milliseconds: 1_000_000)

    private func read(_ changes: (inout DHCPMessage) -> Void) throws -> (lease: Lease, flaws: [LeaseFlaw]) {
        var message = Server().message(.ack, transaction: 1)
        changes(&message)
        return try Lease.read(message, from: Self.start)
    }

    private func fault(_ changes: (inout DHCPMessage) -> Void) -> LeaseError? {
        do { _ = try read(changes) } catch { return error as? LeaseError }
        return nil
    }

    @Test func anAnswerOfDnsmasqIsRead() throws {
        let (lease, flaws) = try Lease.read(DHCPMessageTests.message(Vectors.dnsmasqAck), from: Self.start)
        #expect(flaws.isEmpty)
        #expect("\(lease.subnet) \(lease.server)" == "192.168.7.0/24 192.168.7.1")
        #expect(lease.gateway == IPv4Address("192.168.7.1"))
        #expect(lease.nameServers.map(\.description) == ["192.168.7.1", "9.9.9.9"])
        #expect(lease.searchDomains == ["eng.example.com", "example.com"])
        #expect(lease.mtu == 1400 && lease.portal == "https://portal.example/api")
        #expect(lease.timeServers.map(\.description) == ["192.168.7.2"])
        let route = try #require(lease.routes.first)
        #expect(lease.routes.count == 1 && "\(route.destination)" == "192.168.9.0/24")
        #expect(route.gateway == IPv4Address("192.168.7.2"))
        #expect(lease.renewal - Self.start == .seconds(1800) && lease.rebinding - Self.start == .seconds(3150))
        #expect(lease.expiry - Self.start == .seconds(3600))
    }

    @Test func theExampleOfRFC3397IsRead() throws {
        let (lease, _) = try Lease.read(DHCPMessageTests.message(Vectors.scapyOffer), from: Self.start)
        #expect(lease.searchDomains == ["eng.apple.com", "marketing.apple.com"])
    }

    // MARK: Lies about the address

    @Test(arguments: [
        "0.0.0.0", "255.255.255.255", "127.0.0.1", "224.0.0.1", "240.0.0.1", "0.1.2.3", "192.168.7.0", "192.168.7.255",
        "169.254.1.1",
    ])
    func noHostsAddressIsRefused(text: String) throws {
        let address = try #require(IPv4Address(text))
        let fault = fault {
            $0.yourAddress = address
            $0.options = Server.options(gateway: nil)
        }
        #expect(fault == .badAddress(address))
    }

    @Test(arguments: ["255.0.255.0", "0.0.0.0", "254.0.0.0", "0.0.0.255", "255.255.255.253"])
    func masksWithGapsAndOfNoNetworkAreRefused(text: String) throws {
        let mask = try #require(IPv4Address(text))
        #expect(fault { $0.options = Server.options(mask: mask.bytes) } == .badMask(mask))
    }

    @Test func aMissingMaskIsThatOfTheClass() throws {
        #expect(try read { $0.options = Server.options(mask: nil) }.lease.prefixLength == 24)
        let (lease, flaws) = try read { $0.options = Server.options(mask: [255, 255]) }
        #expect(lease.prefixLength == 24 && flaws == [.malformed(.subnetMask)])
    }

    @Test(arguments: ["10.0.0.1", "192.168.8.1"])
    func aGatewayOutsideTheSubnetIsUsed(text: String) throws {
        let gateway = try #require(IPv4Address(text))
        let (lease, flaws) = try read { $0.options = Server.options(gateway: gateway.bytes) }
        #expect(lease.gateway == gateway && flaws.isEmpty)
    }

    @Test(arguments: ["192.168.7.50", "127.0.0.1", "0.0.0.0", "255.255.255.255"])
    func aGatewayThatIsNoOtherHostIsLeftOut(text: String) throws {
        let gateway = try #require(IPv4Address(text))
        let lease = try read { $0.options = Server.options(gateway: gateway.bytes) }.lease
        #expect(lease.gateway == nil)
    }

    @Test(arguments: [[], [1, 2, 3]] as [[UInt8]]) func malformedRoutersAreNone(value: [UInt8]) throws {
        let (lease, flaws) = try read { $0.options = Server.options(gateway: value) }
        #expect(lease.gateway == nil && flaws == [.malformed(.routers)])
    }

    /// dnsmasq with `dhcp-option=54` sends its own identifier besides.
    @Test func theFirstValueOfAnOptionThatComesTwiceCounts() throws {
        let (lease, flaws) = try read {
            $0.options = Server.options(mask: [255, 255, 255, 0, 255, 0, 0, 0])
            $0.options.append(.leaseTime, UInt32(60).bytes)
            $0.options.append(.serverIdentifier, [9, 9, 9, 9])
        }
        #expect(lease.prefixLength == 24 && lease.server == Server.gateway)
        #expect(lease.expiry - Self.start == .seconds(3600))
        #expect(flaws == [.repeated(.subnetMask), .repeated(.leaseTime), .repeated(.serverIdentifier)])
    }

    @Test func aHostOfItsOwnMayHaveAGatewayAnywhere() throws {
        let lease = try read {
            $0.options = Server.options(mask: [255, 255, 255, 255], gateway: [10, 0, 0, 1])
        }.lease
        #expect(lease.prefixLength == 32 && lease.gateway == IPv4Address("10.0.0.1"))
    }

    @Test func theFirstGatewayOnTheLinkIsTaken() throws {
        let lease = try read { $0.options = Server.options(gateway: [10, 0, 0, 1, 192, 168, 7, 9]) }.lease
        #expect(lease.gateway == IPv4Address("192.168.7.9"))
        #expect(try read { $0.options = Server.options(gateway: nil) }.lease.gateway == nil)
        #expect(try read { $0.options = Server.options(gateway: [0, 0, 0, 0]) }.lease.gateway == nil)
    }

    @Test(arguments: [nil, [0, 0, 0, 0], [1, 2]] as [[UInt8]?])
    func aServerWithoutAnIdentifierIsTheSender(value: [UInt8]?) throws {
        let sender = try #require(IPv4Address("192.168.7.3"))
        let (lease, flaws) = try read {
            $0.options = Server.options(server: value)
            $0.sender = sender
        }
        #expect(lease.server == sender && flaws.contains(.noServer))
        #expect(fault { $0.options = Server.options(server: value) } == .badServer(.unspecified))
    }

    // MARK: Lies about times

    @Test(arguments: [0, 1, 9] as [UInt32]) func aLeaseThatEndsAtOnceIsUsedForTenSeconds(seconds: UInt32) throws {
        let (lease, flaws) = try read { $0.options = Server.options(seconds: seconds) }
        #expect(lease.expiry - Self.start == .seconds(10) && flaws == [.shortLease(seconds)])
    }

    @Test func aLeaseForEverIsUsedForAWeek() throws {
        let (lease, flaws) = try read { $0.options = Server.options(seconds: .max) }
        #expect(lease.expiry - Self.start == .seconds(7 * 86_400) && flaws == [.longLease(.max)])
    }

    @Test func aLeaseWithoutATimeIsUsedForAnHour() throws {
        let (lease, flaws) = try read { $0.options = Server.options(seconds: nil) }
        #expect(lease.expiry - Self.start == .seconds(3600) && flaws == [.noLeaseTime])
    }

    @Test(
        arguments: [
            (0, 3000), (1, 3000), (59, 3000), (3000, 1800), (1800, 1800), (1800, 3600), (4000, 5000), (.max, .max),
        ] as [(UInt32, UInt32)])
    func contradictingTimesAreThoseOfTheStandard(renewal: UInt32, rebinding: UInt32) throws {
        let (lease, flaws) = try read {
            $0.options.append(.renewalTime, renewal.bytes)
            $0.options.append(.rebindingTime, rebinding.bytes)
        }
        #expect(flaws == [.badTimes])
        #expect(lease.renewal - Self.start == .seconds(1800) && lease.rebinding - Self.start == .seconds(3150))
    }

    @Test func timesOfTheServerAreUsed() throws {
        let (lease, flaws) = try read {
            $0.options.append(.renewalTime, UInt32(60).bytes)
            $0.options.append(.rebindingTime, UInt32(61).bytes)
        }
        #expect(flaws.isEmpty && lease.renewal - Self.start == .seconds(60))
        #expect(lease.rebinding - Self.start == .seconds(61))
    }

    // MARK: Lies about the rest

    @Test(
        arguments: [
            ([0, 0], LeaseFlaw.smallMTU(0)), ([2, 0x40], .smallMTU(576)), ([4, 0xff], .smallMTU(1279)),
            ([5], .malformed(.mtu)),
        ] as [([UInt8], LeaseFlaw)])
    func anMTUThatTakesAwayIPv6IsNotUsed(value: [UInt8], flaw: LeaseFlaw) throws {
        let (lease, flaws) = try read { $0.options.append(.mtu, value) }
        #expect(lease.mtu == nil && flaws == [flaw])
        #expect(try read { $0.options.append(.mtu, [5, 0]) }.lease.mtu == 1280)
    }

    @Test func serversThatAreNoHostsAreLeftOut() throws {
        let (lease, flaws) = try read { $0.options.append(.nameServers, [0, 0, 0, 0, 9, 9, 9, 9, 224, 0, 0, 1]) }
        #expect(lease.nameServers.map(\.description) == ["9.9.9.9"] && flaws.count == 2)
        let many = (1...20).flatMap { [10, 0, 0, $0] as [UInt8] }
        let more = try read { $0.options.append(.timeServers, many) }
        #expect(more.lease.timeServers.count == 8 && more.flaws == [.tooMany(.timeServers)])
        #expect(try read { $0.options.append(.nameServers, [1, 2, 3]) }.flaws == [.malformed(.nameServers)])
    }

    /// A line break in a name would be a line of resolv.conf.
    @Test(arguments: ["a\nnameserver 1.2.3.4", "a..b", ".", "a;b", "\u{0}", String(repeating: "a", count: 64)])
    func namesThatAFileCannotHoldAreLeftOut(name: String) throws {
        let (lease, flaws) = try read { $0.options.append(.domainName, Array(name.utf8)) }
        #expect(lease.searchDomains.isEmpty && flaws == [.malformed(.domainName)])
    }

    @Test func domainsAreRead() throws {
        #expect(
            try read { $0.options.append(.domainName, Array("lan. b.example\0".utf8)) }.lease.searchDomains
                == ["lan", "b.example"])
    }

    @Test(
        arguments: [
            [0xc0, 0], [1, 97, 0xc0, 0], [1, 97, 0xc0, 2], [1, 97], [5, 97], [0], [0x40, 1], [1, 10, 0], [0xc0],
        ] as [[UInt8]])
    func searchListsThatLeadNowhereAreLeftOut(value: [UInt8]) throws {
        let (lease, flaws) = try read { $0.options.append(.searchDomains, value) }
        #expect(lease.searchDomains.isEmpty && flaws == [.malformed(.searchDomains)])
    }

    @Test(arguments: ["http://portal.example", "https://", "https://a b", "javascript:x", "https://\u{e9}"])
    func aPortalWithoutTLSIsNotUsed(text: String) throws {
        let (lease, flaws) = try read { $0.options.append(.captivePortal, Array(text.utf8)) }
        #expect(lease.portal == nil && flaws == [.badPortal])
    }

    @Test func noPortalIsNoFlaw() throws {
        let none = try read { $0.options.append(.captivePortal, Array("urn:ietf:params:capport:unrestricted".utf8)) }
        #expect(none.lease.portal == nil && none.flaws.isEmpty)
    }

    // MARK: Metered networks

    @Test(arguments: ["ANDROID_METERED", "\u{1}\u{f}ANDROID_METERED", "xANDROID_METEREDx", "ANDROIDANDROID_METERED"])
    func aPhonesHotspotIsMetered(text: String) throws {
        let (lease, flaws) = try read { $0.options.append(.vendorInformation, Array(text.utf8)) }
        #expect(lease.isMetered && flaws.isEmpty)
    }

    @Test func theMarkMayComeInParts() throws {
        let (lease, _) = try read {
            $0.options.append(.vendorInformation, Array("ANDROID_".utf8))
            $0.options.append(.vendorInformation, Array("METERED".utf8))
        }
        #expect(lease.isMetered)
    }

    @Test(arguments: ["", "ANDROID_METERE", "android_metered", "ANDROID METERED"])
    func otherVendorInformationSaysNothing(text: String) throws {
        let (lease, flaws) = try read { $0.options.append(.vendorInformation, Array(text.utf8)) }
        #expect(!lease.isMetered && flaws.isEmpty)
        let silent = try read { _ in }
        #expect(!silent.lease.isMetered)
    }

    // MARK: Routes

    /// They would take the network itself, or the way to the default gateway, off the link: the kernel then refuses the
    /// default route, whatever its place in the list.
    @Test func routesOverTheOwnNetworkAreLeftOut() throws {
        let everywhere: [UInt8] = [0, 192, 168, 7, 1]
        for (list, mask) in [
            ([24, 192, 168, 7, 192, 168, 7, 9] + everywhere, [255, 255, 255, 0]),
            ([32, 192, 168, 7, 1, 192, 168, 7, 9] + everywhere, [255, 255, 255, 0]),
            (everywhere + [25, 192, 168, 7, 0, 192, 168, 7, 9], [255, 255, 255, 0]),
            (everywhere + [32, 192, 168, 7, 1, 192, 168, 7, 9], [255, 255, 255, 255]),
            ([32, 192, 168, 7, 1, 192, 168, 7, 9] + everywhere, [255, 255, 255, 255]),
        ] as [([UInt8], [UInt8])] {
            let (lease, flaws) = try read {
                $0.options = Server.options(mask: mask)
                $0.options.append(.routes, list)
            }
            #expect(lease.gateway == Server.gateway && lease.routes.isEmpty && flaws.count == 1)
        }
        // A wider one is no harm: the network's own route is the more specific one.
        let (lease, _) = try read { $0.options.append(.routes, [16, 192, 168, 192, 168, 7, 9] + everywhere) }
        #expect(lease.routes.count == 1)
    }

    @Test func whatTheNetworkTellsBesideAddresses() throws {
        let (lease, _) = try Lease.read(DHCPMessageTests.message(Vectors.dnsmasqAck), from: Self.start)
        let told = lease.configuration
        #expect(told.nameServers == [IPAddress("192.168.7.1"), IPAddress("9.9.9.9")].compactMap { $0 })
        #expect(told.timeServers == [IPAddress("192.168.7.2")].compactMap { $0 })
        #expect(told.searchDomains == lease.searchDomains && told.portal == lease.portal)
    }

    @Test func routesTakeThePlaceOfRouters() throws {
        let (lease, flaws) = try read {
            $0.options.append(.routes, [24, 10, 1, 2, 192, 168, 7, 9, 0, 192, 168, 7, 8, 16, 172, 20, 0, 0, 0, 0])
        }
        #expect(flaws.isEmpty && lease.gateway == IPv4Address("192.168.7.8"))
        #expect(
            lease.routes.map { "\($0.destination) \($0.gateway?.description ?? "link")" } == [
                "172.20.0.0/16 link", "10.1.2.0/24 192.168.7.9",
            ])
    }

    @Test(
        arguments: [
            // Half of the internet, loopback, by a gateway that is not on the link, and to the default by the link.
            [1, 0, 192, 168, 7, 9], [8, 127, 192, 168, 7, 9], [24, 10, 1, 2, 10, 9, 9, 9], [0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func routesThatLeadNowhereOrTakeAllAreLeftOut(value: [UInt8]) throws {
        let (lease, flaws) = try read { $0.options.append(.routes, value) }
        #expect(lease.routes.isEmpty && lease.gateway == nil && flaws.count == 1)
    }

    @Test(arguments: [[33, 1, 2, 3, 4, 5, 1, 1, 1, 1], [24, 10], []] as [[UInt8]])
    func malformedRoutesLeaveTheRouters(value: [UInt8]) throws {
        let (lease, flaws) = try read { $0.options.append(.routes, value) }
        #expect(lease.gateway == Server.gateway && flaws == [.malformed(.routes)])
    }

    @Test func everyFaultIsOneLine() {
        let faults: [LeaseError] = [
            .badAddress(.broadcast), .badMask(.unspecified), .badServer(.unspecified), .badPrefixLength(33),
            .badGateway(.broadcast),
        ]
        for fault in faults { #expect(!fault.description.isEmpty && !fault.description.contains("\n")) }
    }
}

@Suite struct DHCPSettingsTests {
    @Test func identifiersAreOfTheStandardsForms() throws {
        let client = Server.client
        #expect(ClientIdentifier.hardware.bytes(for: client) == [1] + client.bytes)
        #expect(try #require(ClientIdentifier.text("lamp")).bytes(for: client) == [0] + Array("lamp".utf8))
        #expect(
            try #require(ClientIdentifier.unique(association: 7, device: [0, 3, 1])).bytes(for: client)
                == [255, 0, 0, 0, 7, 0, 3, 1])
        #expect(ClientIdentifier.text("") == nil)
        #expect(ClientIdentifier.text(String(repeating: "a", count: 255)) == nil)
        #expect(ClientIdentifier.unique(association: 0, device: [1, 2]) == nil)
    }

    @Test(arguments: ["", "a_b", "-a", "a-", "a b", "a.", "a..b", String(repeating: "a", count: 64), "\u{e4}"])
    func otherHostNamesAreRefused(text: String) { #expect(HostName(text) == nil) }

    @Test func hostNamesAreTaken() { #expect(HostName("lamp-01.example")?.description == "lamp-01.example") }
}
