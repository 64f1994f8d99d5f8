import AgentModel
import AppProtocol
import AppServer

/// Keys of the device's apps, without the owner's key. The owner adds and revokes keys, and keys can expire.
struct AppKeyList: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var name: KeyName
        var role: Role
        var secret: Secret
        /// Time of creation by the device's clock; nil if the device did not know the time.
        var created: Timestamp?
        var expires: Timestamp?
        var state = AppKey.State.valid

        /// Returns the state at a time, even if the expiry is not recorded yet.
        /// - Parameter now: the time; nil while the device does not know it.
        func state(at now: Timestamp?) -> AppKey.State {
            guard state == .valid, let now, let expires else { return state }
            return expires <= now ? .expired : .valid
        }
    }

    private(set) var entries: [Entry] = []

    /// Number of ended keys to keep, so that their apps still get the reason.
    static let keptEnded = 16

    subscript(name: KeyName) -> Entry? { entries.first { $0.name == name } }

    private var live: [Entry] { entries.filter { $0.state == .valid } }

    /// Checks that another key can be added.
    /// - Parameters:
    ///   - name: name of the key; nil if it is not known yet.
    ///   - used: names of open invitations.
    ///   - invited: number of open invitations.
    /// - Throws: `duplicateKey`, `tooManyKeys`.
    func requirePlace(for name: KeyName?, besides used: Set<KeyName>, invited: Int) throws(ProtocolError) {
        if let name, name == .owner || used.contains(name) || self[name]?.state == .valid {
            throw ProtocolError(.duplicateKey, "a key already has the name \(name.text.printable)")
        }
        guard live.count + invited < ProtocolLimits.appKeys else {
            throw ProtocolError(
                .tooManyKeys, "the device already has \(ProtocolLimits.appKeys) app keys",
                details: ["max": .number(ProtocolLimits.appKeys)])
        }
    }

    /// Replaces an ended key with the same name.
    mutating func add(_ entry: Entry) {
        entries.removeAll { $0.name == entry.name }
        entries.append(entry)
    }

    /// - Throws: `unknownKey`, also for the owner's key.
    mutating func revoke(_ name: KeyName) throws(ProtocolError) {
        guard let index = entries.firstIndex(where: { $0.name == name }), entries[index].state != .revoked else {
            throw .unknownKey(name)
        }
        endKey(index, as: .revoked)
    }

    /// Ends expired keys.
    /// - Parameter now: the time; nil while the device does not know it.
    /// - Returns: names of the keys that end.
    mutating func expire(at now: Timestamp?) -> [KeyName] {
        let due = live.filter { $0.state(at: now) == .expired }.map(\.name)
        for name in due {
            if let index = entries.firstIndex(where: { $0.name == name }) { endKey(index, as: .expired) }
        }
        return due
    }

    var nextExpiry: Timestamp? { live.compactMap(\.expires).min() }

    private mutating func endKey(_ index: Int, as state: AppKey.State) {
        var entry = entries.remove(at: index)
        entry.state = state
        entries.append(entry)
        let ended = entries.filter { $0.state != .valid }.map(\.name)
        for name in ended.dropLast(Self.keptEnded) { entries.removeAll { $0.name == name } }
    }
}

extension ProtocolError {
    static func unknownKey(_ name: KeyName) -> ProtocolError {
        ProtocolError(
            .unknownKey,
            name == .owner
                ? "the owner's key cannot be revoked: reset the device to factory settings and pair it again"
                : "no app key has the name \(name.text.printable)")
    }
}
