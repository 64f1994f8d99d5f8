import AgentModel

/// Decides which of the found networks to import, and in which role.
public struct ImportPlan: Sendable, Equatable {
    public struct Device: Sendable, Equatable {
        public var home: SSID?
        public var backups: [SSID]
        public var maximum: Int

        public init(home: SSID? = nil, backups: [SSID] = [], maximum: Int) {
            (self.home, self.backups, self.maximum) = (home, backups, maximum)
        }
    }

    /// SSIDs of the networks that the board is connected to, by interface.
    public typealias Connected = [String: SSID]

    public enum Role: String, Sendable, Encodable {
        case home
        case backup
        /// The network is already stored on the device, and stays unchanged.
        case kept
        /// The network is skipped, as the list of backups is full.
        case noRoom
    }

    public struct Entry: Sendable, Equatable {
        public let network: FoundNetwork
        /// All places that configure the network. The values of the first place have priority.
        public let places: [ImportLocation]
        public let role: Role
        public let isConnected: Bool
    }

    public let entries: [Entry]
    /// Sources, networks and addresses that are not imported.
    public let findings: [ImportFinding]
    /// Connected networks that are neither imported nor stored on the device. altnet would leave them.
    public let lost: [SSID]

    public var home: FoundNetwork? { entries.first { $0.role == .home }?.network }

    public var backups: [FoundNetwork] { entries.filter { $0.role == .backup }.map(\.network) }

    public var changesNothing: Bool { entries.allSatisfy { $0.role == .kept || $0.role == .noRoom } }

    /// - Parameters:
    ///   - sources: contents of all sources, the most trusted first.
    ///   - replaces: whether to replace the home network and stored networks with equal names.
    ///   - homeTakesRoom: whether a new home network also counts as a backup.
    public init(
        _ sources: [SourceContents], device: Device, connected: Connected = [:], replaces: Bool = false,
        homeTakesRoom: Bool = false
    ) {
        var findings = sources.flatMap(\.findings)
        let separate = sources.flatMap(\.addresses)
        let connectedNames = Set(connected.values)
        var groups = Self.joinable(sources, connectedNames, &findings)
            .map { $0.withAddress(of: separate, connected) }
        groups = groups.enumerated()
            .sorted { $0.element.order(connectedNames, $0.offset) < $1.element.order(connectedNames, $1.offset) }
            .map(\.element)
        Self.shareAddresses(&groups, &findings)

        let named = Set(groups.map(\.network.ssid))
        // Drop findings about networks that another source or the device has.
        let known = Set(device.backups + [device.home].compactMap(\.self))
        findings.removeAll { finding in
            finding.extent == .network && finding.ssid.map { named.contains($0) || known.contains($0) } ?? false
        }
        // Drop findings about lines that a network's finding already names.
        let reportedLocations = findings.compactMap { finding -> ImportLocation? in
            if case .besideUnknown(let place, _) = finding.reason { place } else { nil }
        }
        findings.removeAll { $0.reason == .notUnderstood && reportedLocations.contains($0.place) }
        findings = findings.withoutRepetition
        var room = max(0, device.maximum - device.backups.count)
        var hasHome = device.home != nil && !replaces
        entries = groups.map { group in
            let ssid = group.network.ssid
            let isListed = device.backups.contains(ssid)
            let role: Role
            if known.contains(ssid), !replaces {
                role = .kept
                // A more preferred network is already stored, so do not set another home.
                hasHome = true
            } else if !hasHome {
                role = .home
                hasHome = true
                if homeTakesRoom, !isListed { room = max(0, room - 1) }
            } else if isListed {
                role = .backup
            } else if room > 0 {
                role = .backup
                room -= 1
            } else {
                role = .noRoom
            }
            return Entry(
                network: group.network, places: group.places, role: role, isConnected: connectedNames.contains(ssid))
        }
        let held = Set(entries.filter { $0.role != .noRoom }.map(\.network.ssid)).union(known)
        lost = connectedNames.subtracting(held).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        let imported = Set(entries.filter { $0.role == .home || $0.role == .backup }.map(\.network.ssid))
        self.findings = findings.filter { finding in
            finding.extent != .address || finding.ssid.map(imported.contains) ?? true
        }
    }

    private static func joinable(
        _ sources: [SourceContents], _ connected: Set<SSID>, _ findings: inout [ImportFinding]
    ) -> [MergedNetwork] {
        let networks = sources.flatMap(\.networks)
        let onlyWPA3 = Set(sources.flatMap(\.onlyWPA3))
        var order: [SSID] = []
        var ordered: Set<SSID> = []
        var groups: [SSID: MergedNetwork] = [:]
        let unknown = findings.filter(\.mayHideCredential).map(\.place) + sources.flatMap(\.doubts)
        var priorities: [SSID: Int] = [:]
        var keys: [SSID: FoundNetwork] = [:]
        let places =
            findings.filter(\.isAboutCredential).compactMap { finding in finding.ssid.map { ($0, finding.place) } }
            + networks.filter { $0.credential != .none }.map { ($0.ssid, $0.place) }
        let protected = Dictionary(places) { first, _ in first }
        let encrypted = Set(networks.filter { $0.security == .owe }.map(\.ssid))
        for var network in networks {
            if network.credential == .none, let place = protected[network.ssid] {
                findings.append(ImportFinding(network.place, network.ssid, .credentialElsewhere(place)))
                continue
            }
            if let obstacle = network.obstacle(among: unknown) {
                findings.append(ImportFinding(network.place, network.ssid, obstacle))
                continue
            }
            if case .passphrase = network.credential, onlyWPA3.contains(network.ssid) { network.security = .wpa3 }
            // Skip the open variant of a network that also uses OWE.
            if network.credential == .none, network.security != .owe, encrypted.contains(network.ssid) { continue }
            priorities[network.ssid] = max(priorities[network.ssid] ?? network.priority, network.priority)
            if case .derivedKey = network.credential {
                findings.append(ImportFinding(network.place, network.ssid, .derivedKeyOnly))
                keys[network.ssid] = keys[network.ssid] ?? network
                if let group = groups[network.ssid], group.network.isOutdated(by: network, isFirst: false) {
                    groups[network.ssid] = nil
                }
                continue
            }
            if let key = keys[network.ssid], network.isOutdated(by: key, isFirst: true) { continue }
            if case .unresolved = network.credential {
                findings.append(ImportFinding(network.place, network.ssid, .enterprise))
                continue
            }
            guard network.isAutomatic || connected.contains(network.ssid) else {
                findings.append(ImportFinding(network.place, network.ssid, .notAutomatic))
                continue
            }
            if let group = groups[network.ssid] {
                groups[network.ssid] = group.merged(with: network)
            } else {
                if ordered.insert(network.ssid).inserted { order.append(network.ssid) }
                groups[network.ssid] = MergedNetwork(network: network, places: [network.place])
            }
        }
        return order.compactMap { ssid in
            var group = groups[ssid]
            group?.network.priority = priorities[ssid] ?? 0
            return group
        }
    }

    /// Assigns each interface's address to one network: the connected one, or the most preferred.
    private static func shareAddresses(_ groups: inout [MergedNetwork], _ findings: inout [ImportFinding]) {
        var owners: [StaticAddress: SSID] = [:]
        for index in groups.indices where groups[index].network.addressIsOfInterface {
            guard let address = groups[index].network.address else { continue }
            if let owner = owners[address] {
                let network = groups[index].network
                findings.append(ImportFinding(network.place, network.ssid, .addressOfOther(owner)))
                groups[index].network.address = nil
            } else {
                owners[address] = groups[index].network.ssid
            }
        }
    }
}

extension FoundNetwork {
    /// Returns the reason to skip the network because of an unknown line; nil if there is none. For an open network, a
    /// line of any source may contain its password. For an enterprise network, a line of its own source may restrict
    /// the server.
    fileprivate func obstacle(among places: [ImportLocation]) -> ImportFinding.Reason? {
        switch credential {
        case .none: places.first.map { .besideUnknown($0, option: "--open") }
        case .unresolved, .enterprise:
            places.first { $0.source == place.source }.map { .besideUnknown($0, option: "--eap") }
        case .passphrase, .derivedKey: nil
        }
    }
}

extension FoundNetwork {
    /// Whether the network's password is older than a key in another source that it does not derive.
    /// - Parameter isFirst: whether the key's source is more trusted.
    fileprivate func isOutdated(by key: FoundNetwork, isFirst: Bool) -> Bool {
        guard place.source != key.place.source else { return false }
        let (own, others) = (lastConnected ?? 0, key.lastConnected ?? 0)
        return isFirst ? own <= others : own < others
    }
}

extension [ImportFinding] {
    /// Findings without those that repeat a reason for the same network or place.
    fileprivate var withoutRepetition: [ImportFinding] {
        var seen: Set<String> = []
        return filter { finding in
            seen.insert(finding.ssid.map { "\($0.hex): \(finding.reason)" } ?? "\(finding)").inserted
        }
    }
}

private struct MergedNetwork {
    var network: FoundNetwork
    var places: [ImportLocation]

    /// Merges two entries for one network. The more trusted source has priority, unless the other source has another
    /// credential and joined later. In one source, the higher priority counts.
    func merged(with other: FoundNetwork) -> MergedNetwork {
        let isNewer =
            other.place.source == network.place.source
            ? other.priority > network.priority
            : (other.lastConnected ?? 0) > (network.lastConnected ?? 0) && other.credential != network.credential
        let (first, second) = isNewer ? (other, network) : (network, other)
        var merged = first
        merged.isHidden = first.isHidden || second.isHidden
        merged.priority = max(first.priority, second.priority)
        merged.lastConnected = [first.lastConnected, second.lastConnected].compactMap(\.self).max()
        merged.interface = first.interface ?? second.interface
        if first.address == nil, !first.decidesAddress {
            (merged.address, merged.addressIsOfInterface) = (second.address, second.addressIsOfInterface)
        }
        let places = places.contains(other.place) ? places : isNewer ? [other.place] + places : places + [other.place]
        return MergedNetwork(network: merged, places: places)
    }

    func withAddress(of separate: [SeparateAddress], _ connected: ImportPlan.Connected) -> MergedNetwork {
        guard network.address == nil, !network.decidesAddress else { return self }
        let interfaces = network.interface.map { [$0] } ?? connected.filter { $0.value == network.ssid }.map(\.key)
        let fitting = separate.filter { candidate in
            (candidate.ssid == nil || candidate.ssid == network.ssid) && candidate.applies(to: interfaces)
        }
        guard let found = fitting.first(where: { $0.ssid != nil }) ?? fitting.first else { return self }
        var copy = self
        copy.network.address = found.address
        copy.network.addressIsOfInterface = found.ssid == nil
        return copy
    }

    /// Position among the networks: the one in use, then by priority and last connection, protected ones first.
    func order(_ connected: Set<SSID>, _ index: Int) -> (Int, Int, UInt64, Int, Int) {
        (
            connected.contains(network.ssid) ? 0 : 1, ~network.priority, .max - (network.lastConnected ?? 0),
            network.credential == .none ? 1 : 0, index
        )
    }
}
