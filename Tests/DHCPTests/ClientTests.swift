import AgentModel
import Randomness
import Testing

@testable import DHCP

@Suite struct ClientTests {
    // MARK: A new network

    @Test func aNewNetworkTakesFourMessages() throws {
        var bench = Bench()
        bench.linkUp()
        let discover = try #require(bench.sentNow.first)
        #expect(discover.kind == .discover && discover.seconds == 1 && !discover.wantsBroadcast)
        #expect(discover.options[.rapidCommit] == [] && discover.options[.hostName] == nil)
        #expect(discover.options[.clientIdentifier] == [1] + Server.client.bytes)
        bench.answer(.offer)
        let request = try #require(bench.sentNow.first)
        #expect(request.kind == .request && request.transaction == discover.transaction)
        #expect(request.options[.requestedAddress] == Server.address.bytes)
        #expect(request.options[.serverIdentifier] == Server.gateway.bytes)
        bench.answer(.ack)
        #expect(bench.words == ["use", "remember"] && bench.client.lease?.address == Server.address)
    }

    /// 0.1, 0.2, 0.4 and 1 s, then 4, 8, 16, 32 and 64 s, each by up to a second more or less.
    @Test func aLostPacketIsRepeatedQuickly() {
        var bench = Bench()
        bench.linkUp()
        bench.wait(.seconds(300))
        #expect(bench.history.filter { $0.1 == .report(.noAnswer) }.count == 1)
        let times = bench.history.filter { $0.1 != .report(.noAnswer) }.map(\.0.milliseconds)
        let waits = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(waits.prefix(4) == [100, 200, 400, 1000])
        for (wait, seconds) in zip(waits.dropFirst(4), [4, 8, 16, 32, 64, 64] as [Int64]) {
            #expect(abs(wait - seconds * 1000) <= 1000)
        }
        #expect(bench.sent.contains { $0.wantsBroadcast } && bench.sent.contains { !$0.wantsBroadcast })
    }

    @Test func rapidCommitTakesTwoMessages() {
        var bench = Bench()
        bench.linkUp()
        bench.answer(.ack)
        #expect(bench.words.isEmpty)
        bench.answer(.ack) { $0.options.append(.rapidCommit, []) }
        #expect(bench.words == ["use", "remember"])
    }

    @Test func anonymityTellsNothing() throws {
        var bench = Bench(
            DHCPSettings(
                identifier: try #require(.text("lamp")), hostName: HostName("lamp"), isAnonymous: true))
        bench.linkUp()
        let discover = try #require(bench.sentNow.first)
        #expect(discover.options[.hostName] == nil)
        #expect(discover.options[.clientIdentifier] == [1] + Server.client.bytes)
        #expect(discover.options[.parameterList].map { Set($0) } == Set(DHCPOption.requested.map(\.rawValue)))
        #expect(discover.options[.parameterList] != DHCPOption.requested.map(\.rawValue))
    }

    @Test func anOfferThatIsNotAskedForIsRepeatedThenForgotten() {
        var bench = Bench()
        bench.linkUp()
        bench.answer(.offer)
        bench.wait(.seconds(7))
        #expect(bench.sent.count { $0.kind == .request } == 5 && bench.sent.last?.kind == .discover)
    }

    // MARK: A known network

    @Test func theRememberedGatewayBringsTheAddressBack() throws {
        var bench = Bench()
        bench.linkUp(bench.remembered)
        let request = try #require(bench.sentNow.first)
        #expect(request.options[.serverIdentifier] == nil && request.clientAddress == .unspecified)
        let question = ARPMessage(.request, from: Server.address, at: Server.client, to: Server.gateway)
        #expect(bench.done.contains(.sendARP(question, to: Server.router)))
        bench.arp(from: Server.gateway, at: Server.router)
        #expect(bench.words == ["try"])
        bench.answer(.ack)
        #expect(bench.words == ["use", "remember"])
    }

    @Test func theServerBringsTheAddressBack() {
        var bench = Bench()
        bench.linkUp(bench.remembered)
        bench.wait(.milliseconds(100))
        bench.answer(.ack)
        #expect(bench.words == ["use", "remember"] && bench.sent.count == 2)
    }

    @Test func anotherGatewayIsAnotherNetwork() {
        var bench = Bench()
        bench.linkUp(bench.remembered)
        bench.arp(from: Server.gateway, at: Server.other)
        #expect(bench.problems == [.otherGateway(Server.other)] && bench.words == ["clear"])
        #expect(bench.sentNow.map(\.kind) == [.discover])
    }

    @Test func aSilentServerIsPassedOver() {
        var bench = Bench()
        bench.linkUp(bench.remembered)
        bench.wait(.milliseconds(700))
        #expect(bench.sent.map(\.kind) == [.request, .request, .request, .discover])
    }

    @Test func aNAKForgetsTheLease() {
        var bench = Bench()
        bench.linkUp(bench.remembered)
        bench.arp(from: Server.gateway, at: Server.router)
        bench.answer(.nak) { $0.options.append(.text, Array("wrong\naddress".utf8)) }
        #expect(bench.words == ["drop nak", "forget"] && bench.sentNow.map(\.kind) == [.discover])
        #expect(bench.problems.first?.description.contains("\n") == false)
    }

    @Test func aLeaseThatTheGatewayConfirmedHoldsWithoutAServer() {
        var bench = Bench()
        bench.linkUp(bench.remembered)
        bench.arp(from: Server.gateway, at: Server.router)
        bench.wait(.seconds(599))
        #expect(bench.client.lease != nil && bench.sent.count == 8)
    }

    @Test func aLeaseThatIsOverOrOfOtherHardwareIsNotUsed() {
        var bench = Bench()
        var lease = bench.remembered
        lease.expiry = bench.now
        bench.linkUp(lease)
        #expect(bench.sentNow.map(\.kind) == [.discover])
        #expect(bench.sentNow.first?.options[.requestedAddress] == Server.address.bytes)
        lease = bench.remembered
        lease.hardware = Server.other
        bench.linkUp(lease)
        #expect(bench.sentNow.first?.options[.requestedAddress] == nil)
        lease = bench.remembered
        lease.gateway = .broadcast
        bench.linkUp(lease)
        #expect(bench.sentNow.map(\.kind) == [.discover] && bench.problems.count == 1)
    }

    /// A device without a clock does not know whether the lease is over.
    @Test func aLeaseWithoutADateNeedsTheServersWord() throws {
        var bench = Bench()
        var lease = bench.remembered
        lease.expiry = bench.now - .seconds(86_400)
        bench.linkUp(lease, isDated: false)
        #expect(bench.sentNow.map(\.kind) == [.request])
        bench.arp(from: Server.gateway, at: Server.router)
        #expect(bench.words.isEmpty && bench.client.lease == nil)
        bench.answer(.ack)
        #expect(bench.words == ["use", "remember"] && bench.client.lease?.expiry == bench.now + .seconds(3600))

        bench.linkUp(lease, isDated: false)
        bench.wait(.milliseconds(700))
        #expect(bench.sent.suffix(4).map(\.kind) == [.request, .request, .request, .discover])
        #expect(bench.sent.last?.options[.requestedAddress] == Server.address.bytes)
        bench.linkUp(lease, isDated: false)
        bench.arp(from: Server.gateway, at: Server.other)
        #expect(bench.sentNow.map(\.kind) == [.discover])
        // No lease lasts so long, so its date is wrong.
        lease.expiry = bench.now + .seconds(8 * 86_400)
        bench.linkUp(lease)
        bench.arp(from: Server.gateway, at: Server.router)
        #expect(bench.client.lease == nil)
        // RFC 7844, 3.3: whether it is still valid is not known.
        var unknown = Bench(DHCPSettings(isAnonymous: true))
        unknown.linkUp(lease, isDated: false)
        #expect(unknown.sentNow.map(\.kind) == [.discover] && unknown.sentNow.first?.options[.requestedAddress] == nil)
    }

    @Test func aLeaseIsBuiltFromWhatWasStored() throws {
        var bench = Bench()
        func stored(_ prefixLength: Int, gateway: IPv4Address?) -> Lease {
            Lease(
                stored: Server.address, prefixLength: prefixLength, gateway: gateway, gatewayHardware: Server.router,
                server: Server.gateway, nameServers: [.broadcast, Server.gateway],
                expiry: bench.now + .seconds(1600), hardware: Server.client, at: bench.now)
        }
        let lease = stored(24, gateway: Server.gateway)
        #expect(lease.renewal == bench.now + .seconds(800) && lease.rebinding == bench.now + .seconds(1400))
        #expect(lease.nameServers == [Server.gateway])
        bench.linkUp(lease)
        bench.arp(from: Server.gateway, at: Server.router)
        #expect(bench.words == ["try"])
        let faults: [(Lease, LeaseError)] = [
            (stored(4, gateway: Server.gateway), .badPrefixLength(4)),
            (stored(40, gateway: Server.gateway), .badPrefixLength(40)),
            (stored(24, gateway: Server.address), .badGateway(Server.address)),
        ]
        for (bad, fault) in faults {
            bench.linkUp(bad)
            #expect(bench.problems == [.badMemory(fault)] && bench.sentNow.map(\.kind) == [.discover])
        }
    }

    // MARK: Time

    @Test func renewalAsksTheServerThenAllThenEnds() throws {
        var bench = Bench()
        bench.bind()
        bench.wait(.seconds(1800))
        let effect = try #require(bench.done.last { Bench.message($0) != nil })
        guard case .unicast(_, let from, let to) = effect else { throw Failed() }
        #expect(from == Server.address && to == Server.gateway)
        bench.wait(.seconds(1350))
        #expect(bench.sent.last?.clientAddress == Server.address)
        guard case .broadcast = try #require(bench.done.last) else { throw Failed() }
        #expect(bench.done.contains(.report(.noAnswer)))
        bench.wait(.seconds(449))
        #expect(bench.client.lease != nil)
        bench.wait(.seconds(1))
        #expect(bench.words == ["drop expired", "forget"] && bench.sentNow.last?.kind == .discover)
    }

    private struct Failed: Error {}

    @Test func aRenewalGivesMoreTime() {
        var bench = Bench()
        bench.bind()
        let first = bench.client.lease?.expiry
        bench.wait(.seconds(10))
        bench.handle(.renew)
        bench.answer(.ack)
        #expect(bench.words == ["use", "remember"])
        #expect(bench.client.lease.map { $0.expiry - (first ?? $0.expiry) } == .seconds(10))
    }

    @Test func linesOfTheLink() {
        var bench = Bench()
        bench.bind()
        bench.handle(.roamed)
        #expect(bench.sentNow.map(\.kind) == [.request] && bench.client.lease != nil)
        bench.handle(.linkDown)
        #expect(bench.words == ["drop linkDown"] && bench.client.deadline == nil)
        bench.bind()
        bench.handle(.release)
        #expect(bench.sentNow.map(\.kind) == [.release] && bench.words == ["drop released", "forget"])
    }

    /// The next node of a mesh can be a router of its own.
    @Test func anotherSubnetAfterARoamIsFound() {
        var bench = Bench()
        bench.bind()
        bench.arp(from: Server.gateway, at: Server.router)
        bench.handle(.roamed)
        let question = ARPMessage(.request, from: Server.address, at: Server.client, to: Server.gateway)
        #expect(bench.done.contains(.sendARP(question, to: Server.router)))
        bench.wait(.seconds(1))
        #expect(bench.sentNow.last?.kind == .discover && bench.client.lease != nil)
        bench.answer(.offer) { $0.yourAddress = Server.neighbour }
        bench.answer(.ack) { $0.yourAddress = Server.neighbour }
        #expect(bench.words == ["use", "remember"] && bench.client.lease?.address == Server.neighbour)
    }

    @Test func theGatewayConfirmsAnAddressAfterARoam() {
        var bench = Bench()
        bench.bind()
        bench.arp(from: Server.gateway, at: Server.router)
        bench.handle(.roamed)
        bench.arp(from: Server.gateway, at: Server.router)
        bench.wait(.seconds(200))
        #expect(bench.sentNow.allSatisfy { $0.kind == .request } && bench.client.lease?.address == Server.address)
    }

    /// Old servers, clouds and relays.
    @Test func aServerWithoutAnIdentifierGivesALease() {
        var bench = Bench()
        bench.linkUp()
        bench.answer(.offer) { $0.options = Server.options(server: nil) }
        bench.answer(.ack) { $0.options = Server.options(server: nil, seconds: nil) }
        #expect(bench.words == ["use", "remember"] && bench.client.lease?.server == Server.gateway)
        #expect(Set(bench.problems) == [.flaw(.noServer), .flaw(.noLeaseTime)])
    }

    // MARK: A link that carries nothing

    /// The gateway is known, and nothing gets through.
    private func doubted() -> Bench {
        var bench = Bench()
        bench.bind()
        bench.arp(from: Server.gateway, at: Server.router)
        bench.handle(.doubted)
        return bench
    }

    @Test func aDoubtedAddressIsKeptWhereGatewayAndServerAnswer() {
        var bench = doubted()
        #expect(bench.sentNow.map(\.kind) == [.request] && bench.sentNow.first?.clientAddress == .unspecified)
        let question = ARPMessage(.request, from: Server.address, at: Server.client, to: Server.gateway)
        #expect(bench.done.contains(.sendARP(question, to: Server.router)))
        bench.arp(from: Server.gateway, at: Server.router)
        #expect(bench.done.isEmpty)
        bench.answer(.ack)
        #expect(bench.words == ["use", "remember"])
    }

    @Test func aServerRenewsADoubtedAddressThoughTheGatewayIsSilent() {
        var bench = doubted()
        bench.wait(.seconds(10))
        bench.answer(.ack)
        #expect(bench.words == ["use", "remember"])
        bench.wait(.seconds(600))
        #expect(bench.sentNow.isEmpty && bench.words.isEmpty)
    }

    /// The address stays in use until a server gives another one.
    @Test(arguments: [false, true]) func aSilentServerIsFollowedByASearch(isRapid: Bool) {
        var bench = doubted()
        bench.wait(.seconds(70))
        #expect(bench.sentNow.last?.kind == .discover && bench.words.isEmpty && bench.client.lease != nil)
        if !isRapid {
            bench.answer(.offer) { $0.yourAddress = Server.neighbour }
            #expect(bench.sentNow.map(\.kind) == [.request] && bench.client.lease?.address == Server.address)
        }
        bench.answer(.ack) {
            $0.yourAddress = Server.neighbour
            if isRapid { $0.options.append(.rapidCommit, []) }
        }
        #expect(bench.words == ["use", "remember"] && bench.client.lease?.address == Server.neighbour)
    }

    @Test func aDoubtedAddressIsKeptWhereNoServerAnswers() {
        var bench = doubted()
        bench.wait(.seconds(200))
        #expect(bench.words.isEmpty && bench.problems == [.noAnswer])
        bench.wait(.seconds(1000))
        #expect(bench.sentNow.isEmpty && bench.client.lease != nil)
    }

    @Test func anOfferThatIsRefusedKeepsTheDoubtedAddress() {
        var bench = doubted()
        bench.wait(.seconds(70))
        bench.answer(.offer) { $0.yourAddress = Server.neighbour }
        bench.answer(.nak)
        #expect(bench.words.isEmpty && bench.client.lease?.address == Server.address)
    }

    @Test func aRefusalEndsADoubtedAddress() {
        var bench = doubted()
        bench.answer(.nak)
        #expect(bench.words == ["drop nak", "forget"] && bench.sentNow.last?.kind == .discover)
    }

    @Test func anotherGatewayIsFollowedByASearchAtOnce() {
        var bench = doubted()
        bench.arp(from: Server.gateway, at: Server.other)
        #expect(bench.problems == [.otherGateway(Server.other)] && bench.sentNow.map(\.kind) == [.discover])
        #expect(bench.client.lease != nil)
    }

    // MARK: Lies

    @Test(arguments: [
        ("server", DHCPProblem.otherServer(Server.address)), ("address", .otherAddress(Server.neighbour)),
        ("transaction", .otherTransaction), ("client", .otherClient), ("lease", .refused(.badMask(.unspecified))),
        ("force", .forceRenew),
    ])
    func anAddressInUseOutlivesALie(kind: String, problem: DHCPProblem) {
        var bench = Bench()
        bench.bind()
        bench.handle(.renew)
        bench.answer(kind == "force" ? .forceRenew : .ack) {
            switch kind {
            case "server": $0.options = Server.options(server: Server.address.bytes)
            case "address": $0.yourAddress = Server.neighbour
            case "transaction": $0.transaction &+= 1
            case "client": $0.options.append(.clientIdentifier, [0, 1])
            case "lease": $0.options = Server.options(mask: [0, 0, 0, 0])
            default: break
            }
        }
        #expect(bench.problems == [problem] && bench.words.isEmpty && bench.client.lease != nil)
    }

    /// Two servers that know nothing of each other: one offers, the other refuses.
    @Test func aNAKOfAnotherServerDoesNotEndARequest() {
        var bench = Bench()
        bench.linkUp()
        bench.answer(.offer)
        bench.answer(.nak) { $0.options = Server.options(server: [192, 168, 7, 9]) }
        #expect(bench.sentNow.isEmpty)
        bench.answer(.ack)
        #expect(bench.words == ["use", "remember"])
    }

    /// A stranger that is quicker, as a second router in the same network is.
    @Test(arguments: [true, false]) func aStrangersNAKWaitsForTheServersWord(isInUse: Bool) {
        var bench = Bench()
        bench.linkUp(bench.remembered)
        if isInUse { bench.arp(from: Server.gateway, at: Server.router) }
        bench.answer(.nak) { $0.options = Server.options(server: [192, 168, 7, 9]) }
        #expect(bench.done.isEmpty)
        bench.answer(.ack)
        #expect(bench.words == ["use", "remember"])
        #expect(bench.problems == [.strangersNAK(server: IPv4Address("192.168.7.9"))])
        bench.wait(.seconds(60))
        #expect(bench.client.lease != nil)
    }

    /// In another network there is no other word.
    @Test(arguments: [(false, 100), (true, 1000)]) func aStrangersNAKCountsWhereTheServerIsSilent(
        isInUse: Bool, milliseconds: Int64
    ) {
        var bench = Bench()
        bench.linkUp(bench.remembered)
        if isInUse { bench.arp(from: Server.gateway, at: Server.router) }
        bench.answer(.nak) { $0.options = Server.options(server: [192, 168, 7, 9]) }
        bench.wait(.milliseconds(milliseconds - 1))
        // A storm of them moves nothing.
        bench.answer(.nak) { $0.options = Server.options(server: [192, 168, 7, 9]) }
        #expect(bench.words.isEmpty)
        bench.wait(.milliseconds(1))
        #expect(bench.words == [isInUse ? "drop nak" : "clear", "forget"])
        #expect(bench.sentNow.last?.kind == .discover && bench.problems.count == 1)
    }

    @Test func aBadAnswerToARememberedLeaseDoesNotHideAGoodOne() {
        var bench = Bench()
        bench.linkUp(bench.remembered)
        bench.answer(.ack) { $0.options = Server.options(mask: [255, 0, 255, 0]) }
        #expect(bench.problems.count == 1 && bench.sentNow.isEmpty)
        bench.answer(.ack)
        #expect(bench.words == ["use", "remember"])
    }

    /// It offers first each time, and then does not keep its word.
    @Test(arguments: ["nak", "bad answer", "another server's answer", "address in use"])
    func anOfferThatLedToNothingDoesNotHideAnotherServers(manner: String) {
        var bench = Bench()
        let rogue = Server.options(server: [192, 168, 7, 9])
        bench.linkUp()
        let isInUse = manner == "address in use"
        func offerOfRogue() {
            bench.answer(.offer) {
                $0.options = rogue
                if isInUse { $0.yourAddress = Server.neighbour }
            }
        }
        offerOfRogue()
        switch manner {
        case "nak": bench.answer(.nak) { $0.options = rogue }
        case "bad answer":
            bench.answer(.ack) { $0.options = Server.options(mask: [0, 0, 0, 0], server: [192, 168, 7, 9]) }
        case "address in use":
            bench.arp(.request, from: Server.neighbour, at: Server.other)
            bench.wait(.seconds(10))
        default:
            bench.answer(.ack)
            #expect(bench.problems == [.otherServer(Server.gateway)] && bench.words.isEmpty)
            bench.wait(.seconds(6))
        }
        #expect(bench.sent.last?.kind == .discover)
        offerOfRogue()
        #expect(bench.done.isEmpty)
        bench.answer(.offer)
        #expect(bench.sentNow.map(\.kind) == [.request])
        bench.answer(.ack)
        #expect(bench.client.lease?.server == Server.gateway)
    }

    /// Where there is no other, it is asked again, after the quick repetitions.
    @Test func theOnlyServerIsAskedAgain() {
        var bench = Bench()
        bench.linkUp()
        bench.answer(.offer)
        bench.answer(.nak)
        bench.wait(.milliseconds(1699))
        bench.answer(.offer)
        #expect(bench.done.isEmpty)
        bench.wait(.milliseconds(1))
        bench.answer(.offer)
        #expect(bench.sentNow.map(\.kind) == [.request])
    }

    /// However many names and texts it makes up.
    @Test func aStormIsOneLine() {
        var bench = Bench()
        bench.bind()
        bench.handle(.renew)
        var problems: [DHCPProblem] = []
        for number in 2...100 {
            bench.answer(.nak) { $0.options = Server.options(server: [192, 168, 7, UInt8(number)]) }
            problems += bench.problems
            bench.answer(.ack) { $0.options = Server.options(mask: [255, 0, 255, UInt8(number)]) }
            problems += bench.problems
        }
        #expect(problems.count == 2 && bench.client.lease != nil)
    }

    @Test func aServerThatRefusesEveryRequestIsAskedLessAndLess() {
        var bench = Bench()
        bench.linkUp()
        var sent = [0]
        for _ in 0..<3 {
            for _ in 0..<600 {
                if bench.sent.last?.kind == .discover { bench.answer(.offer) }
                if bench.sent.last?.kind == .request { bench.answer(.nak) }
                bench.wait(.milliseconds(100))
            }
            sent.append(bench.sent.count)
        }
        #expect(sent[1] < 40 && sent[3] - sent[1] < 20)
    }

    @Test func offersOfAHundredServersAreOneRequest() {
        var bench = Bench()
        bench.linkUp()
        for number in 1...100 {
            bench.answer(.offer) { $0.options = Server.options(server: [192, 168, 7, UInt8(number)]) }
        }
        #expect(bench.sent.count == 2)
    }

    @Test func aBadOfferIsToldOnceAndTheNextIsTaken() {
        var bench = Bench()
        bench.linkUp()
        bench.answer(.offer) { $0.options = Server.options(mask: [255, 0, 255, 0]) }
        #expect(bench.problems.count == 1 && bench.sentNow.isEmpty)
        bench.answer(.offer) { $0.options = Server.options(mask: [255, 0, 255, 0]) }
        #expect(bench.problems.isEmpty)
        bench.answer(.offer)
        #expect(bench.sentNow.map(\.kind) == [.request])
    }
}

@Suite struct ConflictTests {
    @Test func theAddressIsProbedAndAnnouncedBesideTheTraffic() {
        var bench = Bench()
        bench.bind()
        bench.wait(.seconds(10))
        let sent = bench.history.compactMap { entry -> ARPMessage? in
            if case .sendARP(let message, _) = entry.1, message.target == Server.address { message } else { nil }
        }
        #expect(sent.map(\.sender) == [.unspecified, .unspecified, .unspecified, Server.address, Server.address])
    }

    @Test func theGatewayIsLearnedForTheNextTime() {
        var bench = Bench()
        bench.bind()
        bench.arp(from: Server.gateway, at: Server.router)
        #expect(bench.words == ["remember"] && bench.client.lease?.gatewayHardware == Server.router)
    }

    @Test func anAddressInUseIsDeclinedBeforeItIsTaken() {
        var bench = Bench()
        bench.linkUp()
        bench.answer(.offer)
        bench.arp(from: Server.address, at: Server.other)
        bench.answer(.ack)
        #expect(bench.words.isEmpty)
        bench.wait(.milliseconds(200))
        #expect(bench.sentNow.map(\.kind) == [.decline] && bench.words == ["clear", "forget"])
        #expect(bench.problems == [.conflict(Server.address, Server.other)])
        bench.wait(.milliseconds(9999))
        #expect(bench.done.isEmpty)
        bench.wait(.milliseconds(1))
        #expect(bench.sentNow.map(\.kind) == [.discover])
    }

    @Test func aHostThatAnswersForAllIsNotBelieved() throws {
        var bench = Bench()
        bench.linkUp()
        bench.answer(.offer)
        bench.arp(from: Server.address, at: Server.router)
        bench.answer(.ack)
        bench.arp(from: try #require(IPv4Address("192.0.2.1")), at: Server.router)
        #expect(bench.problems == [.answersForAll(Server.router)] && bench.words == ["use", "remember"])
        bench.arp(from: Server.address, at: Server.router)
        #expect(bench.done.isEmpty && bench.client.lease != nil)
    }

    /// A host that answers for all is often quicker than the one that has the address.
    @Test func aHostThatAnswersForAllDoesNotHideTheOneThatHasTheAddress() throws {
        var bench = Bench()
        bench.linkUp()
        bench.answer(.offer)
        bench.arp(from: Server.address, at: Server.router)
        bench.arp(from: Server.address, at: Server.other)
        bench.answer(.ack)
        bench.arp(from: try #require(IPv4Address("192.0.2.1")), at: Server.router)
        #expect(bench.problems == [.answersForAll(Server.router)] && bench.words.isEmpty)
        bench.wait(.milliseconds(200))
        #expect(bench.words == ["clear", "forget"] && bench.problems == [.conflict(Server.address, Server.other)])
    }

    /// Two forged claims, or a hundred in a second, take no address away. They cost one announcement in ten seconds.
    @Test func anAddressInUseIsKeptAgainstClaims() {
        var bench = Bench()
        bench.bind()
        bench.wait(.seconds(20))
        for round in 0..<3 {
            bench.arp(.request, from: Server.address, at: Server.other)
            #expect(bench.done.count == 1, "round \(round)")
            for claimant in 0..<100 {
                let hardware = HardwareAddress(bytes: [2, 0, 0, 9, 0, UInt8(claimant)]) ?? .zero
                bench.arp(claimant % 2 == 0 ? .reply : .request, from: Server.address, at: hardware)
                #expect(bench.words.isEmpty && bench.sentNow.isEmpty && bench.client.lease != nil)
            }
            bench.wait(.seconds(10))
        }
        #expect(bench.client.lease?.address == Server.address)
        let reports = bench.history.compactMap { if case .report(let problem) = $0.1 { problem } else { nil } }
        #expect(reports.map(\.topic) == [.claimed(Server.address, .zero)], "a storm of claims is one line")
    }

    @Test func theDevicesOtherInterfacesAreNoConflict() {
        var bench = Bench()
        bench.handle(.linkUp(hardware: Server.client, siblings: [Server.other], remembered: nil))
        bench.answer(.offer)
        bench.arp(.request, from: Server.address, at: Server.other)
        bench.answer(.ack)
        #expect(bench.words == ["use", "remember"])
    }
}

/// Whatever happens, and in whatever order.
@Suite struct ClientPropertyTests {
    @Test(arguments: 0..<Rounds.of(200)) func promisesHold(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var bench = Bench(seed: UInt64(seed))
        var isUsed: Lease?
        bench.linkUp(Bool.random(using: &random) ? bench.remembered : nil)
        for _ in 0..<300 {
            step(&bench, using: &random)
            for effect in bench.done {
                if case .use(let lease, _) = effect { isUsed = lease }
                if case .drop(let lease, _) = effect {
                    #expect(isUsed?.address == lease.address)
                    isUsed = nil
                }
            }
            #expect(isUsed.map { $0.expiry > bench.now } ?? true, "an address is used after its end")
            #expect(bench.client.deadline.map { $0 > bench.now } ?? true, "a deadline is in the past")
            #expect(bench.client.lease?.address == isUsed?.address)
        }
        let times = bench.history.compactMap { time, effect -> Int64? in
            switch effect {
            case .broadcast, .unicast, .sendARP: time.milliseconds
            default: nil
            }
        }
        // The most packets within a minute.
        let most = times.indices.map { first in times[first...].prefix { $0 < times[first] + 60_000 }.count }.max()
        #expect(most ?? 0 < 150)
    }

    private func step(_ bench: inout Bench, using random: inout SeededRandom) {
        let kinds: [DHCPMessage.Kind] = [.offer, .ack, .ack, .nak, .forceRenew]
        let hosts = [Server.router, Server.other]
        switch Int.random(in: 0..<12, using: &random) {
        case 0: bench.wait(.seconds(Int.random(in: 0...2000, using: &random)))
        case 1, 2: bench.wait(.milliseconds(Int.random(in: 0...3000, using: &random)))
        case 3...7:
            let kind = kinds.randomElement(using: &random) ?? .ack
            let seconds = ([0, 10, 3600, .max] as [UInt32]).randomElement(using: &random) ?? 60
            let isRapid = Bool.random(using: &random)
            bench.answer(kind) {
                $0.options = Server.options(seconds: seconds)
                if isRapid { $0.options.append(.rapidCommit, []) }
            }
        case 8:
            bench.arp(
                Bool.random(using: &random) ? .reply : .request,
                from: [Server.address, Server.gateway].randomElement(using: &random) ?? .unspecified,
                at: hosts.randomElement(using: &random) ?? .zero)
        case 9: bench.handle(.packet((0..<300).map { _ in UInt8.random(in: 0...255, using: &random) }))
        case 10: bench.handle(.arp((0..<28).map { _ in UInt8.random(in: 0...255, using: &random) }))
        default: bench.handle(Bool.random(using: &random) ? .renew : .doubted)
        }
    }
}
