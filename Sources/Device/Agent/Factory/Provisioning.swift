import AgentCore
import AgentModel
import AppProtocol
import KeyFile

/// Gives a device its identity, a root key and its first network, before its agent first runs.
///
/// Everything that exists already stays. So it can be repeated, after a power cut or to be sure, and makes the missing
/// parts: each of the three is whole or not there at all.
package struct Provisioning: Sendable {
    package var identity = Identity.any
    /// The device's home.
    package var network: StoredNetwork?
    /// Whether another identity and another home may go. A root key never does: the store would go with it.
    package var replaces = false
    /// Whether another home makes room for the new one and becomes a backup, so that a wrong password costs nothing.
    package var keepsFormer = false

    package enum Identity: Sendable {
        /// The device's own identity, or a random one if it has none.
        case any
        /// Any key under this id.
        case named(String)
        case given(DeviceIdentity)

        fileprivate func fits(_ identity: DeviceIdentity?) -> Bool {
            switch self {
            case .any: true
            case .named(let id): identity?.id == id
            case .given(let given): identity?.hasKey(of: given) ?? false
            }
        }

        /// The identity for a device that has none.
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

    /// The result for one of the three.
    package enum Step: String, Sendable, Encodable {
        case kept
        case made
        case replaced
    }

    /// The parts to be made.
    package struct Plan: Sendable, Equatable {
        package var rootKey: Step
        package var identity: Step
        /// Nil where no network was given.
        package var network: Step?

        package var changesNothing: Bool { [rootKey, identity, network ?? .kept].allSatisfy { $0 == .kept } }
    }

    /// A device as it is.
    package struct Device {
        package var identity: DeviceIdentity?
        /// A part of an identity counts as one.
        package var hasIdentity: Bool
        package var hasRootKey: Bool
        /// The content of the store; nil if there is none.
        package var state: StoredState?

        /// - Throws: `IdentityError` where the identity that is there is none.
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

    /// - Throws: where the device has something else already, and nothing is to be replaced; or for a key that can be
    ///   guessed.
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
        guard let network else { return plan }
        let state = device.state ?? StoredState()
        if let home = state.home, home.isSame(as: network),
            !replaces
                || (home.floor == network.floor && home.staticAddress == network.staticAddress
                    && state.statistics[home.ssid]?.learnedFloor == nil)
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

    /// Gives the device the identity.
    /// - Parameter folder: the state directory.
    /// - Returns: the device's identity from now on.
    package func provideIdentity(_ plan: Plan, in folder: any FileOperations) throws -> DeviceIdentity {
        let folder = IdentityFolder(folder)
        // A part of a random one is completed by the rest, as the agent does it.
        if plan.identity == .replaced {
            try folder.install(try identity.make(), replacing: true)
        } else if try folder.isEmpty {
            try folder.install(try identity.make())
        }
        try folder.complete()
        return try folder.read()
    }

    /// Stores the network, in one commit.
    /// - Throws: `tooManyBackups` where the home of before finds no room; then nothing has changed.
    package func provideNetwork(_ plan: Plan, in keyFile: KeyFile) throws(KeyFileError) {
        guard let network, plan.network != .kept else { return }
        var state = keyFile.state
        if keepsFormer { state.keepFormerHome(makingRoomFor: network) }
        state.home = network
        state.takeWord(for: network)
        // Nor is it to look for another one first.
        (state.chosen, state.current, state.previous, state.pendingSwitch) = (nil, nil, nil, nil)
        state.statistics[network.ssid] = nil
        try keyFile.commit(state)
    }
}

extension StoredState {
    /// Puts home and the chosen network first into the list. That has a name once: of two keys the one that the device was
    /// last in stays, or else the one that is not of the same name as the new home, for it may be mistaken.
    fileprivate mutating func keepFormerHome(makingRoomFor network: StoredNetwork) {
        let before = backups
        for former in [chosen, home].compactMap(\.self) where !former.isSame(as: network) {
            if let index = backups.firstIndex(where: { $0.ssid == former.ssid }) {
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

/// Networks of other programs, for a device whose agent does not run.
package struct ImportedNetworks: Sendable {
    /// Nil where the device's own stays.
    package var home: StoredNetwork?
    /// In the order of preference. One with the name of a stored backup takes its place.
    package var backups: [StoredNetwork]

    package init(home: StoredNetwork? = nil, backups: [StoredNetwork] = []) {
        (self.home, self.backups) = (home, backups)
    }

    /// Stores them, in one commit.
    /// - Throws: `tooManyBackups` and the like; then nothing has changed.
    package func provide(in keyFile: KeyFile) throws(KeyFileError) {
        var state = keyFile.state
        for network in [home].compactMap(\.self) + backups {
            state.takeWord(for: network)
            state.forgetExperience(with: network.ssid)
            if let index = state.backups.firstIndex(where: { $0.ssid == network.ssid }) {
                state.backups[index] = network
            } else if network.ssid != home?.ssid {
                state.backups.append(network)
            }
        }
        if state.backups != keyFile.state.backups { state.backupsRevision &+= 1 }
        if let home {
            state.home = home
            // Nor is it to look for another one first.
            (state.chosen, state.current, state.previous, state.pendingSwitch) = (nil, nil, nil, nil)
        }
        try keyFile.commit(state)
    }
}

/// Why a device cannot be provisioned so.
package enum ProvisioningConflict: Error, Equatable, CustomStringConvertible {
    /// Another identity, or a part of one.
    case identity(_ id: String?)
    /// Networks, the one that it belongs in first.
    case network(SSID?)
    /// The local key that was given can be guessed.
    case weakKey(bits: Int)

    package var description: String {
        switch self {
        case .identity(let id?):
            "the device is \(id) already, with another local key or by another id: 'altnet pair --show' shows it, --force "
                + "replaces it"
        case .identity(nil): "the device has a part of another identity already: --force replaces it"
        case .network(let ssid):
            "the device has networks already\(ssid.map { ", \($0) first" } ?? ""): --force puts the new one in the place of "
                + "its home"
        case .weakKey(let bits):
            "the local key can be guessed, it has \(bits) bits of \(KeyStrength.leastBits): make one with "
                + "'altnet pair --id ID --output FILE'"
        }
    }
}

extension StoredNetwork {
    /// A network as it is stored, with its key derived from the password, which takes milliseconds.
    /// - Throws: where the password cannot be one.
    package init(provisioned network: NewNetwork) throws(ProtocolError) {
        let password: Secret? = if case .password(let password) = network.credential { password } else { nil }
        let enterprise: EnterpriseCredential? =
            if case .enterprise(let credential) = network.credential { credential } else { nil }
        try self.init(
            DecryptedNetwork(
                ssid: network.ssid, password: password, enterprise: enterprise, security: network.security,
                isHidden: network.isHidden,
                address: network.address))
    }
}
