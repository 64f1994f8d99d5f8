import AgentModel
import DHCP
import Failover
import KeyFile
import Testing

@testable import AgentCore

/// When the device asks for an address, with what it remembers, and when it gives it up.
@Suite struct AddressTests {
    private static let reason = SupplicantEvent.disconnected(reason: 8, locallyGenerated: false)

    private static func lease(_ last: UInt8, in bench: CoreBench) throws -> Lease {
        var lease = Lease(
            address: try #require(IPv4Address("10.0.1.\(last)")), prefixLength: 24, gateway: IPv4Address("10.0.1.1"),
            server: try #require(IPv4Address("10.0.1.1")), renewal: bench.now + .seconds(1800),
            rebinding: bench.now + .seconds(3150), expiry: bench.now + .seconds(3600),
            hardware: try #require(HardwareAddress(bytes: [2, 0, 0, 0, 0, 9])))
        lease.gatewayHardware = HardwareAddress(bytes: [2, 0, 0, 0, 1, 0])
        lease.nameServers = [try #require(IPv4Address("10.0.1.1"))]
        return lease
    }

    /// The device has lost Home and joins it anew.
    private func rejoin(_ bench: inout CoreBench) throws {
        bench.joins = [:]
        bench.handle(.supplicant("wlan0", Self.reason))
        for _ in 0..<3 where bench.joins.isEmpty { bench.endScan(.finished([bench.bss("Home")])) }
        try #require(bench.joins["wlan0"] != nil)
        bench.connect("wlan0")
    }

    @Test func aLinkThatIsThereAtTheStartIsAskedFor() throws {
        var bench = try CoreBench()
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.atWork)
        bench.handle(.supplicant("wlan0", .available))
        #expect(bench.requests.isEmpty)
        let facts = LinkFacts(ssid: try SSID("Home"), bssid: bench.bss("Home").bssid, frequency: nil)
        let effects = bench.handle(.linkAnswer("wlan0", .whatIsThere(1), .linked(facts)))
        #expect(effects.contains("seek address wlan0") && !effects.contains("drop address wlan0"))
    }

    /// What an agent that was killed has left is taken away.
    @Test func withoutALinkNoAddressStays() throws {
        var bench = try CoreBench()
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.atWork)
        bench.handle(.supplicant("wlan0", .available))
        #expect(bench.handle(.linkAnswer("wlan0", .whatIsThere(1), .notLinked)).contains("drop address wlan0"))
    }

    @Test func aLinkThatIsLostGivesItsAddressUp() throws {
        var bench = try CoreBench()
        try bench.start()
        #expect(bench.handle(.supplicant("wlan0", Self.reason)).contains("drop address wlan0"))
        #expect(
            !bench.handle(.supplicant("wlan0", Self.reason)).contains("drop address wlan0"), "there is none any more")
    }

    /// The network needs it for the sign-off: the order to join takes it away.
    @Test func aLinkThatIsLeftKeepsItsAddressUntilTheJoin() throws {
        var bench = try CoreBench()
        try bench.start()
        bench.handle(.request(7, try bench.command("Backup")))
        try bench.store(1)
        bench.handle(.answerSent(switchID: "s-1"))
        let effects = bench.endScan(.finished([bench.bss("Home"), bench.bss("Backup")]))
        #expect(bench.joinsToOthers == 1 && !effects.contains("drop address wlan0"))
        #expect(bench.connect("wlan0").contains("seek address wlan0"))
        #expect(bench.requests.last == AddressRequest(), "nothing is remembered of it")
    }

    @Test func theSameNetworkIsNoOther() throws {
        var bench = try CoreBench()
        try bench.start()
        try rejoin(&bench)
        #expect(bench.requests.count == 2)
        #expect(bench.joinsToOthers == 0)
    }

    @Test func aLeaseIsRememberedWithItsEnd() throws {
        var bench = try CoreBench()
        try bench.start()
        let lease = try Self.lease(17, in: bench)
        bench.handle(.ipv4("wlan0", .remember(lease)))
        try rejoin(&bench)
        #expect(bench.requests.last == AddressRequest(remembered: lease, isDated: true))
    }

    @Test func aLeaseThatIsGoodForNothingIsForgotten() throws {
        var bench = try CoreBench()
        try bench.start()
        bench.handle(.ipv4("wlan0", .remember(try Self.lease(17, in: bench))))
        bench.handle(.ipv4("wlan0", .forget))
        try rejoin(&bench)
        #expect(bench.requests.last == AddressRequest())
    }

    /// A first lease is worth a write, after a while; a restarted agent does not know how long it lasts.
    @Test func aLeaseSurvivesARestart() throws {
        var bench = try CoreBench()
        try bench.start()
        let lease = try Self.lease(17, in: bench)
        bench.handle(.ipv4("wlan0", .remember(lease)))
        bench.now = bench.now + .seconds(21 * 60)
        bench.handle(.timer(.statistics))
        let change = try #require(bench.changes.keys.first)
        try bench.store(change)
        let stored = try #require(bench.disk.statistics[try SSID("Home")]?.lease)
        #expect(stored.address.description == "10.0.1.17" && stored.server.description == "10.0.1.1")

        var next = try CoreBench(disk: bench.disk)
        try next.start()
        let request = try #require(next.requests.last)
        let remembered = try #require(request.remembered)
        #expect(!request.isDated)
        #expect((remembered.address, remembered.gateway) == (lease.address, lease.gateway))
        #expect(remembered.gatewayHardware == lease.gatewayHardware && remembered.nameServers == lease.nameServers)
        #expect(remembered.expiry > next.now)
    }

    @Test func theOwnersAddressGoesAlong() throws {
        let address = try #require(IPAddress("10.0.1.5"))
        let fixed = try StaticAddress(address: address, prefixLength: 24)
        var bench = try CoreBench()
        bench.disk.home?.staticAddress = fixed
        var next = try CoreBench(disk: bench.disk)
        try next.start()
        #expect(next.requests.last?.fixed == fixed)
    }

    /// The owner changes the address of the network in use: it counts at once.
    @Test func aChangedAddressIsTakenAtOnce() throws {
        var bench = try CoreBench()
        try bench.start()
        var state = bench.disk
        let address = try #require(IPAddress("10.0.1.5"))
        state.home?.staticAddress = try StaticAddress(address: address, prefixLength: 24)
        bench.disk = state
        #expect(bench.requests.count == 1)
        bench.handle(.request(7, try bench.command("Backup")))
        let id = try #require(bench.changes.keys.first)
        bench.changes[id] = nil
        #expect(bench.handle(.committed(id, state)).contains("seek address wlan0"))
        #expect(bench.requests.last?.fixed == state.home?.staticAddress && bench.requests.count == 2)
    }

    @Test func theRequestHasTheStaticIPv6Address() throws {
        var disk = try CoreBench().disk
        let fixed = try StaticAddress("2001:db8::20/64")
        disk.home?.options.ipv6 = fixed
        var bench = try CoreBench(disk: disk)
        try bench.start()
        #expect(bench.requests.last == AddressRequest(fixedIPv6: fixed))
    }

    /// A change of it leaves IPv4's address alone.
    @Test(
        arguments: [(nil, "2001:db8::20/64"), ("2001:db8::20/64", nil), ("2001:db8::20/64", "2001:db8::21/64")]
            as [(String?, String?)])
    func aChangedIPv6AddressIsTakenAtOnce(old: String?, new: String?) throws {
        var disk = try CoreBench().disk
        disk.home?.options.ipv6 = try old.map { try StaticAddress($0) }
        var bench = try CoreBench(disk: disk)
        try bench.start()
        disk.home?.options.ipv6 = try new.map { try StaticAddress($0) }
        bench.disk = disk
        bench.handle(.request(7, try bench.command("Backup")))
        let id = try #require(bench.changes.keys.first)
        bench.changes[id] = nil
        let effects = bench.handle(.committed(id, disk))
        #expect(effects.contains("static IPv6 wlan0 \(new ?? "none")"))
        #expect(!effects.contains("confirm address wlan0") && bench.requests.count == 1)
    }

    @Test func aRoamOfTheDriversIsConfirmed() throws {
        var bench = try CoreBench()
        try bench.start()
        bench.handle(.supplicant("wlan0", .connected(attempt: nil, bssid: bench.bss("Cafe").bssid)))
        let facts = LinkFacts(ssid: try SSID("Home"), bssid: bench.bss("Cafe").bssid, frequency: nil)
        let effects = bench.handle(.linkAnswer("wlan0", .whatIsThere(2), .linked(facts)))
        #expect(effects.contains("confirm address wlan0") && !effects.contains("seek address wlan0"))
        #expect(bench.core.policy.phase.accessPoint?.bssid == facts.bssid)
    }

    /// As wpa_supplicant does where the network asks for it (IEEE 802.11v).
    @Test func aRoamOfTheSupplicantsIsConfirmed() throws {
        var bench = try CoreBench()
        try bench.start()
        let attempt = try #require(bench.core.policy.phase.epoch)
        let other = bench.bss("Cafe").bssid
        let effects = bench.handle(.supplicant("wlan0", .connected(attempt: attempt, bssid: other)))
        #expect(effects.contains("confirm address wlan0") && !effects.contains("seek address wlan0"))
        #expect(bench.core.policy.phase.accessPoint?.bssid == other)
        let notice = try #require(bench.notices.last)
        #expect(["wlan0", "02:00:00:00:01:00", "02:00:00:00:03:00"].allSatisfy { notice.contains($0) })
    }

    @Test func theChannelOfTheAccessPointIsFollowed() throws {
        var bench = try CoreBench()
        try bench.start()
        let effects = bench.handle(.radio("wlan0", .channelChanged(Frequency(megahertz: 2462))))
        #expect(!effects.contains("confirm address wlan0"), "nothing else is another one")
        #expect(bench.core.policy.phase.accessPoint?.frequency?.megahertz == 2462)
        #expect(bench.core.policy.phase.accessPoint?.bssid == CoreBench.access["Home"])
        bench.handle(.radio("wlan7", .channelChanged(Frequency(megahertz: 2412))))
        #expect(bench.core.policy.phase.accessPoint?.frequency?.megahertz == 2462)
    }

    @Test func whereAnotherProgramGetsAddressesNoneIsAskedFor() throws {
        var bench = try CoreBench(assignsAddresses: false)
        try bench.start()
        let effects = bench.handle(.supplicant("wlan0", Self.reason))
        #expect(bench.requests.isEmpty && !effects.contains("drop address wlan0"))
    }

    /// Home is joined again, and another DHCP client sets an address.
    /// - Returns: the address's event.
    private func addressWithoutRoute(_ bench: inout CoreBench) throws -> AgentEvent {
        try bench.start()
        bench.surroundings.stations["wlan0"]?.addresses = []
        bench.surroundings.stations["wlan0"]?.routes = []
        try rejoin(&bench)
        let address = InterfaceAddress(family: .ipv4, bytes: [10, 0, 1, 17], prefixLength: 24, index: 1)
        bench.surroundings.stations["wlan0"]?.addresses = [address]
        bench.handle(.route(.addressAdded(address)))
        return .route(.addressAdded(address))
    }

    @Test func anotherClientsAddressMayLackARouter() throws {
        var bench = try CoreBench(assignsAddresses: false)
        let renewal = try addressWithoutRoute(&bench)
        let moment = try #require(bench.timers[.router("wlan0")])
        #expect(moment - bench.now == .seconds(3))
        bench.now = bench.now + .seconds(1)
        bench.handle(renewal)
        #expect(bench.timers[.router("wlan0")] == moment && !bench.isOnline)
        bench.now = moment
        bench.handle(.timer(.router("wlan0")))
        #expect(bench.isOnline && bench.timers[.router("wlan0")] == nil)
    }

    @Test func aRouteIsUsedAtOnce() throws {
        var bench = try CoreBench(assignsAddresses: false)
        _ = try addressWithoutRoute(&bench)
        bench.lease("wlan0", 1)
        #expect(bench.isOnline && bench.timers[.router("wlan0")] == nil)
    }

    @Test func theOwnClientsLeaseSaysWhetherThereIsARouter() throws {
        var bench = try CoreBench()
        _ = try addressWithoutRoute(&bench)
        #expect(!bench.isOnline && bench.timers[.router("wlan0")] == nil)
    }

    @Test func whatIsWrongWithAServerIsInTheLog() throws {
        var bench = try CoreBench()
        try bench.start()
        bench.handle(.ipv4("wlan0", .problem("DHCP: silence")))
        #expect(bench.notices.last == "wlan0: DHCP: silence")
        bench.handle(.ipv6("wlan0", .problem("IPv6: in use")))
        #expect(bench.core.addressProblems == ["DHCP: silence", "IPv6: in use"])
    }
}

extension CoreBench {
    fileprivate var isOnline: Bool { if case .online = core.policy.phase { true } else { false } }
}
