import AddressIO
import AgentCore
import AgentModel
import Connectivity
import DHCP
import Linux
import Netlink

/// Gets a station its addresses, and tells the station's network what came with them. It decides nothing.
@AgentLoop
final class StationAddresses {
    private let interface: String
    private let metric: Int
    private let settings: DHCPSettings
    private let network: InterfaceNetwork
    private let routes: RouteMonitor
    private let onReport: (AddressReport) -> Void
    /// What the network has told.
    private(set) var configuration = NetworkConfiguration()
    /// Called when that has changed.
    var onConfiguration: () -> Void = {}
    private var client: (index: Int, keeper: AddressKeeper)?

    /// - Parameter metric: of the station's routes.
    init(
        interface: String, metric: Int, settings: DHCPSettings, network: InterfaceNetwork, routes: RouteMonitor,
        onReport: @escaping @AgentLoop @Sendable (AddressReport) -> Void
    ) {
        (self.interface, self.metric, self.settings) = (interface, metric, settings)
        (self.network, self.routes, self.onReport) = (network, routes, onReport)
    }

    func seek(_ request: AddressRequest) {
        guard let link = routes.link(named: interface), let hardware = link.hardware,
            let keeper = keeper(of: link.index)
        else { return }
        let siblings = siblings(of: link)
        if let fixed = request.fixed {
            keeper.linkUp(hardware: hardware, siblings: siblings, fixed: fixed)
        } else {
            keeper.linkUp(
                hardware: hardware, siblings: siblings, remembered: request.remembered, isDated: request.isDated)
        }
    }

    func confirm() { client?.keeper.roamed() }

    /// Also what an agent that was killed has left.
    /// - Parameter network: whether it is left for another one, whose addresses of IPv6 then go too.
    func drop(leaving network: Bool) {
        if let link = routes.link(named: interface), let keeper = keeper(of: link.index) {
            keeper.linkDown()
        } else {
            client = nil
        }
        tell(NetworkConfiguration())
    }

    /// An interface that was taken away and comes back has another number.
    private func keeper(of index: Int) -> AddressKeeper? {
        if let client, client.index == index { return client.keeper }
        client = nil
        do {
            let keeper = try AddressKeeper(interface: index, metric: metric, settings: settings) { [weak self] report in
                self?.take(report)
            }
            client = (index, keeper)
            return keeper
        } catch {
            onReport(.problem("no address can be asked for: \(error)"))
            return nil
        }
    }

    private func siblings(of link: Link) -> Set<HardwareAddress> {
        Set(routes.links.values.filter { $0.index != link.index }.compactMap(\.hardware))
    }

    private func take(_ report: AddressKeeper.Report) {
        switch report {
        case .inUse(let lease, _): tell(lease.configuration)
        case .inUseStatic(let address): tell(NetworkConfiguration(address))
        case .dropped, .droppedStatic: tell(NetworkConfiguration())
        case .foundGateway: break
        case .remember(let lease): onReport(.remember(lease))
        case .forget: onReport(.forget)
        case .problem(let text): onReport(.problem(text))
        }
    }

    private func tell(_ configuration: NetworkConfiguration) {
        guard configuration != self.configuration else { return }
        self.configuration = configuration
        network.tell(NetworkNotes(configuration))
        onConfiguration()
    }
}

extension NetworkConfiguration {
    fileprivate init(_ address: StaticAddress) {
        self.init()
        nameServers = address.nameServers
    }
}

extension NetworkNotes {
    init(_ configuration: NetworkConfiguration) {
        self.init(
            nameServers: configuration.nameServers.prefix(Self.maximumServers).map { NameServer($0) },
            captivePortalAPI: configuration.portal)
    }
}
