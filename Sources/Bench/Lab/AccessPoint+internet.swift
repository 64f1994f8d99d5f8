/// The network behind an access point, and what its router does with it.
extension AccessPoint {
    /// Whether its name servers answer, its way to the internet is open, and which clients may use it.
    struct Internet {
        let upstream: Upstream
        var blockage: Blockage?
        var names = NameService.right
        var liar: LyingNameServer?
        var portal: CaptivePortal?
        var portalAnswersForEverybody = false
    }

    /// Lays a wire to the internet: from now on it routes there and tells its stations the name server. Before
    /// `powerOn`.
    public func connect(to upstream: Upstream) throws {
        try upstream.connect(to: namespace, over: Upstream.Wire(number: number), network: networkNumber)
        try namespace.enter { () throws(LabError) in
            for setting in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
                try Lab.write("1\n", to: "/proc/sys/net/\(setting)")
            }
        }
        internet = Internet(upstream: upstream)
    }

    /// The internet behind it is gone, while Wi-Fi and the gateway are perfect.
    ///
    /// - Parameter blockage: whether packets disappear, or its router says that there is no way.
    public func cutInternet(_ blockage: Blockage = .drop) throws {
        internet?.blockage = blockage
        try applyRules()
    }

    /// The internet behind it is back.
    public func restoreInternet() throws {
        internet?.blockage = nil
        try applyRules()
    }

    /// How name servers answer questions through it; all else is as it was.
    public func names(_ service: NameService) throws {
        internet?.liar?.end()
        internet?.liar = try namespace.enter { () throws(LabError) in try LyingNameServer(service) }
        internet?.names = service
        try applyRules()
    }

    /// A page has to be filled in before anything but questions to name servers goes through.
    ///
    /// Every client has to do so anew when it is switched on. A client that gets an address after that is told where to
    /// ask how it stands (RFC 8910).
    ///
    /// - Parameters:
    ///   - page: what it asks for.
    ///   - answersForEverybody: every server in the internet seems to answer, and it is the portal: TLS on port 443,
    ///     HTTP on all others. Otherwise it does so on port 80 alone, and rejects all else.
    ///   - apiSays: what its API (RFC 8908) answers, whatever is true; nil for the truth.
    public func captivePortal(
        _ page: PortalPage = .terms, answersForEverybody: Bool = false, apiSays: String? = nil
    ) async throws {
        await internet?.portal?.end()
        let portal = CaptivePortal(
            page, apiSays: apiSays, ofNetwork: networkNumber, at: gateway, in: namespace, directory: directory)
        try await portal.start()
        internet?.portal = portal
        internet?.portalAnswersForEverybody = answersForEverybody
        try renewPortal()
    }

    /// How often devices have asked the API of its captive portal.
    public var timesAskedOfPortal: Int { internet?.portal?.timesAsked ?? 0 }

    /// It is open to every client again.
    public func endCaptivePortal() async throws {
        await internet?.portal?.end()
        internet?.portal = nil
        try renewPortal()
    }

    private func renewPortal() throws(LabError) {
        try applyRules()
        // The options for its stations have changed; before it was switched on, there is nothing to restart.
        if endDHCP() { try startDHCP() }
    }

    /// All sessions at the captive portal end: clients have to fill in its page again.
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
