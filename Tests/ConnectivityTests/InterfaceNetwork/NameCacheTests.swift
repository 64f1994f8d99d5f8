import AgentModel
import DNS
import NIOCore
import Testing

@testable import Connectivity

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
