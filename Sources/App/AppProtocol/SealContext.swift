import AgentModel

/// The request that a box is sealed for. The box opens only in this request.
public struct SealContext: Sendable, Equatable {
    /// Type of the request, and the part of it that has the box.
    public enum Place: String, Sendable, CaseIterable {
        case list = "backups.update"
        case home = "backups.update home"
        case target = "network.switch"
        case staged = "password.stage"

        public var role: Role { self == .target ? .switch : .manage }
    }

    public let place: Place
    public let ssid: SSID
    let isEnterprise: Bool
    let security: Security?
    let isHidden: Bool
    let address: StaticAddress?
    let options: NetworkOptions
    var revision: Int?
    var confirmWithin: Int?
    var joinOnce = false
    var besideUplink = false
    /// ID of the password change; nil unless the password is staged.
    private var changeId: String?
    private var keepFor: Int?

    private init(_ place: Place, _ network: NewNetwork) {
        self.place = place
        ssid = network.ssid
        switch network.credential {
        case .enterprise, .sealedEnterprise: (isEnterprise, security) = (true, .enterprise)
        case .none, .password, .sealed: (isEnterprise, security) = (false, network.security)
        }
        (isHidden, address, options) = (network.isHidden, network.address, network.options)
    }

    /// - Parameter isHome: whether the network is the new home, not an entry of the list.
    public init(of network: NewNetwork, in update: BackupsUpdate, isHome: Bool = false) {
        self.init(isHome ? .home : .list, network)
        revision = update.ifRevision
    }

    public init(of network: NewNetwork, in request: SwitchRequest) {
        self.init(.target, network)
        (confirmWithin, joinOnce, besideUplink) = (request.confirmWithin, request.joinOnce, request.besideUplink)
    }

    public init(of network: NewNetwork, in staging: PasswordStaging) {
        self.init(.staged, network)
        (changeId, keepFor) = (staging.changeId, staging.keepFor)
    }

    /// Returns the text that HPKE authenticates, without a final line feed: eleven lines, two more for a staged
    /// password, and one more for each option that is set.
    public func text(deviceId: String) -> String {
        func flag(_ isSet: Bool) -> String { isSet ? "1" : "0" }
        func number(_ value: Int?) -> String { value.map(String.init) ?? "" }
        func text(_ address: StaticAddress) -> String {
            "\(address.text) \(address.gateway?.description ?? "") "
                + address.nameServers.map(\.description).joined(separator: ",")
        }
        let more = changeId.map {
            ["change=\(Hex.string(Array($0.utf8)))", "keepFor=\(number(keepFor))"]
        }
        let chosen = [
            options.allowsTKIP ? "allowTkip=1" : nil, options.isManual ? "automatic=0" : nil,
            options.isMetered.map { "metered=\(flag($0))" }, options.band.map { "band=\($0.gigahertz)" },
            options.bssid.map { "bssid=\($0)" }, options.ipv6.map { "ipv6=\(text($0))" },
        ].compactMap(\.self)
        return
            ([
                "altnet/\(ProtocolLimits.version) \(place.rawValue)", "device=\(deviceId)",
                "ssid=\(Hex.string(ssid.bytes))",
                "credential=\(isEnterprise ? "enterprise" : "password")", "security=\(security?.rawValue ?? "")",
                "hidden=\(flag(isHidden))", "address=\(address.map(text) ?? "")", "revision=\(number(revision))",
                "confirmWithin=\(number(confirmWithin))", "joinOnce=\(flag(joinOnce))",
                "besideUplink=\(flag(besideUplink))",
            ] + (more ?? []) + chosen).joined(separator: "\n")
    }
}
