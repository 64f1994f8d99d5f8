/// The network behind an access point, and its router's behaviour.
extension AccessPoint {
    struct Internet {
        var blockage: Blockage?
        var names = NameService.right
        var liar: SpoofingNameServer?
        var portal: CaptivePortal?
        var portalAnswersForEverybody = false
    }

    /// Connects the access point to the internet. It then routes packets and announces the name server to its stations.
    /// Call this before `powerOn`.
    public func connect(to upstream: Upstream) throws {
        try upstream.connect(to: namespace, over: Upstream.Wire(number: number), network: networkNumber)
        try namespace.enter { () throws(LabError) in
            for setting in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
                try Lab.write("1\n", to: "/proc/sys/net/\(setting)")
            }
        }
        internet = Internet()
    }

    /// Cuts the network's internet access. Wi-Fi and gateway keep working.
    /// - Parameter blockage: whether the router drops packets or rejects them.
    public func cutInternet(_ blockage: Blockage = .drop) throws {
        internet?.blockage = blockage
        try applyRules()
    }

    public func restoreInternet() throws {
        internet?.blockage = nil
        try applyRules()
    }

    /// Sets how name servers answer the network's clients.
    public func names(_ service: NameService) throws {
        internet?.liar?.end()
        internet?.liar = try namespace.enter { () throws(LabError) in try SpoofingNameServer(service) }
        internet?.names = service
        try applyRules()
    }

    /// Adds a captive portal. Until a client submits its page, only DNS passes. Later changes such as `cutInternet` end
    /// all sessions.
    ///
    /// Clients that get an address afterwards receive the URL of the portal's API (RFC 8910).
    /// - Parameters:
    ///   - page: content of the page.
    ///   - answersForEverybody: the portal answers for all servers in the internet, with TLS on port 443 and HTTP on
    ///     all other ports. Otherwise it answers on port 80 and rejects everything else.
    ///   - apiSays: fixed answer of the portal's API (RFC 8908); nil for the true state.
    public func captivePortal(
        _ page: LoginPage = .terms, answersForEverybody: Bool = false, apiSays: String? = nil
    ) async throws {
        await internet?.portal?.end()
        let portal = CaptivePortal(
            page, apiSays: apiSays, ofNetwork: networkNumber, at: gateway, in: namespace, directory: directory)
        try await portal.start()
        internet?.portal = portal
        internet?.portalAnswersForEverybody = answersForEverybody
        try renewPortal()
    }

    public var timesAskedOfPortal: Int { internet?.portal?.timesAsked ?? 0 }

    public func endCaptivePortal() async throws {
        await internet?.portal?.end()
        internet?.portal = nil
        try renewPortal()
    }

    private func renewPortal() throws(LabError) {
        try applyRules()
        // Restart the DHCP server, because its options for stations have changed. Before `powerOn` it does not run.
        if endDHCP() { try startDHCP() }
    }

    /// Ends all sessions at the captive portal. Clients must submit the page again.
    public func signEverybodyOut() throws { try applyRules() }

    private func applyRules() throws(LabError) {
        guard let internet else { return }
        var rules = FirewallRules()
        rules.forwards += internet.blockage.map { [.everything($0)] } ?? []
        rules.forwards += internet.names == .silent ? [.names(.drop)] : []
        rules.ownNames = internet.liar == nil ? nil : radio.interface
        rules.portal = internet.portal.map { _ in
            FirewallRules.Gate(
                interface: radio.interface, answersForEverybody: internet.portalAnswersForEverybody)
        }
        try rules.apply(in: namespace, file: "\(directory)/\(namespace.name).nft")
    }
}
