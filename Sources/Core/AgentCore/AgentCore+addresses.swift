import AgentModel
import DHCP
import Failover
import KeyFile

/// Data that a station needs to get an address in the network it has joined.
package struct AddressRequest: Sendable, Equatable {
    /// Static address set by the user, used instead of DHCP.
    package var fixed: StaticAddress?
    package var remembered: Lease?
    /// Whether the end of `remembered` is known. It is unknown for a lease from the key file, after a restart.
    package var isDated = false
    /// Last DHCPv6 lease in this network.
    package var rememberedIPv6: IPv6Lease?
    /// Static IPv6 address set by the user, used beside others.
    package var fixedIPv6: StaticAddress?
}

struct AddressedLink: Sendable, Hashable {
    let epoch: UInt64
    let network: NetworkID
    /// Static addresses at the time of the request.
    let fixed: StaticAddress?
    let fixedIPv6: StaticAddress?
}

// Addresses of the stations. The DHCP and IPv6 clients run outside the core.
extension AgentCore {
    /// Requests or drops addresses to match the links. `Effect.join` and `Effect.leave` drop the old address.
    mutating func reviewAddresses() {
        guard settings.assignsAddresses else {
            reviewRouter(of: inUse, policy.phase)
            if let spare { reviewRouter(of: spare, policy.successor) }
            return
        }
        reviewAddress(of: inUse, policy.phase)
        if let spare, let phase = policy.successor { reviewAddress(of: spare, phase) }
    }

    /// Time from another DHCP client's address until a network without a default route counts as one without a router.
    /// Other clients set the route within a second of the address.
    private static let routerTime = Duration.seconds(3)

    private mutating func reviewRouter(of station: StationID, _ phase: FailoverPolicy.Phase?) {
        let timer = AgentTimer.router(station)
        let lacksRoute = if case .waitingForAddress = phase { addressWithoutRoute(of: station) != nil } else { false }
        guard lacksRoute != lastPublished.timers.contains(timer) else { return }
        wait(timer, until: lacksRoute ? now.instant + Self.routerTime : nil)
    }

    private func addressWithoutRoute(of station: StationID) -> IPAddress? {
        guard let facts = kernel.stations[station] else { return nil }
        return stations[station]?.staleAddresses.addressWithoutRoute(addresses: facts.addresses, routes: facts.routes)
    }

    mutating func acceptMissingRouter(of station: StationID) {
        uses(addressWithoutRoute(of: station), hasRouter: false, at: station)
    }

    private mutating func reviewAddress(of station: StationID, _ phase: FailoverPolicy.Phase) {
        switch phase {
        case .joining: break
        case .offline: if stations[station]?.addressed != nil { dropAddress(of: station) }
        case .waitingForAddress, .validating, .online:
            guard let network = phase.network, let epoch = phase.epoch else { return }
            let stored = registry[network]
            let link = AddressedLink(
                epoch: epoch, network: network, fixed: stored?.staticAddress, fixedIPv6: stored?.options.ipv6)
            guard stations[station]?.addressed != link else { return }
            let before = stations[station]?.addressed
            stations[station]?.addressed = link
            if let before, before.network == network, before.fixed == link.fixed {
                // Same network after roaming: only confirm the address.
                if before.epoch != epoch { emit(.confirmAddress(station)) }
                if before.fixedIPv6 != link.fixedIPv6 { emit(.setStaticIPv6(station, link.fixedIPv6)) }
                return
            }
            emit(.seekAddress(station, addressRequest(in: network)))
        }
    }

    mutating func dropAddress(of station: StationID) {
        stations[station]?.addressed = nil
        guard settings.assignsAddresses else { return }
        emit(.dropAddress(station))
    }

    /// Confirms the address after the driver or wpa_supplicant has roamed without a command.
    mutating func roamed(with station: StationID, in network: NetworkID) {
        guard stations[station]?.addressed?.network == network else { return }
        emit(.confirmAddress(station))
    }

    private func addressRequest(in network: NetworkID) -> AddressRequest {
        guard let stored = registry[network] else { return AddressRequest() }
        var request = AddressRequest(
            fixed: stored.staticAddress, rememberedIPv6: learned.ipv6Leases[network], fixedIPv6: stored.options.ipv6)
        if let lease = learned.leases[network] {
            (request.remembered, request.isDated) = (lease, true)
        } else if !state.hasTwoKeys(of: stored.ssid) {
            request.remembered = state.statistics[stored.ssid]?.lease.flatMap { Lease($0, at: now.instant) }
        }
        return request
    }

    mutating func handle(_ event: IPv4Event, of station: StationID) {
        switch event {
        case .remember(let lease): learnt(lease, by: station)
        case .forget: learnt(nil, by: station)
        case .problem(let text): report(text, of: station)
        case .inUse(let lease, _):
            stations[station]?.isMeteredByServer = lease.isMetered
            uses(lease.address.address, hasRouter: lease.gateway != nil, at: station)
        case .inUseStatic(let address):
            stations[station]?.isMeteredByServer = false
            uses(address.address, hasRouter: address.gateway != nil, at: station)
        case .dropped, .droppedStatic:
            stations[station]?.isMeteredByServer = false
            uses(nil, hasRouter: true, at: station)
        case .foundGateway: break
        }
    }

    private mutating func report(_ problem: String, of station: StationID) {
        log(.notice, "\(station): \(problem)")
        guard let count = stations[station]?.addressProblems.count, count < Self.mostAddressProblems else { return }
        stations[station]?.addressProblems.append(problem)
    }

    private static let mostAddressProblems = 32

    private mutating func uses(_ address: IPAddress?, hasRouter: Bool, at station: StationID) {
        stations[station]?.staleAddresses.withoutRouter = hasRouter ? nil : address
        checkAddress()
    }

    mutating func handle(_ event: IPv6Event, of station: StationID) {
        switch event {
        case .lease(let lease):
            if let network = stations[station]?.addressed?.network { learned.ipv6Leases[network] = lease }
        case .problem(let text): report(text, of: station)
        case .configuration: break
        }
    }

    private mutating func learnt(_ lease: Lease?, by station: StationID) {
        guard let network = stations[station]?.addressed?.network else { return }
        learned.leases[network] = lease
        // An ephemeral network is not written to disk.
        guard let stored = registry[network], state.holds(stored) else { return }
        learned.pendingStatistics.leased(lease.flatMap { StoredLease($0, at: now) }, in: stored)
        reviewStatistics()
    }
}

extension Lease {
    /// Restores a stored lease. Its end is unknown, so the server must confirm it.
    fileprivate init?(_ stored: StoredLease, at now: Instant) {
        guard let address = IPv4Address(bytes: stored.address.bytes),
            let server = IPv4Address(bytes: stored.server.bytes)
        else { return nil }
        self.init(
            stored: address, prefixLength: stored.prefixLength,
            gateway: stored.gateway.flatMap { IPv4Address(bytes: $0.bytes) }, gatewayHardware: stored.gatewayHardware,
            server: server, nameServers: stored.nameServers.compactMap { IPv4Address(bytes: $0.bytes) },
            expiry: now + .seconds(3600), hardware: stored.hardware, at: now)
    }
}

extension StoredLease {
    fileprivate init?(_ lease: Lease, at clock: ClockReading) {
        guard let address = lease.address.address, let server = lease.server.address else { return nil }
        self.init(
            address: address, prefixLength: lease.prefixLength, gateway: lease.gateway?.address,
            gatewayHardware: lease.gatewayHardware, server: server, hardware: lease.hardware,
            nameServers: lease.nameServers.prefix(Self.maximumServers).compactMap(\.address),
            expiry: clock.seconds(of: lease.expiry))
    }
}
