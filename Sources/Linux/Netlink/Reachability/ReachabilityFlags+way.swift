import AgentModel

extension ReachabilityFlags {
    /// What follows from the way that the kernel has found, and from the state of what is on it.
    ///
    /// | What is found                                             | Flags                                          |
    /// |-----------------------------------------------------------|------------------------------------------------|
    /// | no way                                                    | none                                           |
    /// | one of the device's own addresses                         | reachable, isLocalAddress, isDirect            |
    /// | a link that is down                                       | none                                           |
    /// | a link without carrier                                    | none                                           |
    /// | the same of a cellular link, or a link that is dormant    | reachable, connectionRequired                  |
    /// | a next hop that did not answer when it was asked last     | none                                           |
    /// | no gateway, on a link with more than one other end        | reachable, isDirect                            |
    /// | a gateway, or a point-to-point link                       | reachable                                      |
    /// | beyond the link, where somebody has to sign in            | and connectionRequired, interventionRequired   |
    /// | a cellular link, itself or underneath a tunnel            | and isCellular                                 |
    /// | a tunnel, or a point-to-point link                        | and transient                                  |
    ///
    /// A Wi-Fi interface that has joined nothing has no carrier, and is one that nothing leads over.
    /// - Parameters:
    ///   - link: what the way goes out by.
    ///   - carrier: what is underneath, if that is a tunnel.
    ///   - isHopSilent: whether the gateway, or the destination where there is none, does not answer on the link.
    ///   - isCaptive: whether somebody has to sign in on the link, or on the carrier.
    init(way: Way?, link: Link?, carrier: Uplink?, isHopSilent: Bool, isCaptive: Bool) {
        self = []
        guard let way else { return }
        guard !way.isLocal else {
            self = [.reachable, .isLocalAddress, .isDirect]
            return
        }
        guard let link, link.isUp, !isHopSilent else { return }
        if !link.hasCarrier || link.traits.contains(.dormant) {
            guard link.isMadeOnDemand else { return }
            insert(.connectionRequired)
        }
        insert(.reachable)
        let isDirect = way.gateway == nil && !link.traits.contains(.pointToPoint)
        if isDirect { insert(.isDirect) }
        if link.kind == .cellular || carrier == .cellular { insert(.isCellular) }
        if link.tunnel != nil || link.traits.contains(.pointToPoint) { insert(.transient) }
        if isCaptive, !isDirect { formUnion([.connectionRequired, .interventionRequired]) }
    }

    /// How much of a way it is, for choosing among the addresses of one destination.
    var rank: Int { isReachable ? 2 : contains(.reachable) ? 1 : 0 }
}

extension Link {
    /// Whether something connects it by itself when it is needed. On Wi-Fi and Ethernet, being dormant says only that the
    /// other side has not let the device in yet (802.1X).
    fileprivate var isMadeOnDemand: Bool {
        switch kind {
        case .cellular: true
        case .wifi, .wired: false
        case .other: hasCarrier
        }
    }
}
