import AgentModel
import Randomness
import Testing

@testable import DHCP

@Suite struct StaticAddressTests {
    @Test func theAddressIsProbedThenUsed() throws {
        var bench = try StaticBench()
        bench.linkUp()
        bench.wait(.milliseconds(199))
        #expect(bench.client.address == nil)
        #expect(bench.done == [.sendARP(bench.probe, to: .broadcast), .sendARP(bench.probe, to: .broadcast)])
        bench.wait(.milliseconds(1))
        let question = ARPMessage(.request, from: Server.address, at: Server.client, to: Server.gateway)
        #expect(bench.done == [.use(bench.address), .sendARP(question, to: .broadcast)])
        bench.arp(from: Server.gateway, at: Server.router)
        #expect(bench.done == [.foundGateway(Server.router)])
        // The probes go on beside the traffic; then the neighbours are told.
        bench.wait(.seconds(20))
        let announcement = ARPMessage(.request, from: Server.address, at: Server.client, to: Server.address)
        #expect(bench.sent == [bench.probe, bench.probe, announcement, announcement])
        #expect(bench.client.deadline == nil)
    }

    @Test func anAddressOfAnotherHostIsNotTakenAndTriedAgain() throws {
        var bench = try StaticBench()
        bench.linkUp()
        var pauses: [Int64] = []
        for _ in 0..<9 {
            bench.wait(.milliseconds(50))
            bench.arp(.request, from: Server.address, at: Server.other)
            #expect(bench.done.contains(.clear))
            let begin = bench.now
            #expect(bench.client.deadline != nil)
            bench.now = bench.client.deadline ?? bench.now
            pauses.append((bench.now - begin).milliseconds)
            bench.handle(.timer)
            #expect(bench.sent == [bench.probe])
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 64, 64].map { $0 * 1000 })
        #expect(bench.problems == [.conflict(Server.address, Server.other)])
        bench.wait(.milliseconds(200))
        #expect(bench.client.address == bench.address)
    }

    @Test func aHostThatAnswersForAllIsNotBelieved() throws {
        var bench = try StaticBench()
        bench.linkUp()
        bench.wait(.milliseconds(150))
        bench.arp(from: Server.address, at: Server.router)
        bench.wait(.milliseconds(100))
        #expect(bench.client.address == nil, "an open claim holds the address up")
        bench.arp(from: try #require(IPv4Address("192.0.2.1")), at: Server.router)
        #expect(bench.client.address == bench.address && bench.problems == [.answersForAll(Server.router)])
    }

    @Test func aClaimBeforeTheAddressIsUsedIsLookedAt() throws {
        var bench = try StaticBench()
        bench.linkUp()
        bench.arp(from: Server.address, at: Server.other)
        bench.wait(.milliseconds(200))
        #expect(bench.client.address == nil && bench.problems == [.conflict(Server.address, Server.other)])
    }

    @Test func aLaterClaimIsAnsweredAndTheAddressKept() throws {
        var bench = try StaticBench()
        bench.linkUp()
        bench.wait(.seconds(30))
        bench.arp(.request, from: Server.address, at: Server.other)
        #expect(bench.sent.count == 1 && bench.client.address != nil && bench.problems.isEmpty)
        bench.arp(.request, from: Server.address, at: Server.other)
        #expect(bench.sent.isEmpty && bench.client.address != nil)
        #expect(bench.problems == [.claimed(Server.address, Server.other)])
        bench.wait(.seconds(10))
        bench.arp(.request, from: Server.address, at: Server.other)
        #expect(bench.sent.count == 1 && bench.client.address != nil)
    }

    @Test func theLinkAndTheDevicesOtherInterfaces() throws {
        var bench = try StaticBench()
        bench.linkUp()
        bench.arp(.request, from: Server.address, at: Server.neighbourHardware)
        bench.wait(.seconds(20))
        #expect(bench.client.address != nil)
        bench.handle(.roamed)
        #expect(bench.sent == [bench.probe] && bench.client.address != nil)
        bench.handle(.linkDown)
        #expect(bench.done == [.drop(bench.address, .linkDown)] && bench.client.deadline == nil)
        bench.linkUp()
        bench.handle(.linkDown)
        #expect(bench.done.isEmpty)
    }

    /// Whatever happens, no deadline is in the past, and what is dropped was in use.
    @Test(arguments: 0..<Rounds.of(100)) func promisesHold(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        var bench = try StaticBench()
        var isUsed = false
        bench.linkUp()
        for _ in 0..<200 {
            bench.done = []
            switch Int.random(in: 0..<8, using: &random) {
            case 0: bench.wait(.seconds(Int.random(in: 0...100, using: &random)))
            case 1...3: bench.wait(.milliseconds(Int.random(in: 0...300, using: &random)))
            case 4: bench.handle(.arp((0..<28).map { _ in UInt8.random(in: 0...255, using: &random) }))
            case 5: bench.handle(.roamed)
            case 6: if Int.random(in: 0..<10, using: &random) == 0 { bench.linkUp() }
            default:
                bench.arp(
                    Bool.random(using: &random) ? .reply : .request,
                    from: [Server.address, Server.gateway, IPv4Address(bits: 0xc000_0201)]
                        .randomElement(using: &random) ?? .unspecified,
                    at: [Server.router, Server.other].randomElement(using: &random) ?? .zero)
            }
            for effect in bench.done {
                switch effect {
                case .use: isUsed = true
                case .drop:
                    #expect(isUsed)
                    isUsed = false
                default: break
                }
            }
            #expect(isUsed == (bench.client.address != nil))
            #expect(bench.client.deadline.map { $0 > bench.now } ?? true, "a deadline is in the past")
        }
    }
}

private struct StaticBench {
    var client = StaticAddressClient(random: SeededRandom(seed: 1))
    var now = Instant(milliseconds: 1_000_000)
    var done: [StaticAddressClient.Effect] = []
    /// All so far.
    var problems: [DHCPProblem] = []
    let address: StaticAddress
    let probe = ARPMessage(.request, from: .unspecified, at: Server.client, to: Server.address)

    init() throws {
        address = try StaticAddress(
            address: #require(Server.address.address), prefixLength: 24, gateway: Server.gateway.address)
    }

    mutating func handle(_ event: StaticAddressClient.Event) {
        done = client.handle(event, at: now)
        problems += done.compactMap { if case .report(let problem) = $0 { problem } else { nil } }
    }

    mutating func linkUp() {
        handle(.linkUp(address, hardware: Server.client, siblings: [Server.neighbourHardware]))
    }

    mutating func arp(
        _ operation: ARPMessage.Operation = .reply, from sender: IPv4Address, at hardware: HardwareAddress
    ) {
        handle(.arp(ARPMessage(operation, from: sender, at: hardware, to: Server.address, at: Server.client).bytes))
    }

    /// Wakes the client at each of its deadlines until then. What the last event did comes first.
    mutating func wait(_ duration: Duration) {
        let end = now + duration
        var all = now == Instant(milliseconds: 1_000_000) ? done : []
        while let deadline = client.deadline, deadline <= end {
            now = deadline
            handle(.timer)
            all += done
        }
        (now, done) = (end, all)
    }

    var sent: [ARPMessage] { done.compactMap { if case .sendARP(let message, _) = $0 { message } else { nil } } }
}
