/// Options of one stored network, set by its owner. No access point can change them.
public struct NetworkOptions: Hashable, Sendable {
    /// Permits access points with first-generation WPA or TKIP, for a network with a WPA2 password.
    public var allowsTKIP = false
    /// Keeps the device from joining a backup without a command.
    public var isManual = false
    /// Whether the network's traffic is limited or paid by volume. Nil: as its DHCP server says.
    public var isMetered: Bool?
    /// The only band in which the network is joined; nil for all.
    public var band: Band?
    /// The only access point that is joined; nil for all.
    public var bssid: BSSID?
    /// Static IPv6 address, used beside those that routers announce.
    public var ipv6: StaticAddress?

    public init(
        allowsTKIP: Bool = false, isManual: Bool = false, isMetered: Bool? = nil, band: Band? = nil,
        bssid: BSSID? = nil, ipv6: StaticAddress? = nil
    ) {
        (self.allowsTKIP, self.isManual, self.isMetered) = (allowsTKIP, isManual, isMetered)
        (self.band, self.bssid, self.ipv6) = (band, bssid, ipv6)
    }

    public var isEmpty: Bool { self == NetworkOptions() }
}

extension NetworkOptions {
    /// Change of a network's options. Nil keeps an option as it is.
    public struct Change: Hashable, Sendable {
        public var allowsTKIP: Bool?
        public var isAutomatic: Bool?
        public var isMetered: Setting<Bool>?
        public var band: Setting<Band>?
        public var bssid: Setting<BSSID>?
        public var ipv6: Setting<StaticAddress>?

        public init(
            allowsTKIP: Bool? = nil, isAutomatic: Bool? = nil, isMetered: Setting<Bool>? = nil,
            band: Setting<Band>? = nil, bssid: Setting<BSSID>? = nil, ipv6: Setting<StaticAddress>? = nil
        ) {
            (self.allowsTKIP, self.isAutomatic, self.isMetered) = (allowsTKIP, isAutomatic, isMetered)
            (self.band, self.bssid, self.ipv6) = (band, bssid, ipv6)
        }

        /// Change from the default options to `options`.
        public init(_ options: NetworkOptions) {
            self.init(
                allowsTKIP: options.allowsTKIP ? true : nil, isAutomatic: options.isManual ? false : nil,
                isMetered: options.isMetered.map { .to($0) }, band: options.band.map { .to($0) },
                bssid: options.bssid.map { .to($0) }, ipv6: options.ipv6.map { .to($0) })
        }

        public var isEmpty: Bool { self == Change() }
    }

    /// New value of an option that may be absent.
    public enum Setting<Value: Hashable & Sendable>: Hashable, Sendable {
        case to(Value)
        /// Back to the default.
        case unset

        public var value: Value? { if case .to(let value) = self { value } else { nil } }
    }

    /// Returns the options after `change`.
    public func changed(by change: Change) -> NetworkOptions {
        var options = self
        if let allowsTKIP = change.allowsTKIP { options.allowsTKIP = allowsTKIP }
        if let isAutomatic = change.isAutomatic { options.isManual = !isAutomatic }
        if let isMetered = change.isMetered { options.isMetered = isMetered.value }
        if let band = change.band { options.band = band.value }
        if let bssid = change.bssid { options.bssid = bssid.value }
        if let ipv6 = change.ipv6 { options.ipv6 = ipv6.value }
        return options
    }
}
