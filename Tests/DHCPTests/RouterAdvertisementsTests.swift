import AgentModel
import Randomness
import Testing

@testable import DHCP

@Suite struct RouterAdvertisementsTests {
    static let router = IPAddress("fe80::1")!
    static let resolver = IPAddress("fe80::53")!
    let now = Instant(milliseconds: 1_000_000)

    static func nameServers(_ hosts: [IPAddress], seconds: UInt32) -> [UInt8] {
        [25, UInt8(1 + hosts.count * 2), 0, 0] + seconds.bytes + hosts.flatMap(\.bytes)
    }

    static func domains(_ names: [UInt8], seconds: UInt32) -> [UInt8] {
        let value = [0, 0] + seconds.bytes + names
        let length = (value.count + 2 + 7) / 8
        return [31, UInt8(length)] + value + [UInt8](repeating: 0, count: length * 8 - value.count - 2)
    }

    static func portal(_ text: String) -> [UInt8] {
        let length = (text.utf8.count + 2 + 7) / 8
        return [37, UInt8(length)] + Array(text.utf8) + [UInt8](repeating: 0, count: length * 8 - text.utf8.count - 2)
    }

    static func translator(_ prefix: String, seconds: UInt16, code: UInt16) -> [UInt8] {
        [38, 2] + (seconds & ~7 | code).bytes + (IPAddress(prefix)?.bytes.prefix(12) ?? [])
    }

    @Test func whatHoldsAndUntilWhen() throws {
        var state = RouterAdvertisements()
        for option in [
            Self.nameServers([Self.resolver, DHCPv6Bench.resolver], seconds: 600),
            Self.domains([3, 108, 97, 110, 0, 1, 97, 1, 98, 0], seconds: 1200),
            Self.portal("https://portal.example/"), Self.translator("64:ff9b::", seconds: 1800, code: 0),
        ] {
            #expect(state.receive(option, from: Self.router, at: now) == [])
        }
        var expected = NetworkConfiguration()
        expected.nameServers = [Self.resolver, DHCPv6Bench.resolver]
        expected.searchDomains = ["lan", "a.b"]
        expected.portal = "https://portal.example/"
        expected.nat64Prefixes = [try #require(NAT64Prefix(IPAddress("64:ff9b::")!, length: 96))]
        #expect(state.configuration == expected && state.deadline == now + .seconds(600))
        // One of them is told to go.
        #expect(state.receive(Self.nameServers([Self.resolver], seconds: 0), from: Self.router, at: now) == [])
        expected.nameServers = [DHCPv6Bench.resolver]
        #expect(state.configuration == expected)
        state.expire(at: now + .seconds(600))
        #expect(state.configuration.nameServers == [] && state.deadline == now + .seconds(1200))
        state.expire(at: now + .seconds(9000))
        #expect(state.configuration == NetworkConfiguration() && state.deadline == nil)
    }

    @Test func forEverIsAWeek() {
        var state = RouterAdvertisements()
        _ = state.receive(Self.nameServers([Self.resolver], seconds: .max), from: Self.router, at: now)
        #expect(state.deadline == now + .seconds(7 * 86_400))
    }

    @Test(
        arguments: [
            ("64:ff9b::", 0, 96), ("2001:db8::1:0:0", 1, 64), ("2001:db8:1:2ff::", 2, 56), ("2001:db8:1::", 3, 48),
            ("2001:db8:ff00::", 4, 40), ("2001:db8::", 5, 32),
        ] as [(String, UInt16, Int)]) func translators(prefix: String, code: UInt16, length: Int) throws
    {
        var state = RouterAdvertisements()
        #expect(state.receive(Self.translator(prefix, seconds: 800, code: code), from: Self.router, at: now) == [])
        let found = try #require(state.configuration.nat64Prefixes.first)
        let said = try #require(IPAddress(prefix))
        #expect(found.length == length && found.address.shares(prefix: length, with: said))
        #expect(found.address.bytes.dropFirst(length / 8).allSatisfy { $0 == 0 })
        #expect(state.deadline == now + .seconds(800))
    }

    @Test(
        arguments: [
            ([25], .malformed(option: 25)), ([25, 0, 0, 0, 0, 0, 0, 0], .malformed(option: 25)),
            ([25, 1, 0, 0, 0, 0, 0, 9], .malformed(option: 25)),
            ([25, 2, 0, 0, 0, 0, 0, 9] + [UInt8](repeating: 1, count: 8), .malformed(option: 25)),
            (Self.nameServers([IPAddress("ff02::1")!], seconds: 9), .badHost(IPAddress("ff02::1")!)),
            (Self.nameServers([IPAddress("::1")!], seconds: 9), .badHost(IPAddress("::1")!)),
            (
                Self.nameServers((1...20).map { IPAddress("2001:db8::\($0)")! }, seconds: 9), .tooMany(option: 25)
            ),
            (Self.domains([3, 97, 10, 98, 0], seconds: 9), .malformed(option: 31)),
            (Self.domains([], seconds: 9), .malformed(option: 31)),
            (Self.portal("http://a"), .badPortal), ([37, 1, 0, 0, 0, 0, 0, 0], .badPortal),
            (Self.translator("64:ff9b::", seconds: 800, code: 6), .badPrefix),
            (Self.translator("fe80::", seconds: 800, code: 0), .badPrefix),
            (Self.translator("::", seconds: 800, code: 0), .badPrefix),
            ([38, 1, 0, 0, 0, 0, 0, 0], .malformed(option: 38)),
        ] as [([UInt8], RouterAdvertisements.Flaw)])
    func lies(option: [UInt8], flaw: RouterAdvertisements.Flaw) {
        var state = RouterAdvertisements()
        let flaws = state.receive(option, from: Self.router, at: now)
        #expect(flaws == [flaw] && !"\(flaw)".contains("\n"))
        #expect(state.receive(option, from: Self.router, at: now) == [])
        #expect(state.configuration.nameServers.count <= 8 && state.configuration.portal == nil)
    }

    @Test func aHundredRouters() {
        var state = RouterAdvertisements()
        var flaws: [RouterAdvertisements.Flaw] = []
        for number in 1...100 {
            let option = Self.nameServers([IPAddress("2001:db8::\(number)")!], seconds: 60)
            flaws += state.receive(option, from: IPAddress("fe80::\(number)")!, at: now)
        }
        #expect(flaws == [.tooManyRouters] && state.configuration.nameServers.count == 8)
        // No router has another address than a link-local one.
        #expect(state.receive(Self.portal("https://a"), from: DHCPv6Bench.address, at: now) == [])
        #expect(state.configuration.portal == nil)
        // Those that say nothing make room.
        _ = state.receive(
            Self.nameServers([Self.resolver], seconds: 60), from: IPAddress("fe80::99")!, at: now + .seconds(60))
        #expect(state.configuration.nameServers == [Self.resolver])
        state.removeAll()
        #expect(state.configuration == NetworkConfiguration())
    }

    /// At once, after 0.1, 0.2, 0.4 and 1 s, then less and less, up to an hour.
    @Test func theSearchForRouters() {
        var search = RouterSearch()
        var random = SeededRandom(seed: 1)
        #expect(search.deadline == nil)
        search.begin(at: now)
        var times: [Int64] = []
        while let next = search.deadline, next <= now + .seconds(10_000) {
            #expect(search.due(at: next, using: &random))
            times.append((next - now).milliseconds)
        }
        #expect(times.prefix(5) == [0, 100, 300, 700, 1700] && times.count < 20)
        search.end()
        #expect(search.deadline == nil && !search.due(at: now + .seconds(20_000), using: &random))
    }
}
