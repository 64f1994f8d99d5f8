import AgentModel
import Testing

@testable import DHCP

@Suite struct StaticIPv6Tests {
    private let address: StaticAddress
    private let other: StaticAddress
    private let conflict: StaticIPv6Problem
    private var client = StaticIPv6Client()
    private var now = Instant(milliseconds: 1_000_000)

    init() throws {
        let server = try #require(IPAddress("2001:db8:7::53"))
        address = try StaticAddress("2001:db8:7::20/64", gateway: IPAddress("fe80::1"), nameServers: [server])
        other = try StaticAddress("2001:db8:8::20/64")
        conflict = .conflict(address.address)
    }

    @Test mutating func theAddressIsSetUntilTheLinkEnds() {
        #expect(client.handle(.use(nil), at: now) == [])
        #expect(client.handle(.use(address), at: now) == [.set(address)])
        #expect(client.address == address && client.deadline == nil)
        #expect(client.handle(.roamed, at: now) == [])
        #expect(client.handle(.use(other), at: now) == [.set(other)])
        #expect(client.handle(.use(nil), at: now) == [.set(nil)])
        #expect(client.address == nil)
        #expect(client.handle(.use(nil), at: now) == [])
    }

    @Test mutating func anAddressOfAnotherHostIsReportedOnceAndTriedAgain() {
        #expect(client.handle(.use(address), at: now) == [.set(address)])
        var pauses: [Int64] = []
        for attempt in 0..<9 {
            let effects = client.handle(.failed(conflict), at: now)
            #expect(effects == [.set(nil)] + (attempt == 0 ? [.report(conflict)] : []))
            // The kernel reports its removal, too.
            #expect(client.handle(.failed(conflict), at: now) == [])
            #expect(client.handle(.timer, at: now) == [])
            #expect(client.address == nil)
            let end = client.deadline ?? now
            pauses.append((end - now).milliseconds)
            now = end
            #expect(client.handle(.timer, at: now) == [.set(address)])
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 64, 64].map { $0 * 1000 })
        #expect(client.address == address && client.deadline == nil)
    }

    @Test mutating func anotherAccessPointEndsThePause() {
        _ = client.handle(.use(address), at: now)
        _ = client.handle(.failed(conflict), at: now)
        #expect(client.handle(.roamed, at: now) == [.set(address)])
        #expect(client.deadline == nil)
    }

    @Test mutating func aConflictOfAnotherAddressIsIgnored() {
        _ = client.handle(.use(address), at: now)
        #expect(client.handle(.failed(.conflict(other.address)), at: now) == [])
        #expect(client.address == address)
    }

    @Test mutating func aClaimOfASiblingEndsDuplicateDetection() {
        _ = client.handle(.use(address), at: now)
        #expect(client.handle(.claimedBySibling(other.address), at: now) == [] && client.detectsDuplicates)
        #expect(client.handle(.claimedBySibling(address.address), at: now) == [.set(address)])
        #expect(client.address == address && !client.detectsDuplicates && client.deadline == nil)
        // The kernel reports the removal of the address that it has checked.
        #expect(client.handle(.failed(conflict), at: now) == [])
        #expect(client.handle(.claimedBySibling(address.address), at: now) == [])
        #expect(client.address == address)
        // The next link is checked again.
        #expect(client.handle(.use(nil), at: now) == [.set(nil)])
        #expect(client.handle(.use(address), at: now) == [.set(address)])
        #expect(client.detectsDuplicates)
    }

    @Test mutating func aSiblingHasNoPartInAPause() {
        _ = client.handle(.use(address), at: now)
        _ = client.handle(.failed(conflict), at: now)
        #expect(client.handle(.claimedBySibling(address.address), at: now) == [])
        #expect(client.address == nil && client.deadline != nil)
    }

    @Test mutating func disabledIPv6IsReportedOnceForALink() {
        _ = client.handle(.use(address), at: now)
        #expect(client.handle(.failed(.disabled), at: now) == [.set(nil), .report(.disabled)])
        now = client.deadline ?? now
        _ = client.handle(.timer, at: now)
        #expect(client.handle(.failed(.disabled), at: now) == [.set(nil)])
        #expect(client.handle(.use(address), at: now) == [.set(address)])
        #expect(client.handle(.failed(.disabled), at: now) == [.set(nil), .report(.disabled)])
    }
}
