import AddressIO
import AgentCore
import AgentModel
import Connectivity
import DHCP
import Linux
import Netlink

/// Obtains a station's addresses and passes the configuration to its network. Makes no decisions.
@AgentLoop
final class StationAddresses {
    private let interface: String
    private let metric: Int
    private let settings: DHCPSettings
    private let network: InterfaceNetwork
    private let routes: RouteMonitor
    private let onEvent: (AgentEvent) -> Void
    private(set) var configuration = NetworkConfiguration()
    var onConfiguration: () -> Void = {}
    private var clients: Clients?
    private var (lastReported, lastReportedIPv6) = (NetworkConfiguration(), NetworkConfiguration())
    /// True if the next link may be to another network.
    private var isAnother = true

    /// Runners of one interface index. A recreated interface has another index.
    private struct Clients {
        let index: Int
        let ipv4: IPv4Runner
        let ipv6: IPv6Runner
    }

    /// - Parameter metric: metric of the station's routes.
    init(
        interface: String, metric: Int, settings: DHCPSettings, network: InterfaceNetwork, routes: RouteMonitor,
        onEvent: @escaping @AgentLoop @Sendable (AgentEvent) -> Void
    ) {
        (self.interface, self.metric, self.settings) = (interface, metric, settings)
        (self.network, self.routes, self.onEvent) = (network, routes, onEvent)
    }

    func seek(_ request: AddressRequest) {
        guard let link = routes.link(named: interface), let hardware = link.hardware,
            let clients = clients(of: link.index)
        else { return }
        let siblings = siblings(of: link)
        if let fixed = request.fixed {
            clients.ipv4.linkUp(hardware: hardware, siblings: siblings, fixed: fixed)
        } else {
            clients.ipv4.linkUp(
                hardware: hardware, siblings: siblings, remembered: request.remembered, isDated: request.isDated)
        }
        clients.ipv6.linkUp(hardware: hardware, isAnother: isAnother, remembered: request.rememberedIPv6)
        clients.ipv6.use(request.fixedIPv6)
        isAnother = false
    }

    /// Replaces the static IPv6 address while the link is up; nil: removes it.
    func setStaticIPv6(_ address: StaticAddress?) { clients?.ipv6.use(address) }

    /// - Parameter isDoubted: whether nothing gets through with the addresses.
    func confirm(isDoubted: Bool = false) {
        guard let clients, let hardware = routes.link(named: interface)?.hardware else { return }
        if isDoubted { clients.ipv4.doubted() } else { clients.ipv4.roamed() }
        clients.ipv6.linkUp(hardware: hardware, isAnother: false, remembered: clients.ipv6.lease)
    }

    /// Removes the addresses, including those of a killed agent.
    /// - Parameter network: true if the station leaves the network. IPv6 addresses are removed only then.
    func drop(leaving network: Bool) {
        isAnother = isAnother || network
        if let link = routes.link(named: interface), let clients = clients(of: link.index) {
            clients.ipv4.linkDown()
            clients.ipv6.linkDown(leavingNetwork: isAnother)
        } else {
            (clients, isAnother) = (nil, true)
            lastReportedIPv6 = NetworkConfiguration()
        }
        lastReported = NetworkConfiguration()
        publish()
    }

    private func clients(of index: Int) -> Clients? {
        if let clients, clients.index == index { return clients }
        clients = nil
        do {
            clients = Clients(
                index: index,
                ipv4: try IPv4Runner(interface: index, metric: metric, settings: settings) { [weak self] in
                    self?.handle($0)
                },
                ipv6: try IPv6Runner(
                    interface: index, metric: metric + Self.beforeAdvertised, settings: settings,
                    isOfSibling: { [routes] address in
                        routes.addresses.contains {
                            $0.index != index && !$0.isTentative && $0.bytes == address.bytes
                                && routes.links[$0.index]?.hasCarrier == true
                        }
                    }
                ) { [weak self] in
                    self?.handle($0)
                })
        } catch {
            onEvent(.ipv4(StationID(interface), .problem("cannot request an address: \(error)")))
        }
        return clients
    }

    /// Takes the metric of a static IPv6 route from 600 to just below that of advertised routes, which
    /// `altnet-interface` sets to 2048 and 2058. A cable's is 1024 at most and goes first.
    private static let beforeAdvertised = 1447

    private func siblings(of link: NetworkInterface) -> Set<HardwareAddress> {
        Set(routes.links.values.filter { $0.index != link.index }.compactMap(\.hardware))
    }

    private func handle(_ event: IPv4Event) {
        switch event {
        case .inUse(let lease, _): publish(lease.configuration)
        case .inUseStatic(let address): publish(address.configuration)
        case .dropped, .droppedStatic: publish(NetworkConfiguration())
        case .foundGateway, .remember, .forget, .problem: break
        }
        onEvent(.ipv4(StationID(interface), event))
    }

    private func handle(_ event: IPv6Event) {
        if case .configuration(let configuration) = event {
            lastReportedIPv6 = configuration
            publish()
        }
        onEvent(.ipv6(StationID(interface), event))
    }

    private func publish(_ configuration: NetworkConfiguration) {
        lastReported = configuration
        publish()
    }

    private func publish() {
        let new = lastReported.joined(with: lastReportedIPv6)
        guard new != configuration else { return }
        configuration = new
        network.setAnnouncements(NetworkAnnouncements(new))
        onConfiguration()
    }
}

extension NetworkAnnouncements {
    init(_ configuration: NetworkConfiguration) {
        self.init(
            nameServers: configuration.nameServers.prefix(Self.maximumServers).map { NameServer($0) },
            captivePortalAPI: configuration.portal)
    }
}
