import AgentModel

// Whether a link leads to what the device needs.
extension FailoverPolicy {
    /// A probe of the link in use has ended.
    mutating func found(_ finding: LinkMachine.Finding, on link: Link, at now: Instant, _ actions: inout [PolicyAction])
    {
        var standing = standings[link.network, default: Standing()]
        switch finding {
        case .open: break
        case .useful: standing.wasUseful(at: now)
        case .usefulAgain:
            standing.wasUseful(at: now)
            weakness.isReported = false
            weakness.scans = 0
            record(.usable, to: link.network, toBSSID: link.accessPoint.bssid, link.cause, at: now, &actions)
        case .useless(let failure):
            standing.wasUseless(failure, at: now, settings: settings)
            record(
                .unusable, from: link.network, fromBSSID: link.accessPoint.bssid, .failure(failure), at: now, &actions)
            weakness.nextScan = now
        }
        standings[link.network] = standing
        proceed(at: now, &actions)
    }
}
