import AgentModel
import Testing

@testable import AgentCore

@Suite struct StaleAddressFilterTests {
    private let old = address([10, 1, 0, 17])
    private let new = address([10, 2, 0, 17])
    private let oldRoute = route(via: [10, 1, 0, 1])
    private let newRoute = route(via: [10, 2, 0, 1])

    @Test func needsAddressAndRoute() {
        let gate = StaleAddressFilter()
        #expect(!gate.isReady(addresses: [], routes: []))
        #expect(!gate.isReady(addresses: [new], routes: []))
        #expect(!gate.isReady(addresses: [], routes: [newRoute]))
        #expect(gate.isReady(addresses: [new], routes: [newRoute]))
    }

    /// dhcpcd needs a tenth of a second to notice that the network is another one.
    @Test func whatIsLeftOverFromTheLastNetworkDoesNotCount() {
        var gate = StaleAddressFilter()
        gate.markStale([old], [oldRoute])
        #expect(!gate.isReady(addresses: [old], routes: [oldRoute]))
        gate.removed(old)
        gate.added(new)
        #expect(!gate.isReady(addresses: [new], routes: [oldRoute]), "the old route leads nowhere")
        #expect(gate.isReady(addresses: [new], routes: [oldRoute, newRoute]))
    }

    @Test func theSameAddressCountsOnceItIsConfirmed() {
        var gate = StaleAddressFilter()
        gate.markStale([old], [oldRoute])
        #expect(!gate.isReady(addresses: [old], routes: [oldRoute]))
        gate.added(old)
        #expect(gate.isReady(addresses: [old], routes: [oldRoute]))
    }

    @Test func aNetworkWithoutRouterNeedsNoRoute() {
        var gate = StaleAddressFilter()
        gate.markStale([old], [oldRoute])
        gate.withoutRouter = IPAddress(bytes: new.bytes)
        #expect(!gate.isReady(addresses: [], routes: []))
        #expect(gate.isReady(addresses: [new], routes: []))
        gate.markStale([new], [])
        gate.added(new)
        #expect(!gate.isReady(addresses: [new], routes: []), "the next network has a router")
    }

    @Test func findsTheAddressThatOnlyLacksARoute() throws {
        var gate = StaleAddressFilter()
        gate.markStale([old], [oldRoute])
        #expect(gate.addressWithoutRoute(addresses: [old], routes: [oldRoute]) == nil, "the client has set none")
        let found = try #require(gate.addressWithoutRoute(addresses: [old, new], routes: [oldRoute]))
        #expect(found.bytes == new.bytes)
        #expect(gate.addressWithoutRoute(addresses: [new], routes: [newRoute]) == nil)
        let ipv6 = InterfaceAddress(
            family: .ipv6, bytes: Array(repeating: 0x20, count: 16), prefixLength: 64, index: 1)
        #expect(gate.addressWithoutRoute(addresses: [ipv6], routes: []) == nil)
    }

    @Test func rejoiningTheSameNetworkTrustsTheAddress() {
        var gate = StaleAddressFilter()
        gate.markStale([old], [oldRoute])
        gate.clear()
        #expect(gate.isReady(addresses: [old], routes: [oldRoute]))
    }

    @Test func linkLocalAndTentativeAddressesDoNotCount() {
        let gate = StaleAddressFilter()
        let linkLocal = InterfaceAddress(
            family: .ipv4, bytes: [169, 254, 3, 4], prefixLength: 16, scope: .link, index: 1)
        let tentative = InterfaceAddress(
            family: .ipv6, bytes: Array(repeating: 0x20, count: 16), prefixLength: 64, index: 1, isTentative: true)
        let route6 = route(via: [0xfe, 0x80] + Array(repeating: 1, count: 14))
        #expect(!gate.isReady(addresses: [linkLocal], routes: [route(via: [169, 254, 0, 1])]))
        #expect(!gate.isReady(addresses: [tentative], routes: [route6]))
    }

    @Test func ipv6RoutersAreLinkLocal() {
        let address = InterfaceAddress(
            family: .ipv6, bytes: Array(repeating: 0x20, count: 16), prefixLength: 64, index: 1)
        let router = route(via: [0xfe, 0x80] + Array(repeating: 1, count: 14))
        #expect(StaleAddressFilter().isReady(addresses: [address], routes: [router]))
        #expect(!StaleAddressFilter().isReady(addresses: [address], routes: [newRoute]), "a route of the other family")
    }

    @Test(arguments: [(24, true), (25, false), (0, true), (32, true), (31, false)])
    func aRouteFromBeforeCountsWithinTheAddressesPrefix(length: Int, isReady: Bool) {
        let address = InterfaceAddress(family: .ipv4, bytes: [10, 2, 0, 200], prefixLength: length, index: 1)
        var gate = StaleAddressFilter()
        gate.markStale([], [newRoute])
        #expect(gate.isReady(addresses: [address], routes: [newRoute]) == isReady)
        gate.added(newRoute)
        #expect(gate.isReady(addresses: [address], routes: [newRoute]), "it was set again")
    }
}

private func address(_ bytes: [UInt8]) -> InterfaceAddress {
    InterfaceAddress(family: .ipv4, bytes: bytes, prefixLength: 24, index: 1)
}

private func route(via gateway: [UInt8]) -> DefaultRoute {
    DefaultRoute(family: gateway.count == 4 ? .ipv4 : .ipv6, gateway: gateway, index: 1, metric: 0)
}
