import AgentModel
import Testing

@testable import DHCP

@Suite struct DHCPv6ClientTests {
    // MARK: An address

    @Test func anAddressTakesFourMessages() throws {
        var bench = DHCPv6Bench()
        bench.linkUp()
        let solicit = try #require(bench.sentNow.first)
        #expect(solicit.kind == .solicit && solicit.options[.clientIdentifier] == DHCPv6Bench.device)
        #expect(solicit.options[.rapidCommit] == [] && solicit.options[.elapsedTime] == [0, 0])
        #expect(solicit.options[.association] == [0, 0, 0, 1] + [UInt8](repeating: 0, count: 8))
        bench.answer(.advertise)
        let request = try #require(bench.sentNow.first)
        #expect(request.kind == .request && request.options[.serverIdentifier] == DHCPv6Bench.server)
        #expect(request.transaction != solicit.transaction)
        bench.answer(.reply, DHCPv6Bench.options((.nameServers, DHCPv6Bench.resolver.bytes)))
        #expect(bench.words == ["use"] && bench.client.lease?.addresses.map(\.address) == [DHCPv6Bench.address])
        #expect(bench.client.configuration.nameServers == [DHCPv6Bench.resolver])
        #expect(bench.done.contains(.configure(bench.client.configuration)) && bench.problems.isEmpty)
    }

    @Test func rapidCommitTakesTwo() {
        var bench = DHCPv6Bench()
        bench.linkUp()
        bench.answer(.reply)
        #expect(bench.words.isEmpty)
        bench.answer(.reply, DHCPv6Bench.options((.rapidCommit, [])))
        #expect(bench.words == ["use"])
    }

    /// 0.1, 0.2, 0.4 and 1 s, then 2 s and twice as long each time up to an hour, each by up to a tenth more or less.
    @Test(arguments: DHCPv6Client.Mode.allCases) func aLostPacketIsRepeatedQuickly(mode: DHCPv6Client.Mode) {
        var bench = DHCPv6Bench()
        bench.linkUp(mode)
        bench.wait(.seconds(20_000))
        #expect(bench.history.filter { $0.1 == .report(.noAnswer) }.count == 1)
        let times = bench.history.filter { $0.1 != .report(.noAnswer) }.map(\.0.milliseconds)
        let waits = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(waits.prefix(4) == [100, 200, 400, 1000])
        for (wait, seconds) in zip(waits.dropFirst(4), [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600]) {
            #expect(abs(wait - Int64(seconds) * 1000) <= Int64(seconds) * 100)
        }
        #expect(bench.sent[1].options[.elapsedTime] == [0, 10])
    }

    @Test func theServerDecidesTheLongestWait() {
        var bench = DHCPv6Bench()
        bench.linkUp()
        bench.answer(.advertise, DHCPv6Bench.options(association: nil, (.longestSolicitWait, [0, 0, 0, 120])))
        #expect(bench.problems == [.refused(.missing(.association))])
        bench.wait(.seconds(3600))
        let times = bench.history.map(\.0.milliseconds)
        #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 <= 132_000 })
        // Out of its bounds it says nothing (RFC 8415, 21.24).
        bench.answer(.advertise, DHCPv6Bench.options(association: nil, (.longestSolicitWait, [0, 0, 0, 1])))
        #expect(bench.client.longestSolicitWait == .seconds(120))
    }

    @Test func anOfferThatIsNotAskedForIsRepeatedThenForgotten() {
        var bench = DHCPv6Bench()
        bench.linkUp()
        bench.answer(.advertise)
        bench.wait(.seconds(120))
        #expect(bench.sent.count { $0.kind == .request } == 10)
        #expect(bench.history.contains { $0.1 == .report(.noAnswer) } && bench.sent.last?.kind == .solicit)
    }

    @Test func renewalRebindingAndTheEnd() throws {
        var bench = DHCPv6Bench()
        bench.bind()
        bench.wait(.seconds(899))
        #expect(bench.done.isEmpty)
        bench.wait(.seconds(1))
        let renew = try #require(bench.sentNow.first)
        #expect(renew.kind == .renew && renew.options[.serverIdentifier] == DHCPv6Bench.server)
        bench.answer(.reply)
        #expect(bench.words == ["use"])
        bench.wait(.seconds(1440))
        #expect(bench.words.last == "rebind" && bench.words.contains("renew"))
        #expect(bench.sentNow.last?.options[.serverIdentifier] == nil && bench.problems == [.noAnswer])
        bench.wait(.seconds(2160))
        #expect(bench.words.suffix(2) == ["drop expired", "solicit"])
        #expect(bench.sent.last?.options[.association]?.count == 12 + 28)
    }

    @Test func anyServerMayAnswerARebinding() {
        var bench = DHCPv6Bench()
        bench.bind()
        bench.wait(.seconds(1440))
        let other: [UInt8] = DHCPv6Bench.server.dropLast() + [7]
        bench.answer(.reply, DHCPv6Bench.options(server: other))
        #expect(bench.words == ["use"] && bench.client.lease?.server == other)
    }

    /// It counts from the question. Found by the fuzzer: the address stayed on the interface.
    @Test func anAnswerWhoseTimesAreOverEndsTheAddress() {
        var bench = DHCPv6Bench()
        bench.bind()
        bench.handle(.renew)
        bench.wait(.seconds(12))
        bench.answer(
            .reply, DHCPv6Bench.options(association: DHCPv6Bench.association(preferred: 10, valid: 10)))
        #expect(bench.words == ["drop expired", "solicit"] && bench.client.lease == nil)
    }

    /// RFC 8415, 18.2.10.1: the address stays in use while it is asked for.
    @Test func aServerThatHasForgottenIsAsked() {
        var bench = DHCPv6Bench()
        bench.bind()
        bench.handle(.renew)
        bench.answer(.reply, DHCPv6Bench.options(association: DHCPv6Bench.association(status: 3)))
        #expect(bench.words == ["request"] && bench.client.lease != nil)
        bench.answer(.reply)
        #expect(bench.words == ["use"])
    }

    @Test(arguments: [3, 2, 4] as [UInt16]) func anAddressThatIsTakenBack(status: UInt16) {
        var bench = DHCPv6Bench()
        bench.bind()
        bench.handle(.renew)
        let refusal = DHCPv6Bench.options(association: DHCPv6Bench.association(status: status))
        bench.answer(.reply, refusal)
        if status == 3 { bench.answer(.reply, refusal) }
        #expect(bench.words == ["drop takenBack", "solicit"] && bench.client.lease == nil)
    }

    @Test func anAddressThatEndsAtOnceIsTakenBack() {
        var bench = DHCPv6Bench()
        bench.bind()
        bench.handle(.renew)
        bench.answer(.reply, DHCPv6Bench.options(association: DHCPv6Bench.association(preferred: 0, valid: 0)))
        #expect(bench.words == ["drop takenBack", "solicit"])
    }

    @Test func aConflictIsDeclined() throws {
        var bench = DHCPv6Bench()
        bench.bind()
        bench.handle(.conflict(DHCPv6Bench.other))
        #expect(bench.done.isEmpty)
        bench.handle(.conflict(DHCPv6Bench.address))
        #expect(bench.words == ["drop conflict", "decline"] && bench.problems == [.conflict(DHCPv6Bench.address)])
        #expect(bench.sentNow.first?.options[.serverIdentifier] == DHCPv6Bench.server)
        bench.wait(.seconds(1))
        #expect(bench.words == ["decline", "decline", "decline"])
        bench.answer(.reply)
        bench.wait(.seconds(9))
        #expect(bench.done.isEmpty)
        bench.wait(.seconds(1))
        #expect(bench.words == ["solicit"])
    }

    @Test func giveBack() {
        var bench = DHCPv6Bench()
        bench.bind()
        bench.handle(.release)
        #expect(bench.words == ["release", "drop released"] && bench.client.deadline == nil)
        #expect(bench.client.configuration == NetworkConfiguration())
    }

    // MARK: A known network

    @Test func aRememberedLeaseIsConfirmed() throws {
        var bench = DHCPv6Bench()
        bench.linkUp(.stateful, bench.remembered)
        let confirm = try #require(bench.sentNow.first)
        #expect(confirm.kind == .confirm && confirm.options[.serverIdentifier] == nil)
        bench.answer(.reply, DHCPv6Bench.options(association: nil))
        #expect(bench.words == ["use"] && bench.client.lease == bench.remembered)
    }

    @Test func aRememberedLeaseOfAnotherNetwork() {
        var bench = DHCPv6Bench()
        bench.linkUp(.stateful, bench.remembered)
        bench.answer(.reply, DHCPv6Bench.options(association: nil, (.status, DHCPv6Bench.status(4))))
        #expect(bench.words == ["solicit"])
        #expect(bench.sentNow.first?.options[.association]?.count == 12)
    }

    /// 0.7 s, as with IPv4.
    @Test func aServerThatConfirmsNothing() {
        var bench = DHCPv6Bench()
        bench.linkUp(.stateful, bench.remembered)
        bench.wait(.milliseconds(700))
        #expect(bench.words == ["confirm", "confirm", "solicit"])
    }

    @Test func roamingConfirmsWhileTheAddressIsUsed() {
        var bench = DHCPv6Bench()
        bench.bind()
        bench.handle(.roamed)
        #expect(bench.words == ["confirm"] && bench.client.lease != nil)
        bench.wait(.seconds(100))
        #expect(!bench.words.contains("drop expired") && bench.client.lease != nil && bench.problems == [.noAnswer])
        bench.handle(.roamed)
        bench.answer(.reply, DHCPv6Bench.options(association: nil, (.status, DHCPv6Bench.status(4))))
        #expect(bench.words == ["drop takenBack", "solicit"])
    }

    @Test func theEndOfTheLinkIsTheEndOfTheAddress() {
        var bench = DHCPv6Bench()
        bench.bind()
        bench.handle(.linkDown)
        #expect(bench.words == ["drop linkDown"] && bench.client.deadline == nil)
    }

    // MARK: Without an address

    @Test func informationAlone() throws {
        var bench = DHCPv6Bench()
        bench.linkUp(.stateless)
        let question = try #require(bench.sentNow.first)
        #expect(question.kind == .informationRequest && question.options[.association] == nil)
        bench.answer(
            .reply,
            DHCPv6Bench.options(
                association: nil, (.nameServers, DHCPv6Bench.resolver.bytes),
                (.searchDomains, [3, 108, 97, 110, 0]), (.captivePortal, Array("https://portal.example/api".utf8)),
                (.timeServers, [0, 1, 0, 16] + DHCPv6Bench.other.bytes), (.refreshTime, [0, 0, 0, 1])))
        var expected = NetworkConfiguration()
        expected.nameServers = [DHCPv6Bench.resolver]
        expected.searchDomains = ["lan"]
        expected.portal = "https://portal.example/api"
        expected.timeServers = [DHCPv6Bench.other]
        #expect(bench.done == [.configure(expected)])
        // Not before ten minutes, whatever the server says.
        bench.wait(.seconds(599))
        #expect(bench.done.isEmpty)
        bench.wait(.seconds(1))
        #expect(bench.words == ["informationRequest"] && bench.client.configuration == expected)
    }

    @Test func theRoutersChangeTheirMind() {
        var bench = DHCPv6Bench()
        bench.linkUp(.stateless)
        bench.answer(.reply, DHCPv6Bench.options(association: nil))
        bench.handle(.wants(.stateful))
        #expect(bench.words == ["solicit"])
        bench.handle(.wants(.stateful))
        #expect(bench.words.isEmpty)
        bench.handle(.wants(.stateless))
        #expect(bench.words == ["informationRequest"])
        bench.handle(.wants(.stateful))
        bench.answer(.advertise)
        bench.answer(.reply)
        bench.handle(.wants(.stateless))
        #expect(bench.words.isEmpty && bench.client.lease != nil)
    }

    // MARK: Identity

    @Test func anIdentifierOfTheOwners() throws {
        let identifier = try #require(ClientIdentifier.unique(association: 7, device: [0, 4, 1, 2, 3]))
        var bench = DHCPv6Bench(DHCPSettings(identifier: identifier))
        bench.linkUp()
        #expect(bench.sentNow.first?.options[.clientIdentifier] == [0, 4, 1, 2, 3])
        #expect(bench.sentNow.first?.options[.association]?.prefix(4) == [0, 0, 0, 7])
    }

    @Test func anonymityTellsNothing() throws {
        let identifier = try #require(ClientIdentifier.unique(association: 7, device: [0, 4, 1, 2, 3]))
        var bench = DHCPv6Bench(DHCPSettings(identifier: identifier, isAnonymous: true))
        bench.linkUp(.stateful, bench.remembered)
        let solicit = try #require(bench.sentNow.first)
        #expect(solicit.kind == .solicit && solicit.options[.clientIdentifier] == DHCPv6Bench.device)
        #expect(solicit.options[.association]?.count == 12)
        let wishes = DHCPv6Option.requested.flatMap(\.rawValue.bytes)
        #expect(solicit.options[.wishes]?.count == wishes.count && solicit.options[.wishes] != wishes)
        bench.linkUp(.stateless)
        #expect(bench.sentNow.first?.options[.clientIdentifier] == nil)
        bench.answer(
            .reply, DHCPv6Bench.options(client: nil, association: nil, (.nameServers, DHCPv6Bench.resolver.bytes)))
        #expect(bench.client.configuration.nameServers == [DHCPv6Bench.resolver])
    }

    // MARK: Lies

    /// An offer that is not taken, and why.
    @Test(
        arguments: [
            (DHCPv6Bench.association(IPAddress("ff02::1")!), .badAddress(IPAddress("ff02::1")!)),
            (DHCPv6Bench.association(IPAddress("::1")!), .badAddress(IPAddress("::1")!)),
            (DHCPv6Bench.association(IPAddress("::")!), .badAddress(IPAddress("::")!)),
            (DHCPv6Bench.association(IPAddress("fe80::7")!), .badAddress(IPAddress("fe80::7")!)),
            (DHCPv6Bench.association(preferred: 7200, valid: 3600), .badLifetimes(DHCPv6Bench.address)),
            (DHCPv6Bench.association(preferred: 3, valid: 3), .tooShort(3)),
            (DHCPv6Bench.association(preferred: 0, valid: 0), .noAddress),
            (DHCPv6Bench.association(count: 0), .noAddress),
            (DHCPv6Bench.association(status: 2), .status(.noAddressAvailable)),
            (DHCPv6Bench.association(status: 77), .status(DHCPv6Status(code: 77))),
            (Array(DHCPv6Bench.association().dropLast(3)), .malformed(.association)),
            ([0, 0, 0, 2] + DHCPv6Bench.association().dropFirst(4), .missing(.association)),
            ([0, 0, 0, 1], .malformed(.association)),
        ] as [([UInt8], IPv6LeaseError)]) func badOffers(association: [UInt8], error: IPv6LeaseError)
    {
        var bench = DHCPv6Bench()
        bench.linkUp()
        bench.answer(.advertise, DHCPv6Bench.options(association: association))
        #expect(bench.words.isEmpty && bench.problems == [.refused(error)])
        // Once.
        bench.answer(.advertise, DHCPv6Bench.options(association: association))
        #expect(bench.done.isEmpty)
        // The same in a renewal takes nothing away, unless it is said that the address is gone.
        bench.linkDownAndBind()
        bench.handle(.renew)
        bench.answer(.reply, DHCPv6Bench.options(association: association))
        let isTakenBack = error == .noAddress || error == .status(.noAddressAvailable)
        #expect((bench.client.lease == nil) == isTakenBack)
    }

    @Test func answersForOthersAndFromOthers() {
        var bench = DHCPv6Bench()
        bench.linkUp()
        bench.answer(.advertise, DHCPv6Bench.options(client: [0, 3, 0, 1, 9, 9, 9, 9, 9, 9]))
        #expect(bench.done == [.report(.otherClient)])
        bench.answer(.advertise) { $0.transaction ^= 1 }
        #expect(bench.done == [.report(.otherTransaction)])
        bench.answer(.advertise, DHCPv6Bench.options(server: nil))
        #expect(bench.done == [.report(.otherServer)])
        bench.answer(.advertise, DHCPv6Bench.options(server: [UInt8](repeating: 1, count: 200)))
        #expect(bench.done.isEmpty)
        bench.answer(.reconfigure)
        #expect(bench.done == [.report(.reconfigure)])
        bench.answer(.solicit)
        bench.answer(.advertise)
        #expect(bench.words == ["request"])
        // Another server says yes to what this one has offered.
        var other = DHCPv6Bench()
        other.linkUp()
        other.answer(.advertise)
        other.answer(.reply, DHCPv6Bench.options(server: [0, 3, 0, 1, 9, 9, 9, 9, 9, 9]))
        #expect(other.done == [.report(.otherServer)] && other.client.lease == nil)
    }

    @Test func offersFromAHundredServers() {
        var bench = DHCPv6Bench()
        bench.linkUp()
        let question = bench.sent.last?.transaction ?? 0
        for number in 0..<100 {
            let options = DHCPv6Bench.options(server: DHCPv6Bench.server.dropLast() + [UInt8(number)])
            bench.answer(.advertise, options) { $0.transaction = question }
        }
        #expect(bench.sent.count { $0.kind == .request } == 1)
    }

    @Test func refusalAfterRefusalIsAskedLessAndLess() {
        var bench = DHCPv6Bench()
        bench.linkUp()
        for _ in 0..<60 {
            if bench.sent.last?.kind == .solicit { bench.answer(.advertise) }
            bench.answer(.reply, DHCPv6Bench.options(association: DHCPv6Bench.association(status: 4)))
            bench.wait(.seconds(10))
        }
        #expect(bench.sent.count < 150)
    }

    /// For ever is a week; T1 and T2 that contradict each other are the client's.
    @Test(
        arguments: [
            (0, 0, .max, .max, 302_400, 483_840, false), (.max, .max, 3600, 3600, 1800, 2880, false),
            (600, 1200, 1800, 3600, 600, 1200, false), (1200, 600, 1800, 3600, 900, 1440, true),
            (1, 2, 1800, 3600, 900, 1440, true), (600, 7200, 1800, 3600, 900, 1440, true),
            (0, 0, 0, 3600, 1800, 2880, false), (0, 0, 10, 10, 5, 8, false),
        ] as [(UInt32, UInt32, UInt32, UInt32, Int64, Int64, Bool)])
    func times(t1: UInt32, t2: UInt32, preferred: UInt32, valid: UInt32, renewal: Int64, rebinding: Int64, isBad: Bool)
    {
        var bench = DHCPv6Bench()
        bench.linkUp()
        bench.answer(.advertise)
        let association = DHCPv6Bench.association(preferred: preferred, valid: valid, renewal: t1, rebinding: t2)
        bench.answer(.reply, DHCPv6Bench.options(association: association))
        #expect(bench.client.lease.map { $0.renewal - bench.now } == .seconds(renewal))
        #expect(bench.client.lease.map { $0.rebinding - bench.now } == .seconds(rebinding))
        #expect(bench.problems == (isBad ? [.flaw(.badTimes)] : []))
    }

    @Test func manyAddresses() {
        var bench = DHCPv6Bench()
        bench.linkUp()
        bench.answer(.advertise, DHCPv6Bench.options(association: DHCPv6Bench.association(count: 40)))
        #expect(bench.problems == [.flaw(.tooMany(.address))])
        bench.answer(.reply, DHCPv6Bench.options(association: DHCPv6Bench.association(count: 40)))
        #expect(bench.client.lease?.addresses.count == 4)
    }

    @Test func badServices() {
        var bench = DHCPv6Bench()
        bench.linkUp(.stateless)
        let servers = ["::1", "ff02::1", "::", "::ffff:192.0.2.1"].compactMap { IPAddress($0) }
        let mapped = [UInt8](repeating: 0, count: 10) + [255, 255, 192, 0, 2, 1]
        bench.answer(
            .reply,
            DHCPv6Bench.options(
                association: nil,
                (.nameServers, servers.prefix(3).flatMap(\.bytes) + mapped + IPAddress("fe80::53")!.bytes),
                (.searchDomains, [3, 108, 97, 110]), (.captivePortal, Array("http://portal.example".utf8)),
                (.timeServers, [0, 1, 0]), (.simpleTimeServers, [1, 2, 3])))
        #expect(bench.client.configuration.nameServers == [IPAddress("fe80::53")!])
        #expect(
            bench.problems
                == servers.map { .flaw(.badHost(.nameServers, $0)) } + [
                    .flaw(.malformed(.timeServers)), .flaw(.malformed(.simpleTimeServers)),
                    .flaw(.malformed(.searchDomains)), .flaw(.badPortal),
                ])
        #expect(bench.problems.allSatisfy { !"\($0)".contains("\n") })
    }
}

extension DHCPv6Bench {
    mutating func linkDownAndBind() {
        handle(.linkDown)
        bind()
    }
}

@Suite struct DHCPv6MessageTests {
    @Test func aMessageReadsAsItWasWritten() throws {
        let message = DHCPv6Message(.reply, transaction: 0x12_3456, options: DHCPv6Bench.options((.rapidCommit, [])))
        #expect(try DHCPv6Message(reading: message.bytes) == message)
        #expect(message.bytes.prefix(8) == [7, 0x12, 0x34, 0x56, 0, 1, 0, 10])
    }

    @Test(
        arguments: [
            ([], .badLength), ([7, 0, 0], .badLength), ([UInt8](repeating: 7, count: 1453), .badLength),
            ([0, 0, 0, 0], .unknownKind(0)), ([12, 0, 0, 0], .unknownKind(12)),
            ([7, 0, 0, 0, 1], .truncatedOption(DHCPv6Option(rawValue: 0))),
            ([7, 0, 0, 0, 0, 23, 0], .truncatedOption(.nameServers)),
            ([7, 0, 0, 0, 0, 23, 255, 255, 1], .truncatedOption(.nameServers)),
            ([7, 0, 0, 0] + [UInt8](repeating: 0, count: 4 * 65), .tooManyOptions),
        ] as [([UInt8], DHCPv6MessageError)]) func hostileBytes(bytes: [UInt8], error: DHCPv6MessageError)
    {
        #expect(throws: error) { try DHCPv6Message(reading: bytes) }
    }

    @Test func headersThatLie() throws {
        let good = DHCPv6Bench.packet(DHCPv6Message(.reply, transaction: 1))
        #expect(try IPv6Datagram(reading: good + [0, 0]).payload == [7, 0, 0, 1])
        func changed(_ place: Int, _ byte: UInt8) -> [UInt8] {
            var packet = good
            packet[place] = byte
            return packet
        }
        for (packet, error) in [
            (changed(0, 0x45), .notForUs), (changed(6, 44), .fragment), (changed(6, 0), .notForUs),
            (changed(5, 255), .malformed), (changed(5, 6), .malformed), (changed(45, 3), .malformed),
            (changed(45, 200), .malformed),
            (changed(43, 67), .notForUs), (changed(50, 9), .badChecksum), (changed(46, 0), .badChecksum),
            (Array(good.prefix(39)), .malformed), ([], .malformed),
        ] as [([UInt8], UDPDatagramError)] {
            #expect(throws: error) { try IPv6Datagram(reading: packet) }
        }
        #expect(try IPv6Datagram(reading: changed(46, 0), checksum: .partial).payload == [7, 0, 0, 1])
    }

    @Test func aSolicitationOfRouters() throws {
        let packet = try #require(RouterSolicitation(from: DHCPv6Bench.linkLocal, hardware: Server.client).packet)
        #expect(packet.count == 56 && packet[6] == 58 && packet[7] == 255)
        #expect(packet[24..<40] == [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2])
        #expect(packet[48...] == [1, 1, 2, 0, 0, 0, 0, 1])
        #expect(RouterSolicitation(from: nil, hardware: Server.client).packet?.count == 48)
        #expect(IPv6Group.routers.hardware.description == "33:33:00:00:00:02")
        #expect(IPv6Group.dhcpServers.hardware.description == "33:33:00:01:00:02")
    }
}
