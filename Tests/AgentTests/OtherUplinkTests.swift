import AgentModel
import Testing

@testable import Agent
@testable import Netlink

@Suite struct OtherUplinkTests {
    private let wifi = 3

    private func link(_ index: Int, _ kind: Uplink, isUp: Bool = true, hasCarrier: Bool = true) -> (Int, Link) {
        (index, Link(index: index, name: "if\(index)", isUp: isUp, hasCarrier: hasCarrier, kind: kind))
    }

    private func route(_ index: Int, _ family: AddressFamily = .ipv4, metric: Int = 0) -> DefaultRoute {
        DefaultRoute(family: family, gateway: nil, index: index, metric: metric)
    }

    private func found(_ links: (Int, Link)..., by routes: [DefaultRoute]) -> Uplink? {
        .besides(wifi, links: Dictionary(uniqueKeysWithValues: links), routes: routes)
    }

    @Test func whatCarriesTheTrafficIsTheFirstRouteThatWorks() {
        #expect(found(link(2, .wired), link(3, .wifi), by: [route(2), route(3)]) == .wired)
        #expect(found(link(2, .wired), link(3, .wifi), by: [route(3), route(2)]) == nil)
        #expect(found(link(2, .wired, hasCarrier: false), link(3, .wifi), by: [route(2), route(3)]) == nil)
        #expect(found(link(2, .wired, isUp: false), link(4, .cellular), by: [route(2), route(4)]) == .cellular)
        #expect(found(link(3, .wifi), by: []) == nil)
        #expect(found(link(3, .wifi), by: [route(9)]) == nil, "a route without its link")
    }

    @Test func anotherWiFiInterfaceIsAnotherUplink() {
        #expect(found(link(3, .wifi), link(4, .wifi), by: [route(4), route(3)]) == .wifi)
    }

    /// The tunnel goes through something, and that may be this Wi-Fi.
    @Test func aTunnelIsNone() {
        #expect(found(link(3, .wifi), link(5, .other), by: [route(5), route(3)]) == nil)
        #expect(found(link(2, .wired), link(3, .wifi), link(5, .other), by: [route(5), route(2)]) == .wired)
    }

    @Test func theOlderFamilyComesFirst() {
        #expect(found(link(2, .wired), link(3, .wifi), by: [route(2, .ipv6), route(3)]) == nil)
        #expect(found(link(2, .wired), link(3, .wifi), by: [route(2, .ipv6)]) == .wired)
    }
}
