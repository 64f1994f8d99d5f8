import AgentModel
import Hotspots
import Linux

/// Which networks in range hotspot providers say that they may serve.
///
/// They are asked after a scan about the open networks that it found. Nothing waits for the answer: until it comes, the
/// one before it stands. A lost device scans every few seconds: the same access points are not asked about again so
/// soon.
@AgentLoop
final class HotspotClaims {
    /// For so long, what was said about the same access points stands.
    static let validity: Duration = .seconds(60)

    private let providers: (any SignInService)?
    private let now: () -> Instant
    private var names: [BSSID: [String]] = [:]
    /// What the newest scan found, where it has not been asked about yet.
    private var found: [ScannedHotspot]?
    /// What the last question was about, and when it was asked.
    private var asked: (accessPoints: Set<BSSID>, at: Instant)?
    /// The question that is under way, and those that follow it.
    private(set) var asking: Task<Void, Never>?

    /// - Parameter providers: nil where there are none.
    init(of providers: (any SignInService)?, now: @escaping () -> Instant = { .now }) {
        self.providers = providers
        self.now = now
    }

    /// The names of those that claim the network of this access point, in order.
    subscript(bssid: BSSID) -> [String] { names[bssid] ?? [] }

    /// A scan has ended.
    func scanned(_ results: [BSS]) {
        guard let providers else { return }
        found = results.compactMap(ScannedHotspot.init)
        guard asking == nil else { return }
        asking = Task {
            while let networks = takeFound() { names = networks.isEmpty ? [:] : await providers.filter(networks) }
            asking = nil
        }
    }

    /// What is to be asked about; nil where there is nothing new.
    private func takeFound() -> [ScannedHotspot]? {
        guard let networks = found else { return nil }
        found = nil
        let (accessPoints, now) = (Set(networks.map(\.bssid)), now())
        if let asked, asked.accessPoints == accessPoints, now - asked.at < Self.validity { return nil }
        asked = (accessPoints, now)
        return networks
    }

    /// Asks nothing more.
    func stop() { found = nil }
}

extension ScannedHotspot {
    /// Nil for a network with a password, and for one whose name is hidden.
    fileprivate init?(_ bss: BSS) {
        guard bss.security.isOpenToAll, let ssid = bss.ssid else { return nil }
        self.init(ssid: ssid, bssid: bss.bssid, signal: bss.signal, security: bss.security)
    }
}
