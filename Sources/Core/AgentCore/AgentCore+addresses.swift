import AgentModel
import DHCP
import Failover
import KeyFile

/// What a station needs to be given an address in the network that it has just joined.
package struct AddressRequest: Sendable, Equatable {
    /// The address that the network's owner has set: no server is asked.
    package var fixed: StaticAddress?
    /// The last lease in this network.
    package var remembered: Lease?
    /// Whether it is known until when that lasts. After a restart it is not: the clock may be wrong, and it may have been
    /// renewed since it was stored.
    package var isDated: Bool
    /// The last lease of DHCPv6 in this network.
    package var rememberedIPv6: IPv6Lease?

    package init(
        fixed: StaticAddress? = nil, remembered: Lease? = nil, isDated: Bool = false, rememberedIPv6: IPv6Lease? = nil
    ) {
        (self.fixed, self.remembered, self.isDated) = (fixed, remembered, isDated)
        self.rememberedIPv6 = rememberedIPv6
    }
}

/// What becomes of a station's address.
package enum AddressReport: Sendable, Equatable {
    /// A server has given the address: it is asked for again in this network.
    case remember(Lease)
    /// The remembered lease is good for nothing.
    case forget
    /// The lease of DHCPv6 in this network; nil where the remembered one is good for nothing.
    case ipv6(IPv6Lease?)
    /// Something about a server or a neighbour that the owner may want to know, in one line.
    case problem(String)
}

/// A link that addresses were asked for.
struct AddressedLink: Sendable, Hashable {
    let epoch: UInt64
    let network: NetworkID
    /// The address that the network's owner had set by then.
    let fixed: StaticAddress?
}

// The addresses of the stations: a link that was made gets one, and one that is lost gives its address up. The client
// itself is a value beside the core (`DHCPClient`), as the watch over beacons is.
extension AgentCore {
    /// Goes by where the links are. A link that is left for another one keeps its address until the network has been signed
    /// off from: the join takes it away.
    mutating func reviewAddresses() {
        guard settings.assignsAddresses else { return }
        reviewAddress(of: inUse, policy.phase)
        if let spare, let phase = policy.successor { reviewAddress(of: spare, phase) }
    }

    private mutating func reviewAddress(of station: StationID, _ phase: FailoverPolicy.Phase) {
        switch phase {
        case .joining: break
        case .offline: if stations[station]?.addressed != nil { dropAddress(of: station) }
        case .waitingForAddress, .validating, .online:
            guard let network = phase.network, let epoch = phase.epoch else { return }
            let link = AddressedLink(epoch: epoch, network: network, fixed: book[network]?.staticAddress)
            guard stations[station]?.addressed != link else { return }
            let before = stations[station]?.addressed
            stations[station]?.addressed = link
            if let before, before.network == network, before.fixed == link.fixed {
                // The link went over to another access point.
                return order(.confirmAddress(station))
            }
            order(.seekAddress(station, addressRequest(in: network)))
        }
    }

    mutating func dropAddress(of station: StationID) {
        stations[station]?.addressed = nil
        guard settings.assignsAddresses else { return }
        order(.dropAddress(station))
    }

    /// The driver or wpa_supplicant has moved to another access point of the network by itself.
    mutating func roamed(with station: StationID, in network: NetworkID) {
        guard stations[station]?.addressed?.network == network else { return }
        order(.confirmAddress(station))
    }

    private func addressRequest(in network: NetworkID) -> AddressRequest {
        guard let stored = book[network] else { return AddressRequest() }
        var request = AddressRequest(fixed: stored.staticAddress, rememberedIPv6: memory.ipv6Leases[network])
        if let lease = memory.leases[network] {
            (request.remembered, request.isDated) = (lease, true)
        } else if !state.hasTwoKeys(of: stored.ssid) {
            request.remembered = state.statistics[stored.ssid]?.lease.flatMap { Lease($0, at: now.instant) }
        }
        return request
    }

    mutating func observe(_ report: AddressReport, of station: StationID) {
        let network = stations[station]?.addressed?.network
        switch report {
        case .problem(let text): say(.notice, "\(station): \(text)")
        case .remember(let lease):
            guard let network else { return }
            memory.leases[network] = lease
            learnt(lease, in: network)
        case .ipv6(let lease): if let network { memory.ipv6Leases[network] = lease }
        case .forget:
            guard let network else { return }
            memory.leases[network] = nil
            learnt(nil, in: network)
        }
    }

    private mutating func learnt(_ lease: Lease?, in network: NetworkID) {
        // A network that is only visited leaves nothing on the disk.
        guard let stored = book[network], state.holds(stored) else { return }
        memory.journal.leased(lease.flatMap { StoredLease($0, at: now) }, in: stored)
        reviewJournal()
    }
}

extension Lease {
    /// A lease that was stored, whose end is not known: the server says it.
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
