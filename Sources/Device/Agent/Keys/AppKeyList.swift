import AgentModel
import AppProtocol
import AppServer

/// The keys of the device's apps beside the owner's, as they are stored: changed by a word of the owner, and by time.
struct AppKeyList: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var name: KeyName
        var role: Role
        /// Nil where it was destroyed.
        var secret: Secret
        /// By the device's clock, where it knew the time.
        var created: Timestamp?
        var expires: Timestamp?
        var state = AppKey.State.valid

        /// What it is at this time, whether that was noted down yet or not.
        /// - Parameter now: the time, where the device knows it.
        func state(at now: Timestamp?) -> AppKey.State {
            guard state == .valid, let now, let expires else { return state }
            return expires <= now ? .expired : .valid
        }
    }

    /// The oldest first.
    private(set) var entries: [Entry] = []

    /// How many keys that are revoked or have expired are kept, so that their apps are told so.
    static let keptEnded = 16

    init(entries: [Entry] = []) { self.entries = entries }

    subscript(name: KeyName) -> Entry? { entries.first { $0.name == name } }

    private var live: [Entry] { entries.filter { $0.state == .valid } }

    /// - Parameter taken: other names that are in use, those of invitations.
    /// - Parameter invited: how many of the places are promised.
    /// - Throws: `duplicateKey`, `tooManyKeys`.
    func requirePlace(
        for name: KeyName?, besides taken: Set<KeyName> = [], invited: Int = 0
    ) throws(ProtocolError) {
        if let name, name == .owner || taken.contains(name) || self[name]?.state == .valid {
            throw ProtocolError(.duplicateKey, "there is a key of the name \(name.text.printable) already")
        }
        guard live.count + invited < ProtocolLimits.appKeys else {
            throw ProtocolError(
                .tooManyKeys, "the device has \(ProtocolLimits.appKeys) keys of apps already",
                details: ["max": .number(ProtocolLimits.appKeys)])
        }
    }

    /// A key that has ended gives its name to the new one.
    mutating func add(_ entry: Entry) {
        entries.removeAll { $0.name == entry.name }
        entries.append(entry)
    }

    /// - Throws: `unknownKey`; the owner's is none of these.
    mutating func revoke(_ name: KeyName) throws(ProtocolError) {
        guard let index = entries.firstIndex(where: { $0.name == name }), entries[index].state != .revoked else {
            throw .unknownKey(name)
        }
        end(index, as: .revoked)
    }

    /// Ends what has expired.
    /// - Parameter now: the time, where the device knows it.
    /// - Returns: the names of the keys that end by this.
    mutating func expire(at now: Timestamp?) -> [KeyName] {
        let due = live.filter { $0.state(at: now) == .expired }.map(\.name)
        for name in due {
            if let index = entries.firstIndex(where: { $0.name == name }) { end(index, as: .expired) }
        }
        return due
    }

    /// The next moment at which a key expires.
    var nextExpiry: Timestamp? { live.compactMap(\.expires).min() }

    private mutating func end(_ index: Int, as state: AppKey.State) {
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
                ? "the owner's key cannot be revoked: reset the device to factory settings, and pair it anew"
                : "no app has a key of the name \(name.text.printable)")
    }
}
