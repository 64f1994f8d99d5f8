import AgentModel
import EventLoop
import HotspotProviders

/// Which networks in range hotspot providers say that they may serve.
///
/// They are asked after a scan about the open networks that it found. Nobody waits for the answer: until it comes, the one
/// before it stands.
@AgentLoop
final class HotspotClaims {
    private let providers: (any SignInService)?
    private var names: [BSSID: [String]] = [:]
    /// What the newest scan found, where it has not been asked about yet.
    private var found: [ScannedHotspot]?
    /// The question that is under way, and those that follow it.
    private(set) var asking: Task<Void, Never>?

    /// - Parameter providers: nil where there are none.
    init(of providers: (any SignInService)?) { self.providers = providers }

    /// The names of those that claim the network of this access point, in order.
    subscript(bssid: BSSID) -> [String] { names[bssid] ?? [] }

    /// A scan has ended.
    func scanned(_ results: [BSS]) {
        guard let providers else { return }
        found = results.compactMap(ScannedHotspot.init)
        guard asking == nil else { return }
        asking = Task {
            while let networks = found {
                found = nil
                names = networks.isEmpty ? [:] : await providers.filter(networks)
            }
            asking = nil
        }
    }

    /// Asks nothing more.
    func stop() { found = nil }
}

extension ScannedHotspot {
    /// Nil for what nobody has to sign in to, and what has no name.
    fileprivate init?(_ bss: BSS) {
        guard bss.security.isOpenToAll, let ssid = bss.ssid else { return nil }
        self.init(ssid: ssid, bssid: bss.bssid, signal: bss.signal, security: bss.security)
    }
}
