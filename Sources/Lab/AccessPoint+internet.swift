/// What is behind an access point, and what its router does with it.
extension AccessPoint {
    /// Whether its name servers answer, its way to the internet is open, and who may use it.
    struct Internet {
        let upstream: Upstream
        var blockage: Blockage?
        var namesAreDead = false
        var portal: CaptivePortal?
    }

    /// Lays a wire to the internet: from now on it routes there and tells its stations the name server. Before `powerOn`.
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

    /// Whether name servers answer those who ask through it; all else is as it was.
    public func dns(_ on: Bool) throws {
        internet?.namesAreDead = !on
        try applyRules()
    }

    /// Whether a page of terms has to be accepted before anything but questions to name servers goes through.
    ///
    /// Everybody has to accept anew when it is switched on. Who gets an address after that is told where to ask how it stands
    /// (RFC 8910).
    public func captivePortal(_ on: Bool) async throws {
        await internet?.portal?.end()
        internet?.portal = nil
        if on {
            let portal = CaptivePortal(
                ofNetwork: networkNumber, at: gateway, in: namespace, directory: directory)
            try await portal.start()
            internet?.portal = portal
        }
        try applyRules()
        // What it tells its stations has changed; before it was switched on, there is nothing to restart.
        if endDHCP() { try startDHCP() }
    }

    /// Everybody's time at the captive portal is over: they have to accept its terms again.
    public func signEverybodyOut() throws { try applyRules() }

    private func applyRules() throws(LabError) {
        guard let internet else { return }
        var rules = FirewallRules()
        rules.forwards += internet.blockage.map { [.everything($0)] } ?? []
        rules.forwards += internet.namesAreDead ? [.names(.drop)] : []
        rules.portal = internet.portal == nil ? nil : radio.interface
        try rules.apply(in: namespace, file: "\(directory)/\(namespace.name).nft")
    }
}
