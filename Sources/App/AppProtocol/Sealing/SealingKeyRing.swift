import AgentModel
import Crypto

/// The device's key for sealing, the one before while that still opens what was on its way, and what each has opened.
struct SealingKeyRing {
    private struct Entry {
        let key = Curve25519.KeyAgreement.PrivateKey()
        /// When it is to be followed by another.
        let end: ContinuousClock.Instant
        /// The encapsulated keys of what it opened. Nobody can make another box with the same one.
        var used: Set<[UInt8]> = []
    }

    private let rotation: SealRotation
    private var current: Entry
    private var former: (entry: Entry, end: ContinuousClock.Instant, boxes: Int)?

    init(rotation: SealRotation, now: ContinuousClock.Instant) {
        self.rotation = rotation
        current = Entry(end: now + rotation.age)
    }

    /// The key that is to be used from now on.
    mutating func present(at now: ContinuousClock.Instant) -> Curve25519.KeyAgreement.PrivateKey {
        rotate(at: now)
        return current.key
    }

    /// - Returns: nil for a key that is gone, or never was.
    mutating func key(
        named keyId: String, at now: ContinuousClock.Instant
    ) -> Curve25519.KeyAgreement.PrivateKey? {
        rotate(at: now)
        if current.key.publicKey.keyId == keyId { return current.key }
        guard let former, former.entry.key.publicKey.keyId == keyId, former.entry.used.count < former.boxes
        else { return nil }
        return former.entry.key
    }

    /// - Returns: false where it was used before.
    mutating func use(_ encapsulatedKey: [UInt8], of keyId: String) -> Bool {
        if current.key.publicKey.keyId == keyId { return current.used.insert(encapsulatedKey).inserted }
        return former?.entry.used.insert(encapsulatedKey).inserted ?? false
    }

    private mutating func rotate(at now: ContinuousClock.Instant) {
        if let end = former?.end, now >= end { former = nil }
        guard now >= current.end || current.used.count >= rotation.boxes else { return }
        let end = min(current.end, now) + rotation.grace
        former = now < end ? (current, end, current.used.count + rotation.boxes) : nil
        current = Entry(end: now + rotation.age)
    }
}

extension Curve25519.KeyAgreement.PublicKey {
    /// The first half of its bytes: no two of a device's keys have the same.
    var keyId: String { Hex.string(rawRepresentation.prefix(16)) }
}
