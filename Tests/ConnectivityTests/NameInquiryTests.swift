import AgentModel
import ConnectivitySupport
import DNS
import NIOCore
import NIOEmbedded
import Randomness
import Testing

@testable import Connectivity

@Suite struct NameInquiryTests {
    private static let name = DNSName.test("a.example")
    private let question = DNSQuestion(Self.name, .ipv4)

    private func inquiry(_ servers: Int) -> NameInquiry { NameInquiry(question, id: 0x1234, servers: servers) }

    private func answer(_ inquiry: NameInquiry, _ records: [WrittenRecord] = [], code: UInt8 = 0) -> [UInt8] {
        DNSMessage(asking: [question], id: inquiry.id).answer(records, code: code)
    }

    @Test func serversHaveTheirTurnsInRounds() {
        var inquiry = inquiry(2)
        #expect((0..<8).map { _ in inquiry.next() } == [0, 1, 0, 1, 0, 1].map { .ask($0) } + [.wait, .wait])
        #expect(inquiry.failure == .silent)
    }

    /// A modem behind dead Wi-Fi: each server is asked through the modem first, and a local one whichever way.
    @Test func aServerIsAskedThroughTheUplinkFirst() {
        let loop = EmbeddedEventLoop()
        let servers = ["192.0.2.1", "127.0.0.53", "192.0.2.2"].compactMap { IPAddress($0) }.map { NameServer($0) }
        let modem = BoundLoop(interface: "wwan0", loop: loop)
        let turns = NameResolver.turns(servers, by: modem, thenBy: BoundLoop(interface: nil, loop: loop))
        #expect(turns.map(\.way.interface) == ["wwan0", nil, "wwan0", "wwan0", nil])
        #expect(turns.map(\.server) == [0, 0, 1, 2, 2].map { servers[$0] })
        #expect(NameResolver.turns(servers, by: modem, thenBy: nil).map(\.server) == servers)
    }

    @Test func aServerThatFailsGivesItsTurnAway() {
        var inquiry = inquiry(3)
        #expect(inquiry.next() == .ask(0))
        #expect(inquiry.receive(answer(inquiry, code: 2), from: 0, byStream: false) == .ask(1))
        #expect(inquiry.fail(1, .unsent(.noRoute), byStream: false) == .ask(2))
        // The first two are asked no more.
        #expect([inquiry.next(), inquiry.next(), inquiry.next()] == [.ask(2), .ask(2), .wait])
        #expect(inquiry.fail(2, .silent, byStream: false) == .finish(.failure(.failed(code: 2))))
    }

    @Test func theFirstAnswerCountsFromAnyServer() {
        var inquiry = inquiry(2)
        _ = inquiry.next()
        _ = inquiry.next()
        let bytes = answer(inquiry, [.address(Self.name, "192.0.2.1", timeToLive: 9)])
        let address = IPAddress("192.0.2.1")
        #expect(
            inquiry.receive(bytes, from: 0, byStream: false)
                == .finish(.success(NameAnswer(addresses: [address].compactMap { $0 }, timeToLive: 9))))
    }

    @Test func whatIsNoAnswerIsNotBelieved() throws {
        let query = DNSMessage(asking: [question], id: 0x1234)
        let right = [WrittenRecord.address(Self.name, "192.0.2.66")]
        let wrong: [[UInt8]] = [
            query.answer(right, id: 0x1235), query.query, [], [0x12, 0x34],
            query.answer(right, question: DNSQuestion(Self.name, .ipv6)),
            query.answer(right, question: DNSQuestion(.test("b.example"), .ipv4)),
        ]
        for bytes in wrong {
            var inquiry = inquiry(1)
            _ = inquiry.next()
            #expect(inquiry.receive(bytes, from: 0, byStream: false) == .wait)
            #expect(inquiry.failure == .malformed)
            // The right one may still come.
            #expect(inquiry.receive(query.answer(right), from: 0, byStream: false) != .wait)
        }
        var inquiry = inquiry(1)
        for _ in 1..<NameInquiry.patience {
            #expect(inquiry.receive([0], from: 0, byStream: false) == .wait)
        }
        #expect(inquiry.receive([0], from: 0, byStream: false) == .finish(.failure(.malformed)))
    }

    @Test func whatIsTruncatedIsAskedByStream() {
        var inquiry = inquiry(2)
        _ = inquiry.next()
        let query = DNSMessage(asking: [question], id: inquiry.id)
        #expect(inquiry.receive(query.answer(isTruncated: true), from: 0, byStream: false) == .askByStream(0))
        // Its datagrams count no more, and its turn by datagram does not come again.
        let address = [WrittenRecord.address(Self.name, "192.0.2.1")]
        #expect(inquiry.receive(query.answer(address), from: 0, byStream: false) == .wait)
        #expect([inquiry.next(), inquiry.next()] == [.ask(1), .ask(1)])
        #expect(inquiry.fail(0, .silent, byStream: false) == .wait)
        guard case .finish(.success(let answer)) = inquiry.receive(query.answer(address), from: 0, byStream: true)
        else {
            Issue.record("the stream is not believed")
            return
        }
        #expect(answer.addresses.count == 1)
    }

    @Test func noSuchNameIsAnAnswer() {
        var inquiry = inquiry(2)
        _ = inquiry.next()
        #expect(
            inquiry.receive(answer(inquiry, code: 3), from: 0, byStream: false) == .finish(.failure(.unknownName)))
    }

    @Test(arguments: [
        ([NameFailure.unsent(.noRoute), .unsent(.noAddress)], NameFailure.unsent(.noRoute)),
        ([.unsent(.noRoute), .silent], .silent),
        ([.silent, .malformed], .malformed),
        ([.malformed, .failed(code: 5)], .failed(code: 5)),
    ])
    func theMostTellingFailureIsTold(failures: [NameFailure], told: NameFailure) {
        var inquiry = inquiry(failures.count)
        _ = inquiry.next()
        var last = NameInquiry.Effect.wait
        for (server, failure) in failures.enumerated() { last = inquiry.fail(server, failure, byStream: false) }
        #expect(last == .finish(.failure(told)))
    }
}

@Suite struct NameAnswerTests {
    private func answer(_ records: [WrittenRecord], additional: [WrittenRecord] = []) throws -> NameAnswer {
        let question = DNSQuestion(.test("a.example"), .ipv4)
        let message = try DNSMessage(
            reading: DNSMessage(asking: [question], id: 1).answer(records, additional: additional))
        return try NameAnswer(to: question, in: message)
    }

    @Test func aliasesAreFollowedInWhateverOrder() throws {
        let answer = try answer([
            .address(.test("c.example"), "192.0.2.1", timeToLive: 50),
            .alias(.test("b.example"), to: .test("C.example"), timeToLive: 20),
            .alias(.test("A.EXAMPLE"), to: .test("b.example"), timeToLive: 30),
            .address(.test("c.example"), "192.0.2.2", timeToLive: 40),
            .address(.test("c.example"), "192.0.2.1", timeToLive: 40),
        ])
        #expect(answer.addresses.map(\.description) == ["192.0.2.1", "192.0.2.2"])
        #expect(answer.timeToLive == 20)
    }

    @Test func whatBelongsToOtherNamesIsLeftOut() throws {
        let answer = try answer(
            [.address(.test("evil.example"), "192.0.2.66"), .address(.test("a.example"), "2001:db8::1")],
            additional: [.address(.test("a.example"), "192.0.2.67")])
        #expect(answer == NameAnswer(addresses: [], timeToLive: 0))
    }

    @Test func chainsAreBounded() throws {
        func chain(_ count: Int) -> [WrittenRecord] {
            let names = ["a.example"] + (0..<count).map { "n\($0).example" }
            return zip(names, names.dropFirst()).map { .alias(.test($0), to: .test($1)) }
        }
        let end = WrittenRecord.address(.test("n7.example"), "192.0.2.1")
        #expect(try answer(chain(8) + [end]).addresses.count == 1)
        #expect(throws: NameFailure.malformed) { try answer(chain(9)) }
        #expect(throws: NameFailure.malformed) { try answer([.alias(.test("a.example"), to: .test("a.example"))]) }
    }

    @Test func addressesAreBounded() throws {
        let many = (0..<100).map { WrittenRecord.address(.test("a.example"), "192.0.2.\($0)") }
        #expect(try answer(many).addresses.count == NameAnswer.maximumAddresses)
    }
}

@Suite struct NameCacheTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private let address = IPAddress("192.0.2.1").map { [$0] } ?? []

    private func question(_ name: String, _ type: DNSRecordType = .ipv4) -> DNSQuestion {
        DNSQuestion(.test(name), type)
    }

    @Test func answersHoldAsLongAsTheySay() {
        var cache = NameCache()
        cache.keep(NameAnswer(addresses: address, timeToLive: 30), to: question("a.example"), at: start)
        #expect(cache.addresses(question("A.example"), at: start + .seconds(29)) == address)
        #expect(cache.addresses(question("a.example", .ipv6), at: start) == nil)
        #expect(cache.addresses(question("a.example"), at: start + .seconds(30)) == nil)
    }

    @Test func nothingHoldsForLong() {
        var cache = NameCache()
        cache.keep(NameAnswer(addresses: address, timeToLive: .max), to: question("a.example"), at: start)
        #expect(cache.addresses(question("a.example"), at: start + NameCache.longest - .seconds(1)) == address)
        #expect(cache.addresses(question("a.example"), at: start + NameCache.longest) == nil)
    }

    @Test func whatIsNotThereIsNotKept() {
        var cache = NameCache()
        cache.keep(NameAnswer(addresses: [], timeToLive: 30), to: question("a.example"), at: start)
        cache.keep(NameAnswer(addresses: address, timeToLive: 0), to: question("b.example"), at: start)
        #expect(cache.addresses(question("a.example"), at: start) == nil)
        #expect(cache.addresses(question("b.example"), at: start) == nil)
    }

    /// The one that would go first has to go.
    @Test func theCacheIsBounded() {
        var cache = NameCache()
        for number in 0...NameCache.maximumEntries {
            let answer = NameAnswer(addresses: address, timeToLive: number == 7 ? 10 : 100)
            cache.keep(answer, to: question("n\(number).example"), at: start)
        }
        let kept = (0...NameCache.maximumEntries).filter {
            cache.addresses(question("n\($0).example"), at: start) != nil
        }
        #expect(kept == Array(0...NameCache.maximumEntries).filter { $0 != 7 })
    }
}

@Suite struct HostTests {
    @Test(arguments: ["192.0.2.1", "2001:db8::1", "fe80::1%wlan0", "::ffff:192.0.2.1"])
    func addressesAreAddresses(text: String) throws {
        #expect(try Host(text) == .address(try #require(IPAddress(text))))
    }

    @Test(arguments: [
        "a", "mqtt.example.com", "mqtt.example.com.", "xn--bcher-kva.example", "a_b.example", "3com.example",
    ])
    func namesAreNames(text: String) throws {
        #expect(try Host(text) == .name(.test(text.hasSuffix(".") ? String(text.dropLast()) : text)))
    }

    @Test(arguments: [
        "", ".", "..", "a..b", ".a", "-a.example", "a-.example", "a b", "bücher.example", "10.1", "256.0.0.1", "1",
        "a.1", "[::1]", "::g", "a/b", "a:80", "a%lo", "a\0.example", "http://a", "a\n", "127.0.0.1%lo",
        String(repeating: "a", count: 64), String(repeating: "a.", count: 127) + "aa",
    ])
    func nonsenseIsRefused(text: String) {
        #expect(throws: NameFailure.invalid) { try Host(text) }
    }

    @Test func noiseIsReadOrRefused() {
        var random = SeededRandom(seed: 5)
        let letters = Array("aZ09-_.:%[] \u{e9}\0")
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 0...12, using: &random)).compactMap { _ in letters.randomElement(using: &random) })
            guard case .name(let name) = try? Host(text) else { continue }
            // A valid name can be asked for as it is written.
            #expect(name.description == (text.hasSuffix(".") ? String(text.dropLast()) : text))
        }
    }
}
