import AgentModel
import CNetlink
import Testing

@testable import Netlink

/// The endpoints of Multipath TCP for two stations.
@Suite struct MultipathPlanTests {
    private func address(_ bytes: [UInt8], on index: Int, scope: InterfaceAddress.Scope = .global) -> InterfaceAddress {
        InterfaceAddress(
            family: bytes.count == 4 ? .ipv4 : .ipv6, bytes: bytes, prefixLength: 24, scope: scope, index: index,
            isTentative: false)
    }

    private var home: InterfaceAddress { address([10, 1, 0, 23], on: 3) }
    private var home6: InterfaceAddress { address([0x20, 1, 0xd, 0xb8] + Array(repeating: 0, count: 11) + [1], on: 3) }
    private var backup: InterfaceAddress { address([10, 2, 0, 42], on: 4) }

    private func plan(using used: Int?, _ addresses: [InterfaceAddress]? = nil) -> MultipathPlan {
        MultipathPlan(stations: [3, 4], used: used, addresses: addresses ?? [home, home6, backup])
    }

    @Test func eachAddressIsAnEndpointAndThatOfTheOtherStationABackup() {
        let endpoints = plan(using: 3).endpoints
        #expect(endpoints[163]?.address == IPAddress(bytes: home.bytes) && endpoints[163]?.isBackup == false)
        #expect(endpoints[164]?.address == IPAddress(bytes: home6.bytes) && endpoints[164]?.isBackup == false)
        #expect(endpoints[165]?.address == IPAddress(bytes: backup.bytes) && endpoints[165]?.isBackup == true)
        #expect(endpoints.count == 3)
    }

    @Test func whatIsNoAddressForTheInternetIsNone() {
        let near = address([0xfe, 0x80] + Array(repeating: 0, count: 14), on: 3, scope: .link)
        let cable = address([10, 3, 0, 1], on: 9)
        #expect(plan(using: 3, [near, cable]).endpoints.isEmpty)
    }

    @Test func atALossWhatIsLeftIsUsedBeforeTheOtherGoes() {
        let changes = plan(using: 4, [backup]).changes(from: plan(using: 3))
        guard case .use(165, let used) = changes.first else {
            Issue.record("\(changes)")
            return
        }
        #expect(!used.isBackup)
        #expect(changes.count == 3)
        #expect(changes.dropFirst().allSatisfy { if case .remove = $0 { true } else { false } })
    }

    @Test func aMoveChangesWhichIsTheBackup() {
        let changes = plan(using: 4).changes(from: plan(using: 3))
        guard case .use(165, let first) = changes.first, case .use(_, let last) = changes.last else {
            Issue.record("\(changes)")
            return
        }
        #expect(!first.isBackup && last.isBackup && changes.count == 3)
    }

    @Test func anotherAddressTakesThePlaceOfTheOneBefore() {
        let other = address([10, 1, 0, 99], on: 3)
        let changes = plan(using: 3, [other, backup]).changes(from: plan(using: 3, [home, backup]))
        guard case .remove(163, let old) = changes.first, case .add(163, let new) = changes.last else {
            Issue.record("\(changes)")
            return
        }
        #expect(old.address == IPAddress(bytes: home.bytes) && new.address == IPAddress(bytes: other.bytes))
        #expect(plan(using: 3).changes(from: plan(using: 3)) == [])
    }

    @Test func aRemovalIsAlsoOfConnectionsThatBeganThere() throws {
        let endpoint = try #require(plan(using: 3).endpoints[163])
        let requests = NetlinkRequest.multipath(.remove(163, endpoint), family: 30)
        #expect(requests.count == 2)
        for (request, id) in zip(requests, [163, 0] as [UInt8]) {
            let bytes = request.encoded(flags: 0, sequence: 1, port: 1)
            let message = try #require(Array(NetlinkDatagram(bytes)).first)
            let nested = try #require(message.attributes(after: 4)[MPTCP_PM_ATTR_ADDR]).nested
            #expect(nested[MPTCP_PM_ADDR_ATTR_ID]?.number(as: UInt8.self) == id)
            #expect(nested[MPTCP_PM_ADDR_ATTR_FAMILY]?.number(as: UInt16.self) == 2)
            #expect(nested[MPTCP_PM_ADDR_ATTR_ADDR4].map { Array($0.bytes) } == home.bytes)
        }
    }
}
