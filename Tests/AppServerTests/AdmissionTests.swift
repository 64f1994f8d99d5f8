import AgentModel
import AppProtocol
import Foundation
import NIOCore
import Testing

@testable import AppServer

/// The tables behind the limits, with more addresses than a test can connect from.
@Suite struct AdmissionTests {
    private func site(_ text: String) throws -> IPAddress.Site { try #require(IPAddress(text)).site }

    @Test func whatCountsAsOneAddress() throws {
        #expect(try site("192.168.1.2") != site("192.168.1.3"))
        #expect(try site("::ffff:192.168.1.2") == site("192.168.1.2"))
        #expect(try site("2001:db8:0:1::1") == site("2001:db8:0:1:ffff::2"))
        #expect(try site("2001:db8:0:1::1") != site("2001:db8:0:2::1"))
        func linkLocal(_ host: UInt8, on interface: UInt32) throws -> IPAddress.Site? {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_scope_id = interface
            withUnsafeMutableBytes(of: &address.sin6_addr) { ($0[0], $0[1], $0[15]) = (0xfe, 0x80, host) }
            return SocketAddress(address).site
        }
        #expect(try linkLocal(1, on: 2) == linkLocal(9, on: 2))
        #expect(try linkLocal(1, on: 2) != linkLocal(1, on: 3))
        #expect(IPAddress("fe80::1%wlan0") == IPAddress("fe80:0::1"))
        #expect(IPAddress("::ffff:192.168.1.2").map { "\($0)" } == "192.168.1.2")
        #expect(IPAddress("2001:db8::1").map { "\($0)" } == "2001:db8::1")
        #expect(IPAddress("127.1.2.3")?.isLoopback == true)
        #expect(IPAddress("::1")?.isLoopback == true)
        #expect(IPAddress("128.0.0.1")?.isLoopback == false)
        for text in ["", "x", "1.2.3", "1.2.3.4.5", "%", "::1::"] { #expect(IPAddress(text) == nil) }
        #expect(try IPAddress(SocketAddress(unixDomainSocketPath: "/s")) == nil)
    }

    /// Ten thousand addresses with wrong keys cost no more memory than the table allows, and do not delay others.
    @Test func manyAddressesWithWrongKeys() throws {
        var limits = AppServer.LANLimits()
        limits.wrongKeys.addresses = 100
        let admission = Door(limits)
        let now = Instant(milliseconds: 0)
        for number in 0..<10_000 {
            let site = try site("10.0.\(number / 256).\(number % 256)")
            let moment = now + .milliseconds(number)
            guard case .admitted(let ticket, _, nil) = admission.arrive(from: site, at: moment) else {
                Issue.record("number \(number) was turned away")
                return
            }
            admission.refuse(ticket, at: moment)
        }
        let end = now + .milliseconds(10_000)
        let remembered = try (0..<10_000).filter {
            try admission.wrongKeys(from: site("10.0.\($0 / 256).\($0 % 256)"), at: end).count > 0
        }
        #expect(remembered == Array(9_900..<10_000))
        #expect(try admission.wrongKeys(from: site("10.1.0.0"), at: end).delay == .zero)
    }

    @Test func theDelayStaysWithinItsLimit() throws {
        var wrongKeys = WrongKeys(AppServer.WrongKeyLimits())
        let (site, now) = (try site("10.0.0.1"), Instant(milliseconds: 0))
        for _ in 0..<100 { wrongKeys.record(site, at: now) }
        #expect(wrongKeys.count(from: site, at: now) == 100)
        #expect(wrongKeys.delay(for: site, at: now) == .seconds(4))
        let here = try self.site("127.0.0.1")
        for _ in 0..<100 { wrongKeys.record(here, at: now) }
        #expect(wrongKeys.delay(for: here, at: now) == .seconds(1))
        wrongKeys.clear(site)
        #expect(wrongKeys.delay(for: site, at: now) == .zero)
    }

    /// A client that waits for its back-off keeps its place; one that has begun and does not go on gives way, the
    /// oldest first.
    @Test func whoGivesWay() throws {
        var limits = AppServer.LANLimits()
        limits.handshakesPerAddress = 3
        let admission = Door(limits)
        let (site, now) = (try site("10.0.0.1"), Instant(milliseconds: 0))
        #expect(admission.arrive(from: site, at: now) == .admitted(1, after: .zero, inPlaceOf: nil))
        admission.refuse(1, at: now)
        for ticket in 2...4 {
            #expect(
                admission.arrive(from: site, at: now) == .admitted(ticket, after: .milliseconds(250), inPlaceOf: nil))
        }
        #expect(admission.arrive(from: site, at: now) == .rejected)
        admission.begin(3)
        admission.begin(2)
        #expect(admission.arrive(from: site, at: now) == .admitted(5, after: .milliseconds(250), inPlaceOf: 3))
        #expect(admission.arrive(from: site, at: now) == .admitted(6, after: .milliseconds(250), inPlaceOf: 2))
        #expect(admission.arrive(from: site, at: now) == .rejected)
        // A displaced one that completes after all has no room.
        #expect(!admission.complete(2))
        #expect(admission.complete(6))
    }

    /// One address that fills the room for all with handshakes that wait does not keep another out.
    @Test func theBusiestAddressGivesWay() throws {
        var limits = AppServer.LANLimits()
        limits.handshakes = 4
        let admission = Door(limits)
        let (busy, other, now) = (try site("10.0.0.1"), try site("10.0.0.2"), Instant(milliseconds: 0))
        #expect(admission.arrive(from: busy, at: now) == .admitted(1, after: .zero, inPlaceOf: nil))
        admission.refuse(1, at: now)
        for _ in 0..<4 { _ = admission.arrive(from: busy, at: now) }
        #expect(admission.arrive(from: busy, at: now) == .rejected)
        for (ticket, site) in try [(4, other), (5, site("10.0.0.3"))] {
            #expect(admission.arrive(from: site, at: now) == .admitted(ticket, after: .zero, inPlaceOf: nil))
        }
        let fourth = try site("10.0.0.4")
        #expect(admission.arrive(from: fourth, at: now) == .admitted(6, after: .zero, inPlaceOf: 3))
    }

    /// Handshakes that wait after wrong keys leave room for others, however many addresses they come from.
    @Test func addressesThatWaitKeepNobodyOut() throws {
        let admission = Door(AppServer.LANLimits())
        let now = Instant(milliseconds: 0)
        let sites = try (0..<200).map { try site("10.0.1.\($0)") }
        for site in sites {
            guard case .admitted(let ticket, _, _) = admission.arrive(from: site, at: now) else { continue }
            for _ in 0..<6 { admission.recordWrongKey(ticket, at: now) }
            admission.leave(ticket)
        }
        for site in sites { _ = admission.arrive(from: site, at: now) }
        let owner = try site("10.0.0.3")
        guard case .admitted(let ticket, .zero, nil) = admission.arrive(from: owner, at: now) else {
            Issue.record("the owner is not let in")
            return
        }
        for site in sites { _ = admission.arrive(from: site, at: now) }
        #expect(admission.complete(ticket))
    }

    /// A neighbour with one address, in the owner's own /64, delays the owner and does not keep it out.
    @Test func aNeighbourKeepsNobodyOut() throws {
        let admission = Door(AppServer.LANLimits())
        let now = Instant(milliseconds: 0)
        let site = try site("2001:db8::1")
        let (neighbour, owner) = (IPAddress("2001:db8::1"), IPAddress("2001:db8::2"))
        for _ in 0..<6 {
            guard case .admitted(let ticket, _, _) = admission.arrive(from: site, as: neighbour, at: now) else {
                continue
            }
            admission.refuse(ticket, at: now)
        }
        for _ in 0..<20 { _ = admission.arrive(from: site, as: neighbour, at: now) }
        guard case .admitted(let ticket, .seconds(4), _?) = admission.arrive(from: site, as: owner, at: now) else {
            Issue.record("the owner is not let in")
            return
        }
        for _ in 0..<20 { _ = admission.arrive(from: site, as: neighbour, at: now) }
        admission.begin(ticket)
        #expect(admission.complete(ticket))
    }

    /// Keys that may not revoke others leave a quarter of the connections to those that may.
    @Test func aQuarterOfTheRoomIsForTheOwners() throws {
        let admission = Door(AppServer.LANLimits())
        let now = Instant(milliseconds: 0)
        let results = try (1...40).map { number in
            let arrival = try admission.arrive(from: site("10.0.0.\(number)"), at: now)
            guard case .admitted(let ticket, _, _) = arrival else { return false }
            return admission.complete(ticket, as: number <= 30 ? .see : .manage)
        }
        #expect(results.prefix(30).count { $0 } == 24)
        #expect(results.dropFirst(30).count { $0 } == 8)
    }

    /// Several addresses that do so, and go on: a client that came alone stays while it shows its key.
    @Test func whoComesAloneIsNotDrivenOut() throws {
        var limits = AppServer.LANLimits()
        limits.handshakes = 4
        let admission = Door(limits)
        let (first, second) = (try site("10.0.0.1"), try site("10.0.0.2"))
        let now = Instant(milliseconds: 0)
        for site in [first, second] {
            guard case .admitted(let ticket, _, _) = admission.arrive(from: site, at: now) else { continue }
            admission.refuse(ticket, at: now)
        }
        for site in [first, second, first, second] { _ = admission.arrive(from: site, at: now) }
        guard case .admitted(let owner, .zero, _) = admission.arrive(from: try site("10.0.0.3"), at: now) else {
            Issue.record("the owner is not let in")
            return
        }
        for site in [first, second, first, second, first] { _ = admission.arrive(from: site, at: now) }
        #expect(admission.complete(owner))
    }

    /// A refused connection takes room until it is closed: TLS waits 5 s for the goodbye of a peer that sends none.
    @Test func aRefusedConnectionCountsUntilItIsClosed() throws {
        var limits = AppServer.LANLimits()
        (limits.handshakes, limits.connections) = (2, 1)
        let admission = Door(limits)
        let (site, now) = (try site("10.0.0.1"), Instant(milliseconds: 0))
        for _ in 0..<2 { _ = admission.arrive(from: site, at: now) }
        #expect(admission.complete(1))
        _ = admission.arrive(from: site, at: now)
        // The key is right, and there is no room.
        #expect(!admission.complete(2))
        admission.recordWrongKey(3, at: now)
        let delay = Duration.milliseconds(250)
        #expect(admission.arrive(from: site, at: now) == .admitted(4, after: delay, inPlaceOf: 2))
        #expect(admission.arrive(from: site, at: now) == .rejected)
        admission.leave(4)
        #expect(admission.arrive(from: site, at: now) == .admitted(5, after: delay, inPlaceOf: nil))
    }

    @Test func leavingMakesRoom() throws {
        var limits = AppServer.LANLimits()
        limits.connections = 1
        let admission = Door(limits)
        let (site, now) = (try site("10.0.0.1"), Instant(milliseconds: 0))
        for _ in 0..<3 { _ = admission.arrive(from: site, at: now) }
        #expect(admission.complete(1))
        #expect(!admission.complete(2))
        admission.leave(1)
        #expect(admission.complete(3))
    }

    @Test func bucketsFillWithTime() {
        let start = Instant(milliseconds: 1_000_000)
        let bucket = Tap(AppServer.RequestRate(perSecond: 4, burst: 2))
        for _ in 0..<2 {
            #expect(bucket.delay(at: start) == .zero)
            bucket.drain()
        }
        #expect(!bucket.isFull)
        #expect(bucket.delay(at: start) == .milliseconds(250))
        #expect(bucket.delay(at: start + .milliseconds(200)) == .milliseconds(50))
        #expect(bucket.delay(at: start + .milliseconds(250)) == .zero)
        // A clock that goes backwards, and one that leaps, give no more than the burst.
        #expect(bucket.delay(at: start - .seconds(1)) == .zero)
        #expect(bucket.delay(at: Instant(milliseconds: .max / 2)) == .zero)
        #expect(bucket.isFull)
        bucket.drain()
        bucket.drain()
        #expect(bucket.delay(at: Instant(milliseconds: .max / 2)) == .milliseconds(250))
    }

    /// Addresses that come and go do not grow the table, and a client gains nothing by leaving and coming back.
    @Test func ratesOfManyAddresses() throws {
        let rates = SiteRates(AppServer.RequestRate(perSecond: 1, burst: 1), maximum: 50)
        let start = Instant(milliseconds: 0)
        for number in 0..<50 {
            var connection = TokenBucket(AppServer.RequestRate(perSecond: 1000, burst: 1000))
            let site = try site("10.0.0.\(number)")
            #expect(rates.consume(site, and: &connection, at: start) == nil)
            #expect(rates.consume(site, and: &connection, at: start) == .seconds(1))
        }
        #expect(rates.count == 50)
        var connection = TokenBucket(AppServer.RequestRate(perSecond: 1000, burst: 1000))
        for number in 0..<1000 {
            _ = rates.consume(
                try site("10.1.\(number / 256).\(number % 256)"), and: &connection, at: start + .seconds(2))
        }
        #expect(rates.count <= 50)
    }
}

/// An admission that expectations can change.
private final class Door {
    private var admission: Admission
    private var sites: [IPAddress.Site] = []

    init(_ limits: AppServer.LANLimits) { admission = Admission(limits) }

    /// - Parameter address: nil for the site's only one.
    func arrive(
        from site: IPAddress.Site, as address: IPAddress? = nil, at now: Instant
    ) -> Admission.Arrival {
        let number = sites.firstIndex(of: site) ?? sites.count
        if number == sites.count { sites.append(site) }
        let only = IPAddress("172.16.\(number / 256).\(number % 256)")
        guard let address = address ?? only else { return .rejected }
        return admission.arrive(from: address, of: site, at: now)
    }
    func begin(_ ticket: Int) { admission.begin(ticket) }
    func complete(_ ticket: Int, as role: Role = .manage) -> Bool { admission.complete(ticket, as: role) }
    func leave(_ ticket: Int) { admission.leave(ticket) }
    /// For a wrong key, and closes the connection.
    func refuse(_ ticket: Int, at now: Instant) {
        admission.recordWrongKey(ticket, at: now)
        leave(ticket)
    }
    func recordWrongKey(_ ticket: Int, at now: Instant) { admission.recordWrongKey(ticket, at: now) }
    func wrongKeys(from site: IPAddress.Site, at now: Instant) -> (count: Int, delay: Duration) {
        admission.wrongKeys(from: site, at: now)
    }
}

/// The same of a bucket.
private final class Tap {
    private var bucket: TokenBucket

    init(_ rate: AppServer.RequestRate) { bucket = TokenBucket(rate) }

    var isFull: Bool { bucket.isFull }
    func delay(at now: Instant) -> Duration { bucket.delay(at: now) }
    func drain() { bucket.consume() }
}
