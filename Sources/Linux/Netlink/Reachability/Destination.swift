import AgentModel

/// What reachability is asked of.
public enum Destination: Sendable {
    /// The internet as a whole: the default route, in whichever table and through whichever tunnel the kernel has it.
    case internet
    case address(IPAddress)
    /// The best that there is to any address of a name.
    ///
    /// `addresses` gives those that the name has at present, none if it has none or nobody tells. It is called off the loop,
    /// whenever the network has changed and every half minute while there are none; its task is cancelled when the network
    /// changes meanwhile. Of many addresses the first eight count.
    case host(String, addresses: @Sendable (_ name: String) async -> [IPAddress])
}

extension Destination {
    /// What can be asked of the kernel without a name server; nil for a name.
    var fixedAddresses: [IPAddress]? {
        switch self {
        // Of a root name server: as surely not in any network at hand as an address can be. Nothing is ever sent there.
        case .internet: ["198.41.0.4", "2001:503:ba3e::2:30"].compactMap { IPAddress($0) }
        case .address(let address): [address]
        case .host(let name, _): IPAddress(name).map { [$0] }
        }
    }
}
