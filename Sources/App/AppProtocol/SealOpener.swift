import AgentModel
import Crypto
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The device's side of sealed passwords: its keys and the boxes already opened.
///
/// Private keys stay in memory. A restart creates a new key, so older boxes cannot be opened or replayed.
public final class SealOpener: Sendable {
    private let deviceId: String
    private let keyNamed: @Sendable (KeyName, SealContext.Place) -> Secret?
    private let now: @Sendable () -> ContinuousClock.Instant
    private let keys: Mutex<SealingKeyRing>

    /// - Parameter keyNamed: returns the bytes of an app's key; nil if there is no valid key or its role is too low.
    public init(
        deviceId: String, rotation: SealRotation = SealRotation(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        keyNamed: @escaping @Sendable (KeyName, SealContext.Place) -> Secret?
    ) {
        (self.deviceId, self.keyNamed) = (deviceId, keyNamed)
        self.now = now
        keys = Mutex(SealingKeyRing(rotation: rotation, now: now()))
    }

    /// Creates an opener that accepts the owner's key only.
    public convenience init(
        _ device: DeviceKey, rotation: SealRotation = SealRotation(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.init(deviceId: device.deviceId, rotation: rotation, now: now) { name, _ in
            name == .owner ? device.localKey : nil
        }
    }

    public var key: SealingKey {
        get throws(ProtocolError) {
            let publicKey = keys.withLock { $0.present(at: now()).publicKey }
            guard let key = SealingKey(keyId: publicKey.keyId, publicKey: Array(publicKey.rawRepresentation)) else {
                throw ProtocolError(.internalError, "the sealing key has the wrong length")
            }
            return key
        }
    }

    /// Returns the current sealing key with a proof by the app's key.
    /// - Parameter appKey: nil if the app has no valid key.
    /// - Throws: `unknownKey` without `appKey`.
    public func key(for query: SealingKeyQuery, of appKey: Secret?) throws(ProtocolError) -> SealingKey {
        guard let nonce = query.nonce else { return try key }
        guard let appKey else { throw ProtocolError(.unknownKey, "no app key has this name") }
        return try key.proved(by: appKey, over: nonce, deviceId: deviceId)
    }

    /// Opens a sealed password. Each one opens only once, even if its request fails later.
    /// - Throws: `keyRotated`, `sealInvalid`, `sealUsed`, or `invalidPassword`.
    public func open(_ sealed: SealedPassword, in context: SealContext) throws(ProtocolError) -> Secret {
        let password = try open(sealed.sealed, in: context)
        do {
            try Passphrase.validate(password, for: context.security)
        } catch {
            throw ProtocolError(.invalidPassword, "\(error)")
        }
        return password
    }

    /// Returns the content of a box without padding. Each box opens once.
    /// - Throws: `keyRotated`, `sealInvalid`, `sealUsed`.
    func open(_ box: SealedBox, in context: SealContext) throws(ProtocolError) -> Secret {
        let text = context.text(deviceId: deviceId)
        let appKey = keyNamed(box.key, context.place)
        return try keys.withLock { (keys) throws(ProtocolError) -> Secret in
            guard let key = keys.key(named: box.keyId, at: now()) else {
                throw ProtocolError(.keyRotated, "the device's key has changed since the password was sealed")
            }
            // Verify the box first, so that only a client that can seal learns which boxes were used.
            guard let appKey, box.proof.isValid(of: SealedBox.message(box.bytes, text), with: appKey),
                let content = try? open(box.bytes, with: key, text)
            else {
                throw ProtocolError(
                    .sealInvalid, "the sealed password does not open: it is for another device, request or app")
            }
            guard keys.use(Array(box.bytes.prefix(SealedPassword.encapsulatedLength)), of: box.keyId) else {
                throw ProtocolError(.sealUsed, "the sealed password was already used")
            }
            return content
        }
    }

    private func open(
        _ box: [UInt8], with key: Curve25519.KeyAgreement.PrivateKey, _ context: String
    ) throws -> Secret {
        let encapsulatedKey = box.prefix(SealedPassword.encapsulatedLength)
        try key.requireAgreement(with: Curve25519.KeyAgreement.PublicKey(rawRepresentation: encapsulatedKey))
        var recipient = try HPKE.Recipient(
            privateKey: key, ciphersuite: SealedBox.suite, info: SealedBox.info, encapsulatedKey: Data(encapsulatedKey))
        var padded = try recipient.open(
            box.dropFirst(SealedPassword.encapsulatedLength), authenticating: Array(context.utf8))
        defer { padded.withUnsafeMutableBytes { wipe($0) } }
        let length = padded.lastIndex { $0 != 0 }.map { $0 - padded.startIndex + 1 } ?? 0
        return Secret(padded.prefix(length))
    }
}

/// Rules for the change of the sealing key.
public struct SealRotation: Sendable, Equatable {
    /// Number of opened boxes after which the key changes. During its grace, the old key opens as many again. This
    /// limits the number of remembered boxes.
    public let boxes: Int
    /// Time until the key changes.
    public let age: Duration
    /// Time in which the previous key still opens boxes.
    public let grace: Duration

    public init(
        boxes: Int = ProtocolLimits.sealingKeyBoxes, age: Duration = .seconds(ProtocolLimits.sealingKeyAge),
        grace: Duration = .seconds(ProtocolLimits.sealingKeyGrace)
    ) {
        self.boxes = boxes
        self.age = age
        self.grace = grace
    }
}

/// The current sealing key, the previous one during its grace, and the boxes opened with each.
struct SealingKeyRing {
    private struct Entry {
        let key = Curve25519.KeyAgreement.PrivateKey()
        let end: ContinuousClock.Instant
        /// Encapsulated keys of opened boxes, unique for each box.
        var used: Set<[UInt8]> = []
    }

    private let rotation: SealRotation
    private var current: Entry
    private var former: (entry: Entry, end: ContinuousClock.Instant, boxes: Int)?

    init(rotation: SealRotation, now: ContinuousClock.Instant) {
        self.rotation = rotation
        current = Entry(end: now + rotation.age)
    }

    mutating func present(at now: ContinuousClock.Instant) -> Curve25519.KeyAgreement.PrivateKey {
        rotate(at: now)
        return current.key
    }

    /// - Returns: nil for an unknown, expired or used-up key.
    mutating func key(
        named keyId: String, at now: ContinuousClock.Instant
    ) -> Curve25519.KeyAgreement.PrivateKey? {
        rotate(at: now)
        if current.key.publicKey.keyId == keyId { return current.key }
        guard let former, former.entry.key.publicKey.keyId == keyId, former.entry.used.count < former.boxes
        else { return nil }
        return former.entry.key
    }

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
    /// Name of the key: its first half, in hexadecimal digits.
    var keyId: String { Hex.string(rawRepresentation.prefix(16)) }
}
