import AgentCore
import AgentModel
import AppProtocol
import KeyFile

/// Gives a device its identity, root key, name and first network, before the first start of the agent.
///
/// Existing parts stay, except that a given name replaces the present one. Each part is either complete or missing,
/// even after a power cut. Provisioning can be repeated and then creates the missing parts.
package struct Provisioning: Sendable {
    package var identity = Identity.any
    package var network: StoredNetwork?
    /// Name of the device; nil to keep the present one.
    package var name: DeviceName?
    /// True to replace another identity and home network. The root key is never replaced, because the store depends on
    /// it.
    package var replaces = false
    /// True to keep the former home network as a backup, so that a wrong password does no harm.
    package var keepsFormer = false

    package enum Identity: Sendable {
        case any
        case named(String)
        case given(DeviceIdentity)

        fileprivate func fits(_ identity: DeviceIdentity?) -> Bool {
            switch self {
            case .any: true
            case .named(let id): identity?.id == id
            case .given(let given): identity?.hasKey(of: given) ?? false
            }
        }

        fileprivate func make() throws(ProtocolError) -> DeviceIdentity {
            switch self {
            case .any: try .random()
            case .named(let id): try .random(id: id)
            case .given(let identity): identity
            }
        }
    }

    package init(identity: Identity = .any, network: StoredNetwork? = nil, replaces: Bool = false) {
        self.identity = identity
        self.network = network
        self.replaces = replaces
    }

    package enum Step: String, Sendable, Encodable {
        case kept
        case made
        case replaced
    }

    package struct Plan: Sendable, Equatable {
        package var rootKey: Step
        package var identity: Step
        /// Result of the network's step; nil if no network was given.
        package var network: Step?
        /// Result of the name's step; nil if no name was given.
        package var name: Step?

        /// Whether the store stays as it is.
        package var storesNothing: Bool { [network ?? .kept, name ?? .kept].allSatisfy { $0 == .kept } }
        package var changesNothing: Bool { storesNothing && rootKey == .kept && identity == .kept }
    }

    package struct Device {
        package var identity: DeviceIdentity?
        /// True if there is an identity, or a part of one.
        package var hasIdentity: Bool
        package var hasRootKey: Bool
        package var state: StoredState?

        /// - Throws: `IdentityError` if the existing identity is invalid.
        /// - Parameter state: the state directory.
        package init(state folder: any FileOperations, hasRootKey: Bool, stored: StoredState?) throws(IdentityError) {
            let identity = IdentityFolder(folder)
            hasIdentity = try !identity.isEmpty
            do { self.identity = try identity.read() } catch {
                guard error.reason == .missing else { throw error }
            }
            self.hasRootKey = hasRootKey
            state = stored
        }
    }

    /// - Throws: `ProvisioningConflict` if the device has another identity or home network that may not be replaced, or
    ///   for a weak key.
    package func plan(for device: Device) throws(ProvisioningConflict) -> Plan {
        var plan = Plan(rootKey: device.hasRootKey ? .kept : .made, identity: .kept)
        if device.hasIdentity, !identity.fits(device.identity) {
            guard replaces else { throw .identity(device.identity?.id) }
            plan.identity = .replaced
        } else if device.identity == nil {
            plan.identity = .made
        }
        if case .given(let given) = identity, plan.identity != .kept {
            let bits = KeyStrength.bits(of: given.localKey)
            guard bits >= KeyStrength.leastBits else { throw .weakKey(bits: bits) }
        }
        let state = device.state ?? StoredState()
        if let name { plan.name = state.name == name ? .kept : state.name == nil ? .made : .replaced }
        guard let network else { return plan }
        if let home = state.home, home.isSame(as: network),
            !replaces
                || (home.minimumSecurity == network.minimumSecurity && home.staticAddress == network.staticAddress
                    && home.options == network.options && state.statistics[home.ssid]?.learnedMinimumSecurity == nil)
        {
            plan.network = .kept
        } else if state.namedNetworks.isEmpty || keepsFormer {
            plan.network = .made
        } else {
            guard replaces else { throw .network(state.preferred?.ssid) }
            plan.network = .replaced
        }
        return plan
    }

    /// Writes the identity.
    /// - Parameter folder: the state directory.
    /// - Returns: the device's identity.
    package func provideIdentity(_ plan: Plan, in folder: any FileOperations) throws -> DeviceIdentity {
        let folder = IdentityFolder(folder)
        // If there is a part of an identity, `complete` adds the rest, as the agent does.
        if plan.identity == .replaced {
            try folder.install(try identity.make(), replacing: true)
        } else if try folder.isEmpty {
            try folder.install(try identity.make())
        }
        try folder.complete()
        return try folder.read()
    }

    /// Stores the network and the name in one commit.
    /// - Throws: `tooManyBackups` if the former home network would exceed the limit of backups. Nothing changes then.
    package func provideState(_ plan: Plan, in keyFile: KeyFile) throws(KeyFileError) {
        guard !plan.storesNothing else { return }
        var state = keyFile.state
        if let name { state.name = name }
        if let network, plan.network != .kept {
            if keepsFormer { state.keepFormerHome(makingRoomFor: network) }
            state.home = network
            state.applyUserSetting(for: network)
            // Clear these, so that the device does not look for another network first.
            (state.chosen, state.current, state.previous, state.pendingSwitch) = (nil, nil, nil, nil)
            state.statistics[network.ssid] = nil
        }
        try keyFile.commit(state)
    }
}

extension StoredState {
    /// Adds the chosen and the former home network to the front of the backups. Replaces the only backup with the same
    /// name, unless the backup was last used. A former network with the name of the new home network replaces a backup
    /// only if it was last used, because its key may be wrong.
    fileprivate mutating func keepFormerHome(makingRoomFor network: StoredNetwork) {
        let before = backups
        for former in [chosen, home].compactMap(\.self) where !former.isSame(as: network) {
            if let index = backups.index(for: former) {
                let isListedProven = current?.isSame(as: backups[index]) ?? false
                let isDoubtful = former.ssid == network.ssid && !(current?.isSame(as: former) ?? false)
                if !isListedProven, !isDoubtful { backups[index] = former }
            } else {
                backups.insert(former, at: 0)
            }
        }
        if backups != before { backupsRevision &+= 1 }
    }
}

/// Networks of other programs, for a device whose agent is not running.
package struct ImportedNetworks: Sendable {
    /// New home network; nil to keep the present one.
    package var home: StoredNetwork?
    /// Backups in order of preference. A network replaces a stored backup with its name.
    package var backups: [StoredNetwork]

    package init(home: StoredNetwork?, backups: [StoredNetwork]) { (self.home, self.backups) = (home, backups) }

    /// Stores the networks in one commit.
    /// - Throws: `KeyFileError`, such as `tooManyBackups`. Nothing changes then.
    package func provide(in keyFile: KeyFile) throws(KeyFileError) {
        var state = keyFile.state
        for network in [home].compactMap(\.self) + backups {
            state.applyUserSetting(for: network)
            state.forgetExperience(with: network.ssid)
            if let index = state.backups.index(for: network) {
                state.backups[index] = network
            } else if network.ssid != home?.ssid {
                state.backups.append(network)
            }
        }
        if state.backups != keyFile.state.backups { state.backupsRevision &+= 1 }
        if let home {
            state.home = home
            // Clear these, so that the device does not look for another network first.
            (state.chosen, state.current, state.previous, state.pendingSwitch) = (nil, nil, nil, nil)
        }
        try keyFile.commit(state)
    }
}

/// Reason why the device cannot be provisioned.
package enum ProvisioningConflict: Error, Equatable, CustomStringConvertible {
    case identity(_ id: String?)
    /// The device already has networks. The SSID is that of the preferred one.
    case network(SSID?)
    case weakKey(bits: Int)

    package var description: String {
        switch self {
        case .identity(let id?):
            "the device already has the identity \(id), with another id or local key: 'altnet pair --show' shows it, "
                + "--force replaces it"
        case .identity(nil): "the device already has a part of another identity: --force replaces it"
        case .network(let ssid):
            "the device already has networks\(ssid.map { " (home: \($0))" } ?? ""): --force replaces its home network"
        case .weakKey(let bits):
            "the local key can be guessed (\(bits) bits, at least \(KeyStrength.leastBits) needed): make one with "
                + "'altnet pair --id ID --output FILE'"
        }
    }
}

extension StoredNetwork {
    /// Derives the network's key, which takes milliseconds.
    /// - Throws: `ProtocolError` for an invalid password.
    package init(provisioned network: NewNetwork) throws(ProtocolError) {
        let password: Secret? = if case .password(let password) = network.credential { password } else { nil }
        let enterprise: EnterpriseCredential? =
            if case .enterprise(let credential) = network.credential { credential } else { nil }
        try self.init(
            DecryptedNetwork(
                ssid: network.ssid, password: password, enterprise: enterprise, security: network.security,
                isHidden: network.isHidden, address: network.address, options: network.options))
    }
}
